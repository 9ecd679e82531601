"""Tests against other implementations run only when they are asked for: `pytest -m interop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.interop.apache_kafka import ApacheBroker, ApacheKafka, every_release
from tests.interop.client_broker import strict_kafka
from tests.interop.our_broker import OurBroker
from tests.interop.spark_brokers import filled, filled_broker, logs, transactions
from tests.interop.spark_connector import spark

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["filled", "filled_broker", "logs", "spark", "strict_kafka", "transactions"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "interop" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("interop")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("interop")]


@pytest.fixture(scope="session")
def kafka() -> ApacheKafka:
    return ApacheKafka()


@every_release
def each_kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    """One broker of each release that tests compare with."""
    settings = {
        "log.initial.task.delay.ms": "3600000"
    }  # otherwise retention removes old records of questions after 30 s
    broker = ApacheBroker(ApacheKafka(request.param), tmp_path_factory.mktemp("release"), settings=settings)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def our_twin(each_kafka: ApacheBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One `kafkawire serve` beside each of them, as new as it."""
    broker = OurBroker(tmp_path_factory.mktemp("twin"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def apache_kafka(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    """One broker of Apache Kafka for all tests that ask for it: `.bootstrap`, `.data_dir`, `.restart()`."""
    broker = ApacheBroker(kafka, tmp_path_factory.mktemp("apache"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def our_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One `kafkawire serve` for all tests that ask for it: `.bootstrap`, `.data_dir`, `.restart()`."""
    broker = OurBroker(tmp_path_factory.mktemp("ours"))
    broker.start()
    yield broker
    broker.stop()
