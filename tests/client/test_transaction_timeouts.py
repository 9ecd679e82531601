"""Transactions that stay open longer than their timeout: the broker ends them, and the producer learns it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

from kafkawire.client import (
    AbortableTransactionError,
    BulkReader,
    FatalTransactionError,
    FencedError,
    Producer,
    blocking,
)
from kafkawire.client._transactions import manager
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_MS = 200


@pytest.fixture(scope="module")
def running() -> Iterator[RunningBroker]:
    with RunningBroker(config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "50"}) as broker:
        yield broker


def until_aborted(broker: RunningBroker, transactional_id: str) -> None:
    with blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        until(lambda: admin.describe_transactions([transactional_id])[0].state == "CompleteAbort")


def committed(broker: RunningBroker, topic: str) -> list[bytes | None]:
    with BulkReader(broker.bootstrap_servers, isolation_level="read_committed") as reader:
        return [value for batch in reader.read(topic, 0, 0) for value in batch.column("value").to_pylist()]


@pytest.mark.parametrize("protocol", ["v2", "v1"])
def test_a_producer_whose_transaction_timed_out_learns_it_from_the_next_record(
    running: RunningBroker, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if protocol == "v1":
        monkeypatch.setattr(manager, "_ADDS_BY_ITSELF", 99)
    topic = named = f"late-{protocol}"
    running.create_topic(topic)

    async def main() -> None:
        options: Any = {"transactional_id": named, "transaction_timeout_ms": TIMEOUT_MS}
        async with Producer(bootstrap_servers=running.bootstrap_servers, **options) as producer:
            await producer.begin()
            await producer.send_and_wait(topic, b"early")
            await asyncio.to_thread(until_aborted, running, named)
            await producer.send(topic, b"late")
            with pytest.raises(AbortableTransactionError, match="INVALID_PRODUCER_EPOCH"):
                await producer.commit()
            if protocol == "v1":
                with pytest.raises(FencedError):  # the coordinator has raised the epoch, and does not name it
                    await producer.abort()
                return
            await producer.abort()
            async with producer.transaction():
                await producer.send(topic, b"next")

    asyncio.run(main())
    assert committed(running, topic) == ([b"next"] if protocol == "v2" else [])


@pytest.mark.parametrize("protocol", ["v2", "v1"])
def test_a_commit_after_the_timeout_is_refused(
    running: RunningBroker, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if protocol == "v1":
        monkeypatch.setattr(manager, "_ADDS_BY_ITSELF", 99)
    topic = named = f"refused-{protocol}"
    running.create_topic(topic)
    options: Any = {"transactional_id": named, "transaction_timeout_ms": TIMEOUT_MS}
    with blocking.Producer(bootstrap_servers=running.bootstrap_servers, **options) as producer:
        producer.begin()
        producer.send_and_wait(topic, b"early")
        until_aborted(running, named)
        with pytest.raises(FatalTransactionError):
            producer.commit()
    assert committed(running, topic) == []


def test_a_prepared_transaction_is_aborted_after_its_timeout(running: RunningBroker) -> None:
    topic = named = "prepared"
    running.create_topic(topic)
    options: Any = {"transactional_id": named, "transaction_timeout_ms": TIMEOUT_MS}
    with blocking.Producer(bootstrap_servers=running.bootstrap_servers, **options) as producer:
        producer.begin()
        producer.send_and_wait(topic, b"early")
        prepared = producer.prepare()
        assert prepared is not None
    until_aborted(running, named)
    with blocking.Admin(bootstrap_servers=running.bootstrap_servers) as admin:
        with pytest.raises(FatalTransactionError):
            admin.end_transaction(prepared, commit=True)
        admin.end_transaction(prepared, commit=False)
    assert committed(running, topic) == []


def test_a_timeout_beyond_the_limit_of_the_broker_is_refused_at_the_start(running: RunningBroker) -> None:
    with pytest.raises(FatalTransactionError, match="INVALID_TRANSACTION_TIMEOUT"):
        blocking.Producer(
            bootstrap_servers=running.bootstrap_servers, transactional_id="t", transaction_timeout_ms=900_001
        )
