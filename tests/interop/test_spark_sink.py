"""Exactly-once sinks of Spark on Apache Kafka: commits by both protocols of transactions, and killed streams."""

from __future__ import annotations

import logging
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.interop.apache_kafka import ApacheBroker
from tests.spark import test_exactly_once_cluster as on_a_cluster
from tests.spark.test_exactly_once_cluster import Sink, forget
from torture.scenario import Stage
from torture.sinks import Sinks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = pytest.mark.interop
_numbers = iter(range(1_000_000))

for _name, _test in vars(on_a_cluster).items():
    if _name.startswith("test_"):
        globals()[_name] = _test


@pytest.fixture
def sink(each_kafka: ApacheBroker) -> Iterator[Sink]:
    """The sink of those tests, on each release: one speaks transactions v2 (KIP-890), an older one v0."""
    yield Sink(each_kafka.bootstrap_servers, str(next(_numbers)))
    forget()


def test_a_stream_whose_driver_and_broker_are_killed_writes_every_record_once(
    kafka: ApacheKafka, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, Random(7), logging.getLogger("torture").info)
    broker = ApacheBroker(kafka, tmp_path)
    broker.start()
    try:
        Sinks(kills=2, records=3_000).play(broker, broker.bootstrap_servers, tmp_path, Random(7), stage)
    finally:
        broker.kill()
    assert stage.figures.get("records copied once") == 6_000
