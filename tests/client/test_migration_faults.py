"""A group whose members change between the classic and the consumer protocol, while connections and brokers fail.

KAFKAWIRE_FAULT_ROUNDS sets the number of faults. Rules that hold in the end:
- Every record was delivered to somebody.
- The members that are left share all partitions, and nobody else has one, whatever protocols they speak.
- Committed offsets never went back.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.proxy import FaultyProxy
from tests.client.test_consumer_protocol import QUICK_GROUPS
from tests.client.test_group import until
from torture.victim import Victim

from kafkawire.client import Admin, Consumer, NewTopic, Producer, TopicPartition
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = int(os.environ.get("KAFKAWIRE_FAULT_ROUNDS", "8"))
PARTITIONS, MOST_MEMBERS = 4, 4
SETTINGS = {
    **QUICK_GROUPS,
    "group.consumer.session.timeout.ms": "4000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.min.session.timeout.ms": "1000",
}
Place = tuple[int, int]


class Reader:
    """A member of either protocol that reads and commits until it is stopped."""

    def __init__(self, port: int, seen: set[Place], protocol: str) -> None:
        self.protocol = protocol
        self.proxy = FaultyProxy(port)
        self._seen = seen
        self._stop = asyncio.Event()
        self.consumer: Consumer | None = None
        self._task = asyncio.create_task(self._work())

    @property
    def assignment(self) -> set[TopicPartition]:
        return set() if self.consumer is None else self.consumer.assignment()

    async def leave(self) -> None:
        self._stop.set()
        await self._task

    async def vanish(self) -> None:
        """End without a word that arrives: the group learns of it when the session is over."""
        self.proxy.refuses = True
        self.proxy.cut()
        await self.leave()

    async def _work(self) -> None:
        async with self.proxy:
            while not self._stop.is_set():
                try:
                    async with consumer(self.proxy.bootstrap, self.protocol) as self.consumer:
                        while not self._stop.is_set():
                            await self._read(self.consumer)
                except (KafkaWireError, OSError):
                    await asyncio.sleep(0.05)

    async def _read(self, one: Consumer) -> None:
        for place, records in (await one.getmany(timeout_ms=100)).items():
            self._seen.update((place.partition, record.offset) for record in records)


def consumer(bootstrap: str, protocol: str) -> Consumer:
    settings: dict[str, Any] = {
        "group_id": "g",
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": 50,
        "fetch_max_wait_ms": 50,
        "retry_backoff_ms": 10,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
        "request_timeout_ms": 5_000,
        "default_api_timeout_ms": 5_000,
    }
    if protocol == "classic":
        settings |= {
            "heartbeat_interval_ms": 50,
            "session_timeout_ms": 4_000,
            "partition_assignment_strategy": "cooperative-sticky",
        }
    return Consumer("t", bootstrap_servers=bootstrap, **settings)


class Writer:
    """Appends records all the time."""

    def __init__(self, bootstrap: str) -> None:
        self.written: set[Place] = set()
        self._bootstrap = bootstrap
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        settings: dict[str, Any] = {"retry_backoff_ms": 10, "reconnect_backoff_ms": 10, "linger_ms": 0}
        async with Producer(bootstrap_servers=self._bootstrap, **settings) as producer:
            number = 0
            while not self._stop.is_set():
                done = await producer.send_and_wait("t", b"x", partition=number % PARTITIONS)
                self.written.add((done.partition, done.offset))
                number += 1
                await asyncio.sleep(0.005)

    async def finish(self) -> None:
        self._stop.set()
        await self._task


class Commits:
    """Looks at the committed offsets again and again."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._last: dict[TopicPartition, int] = {}

    async def check(self) -> None:
        for place, commit in (await self._admin.list_group_offsets("g")).items():
            assert commit.offset >= self._last.get(place, 0), f"{place} went back"
            self._last[place] = commit.offset


@pytest.mark.parametrize("seed", [1, 2])
def test_records_and_owners_survive_faults_amid_migrations(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)

    async def fault(victim: Victim, readers: list[Reader], seen: set[Place]) -> None:
        proxy = dice.choice(readers).proxy
        kind = dice.choice(["join", "join", "leave", "vanish", "cut", "swallow", "kill"])
        if kind in ("leave", "vanish") and len(readers) > 1:
            gone = readers.pop(dice.randrange(len(readers)))
            await (gone.leave() if kind == "leave" else gone.vanish())
        elif kind == "cut":
            proxy.cut()
        elif kind == "swallow":
            proxy.swallows_answers = True
            await asyncio.sleep(dice.uniform(0.01, 0.3))
            proxy.swallows_answers = False
            proxy.cut()
        elif kind == "kill":
            victim.kill()
            await asyncio.to_thread(victim.start)
        elif len(readers) < MOST_MEMBERS:
            readers.append(Reader(victim.port, seen, dice.choice(["classic", "consumer"])))

    async def main() -> None:
        seen: set[Place] = set()
        with Victim(tmp_path, SETTINGS) as victim:
            victim.start()
            async with Admin(bootstrap_servers=victim.bootstrap) as admin:
                await admin.create_topics([NewTopic(name="t", num_partitions=PARTITIONS)])
                writer, commits = Writer(victim.bootstrap), Commits(admin)
                readers = [Reader(victim.port, seen, protocol) for protocol in ("classic", "consumer")]
                for _ in range(FAULTS):
                    await fault(victim, readers, seen)
                    if dice.random() < 0.7:
                        before = len(seen)
                        await until(lambda before=before: len(seen) > before)  # type: ignore[misc]
                        await commits.check()
                await writer.finish()
                await until(lambda: writer.written <= seen)
                await until(lambda: shared(readers))
                await commits.check()
                await asyncio.gather(*(each.leave() for each in readers))
            assert not victim.faults

    asyncio.run(main())


def shared(readers: list[Reader]) -> bool:
    """Whether every partition has one owner."""
    owned = [place for each in readers for place in each.assignment]
    return len(owned) == len(set(owned)) == PARTITIONS
