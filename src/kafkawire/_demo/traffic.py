"""The traffic of the shop: four producers and four consumer groups at the same time.

Rules:
- Every event is kept with the place that the broker returned.
- Every group reads its topic to the end, so that the recording has each record twice: produced and fetched.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._demo.clients import PATIENCE, Tally, reader, sender
from kafkawire._demo.events import CLICKS, ORDERS, PAYMENTS, STOCK, TOPICS, clicks, orders, payments, stock
from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkawire._demo.clients import RecordPlace
    from kafkawire._demo.events import Event

    SentEvents = list[tuple[Event, RecordPlace]]


class Role(NamedTuple):
    """The traffic of a topic: its producer, the number of records, its group and the number of members."""

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
    """Create the topics of the shop."""
    with Admin(bootstrap_servers=bootstrap, client_id="setup") as admin:
        admin.create_topics(
            [
                NewTopic(name=topic, num_partitions=partitions, topic_configs=configs)
                for topic, (partitions, configs) in TOPICS.items()
            ]
        )


def run_traffic(bootstrap: str, roles: Sequence[Role]) -> SentEvents:
    """Send and read all events; returns them with their places."""
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
    """Read a topic from its beginning with one more group, to fetch records sent after the others left."""
    tally = Tally(amount)
    tally.expect_within(PATIENCE)
    reader("kafkawire").read(bootstrap, "archive-0", "archive", [topic], tally)


def _read(bootstrap: str, role: Role, number: int, tally: Tally) -> None:
    reader(role.reads_with).read(bootstrap, f"{role.group}-{number}", role.group, [role.topic], tally)


def _send(bootstrap: str, role: Role, now: int) -> SentEvents:
    events = list(role.events(role.amount, now))
    places = sender(role.sends_with).send(bootstrap, role.sender, role.codec, events)
    return list(zip(events, places, strict=True))
