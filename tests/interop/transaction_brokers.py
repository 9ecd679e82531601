"""Our broker and Apache Kafka behind the fixtures of tests/broker/clients, so that the same tests run on both."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from kafkawire.client import Admin, NewTopic
from kafkawire.messages.errors import UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

ON_BOTH_BROKERS = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(params=["our_broker", "apache_kafka"])
def kafka_broker(request: pytest.FixtureRequest) -> ApacheBroker | OurBroker:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]  # the name is a parameter


@pytest.fixture
def kafka_topic(kafka_broker: ApacheBroker | OurBroker) -> Iterator[str]:
    """A topic of this test, with one partition."""
    name = f"transactions-{uuid4().hex}"

    async def prepare(*, is_over: bool) -> None:
        async with Admin(bootstrap_servers=kafka_broker.bootstrap) as admin:
            if is_over:
                with suppress(UnknownTopicOrPartitionError):
                    await admin.delete_topics([name])
            else:
                await admin.create_topics([NewTopic(name, 1)])

    asyncio.run(prepare(is_over=False))
    yield name
    asyncio.run(prepare(is_over=True))
