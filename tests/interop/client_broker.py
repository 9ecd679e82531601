"""Apache Kafka behind the fixtures of tests/client, so that the same tests run on it.

Rules:
- A broker of their own that creates no topic by itself, as the embedded one in those tests; a module leaves no topic.
- Tests that need the embedded broker are skipped here, by name.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.client.test_consumer_protocol import QUICK_GROUPS
from tests.client.test_share_consumer import QUICK_SHARES
from tests.client.topics import Topics
from tests.interop.apache_kafka import ApacheBroker, ApacheKafka, every_release

from kafkawire.client import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ON_APACHE_KAFKA = [pytest.mark.interop, pytest.mark.timeout(300)]
STRICT = {"auto.create.topics.enable": "false"}


class ApacheTopics(Topics):
    """Apache Kafka, as tests of the clients see a broker."""

    def connections_made(self) -> int:
        pytest.skip("Apache Kafka does not tell how many connections it took")

    def delete_topics(self) -> None:
        async def main() -> None:
            async with Admin(bootstrap_servers=self.bootstrap) as admin:
                await admin.delete_topics(await admin.list_topics())

        asyncio.run(main())


@every_release
def strict_kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    running = ApacheBroker(ApacheKafka(request.param), tmp_path_factory.mktemp("strict"), settings=STRICT)
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker(strict_kafka: ApacheBroker) -> Iterator[ApacheTopics]:
    topics = ApacheTopics(strict_kafka.bootstrap)
    yield topics
    topics.delete_topics()
    topics.close()


@pytest.fixture(scope="module")
def quick_broker(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheTopics]:
    """The newest release, with the short intervals of the tests of consumer groups."""
    running = ApacheBroker(kafka, tmp_path_factory.mktemp("quick"), settings=STRICT | QUICK_GROUPS | QUICK_SHARES)
    running.start()
    topics = ApacheTopics(running.bootstrap)
    yield topics
    topics.close()
    running.stop()


@pytest.fixture
def restartable(kafka: ApacheKafka, tmp_path: Path) -> Iterator[ApacheBroker]:
    running = ApacheBroker(kafka, tmp_path, settings=STRICT)
    running.start()
    yield running
    running.stop()
