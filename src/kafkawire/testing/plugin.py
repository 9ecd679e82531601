"""The pytest plugin: a Kafka broker as a fixture.

Rules:
- `kafka_broker` is fresh for every test, in memory, and starts in milliseconds.
- `kafka_topic` is a topic of its own in it, named after the test.
- `kafka_broker_factory` makes brokers with settings or data directories, and stops them with the test.
- Nothing of the broker is imported before a test asks for one.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.testing.running import RunningBroker

LONGEST_NAME = 249


@pytest.fixture
def kafka_broker_factory() -> Iterator[Callable[..., RunningBroker]]:
    """Make brokers: `kafka_broker_factory(data_dir=..., config={...})`."""
    from kafkawire.testing.running import RunningBroker

    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RunningBroker:
            return stack.enter_context(RunningBroker(*args, **kwargs))

        yield make


@pytest.fixture
def kafka_broker(kafka_broker_factory: Callable[..., RunningBroker]) -> RunningBroker:
    """A broker of this test's own; `kafka_broker.bootstrap_servers` is for clients."""
    return kafka_broker_factory()


@pytest.fixture
def kafka_topic(kafka_broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    """The name of a topic in `kafka_broker`, with one partition."""
    name = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")[:LONGEST_NAME]
    kafka_broker.create_topic(name)
    return name
