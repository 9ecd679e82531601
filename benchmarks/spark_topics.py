"""Topics on Spark, local[2], against the embedded broker: reading and writing rates, what a task and a trigger cost.

The Parquet rows are the same records, written by Spark and read by Spark. Broker, JVM and Python workers share the
processors, as they do when people try this.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from benchmarks._spark_costs import ROUNDS, best_costs
from benchmarks.report import Row
from kafkawire.client._bulk.writer import BulkWriter
from kafkawire.spark import build_session
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS: Final = 4
CHUNK: Final = 50_000
TRIGGERS: Final = 30
FLOORS: Final = {
    ("noop", 100): (0.4, 0.45),
    ("noop", 1024): (0.6, 0.6),
    ("Parquet", 100): (0.75, 0.7),
    ("Parquet", 1024): (0.75, 0.75),
}
"""The lowest ratios to Parquet by work and size of values: wall time, processor time."""


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    spark = build_session("local[2]", settings={"spark.driver.memory": "2g"}, log_file=root / "spark.log")
    try:
        with RunningBroker(data_dir=root / "broker") as broker:
            for size, megabytes in ((100, 200), (1024, 300)):
                yield from _reading(spark, broker, root, size, megabytes * 1_000_000 // size)
            yield _task_cost(spark, broker)
            yield _trigger_cost(spark, broker, root)
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def _reading(spark: SparkSession, broker: RunningBroker, root: Path, size: int, count: int) -> Iterator[Row]:
    topic, path, target = f"values-{size}", str(root / f"parquet-{size}"), str(root / "copy")
    _fill(broker, topic, size, count)
    frame = _topic(spark, broker, subscribe=topic)
    frame.write.parquet(path)
    parquet = spark.read.parquet(path)
    frames = {"ours": frame, "Parquet": parquet}
    noop: dict[str, Callable[[], None]] = {name: partial(to_nowhere, each) for name, each in frames.items()}
    copied: dict[str, Callable[[], None]] = {name: partial(_copy, each, target) for name, each in frames.items()}
    for work, contenders in (("noop", noop), ("Parquet", copied)):
        costs = best_costs(spark, contenders)
        ours, theirs = costs["ours"], costs["Parquet"]
        words = f"topic to {work}, {size}-byte values"
        wall, processor = FLOORS[work, size]
        note = f"{count / ours.wall / 1e6:.2f} M rows/s, {count * size / ours.wall / 1e6:.0f} MB/s of values"
        yield Row(words, "x Parquet", theirs.wall / ours.wall, wall, note=note)
        note = f"{ours.processor:.2f} s against {theirs.processor:.2f} s"
        yield Row(words, "x Parquet, processor", theirs.processor / ours.processor, processor, note=note)
    slim = _topic(spark, broker, "offset bigint", subscribe=topic)
    [narrow] = best_seconds({"ours": lambda: to_nowhere(slim)})
    yield Row(f"topic to noop, only offsets of {size}-byte values", "M rows/s", count / narrow / 1e6)
    broker.create_topic(f"copy-{size}", PARTITIONS)
    outgoing = parquet.select("key", "value").write.format("kafkawire").mode("append")
    outgoing = outgoing.option("kafka.bootstrap.servers", broker.bootstrap_servers).option("topic", f"copy-{size}")
    [writing] = best_seconds({"ours": outgoing.save})
    note = f"{count * size / writing / 1e6:.0f} MB/s of values"
    yield Row(f"Parquet to topic, {size}-byte values, by key", "M rows/s", count / writing / 1e6, note=note)
    shutil.rmtree(path)


def _task_cost(spark: SparkSession, broker: RunningBroker) -> Row:
    """Tasks that have next to nothing to read."""
    tasks = 200
    _fill(broker, "tasks", 100, tasks * 10)
    frame = _topic(spark, broker, "offset bigint", subscribe="tasks", maxRecordsPerPartition="10")
    [seconds] = best_seconds({"ours": lambda: to_nowhere(frame)})
    return Row("a task with ten records", "ms", 2 * seconds / frame.rdd.getNumPartitions() * 1000, 20, at_most=True)


def _trigger_cost(spark: SparkSession, broker: RunningBroker, root: Path) -> Row:
    """Triggers of a thousand rows each, and beside them those of a source that Spark has built in."""
    _fill(broker, "triggers", 100, TRIGGERS * 1000, partitions=2)
    ours = spark.readStream.format("kafkawire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    ours = ours.options(subscribe="triggers", startingOffsets="earliest", maxOffsetsPerTrigger="1000")
    built_in = spark.readStream.format("rate-micro-batch").options(rowsPerBatch="1000", numPartitions="2")
    theirs = _trigger_times(built_in.load(), root / "built-in")
    times = _trigger_times(ours.load(), root / "ours")
    note = f"rate-micro-batch {median(theirs):.0f} ms; most of it is Spark's own log"
    return Row("a trigger of a thousand rows", "ms", median(times), 150, at_most=True, note=note)


def _trigger_times(frame: DataFrame, checkpoint: Path) -> list[int]:
    """Milliseconds of each trigger but the first few."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(processingTime="0 seconds").start()
    deadline = perf_counter() + 60
    while query.isActive and len(query.recentProgress) < TRIGGERS and perf_counter() < deadline:
        sleep(0.2)
    query.stop()
    done = [each for each in query.recentProgress if each.numInputRows]
    return [each.durationMs["triggerExecution"] for each in done[5:]]


def _fill(broker: RunningBroker, topic: str, size: int, count: int, partitions: int = PARTITIONS) -> None:
    broker.create_topic(topic, partitions)
    fill(broker.bootstrap_servers, topic, size, count, partitions)


def fill(address: str, topic: str, size: int, count: int, partitions: int = PARTITIONS) -> None:
    """Write records with keys and values that do not compress."""
    noise = random.Random(1).randbytes(CHUNK * size)
    columns: dict[str, Any] = {
        "key": [b"%016d" % number for number in range(CHUNK)],
        "value": [noise[at : at + size] for at in range(0, CHUNK * size, size)],
        "partition": pa.array([number % partitions for number in range(CHUNK)], pa.int32()),
    }
    chunk = pa.record_batch(columns)
    with BulkWriter(address) as writer:
        for first in range(0, count, CHUNK):
            writer.write(topic, chunk.slice(0, min(CHUNK, count - first)))


def _topic(spark: SparkSession, broker: RunningBroker, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.options(**options)
    return (reader.schema(schema) if schema else reader).load()


def _copy(frame: DataFrame, target: str) -> None:
    frame.write.mode("overwrite").parquet(target)


def to_nowhere(frame: DataFrame) -> None:
    """Read every row and drop it."""
    frame.write.format("noop").mode("overwrite").save()


def best_seconds(contenders: dict[str, Callable[[], None]]) -> list[float]:
    """Seconds of each, the best of rounds in which they take turns; a round before them warms up."""
    best = dict.fromkeys(contenders, float("inf"))
    for turn in range(ROUNDS + 1):
        for name, work in contenders.items():
            start = perf_counter()
            work()
            if turn:
                best[name] = min(best[name], perf_counter() - start)
    return list(best.values())
