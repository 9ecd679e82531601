"""Tables as a run left them on disk, read without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import dataset

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ORDER = ("topic", "partition", "offset", "base_offset")


def read_table(directory: Path, name: str) -> pa.Table:
    """A table that is partitioned by topic."""
    by_topic = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
    return dataset.dataset(directory / name, format="parquet", partitioning=by_topic).to_table()


def rows_in_order(table: pa.Table, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows by topic, partition and offset, in some columns or all."""
    chosen = table.select(list(columns) or table.schema.names)
    order = [name for name in _ORDER if name in chosen.schema.names]
    return sorted(chosen.to_pylist(), key=lambda row: [row[name] for name in order])
