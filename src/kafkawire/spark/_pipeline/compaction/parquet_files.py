"""Small Parquet files of one schema become one file.

Rules:
- Rows keep their order. Values and types stay as Spark wrote them, and so does its description of the schema, which it
  keeps beside Parquet's. Times of the old form, INT96, keep it.
- At most one group of rows is in memory: a row group of an input, and what is gathered for the next one of the output.
- The merged file must have as many rows as its inputs have; else it raises, and the table stays as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafkawire._platforms import datasync
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_GATHERED: Final = 64 << 20
_ROWS: Final = 1_000_000
_INT96: Final = "INT96"


def kind_of(path: Path) -> tuple[Any, ...]:
    """The facts in which the files of one merge agree: schema, Spark's description of it, codec and form of times."""
    with path.open("rb") as opened:
        found = pq.read_metadata(opened)
    schema = found.schema
    described = tuple(sorted((found.metadata or {}).items()))
    columns = tuple((schema.column(number).path, str(schema.column(number))) for number in range(len(schema)))
    return described, columns, _codec(found), str(schema.to_arrow_schema())


def merge(paths: Sequence[Path], output: Path) -> int:
    """Write the rows of several files of one kind into a new one that survives a power cut; returns its size."""
    rows, gathered, size = 0, list[pa.Table](), 0
    with paths[0].open("rb") as first:
        found = pq.read_metadata(first)
    has_int96 = any(found.schema.column(number).physical_type == _INT96 for number in range(len(found.schema)))
    reading: dict[str, Any] = {"coerce_int96_timestamp_unit": "us"} if has_int96 else {}
    with paths[0].open("rb") as first:
        schema = pq.ParquetFile(first, **reading).schema_arrow
    with output.open("xb") as opened:
        with pq.ParquetWriter(
            opened,
            schema,
            compression=_codec(found),
            store_schema=False,
            use_deprecated_int96_timestamps=has_int96,
        ) as writer:
            for path in paths:
                with path.open("rb") as source:
                    file = pq.ParquetFile(source, **reading)
                    for number in range(file.num_row_groups):
                        table = file.read_row_group(number, use_threads=False)
                        rows += table.num_rows
                        gathered.append(table.cast(schema))
                        size += table.nbytes
                        if size >= _GATHERED or sum(each.num_rows for each in gathered) >= _ROWS:
                            _write(writer, gathered)
                            size = 0
            _write(writer, gathered)
            writer.add_key_value_metadata(_described(found))
        opened.flush()
        datasync(opened.fileno())
    with output.open("rb") as opened:
        written = pq.read_metadata(opened).num_rows
    expected = sum(_rows_of(path) for path in paths)
    if not rows == written == expected:
        raise PipelineError(f"{output}: {written} rows, expected {expected}")
    return output.stat().st_size


def _write(writer: pq.ParquetWriter, gathered: list[pa.Table]) -> None:
    if gathered:
        table = pa.concat_tables(gathered)
        gathered.clear()
        writer.write_table(table, row_group_size=max(1, table.num_rows))


def _rows_of(path: Path) -> int:
    with path.open("rb") as opened:
        return int(pq.read_metadata(opened).num_rows)


def _described(found: Any) -> dict[str, str]:
    """The texts that Spark keeps beside Parquet's schema."""
    return {name.decode(): text.decode() for name, text in (found.metadata or {}).items()}


def _codec(found: Any) -> Any:
    has_values = found.num_row_groups and found.num_columns
    codec = str(found.row_group(0).column(0).compression).lower() if has_values else "snappy"
    return "none" if codec == "uncompressed" else codec
