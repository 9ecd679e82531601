"""The floor of any Python data source: prepared Arrow batches, with the columns of topics, that only pass the worker.

Rules:
- The source yields one prepared batch again and again, so that the worker decodes nothing and fetches nothing.
  The rest is Spark's own: the socket to the virtual machine, and its conversion of Arrow batches to rows.
- Native Parquet has the same rows. No Python data source can have a higher ratio to it than the prepared batches.
- Prepared batches have 2 MiB, as those of a fetch have. Larger ones leave the caches of a processor.
- Processor time is measured as `_spark_costs` says.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks._spark_costs import best_costs
from benchmarks.report import Row
from benchmarks.spark_topics import PARTITIONS, fill, to_nowhere
from kafkawire.spark import build_session
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SIZES: Final = ((100, 100), (1024, 200))
"""Bytes of a value, and megabytes of all of them."""


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    spark = build_session("local[2]", settings={"spark.driver.memory": "2g"}, log_file=root / "spark.log")
    try:
        with RunningBroker(data_dir=root / "broker") as broker:
            for size, megabytes in SIZES:
                yield from _reading(spark, broker, root, size, megabytes * 1_000_000 // size)
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def _reading(spark: SparkSession, broker: RunningBroker, root: Path, size: int, count: int) -> Iterator[Row]:
    topic, path, target = f"values-{size}", str(root / f"parquet-{size}"), str(root / "copy")
    broker.create_topic(topic, PARTITIONS)
    fill(broker.bootstrap_servers, topic, size, count)
    frame = (
        spark.read.format("kafkawire")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", topic)
        .load()
    )
    frame.write.parquet(path)
    parquet = spark.read.parquet(path)
    spark.dataSource.register(prepared_source(size, count // PARTITIONS, frame.schema))
    prepared = spark.read.format("prepared").load()
    frames = {"ours": frame, "prepared": prepared, "Parquet": parquet}
    noop: dict[str, Callable[[], None]] = {name: partial(to_nowhere, each) for name, each in frames.items()}
    copied: dict[str, Callable[[], None]] = {name: partial(_copy, each, target) for name, each in frames.items()}
    for work, contenders in (("noop", noop), ("Parquet", copied)):
        costs = best_costs(spark, contenders)
        words = f"to {work}, {size}-byte values"
        for name in ("prepared", "ours"):
            what = {"prepared": "prepared Arrow batches", "ours": "topic"}[name]
            note = f"{costs[name].wall:.2f} s, {costs[name].processor:.2f} s of processor"
            yield Row(f"{what} {words}", "x Parquet, wall", costs["Parquet"].wall / costs[name].wall, note=note)
            ratio = costs["Parquet"].processor / costs[name].processor
            yield Row(f"{what} {words}", "x Parquet, processor", ratio)
        ratio = costs["prepared"].processor / costs["ours"].processor
        yield Row(f"topic {words}", "x prepared, processor", ratio, 0.6)


def _copy(frame: DataFrame, target: str) -> None:
    frame.write.mode("overwrite").parquet(target)


def prepared_source(size: int, count: int, columns: StructType) -> type[Any]:
    """A source whose partitions yield the rows of one prepared batch until there are enough."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(number) for number in range(PARTITIONS)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import random

            import pyarrow as pa

            from kafkawire.spark._columns import topic_arrow_schema

            schema = topic_arrow_schema(columns.names)
            most = min(50_000, (2 << 20) // (size + 100))
            noise = random.Random(partition.value).randbytes(most * size)
            known: dict[str, Any] = {
                "key": pa.array([b"%016d" % number for number in range(most)]),
                "value": pa.array([noise[at : at + size] for at in range(0, most * size, size)]),
                "topic": pa.array(["values"] * most),
            }
            arrays = [
                known[field.name]
                if field.name in known
                else pa.array(range(most)).cast(pa.int64()).cast(field.type)
                if pa.types.is_int64(field.type) or pa.types.is_timestamp(field.type)
                else pa.nulls(most, field.type).fill_null(0)
                for field in schema
            ]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            for first in range(0, count, most):
                yield batch.slice(0, min(most, count - first))

    class Prepared(DataSource):
        @classmethod
        def name(cls) -> str:
            return "prepared"

        def schema(self) -> StructType:
            return columns

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    return Prepared
