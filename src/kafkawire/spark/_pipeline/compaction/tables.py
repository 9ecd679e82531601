"""The compaction of the tables of a directory, in any format.

Rules:
- No stream may write the tables meanwhile. A stream compacts between its triggers, and the command holds the lock of
  the directory.
- A table that has nothing worth a merge is left alone.
- The format of a table is that of the log that it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.spark._pipeline.compaction.choice import TARGET
from kafkawire.spark._pipeline.storage import LocalStorage
from kafkawire.spark._pipeline.table_formats import FORMATS
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkawire.spark._pipeline.storage import Storage


@dataclass(frozen=True)
class Compacted:
    """A table after its compaction: how many files became how many."""

    table: str
    format: str
    before: int
    after: int


def format_of(storage: Storage, table: str) -> str:
    """The format of a table, by its log; empty if there is no table."""
    children = set(storage.children(table))
    for name in ("delta", "iceberg"):
        if FORMATS[name].log in children:
            return name
    return "parquet" if children else ""


def is_compactable(storage: Storage, table_format: str) -> bool:
    """Whether tables of a format can be compacted in a directory. Parquet needs a local file system."""
    if table_format != "parquet":
        return True
    if not isinstance(storage, LocalStorage):
        return False
    from kafkawire.spark._pipeline.compaction.parquet_tables import can_exchange

    return can_exchange(storage.path)


def unsupported(root: str) -> str:
    """The text of the error for a place whose tables of Parquet cannot be compacted."""
    return (
        f"{root}: tables of Parquet can only be compacted in a local directory, on a file system that has hard links"
        " and exchanges two directories at once; use --format delta or iceberg, or --compact-every never"
    )


def compact_table(
    storage: Storage, table: str, spark: SparkSession | None = None, target: int = TARGET
) -> Compacted | None:
    """Compact a table; None if it has nothing worth a merge. Delta and Iceberg need a session."""
    table_format = format_of(storage, table)
    path = f"{storage.root}/{table}"
    if table_format == "parquet":
        return _compact_parquet(storage, table, target)
    if not table_format:
        return None
    from kafkawire.spark._pipeline.compaction.lake_tables import compact_delta, compact_iceberg

    assert spark is not None
    compact = compact_delta if table_format == "delta" else compact_iceberg
    before, after = compact(spark, path, target)
    return Compacted(table, table_format, before, after) if before else None


def _compact_parquet(storage: Storage, table: str, target: int) -> Compacted | None:
    from kafkawire.spark._pipeline.compaction.parquet_tables import ParquetTable, remove_unfinished

    if not isinstance(storage, LocalStorage):
        raise PipelineError(unsupported(storage.root))
    remove_unfinished(storage.path)
    found = ParquetTable(storage.path, table)
    merges = found.merges(target)
    if not merges:
        return None
    found.replace(merges)
    return Compacted(table, "parquet", sum(len(each.inputs) for each in merges), len(merges))
