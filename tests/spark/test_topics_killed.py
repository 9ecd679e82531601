"""A driver that is killed in the middle of a stream: what is started again loses nothing and repeats nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.spark.filled_broker import FilledBroker

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


STREAM = """
import sys
from pathlib import Path

from kafkawire.spark import build_session
from tests.spark.shared_session import SETTINGS
from tests.spark.test_topics_killed import write_stream

servers, directory = sys.argv[1], Path(sys.argv[2])
spark = build_session("local[2]", settings=SETTINGS, log_file=directory / "spark.log")
write_stream(spark, servers, directory, maxOffsetsPerTrigger="50")
"""
COUNT = 8_000


def write_stream(spark: SparkSession, servers: str, directory: Path, **options: str) -> None:
    """Stream a topic into files until all that is there now is written."""
    rows = (
        spark.readStream.format("kafkawire")
        .schema("partition int, offset bigint")
        .option("kafka.bootstrap.servers", servers)
        .options(subscribe="t", startingOffsets="earliest", **options)
        .load()
    )
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(directory / "checkpoint"))
    writer.trigger(availableNow=True).start(str(directory / "rows")).awaitTermination()


def numbers(directory: Path) -> set[int]:
    """The batches that Spark's log has in a directory."""
    return {int(path.name) for path in directory.glob("*") if path.name.isdigit()} if directory.exists() else set()


def kill_within_a_batch(child: subprocess.Popen[bytes], checkpoint: Path) -> None:
    """Kill the driver, Python and Java, while a batch is planned and not done, and others are."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and child.poll() is None:
        done = numbers(checkpoint / "commits")
        if len(done) >= 2 and numbers(checkpoint / "offsets") - done:
            break
        time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    assert child.wait(120) == -signal.SIGKILL, "the driver ended by itself"


def test_a_driver_killed_within_a_batch_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with FilledBroker() as broker:
        broker.create_topic("t", 2)
        for partition in (0, 1):
            for first in range(0, COUNT, 1000):
                broker.fill("t", 1000, partition=partition, first=first)
        command = [sys.executable, "-c", STREAM, broker.bootstrap_servers, str(tmp_path)]
        child = subprocess.Popen(command, start_new_session=True)
        kill_within_a_batch(child, tmp_path / "checkpoint")
        written = spark.read.parquet(str(tmp_path / "rows")).count()
        assert 0 < written < 2 * COUNT
        write_stream(spark, broker.bootstrap_servers, tmp_path)
        rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(tuple(row) for row in rows) == [(part, offset) for part in (0, 1) for offset in range(COUNT)]
