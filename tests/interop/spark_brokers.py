"""The brokers whose topics both connectors read: Apache Kafka and ours, filled alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.interop.filled_topics import fill_topics, run_transactions

from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheBroker


@dataclass
class FilledBroker:
    """The address of a broker, and the directory of its log files."""

    address: str
    data_dir: Path


@pytest.fixture(scope="session", params=["apache", "ours"])
def filled_broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledBroker]:
    """Each broker in turn."""
    if request.param == "apache":
        apache = request.getfixturevalue("apache_kafka")
        fill_topics(apache.bootstrap)
        yield FilledBroker(apache.bootstrap, apache.data_dir)
        return
    directory = tmp_path_factory.mktemp("ours")
    with RunningBroker(data_dir=directory) as broker:
        fill_topics(broker.bootstrap_servers)
        yield FilledBroker(broker.bootstrap_servers, directory)


@pytest.fixture
def filled(filled_broker: FilledBroker) -> str:
    """The address of a broker with topics."""
    return filled_broker.address


@pytest.fixture
def logs(filled_broker: FilledBroker) -> Path:
    """Its log files."""
    return filled_broker.data_dir


@pytest.fixture(scope="session")
def transactions(apache_kafka: ApacheBroker) -> str:
    """A topic of Apache Kafka with transactions: one committed, one aborted, one still open."""
    topic = "spark-transactions"
    run_transactions(apache_kafka.bootstrap, topic)
    return topic
