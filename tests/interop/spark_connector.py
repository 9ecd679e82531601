"""Spark with its own Kafka connector, fetched from Maven Central, beside ours in one session.

Rules:
- The connector is the newest that all registries have; it runs on the PySpark that is installed.
- Both get the same set of options; only the word of the format differs.
- Rows are compared with all their columns, in the order in which each partition gave them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.interop.maven import fetch_jars
from tests.spark.shared_session import SETTINGS

from kafkawire.spark import build_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

OURS: Final = "kafkawire"
THEIRS: Final = "kafka"
POM: Final = Path(__file__).with_name("spark_pom.xml")
JARS: Final = Path(__file__).parents[2] / "build" / "interop" / "spark"
_NEEDED: Final = ("spark-sql-kafka-*", "spark-token-provider-kafka-*", "kafka-clients-*", "commons-pool2-*")


def session_settings() -> dict[str, str]:
    """The settings that a session needs for the connector."""
    fetch_jars(POM, JARS, "Spark's Kafka connector")
    found = [str(jar) for name in _NEEDED for jar in JARS.glob(f"{name}.jar")]
    return {"spark.jars": ",".join(found), "spark.driver.extraClassPath": ":".join(found)}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with both formats, `kafka` and `kafkawire`."""
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    return build_session("local[2]", settings={**SETTINGS, **session_settings()}, log_file=log)


def load(spark: SparkSession, form: str, address: str, options: Mapping[str, str]) -> DataFrame:
    """A batch read."""
    return spark.read.format(form).option("kafka.bootstrap.servers", address).options(**options).load()


def rows_of(frame: DataFrame) -> dict[tuple[str, int], list[tuple[Any, ...]]]:
    """All columns of all rows, by topic and partition, in the order they came in."""
    found: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
    for row in frame.collect():
        found.setdefault((row.topic, row.partition), []).append(tuple(row))
    return found


@dataclass
class Streamed:
    """The result of a stream: the rows of each trigger in order, and where each trigger ended."""

    batches: list[list[tuple[Any, ...]]]
    ends: list[dict[str, dict[str, int]]]


def stream(
    spark: SparkSession, form: str, address: str, checkpoint: Path, options: Mapping[str, str], columns: Sequence[str]
) -> Streamed:
    """Read what is there now as a stream that ends with it, from the checkpoint on if there is one."""
    batches: list[list[tuple[Any, ...]]] = []
    frame = spark.readStream.format(form).option("kafka.bootstrap.servers", address).options(**options).load()

    def keep(batch: DataFrame, _: int) -> None:
        batches.append(sorted(tuple(row) for row in batch.select(*columns).collect()))

    query: StreamingQuery = (
        frame.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    ends = [json.loads(each.sources[0].endOffset) for each in query.recentProgress if each.numInputRows]
    return Streamed(batches, [{name: end for name, end in each.items() if name != "@start"} for each in ends])
