"""The pytest plugin: a Kafka broker as a fixture.

Rules:
- `kafka_broker` is new for every test, in memory, and starts in milliseconds.
- `kafka_topic` is a topic in it, named after the test.
- `kafka_broker_session` is one broker for the whole run, for tests that share it; each uses topics of its own.
- `async_kafka_broker` is the same as `kafka_broker`, with coroutines for the calls that wait.
- `schema_registry` is a Schema Registry that keeps its data in `kafka_broker`.
- A fault that no request met fails its test, also with the broker that the whole run shares. It is not reported if the
  test has failed already.
- An error of a function that answered requests fails the test.
- `kafka_broker_factory` starts brokers with settings or data directories, and stops them after the test.
- The broker is imported when a test first uses one.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from kafkawire.testing._async_broker import AsyncBroker
    from kafkawire.testing._fault_calls import FaultCalls
    from kafkawire.testing._registry import RunningRegistry
    from kafkawire.testing._running import RunningBroker

LONGEST_NAME = 249
_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether a test failed, for the check of its faults."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Check the faults that a test ordered on the broker that all tests share, after its fixtures have ended."""
    broker = getattr(item, "funcargs", {}).get("kafka_broker_session")
    yield
    if broker is not None:
        _check_faults(broker, item)


def _check_faults(faults: FaultCalls, item: pytest.Item) -> None:
    from kafkawire.testing._orders import UnusedFaultError

    if item.stash.get(_FAILED, False):
        faults.clear_faults()
    try:
        faults.check_faults()
    except UnusedFaultError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def kafka_broker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., RunningBroker]]:
    """Start brokers: `kafka_broker_factory(data_dir=..., config={...}, security=..., users={...}, acls=[...])`."""
    from kafkawire.testing._running import RunningBroker

    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RunningBroker:
            broker = RunningBroker(*args, **kwargs)
            stack.callback(_check_faults, broker, request.node)
            stack.callback(broker.stop)
            broker.start()
            return broker

        yield make


@pytest.fixture
def kafka_broker(kafka_broker_factory: Callable[..., RunningBroker]) -> RunningBroker:
    """A broker for this test; `kafka_broker.bootstrap_servers` is its address."""
    return kafka_broker_factory()


@pytest.fixture(scope="session")
def kafka_broker_session() -> Iterator[RunningBroker]:
    """A broker that all tests of a run share."""
    from kafkawire.testing._running import RunningBroker

    with RunningBroker() as broker:
        yield broker


@pytest.fixture
def async_kafka_broker(kafka_broker_factory: Callable[..., RunningBroker]) -> AsyncBroker:
    """A broker for this test, with coroutines; `async_kafka_broker.bootstrap_servers` is its address."""
    from kafkawire.testing._async_broker import AsyncBroker

    return AsyncBroker.of(kafka_broker_factory())


@pytest.fixture
def schema_registry(kafka_broker: RunningBroker) -> Iterator[RunningRegistry]:
    """A Schema Registry for this test, beside `kafka_broker`; `schema_registry.url` is its address."""
    from kafkawire.testing._registry import RunningRegistry

    with RunningRegistry(kafka_broker) as registry:
        yield registry


@pytest.fixture
def kafka_topic(kafka_broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    """The name of a topic in `kafka_broker`, with one partition."""
    name = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")[:LONGEST_NAME]
    kafka_broker.create_topic(name)
    return name
