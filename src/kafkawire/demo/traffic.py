"""A day of the shop, in seconds: four producers and four groups of consumers at once, over the wire.

Rules:
- What each producer sent is kept with the place that the broker gave it.
- Every group reads its topic to the end, so that a recording holds each record twice: sent, and fetched.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.demo.clients import PATIENCE, Tally, reader, sender
from kafkawire.demo.events import CLICKS, ORDERS, PAYMENTS, STOCK, TOPICS, clicks, orders, payments, stock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkawire.demo.clients import Place
    from kafkawire.demo.events import Event

    Sent = list[tuple[Event, Place]]


class Role(NamedTuple):
    """A topic's traffic: who sends how much, who reads it with how many members."""

    topic: str
    events: Callable[[int, int], Iterator[Event]]
    amount: int
    sender: str
    sends_with: str
    codec: str
    group: str
    reads_with: str
    members: int


ROLES: Final = (
    Role(ORDERS, orders, 20_000, "checkout", "confluent_kafka", "zstd", "billing", "confluent_kafka", 2),
    Role(CLICKS, clicks, 30_000, "web", "aiokafka", "lz4", "analytics", "aiokafka", 1),
    Role(PAYMENTS, payments, 6_000, "bank", "kafka", "gzip", "ledger", "aiokafka", 1),
    Role(STOCK, stock, 12_000, "warehouse", "kafkawire", "snappy", "catalogue", "kafkawire", 1),
)


def create_topics(bootstrap: str) -> None:
    """Make the shop's topics."""
    with Admin(bootstrap_servers=bootstrap, client_id="setup") as admin:
        admin.create_topics(
            [
                NewTopic(name=topic, num_partitions=partitions, topic_configs=configs)
                for topic, (partitions, configs) in TOPICS.items()
            ]
        )


def run_traffic(bootstrap: str, roles: Sequence[Role]) -> Sent:
    """Send and read everything; what was sent, and where it went."""
    now = time.time_ns() // 1_000_000
    work = [(role, Tally(role.amount)) for role in roles]
    with ThreadPoolExecutor(16) as pool:
        reading = [
            pool.submit(_read, bootstrap, role, number, tally) for role, tally in work for number in range(role.members)
        ]
        patience = 0.0
        try:
            sent = list(pool.map(lambda role: _send(bootstrap, role, now), roles))
            patience = PATIENCE
        finally:
            for _, tally in work:
                tally.expect_within(patience)
        for each in reading:
            each.result()
    return [each for by_role in sent for each in by_role]


def read_again(bootstrap: str, topic: str, amount: int) -> None:
    """Let one more group read a topic from its beginning, and so what was sent after the others left."""
    tally = Tally(amount)
    tally.expect_within(PATIENCE)
    reader("kafkawire").read(bootstrap, "archive-0", "archive", [topic], tally)


def _read(bootstrap: str, role: Role, number: int, tally: Tally) -> None:
    reader(role.reads_with).read(bootstrap, f"{role.group}-{number}", role.group, [role.topic], tally)


def _send(bootstrap: str, role: Role, now: int) -> Sent:
    events = list(role.events(role.amount, now))
    places = sender(role.sends_with).send(bootstrap, role.sender, role.codec, events)
    return list(zip(events, places, strict=True))
