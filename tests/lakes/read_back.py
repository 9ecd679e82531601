"""Read a table of a lake without Spark, and print what it has as JSON.

`python tests/lakes/read_back.py delta polars TABLE`. The output has for each partition: rows, distinct offsets, the
first offset and the last one. This file imports nothing of ours, because it runs with the readers' own path.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

COLUMNS = ["topic", "partition", "offset"]


def newest_metadata(table: Path) -> Path:
    """The newest metadata of an Iceberg table without a catalog."""
    number = (table / "metadata" / "version-hint.text").read_text().strip()
    return table / "metadata" / f"v{number}.metadata.json"


def with_deltalake(table: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(str(table)).to_pyarrow_table(columns=COLUMNS)


def with_pyiceberg(table: Path) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(newest_metadata(table))).scan(selected_fields=tuple(COLUMNS)).to_arrow()


def with_polars(kind: str, table: Path) -> Any:
    import polars

    if kind == "delta":
        frame = polars.scan_delta(str(table))
    elif kind == "iceberg":
        frame = polars.scan_iceberg(str(newest_metadata(table)))
    else:
        frame = polars.scan_parquet(f"{table}/**/*.parquet", hive_partitioning=True)
    return frame.select(COLUMNS).collect().to_arrow()


def with_duckdb(table: Path) -> Any:
    import duckdb

    files = f"read_parquet('{table}/**/*.parquet', hive_partitioning = true)"
    return duckdb.connect().execute(f'SELECT topic, partition, "offset" FROM {files}').to_arrow_table()


def summary(rows: Any) -> list[list[Any]]:
    """Rows, distinct offsets, first and last of each partition, counted by DuckDB."""
    import duckdb

    counted = 'count(*), count(DISTINCT "offset"), min("offset"), max("offset")'
    database = duckdb.connect()
    database.register("rows", rows)
    found = database.execute(f"SELECT topic, partition, {counted} FROM rows GROUP BY ALL ORDER BY ALL").fetchall()
    return [list(row) for row in found]


def read(kind: str, engine: str, table: Path) -> Any:
    if engine == "deltalake":
        return with_deltalake(table)
    if engine == "pyiceberg":
        return with_pyiceberg(table)
    return with_polars(kind, table) if engine == "polars" else with_duckdb(table)


if __name__ == "__main__":
    print(json.dumps(summary(read(sys.argv[1], sys.argv[2], Path(sys.argv[3])))))
