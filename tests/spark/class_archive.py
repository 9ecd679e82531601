"""An archive of the classes that Spark loads, from which Java starts in less than half of the processor time.

`python -m tests.spark.class_archive` writes it into `build`. `make test` does so if it is missing or old.

Rules:
- Java ignores an archive of another Java, or of other jars, and loads the classes from the jars.
- Without Java there is no archive. The tests run without one, slower.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import subprocess

    from pyspark.sql import SparkSession

ARCHIVE: Final = Path(__file__).parents[2] / "build" / "spark.jsa"
OPTIONS: Final = "-XX:+UseSerialGC"
ENDS_WITHIN: Final = 300


def java_options() -> str:
    """The options of Java for a session of a test."""
    return f"{OPTIONS} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else OPTIONS


def write_archive(archive: Path) -> None:
    """Run what most tests do on Spark, and archive the classes that this loads."""
    from tests.spark.filled_broker import FilledBroker
    from tests.spark.shared_session import SETTINGS
    from tests.spark.test_topics_killed import write_stream

    from kafkawire.spark import build_session
    from kafkawire.testing.sample_logs import write_sample

    archive.parent.mkdir(exist_ok=True)
    unfinished = archive.with_name(f"unfinished-{os.getpid()}.jsa")
    settings = SETTINGS | {"spark.driver.extraJavaOptions": f"{OPTIONS} -XX:ArchiveClassesAtExit={unfinished}"}
    with TemporaryDirectory() as name, FilledBroker() as broker:
        folder = Path(name)
        write_sample(folder / "logs", scale=1)
        broker.create_topic("t", 2)
        broker.fill("t", 10)
        spark = build_session("local[2]", settings=settings, log_file=folder / "spark.log")
        rows = spark.read.format("kafkawire-segments").load(str(folder / "logs"))
        rows.groupBy("topic").count().orderBy("topic").collect()
        rows.write.partitionBy("topic").parquet(str(folder / "table"))
        spark.read.parquet(str(folder / "table")).count()
        write_stream(spark, broker.bootstrap_servers, folder / "stream")
        _end(spark)
    if unfinished.exists():
        unfinished.replace(archive)


def _end(spark: SparkSession) -> None:
    """Let Java exit by itself, because it writes the archive then."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    process: subprocess.Popen[bytes] = gateway.proc
    spark.stop()
    gateway.shutdown()
    if process.stdin is not None:
        process.stdin.close()
    process.wait(ENDS_WITHIN)


if __name__ == "__main__":
    from kafkawire.spark import JavaNotFoundError
    from kafkawire.spark.java import find_java

    try:
        find_java()
    except JavaNotFoundError as error:
        sys.exit(f"no archive of Spark's classes: {error}")
    write_archive(ARCHIVE)
