"""Segments on Spark, local[2]: how fast tables come out of log files, and what a task costs.

Rates count the bytes of the log files. The Parquet rows are the same records, written by Spark and read by Spark.
Values are random and share nothing, so that neither side gains by packing them.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from benchmarks.report import Row
from kafkawire.records import from_arrow
from kafkawire.spark import build_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

ROUNDS: Final = 3
BATCH: Final = 16 * 1024
MEGABYTE: Final = 1_000_000
SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestamp_type tinyint,"
    " headers array<struct<key string, value binary>>"
)
"""The columns of Spark's own Kafka source."""


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    spark = build_session("local[2]", settings={"spark.driver.memory": "2g"}, log_file=root / "spark.log")
    try:
        yield from _batches_table(spark, root)
        for size in (100, 1024):
            yield from _records(spark, root, size)
        yield _task_cost(spark, root)
    finally:
        spark.stop()
        shutil.rmtree(root)


def _batches_table(spark: SparkSession, root: Path) -> Iterator[Row]:
    """16 KB batches to a Parquet table of their headers."""
    bytes_written = _write_logs(root / "batches", 1024, megabytes=1024)
    for verify in ("true", "false"):
        frame = _segments(spark, root / "batches", table="batches", verify=verify)
        seconds = _best(lambda frame=frame: frame.write.mode("overwrite").parquet(str(root / "table")))  # type: ignore[misc]
        checked = "CRCs checked" if verify == "true" else "CRCs not checked"
        floor = 500 if verify == "true" else None
        yield Row(
            f"segments to batches table, 16 KB batches, {checked}", "MB/s", bytes_written / MEGABYTE / seconds, floor
        )
    shutil.rmtree(root / "batches")


def _records(spark: SparkSession, root: Path, size: int) -> Iterator[Row]:
    """Records to nowhere, against the same rows from Parquet."""
    bytes_written = _write_logs(root / "records", size, megabytes=512 if size < 1000 else 1024)
    frame = _segments(spark, root / "records", schema=SCHEMA)
    frame.write.parquet(str(root / "parquet"))
    parquet = spark.read.parquet(str(root / "parquet"))
    count = parquet.count()
    ours = _best(lambda: _to_nowhere(frame))
    theirs = _best(lambda: _to_nowhere(parquet))
    note = f"{count / ours / 1e6:.2f} M rows/s, {bytes_written / MEGABYTE / ours:.0f} MB/s"
    yield Row(f"segments to records, {size}-byte values, noop", "x Parquet", theirs / ours, note=note)
    for name in ("records", "parquet"):
        shutil.rmtree(root / name)


def _task_cost(spark: SparkSession, root: Path) -> Row:
    """Tasks that have next to nothing to read."""
    tasks = 300
    _write_logs(root / "tasks", 100, megabytes=1, files=tasks)
    frame = _segments(spark, root / "tasks", schema="offset bigint", maxPartitionBytes="1")
    seconds = _best(lambda: _to_nowhere(frame))
    shutil.rmtree(root / "tasks")
    return Row("a task with one small file", "ms", 2 * seconds / frame.rdd.getNumPartitions() * 1000, 20, at_most=True)


def _write_logs(root: Path, value: int, *, megabytes: int, files: int = 8) -> int:
    """Log files of 16 KB batches, uncompressed; how many bytes they have."""
    per_file = max(1, megabytes * MEGABYTE // files)
    count = max(1, min(per_file, 16 * MEGABYTE) // (value + 32))
    noise = random.Random(1).randbytes(count * value)
    chunk = pa.table(
        {
            "timestamp": pa.array(range(count)),
            "key": [b"%016d" % number for number in range(count)],
            "value": [noise[at : at + value] for at in range(0, count * value, value)],
        }
    )
    block = from_arrow(chunk, batch_bytes=BATCH)
    for number in range(files):
        path = root / f"bench-{number}" / f"{0:020}.log"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            for _ in range(max(1, per_file // len(block))):
                file.write(block)
    return sum(path.stat().st_size for path in root.glob("*/*.log"))


def _segments(spark: SparkSession, path: Path, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("kafkawire-segments").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(path))


def _to_nowhere(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _best(work: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
