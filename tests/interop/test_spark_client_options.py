"""The options of Java's clients given to Spark's own Kafka connector and to ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.interop.spark_client_cases import (
    CONSUMER,
    CONTROLLED,
    IGNORED_BY_CONSUMER,
    IGNORED_BY_PRODUCER,
    IGNORED_OF_SECURITY,
    PRODUCER,
    REFUSED_OF_SECURITY,
    USED_OF_SECURITY,
)
from tests.interop.spark_connector import OURS, THEIRS, load, rows_of
from tests.interop.spark_write_cases import BOTH, TO, Write
from tests.interop.test_spark_writes_alike import write

from kafkawire.client.option_names import unknown_option
from kafkawire.client.options import ConsumerOptions, ProducerOptions
from kafkawire.spark import SourceOptionError
from kafkawire.spark._topics.options import client_config, without_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from kafkawire.client.options import ClientOptions

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
KINDS: list[tuple[type[ClientOptions], Mapping[str, str], Mapping[str, str]]] = [
    (ConsumerOptions, CONSUMER, IGNORED_BY_CONSUMER),
    (ProducerOptions, PRODUCER, IGNORED_BY_PRODUCER),
]


def named(options: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in options.items()}


def test_all_options_of_a_consumer_change_no_row(spark: SparkSession, filled: str) -> None:
    options = {"assign": '{"spark-plain":[0,1]}'} | named(CONSUMER | IGNORED_BY_CONSUMER | IGNORED_OF_SECURITY)
    ours, theirs = (rows_of(load(spark, form, filled, options)) for form in (OURS, THEIRS))
    assert sum(map(len, theirs.values())) == 107
    assert ours == theirs


def test_all_options_of_a_producer_change_no_row(spark: SparkSession, filled: str) -> None:
    options = {**TO} | named(PRODUCER | IGNORED_BY_PRODUCER | IGNORED_OF_SECURITY)
    ours, theirs = (write(spark, form, filled, Write(BOTH, options)) for form in (OURS, THEIRS))
    assert len(theirs) == 20
    assert ours == theirs


@pytest.mark.parametrize(("kind", "used", "ignored"), KINDS)
def test_each_option_is_used_or_ignored_as_the_table_says(
    kind: type[ClientOptions], used: Mapping[str, str], ignored: Mapping[str, str]
) -> None:
    given = {**named({**used, **ignored, **IGNORED_OF_SECURITY}), "kafka.bootstrap.servers": "k:9092"}
    found = without_unknown(kind, client_config(given, {}))
    # the strategy of a group is not an option of our consumer that Spark uses
    assert found.keys() == {"bootstrap.servers"} | {name for name in used if unknown_option(kind, name) is None}
    assert not [name for name in (*ignored, *IGNORED_OF_SECURITY) if unknown_option(kind, name) is None]


@pytest.mark.parametrize("name", REFUSED_OF_SECURITY)
def test_options_that_would_change_the_security_are_refused(spark: SparkSession, filled: str, name: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises((PySparkException, SourceOptionError), match=name):
        load(spark, OURS, filled, {"subscribe": "spark-plain", f"kafka.{name}": "true"}).collect()


@pytest.mark.parametrize("side", ["consumer.Consumer", "producer.Producer"])
def test_the_tables_have_every_option_of_javas_clients(spark: SparkSession, side: str) -> None:
    jvm = spark._jvm
    assert jvm is not None
    config = getattr(jvm.org.apache.kafka.clients, side.partition(".")[0])
    names = set(getattr(config, f"{side.rpartition('.')[2]}Config").configNames())
    _, used, ignored = KINDS[side.startswith("producer")]
    known = {*used, *ignored, *IGNORED_OF_SECURITY, *REFUSED_OF_SECURITY, *USED_OF_SECURITY, *CONTROLLED}
    assert len(names) > 90
    assert names - known == set()
