"""The incidents of the demo, and the diagnosis rule that must find each.

Rules:
- A client or a broker response causes the incident, as in practice. Nothing is written into tables.
- Records that an incident sends are compared as all others.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._demo.clients import PATIENCE, sender
from kafkawire._demo.events import ORDERS, PAYMENTS, orders
from kafkawire.client import Consumer, Producer, TopicPartition
from kafkawire.client.errors import ClientError
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire._demo.stage import Stage
    from kafkawire._demo.traffic import SentEvents

_STARTS: Final = 5
_TRIES: Final = 3
_POISON: Final = 500


class Incident(NamedTuple):
    """An incident."""

    what: str
    rule: str
    act: Callable[[Stage], SentEvents]


def _crash_loop(stage: Stage) -> SentEvents:
    async def live_shortly() -> None:
        async with Consumer(
            ORDERS, bootstrap_servers=stage.bootstrap, client_id="shipping-7f9c", group_id="shipping"
        ) as consumer:
            async with asyncio.timeout(PATIENCE):
                while not consumer.assignment():
                    await consumer.getmany(timeout_ms=50)

    for _ in range(_STARTS):
        asyncio.run(live_shortly())
    return []


def _misspelt_topic(stage: Stage) -> SentEvents:
    async def ask() -> None:
        async with Producer(
            bootstrap_servers=stage.bootstrap, client_id="coupons", max_block_ms=1_000, retry_backoff_max_ms=100
        ) as producer:
            with suppress(KafkaError, ClientError):
                await producer.send_and_wait("shop.oders", b"10 % off")

    asyncio.run(ask())
    return []


def _health_check(stage: Stage) -> SentEvents:
    host, _, port = stage.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: kafka\r\n\r\n")
        with suppress(ConnectionError):
            connection.recv(1)
    return []


def _slow_disk(stage: Stage) -> SentEvents:
    stage.broker.delay_next("Produce", 1.2)
    return _late_orders(stage, 5)


def _moving_leader(stage: Stage) -> SentEvents:
    stage.broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=6)
    return _late_orders(stage, 6)


def _late_orders(stage: Stage, seed: int) -> SentEvents:
    events = list(orders(200, time.time_ns() // 1_000_000, seed))
    places = sender("kafkawire").send(stage.bootstrap, "checkout", "zstd", events)
    return list(zip(events, places, strict=True))


def _huge_order(stage: Stage) -> SentEvents:
    async def send() -> None:
        async with Producer(
            bootstrap_servers=stage.bootstrap, client_id="checkout", max_request_size=1 << 22
        ) as producer:
            with suppress(KafkaError):
                await producer.send_and_wait(ORDERS, random.Random(8).randbytes(1_200_000), b"customer-1")

    asyncio.run(send())
    return []


def _poison(stage: Stage) -> SentEvents:
    async def fail() -> None:
        async with Consumer(bootstrap_servers=stage.bootstrap, client_id="fraud-check") as consumer:
            place = TopicPartition(PAYMENTS, 0)
            consumer.assign([place])
            for _ in range(_TRIES):
                consumer.seek(place, _POISON)
                await consumer.getmany(timeout_ms=10_000, max_records=1)

    asyncio.run(fail())
    return []


INCIDENTS: Final = (
    Incident("a worker that dies after its first poll, and is restarted repeatedly", "rebalance-storm", _crash_loop),
    Incident("a producer with a misspelt topic", "unknown-topic", _misspelt_topic),
    Incident("a health check over HTTP on the broker's port", "closed-not-kafka", _health_check),
    Incident("a disk that stalls", "slow-api", _slow_disk),
    Incident("a leader that moves", "leader-churn", _moving_leader),
    Incident("an order larger than the topic allows", "oversized-records", _huge_order),
    Incident("a consumer that fails on a record, and goes back to it", "offset-reset", _poison),
)
