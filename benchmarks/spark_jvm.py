"""Our Spark source beside Spark's own Kafka connector: the same topics of Apache Kafka, one session, in turns.

Rules:
- Both formats are in one session of local[2], so that virtual machine, settings and page cache are the same.
- Apache Kafka, Spark and the Python workers share the processors.
- Apache Kafka and the connector are fetched by `make interop`; where they were not, that is said.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.interop import apache_kafka, spark_connector
from tests.interop.maven import are_fetched

from benchmarks.report import Row
from benchmarks.spark_topics import PARTITIONS, best_seconds, fill, to_nowhere
from kafkawire.client._admin.types import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.spark import build_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SIZES: Final = ((100, 150), (1024, 200))
"""Bytes of a value, and megabytes of all of them."""


def rows() -> Iterator[Row]:
    if not all(are_fetched(each.JARS) for each in (apache_kafka, spark_connector)):
        yield Row("our Spark source beside Spark's own", "not fetched", float("nan"), note="make interop fetches it")
        return
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    settings = {"spark.driver.memory": "2g", **spark_connector.session_settings()}
    spark = build_session("local[2]", settings=settings, log_file=root / "spark.log")
    try:
        with apache_kafka.ApacheKafka().broker(root) as address:
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
    ours, theirs = best_seconds({form: partial(to_nowhere, frame) for form, frame in frames.items()})
    note = f"{count / ours / 1e6:.2f} M rows/s against {count / theirs / 1e6:.2f} M"
    yield Row(f"Apache Kafka to noop, {size}-byte values", "x Spark's own", theirs / ours, 1.0, note=note)
