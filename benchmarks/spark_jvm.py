"""Our Spark source beside Spark's own Kafka connector: the same topics of Apache Kafka, one session, in turns.

Rules:
- Both formats are in one session of local[2], so that virtual machine, settings and page cache are the same.
- Apache Kafka, Spark and the Python workers share the processors. Apache Kafka's processor time does not count.
- Apache Kafka and the connector are fetched with Maven, into the directory of `make interop`. If that fails, a row says
  what is missing.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.interop import apache_kafka, spark_connector

from benchmarks._spark_costs import best_costs
from benchmarks.report import Row
from benchmarks.spark_topics import PARTITIONS, fill, to_nowhere
from kafkawire.client._admin.types import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.spark import build_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SIZES: Final = ((100, 150), (1024, 200))
"""Bytes of a value, and megabytes of all of them."""
MOST: Final = {100: 0.5, 1024: 0.75}
"""The largest part of the connector's processor time, by bytes of a value."""


def rows() -> Iterator[Row]:
    try:
        kafka, settings = apache_kafka.ApacheKafka(), spark_connector.session_settings()
    except pytest.fail.Exception as missing:
        yield Row("our Spark source beside Spark's own", "not measured", float("nan"), note=str(missing))
        return
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    settings = {"spark.driver.memory": "2g", **settings}
    spark = build_session("local[2]", settings=settings, log_file=root / "spark.log")
    try:
        with kafka.broker(root) as address:
            for size, megabytes in SIZES:
                yield from _reading(spark, address, size, megabytes * 1_000_000 // size)
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def _reading(spark: SparkSession, address: str, size: int, count: int) -> Iterator[Row]:
    topic = f"values-{size}"
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(name=topic, num_partitions=PARTITIONS)])
    fill(address, topic, size, count)
    frames = {
        form: spark_connector.load(spark, form, address, {"subscribe": topic})
        for form in (spark_connector.OURS, spark_connector.THEIRS)
    }
    costs = best_costs(spark, {form: partial(to_nowhere, frame) for form, frame in frames.items()})
    ours, theirs = costs[spark_connector.OURS], costs[spark_connector.THEIRS]
    words = f"Apache Kafka to noop, {size}-byte values"
    note = f"{count / ours.wall / 1e6:.2f} M rows/s against {count / theirs.wall / 1e6:.2f} M"
    yield Row(words, "x Spark's own", theirs.wall / ours.wall, 1.0, note=note)
    note = f"{ours.processor:.2f} s against {theirs.processor:.2f} s"
    ratio = ours.processor / theirs.processor
    yield Row(words, "of Spark's own, processor", ratio, MOST[size], at_most=True, note=note)
