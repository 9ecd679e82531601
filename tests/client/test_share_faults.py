"""Members of a share group while connections break, answers are lost, locks end, and the broker is killed.

KAFKAWIRE_FAULT_ROUNDS sets the number of faults. Rules that hold all the while:
- A record whose acceptance or rejection was confirmed never comes again, also not to a member that joins later.
- No record is delivered more often than the group allows.
- Every other record is delivered in the end.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.proxy import FaultyProxy
from tests.client.test_group import until
from tests.client.test_share_consumer import QUICK_SHARES
from torture.victim import Victim

from kafkawire.client import (
    AcknowledgeType,
    Admin,
    ConfigResource,
    NewTopic,
    Producer,
    ResourceType,
    ShareConsumer,
)
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.client import ShareRecord, TopicPartition

RECORDS, PARTITIONS, LIMIT = 3_000, 2, 10
FAULTS = int(os.environ.get("KAFKAWIRE_FAULT_ROUNDS", "12"))
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
Place = tuple[int, int]


class History:
    """The records that members were given, and those whose end a broker confirmed."""

    def __init__(self) -> None:
        self.finished: set[Place] = set()
        self.unsure: set[Place] = set()
        """Records whose acceptance may be stored."""
        self.counts: dict[Place, int] = {}

    def deliver(self, record: ShareRecord) -> None:
        place = record.partition, record.offset
        assert 1 <= record.delivery_count <= LIMIT
        self.counts[place] = max(self.counts.get(place, 0), record.delivery_count)


class Member:
    """A member in explicit mode that does anything with what it gets."""

    def __init__(self, history: History, dice: random.Random, bootstrap: str) -> None:
        self.history = history
        self.dice = dice
        self.bootstrap = bootstrap
        self.sent: dict[Place, AcknowledgeType] = {}

    async def work(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                async with consumer(self.bootstrap) as one:
                    one.set_acknowledgement_callback(self._confirm)
                    for _ in range(self.dice.randint(5, 60)):
                        if stop.is_set():
                            break
                        await self._turn(one)
            except (KafkaWireError, OSError):
                await asyncio.sleep(0.05)

    async def _turn(self, one: ShareConsumer) -> None:
        records = await one.poll(timeout_ms=100)
        for record in records:
            self.history.deliver(record)
        if records and self.dice.random() < 0.1:
            await asyncio.sleep(1.2)  # longer than the locks
        for record in records:
            kind = self.dice.choice([ACCEPT, ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT, RENEW])
            place = record.partition, record.offset
            self.sent[place] = kind
            if kind in (ACCEPT, REJECT):
                self.history.unsure.add(place)
            one.acknowledge(record, kind)
        if self.dice.random() < 0.5:
            await one.commit_sync()

    def _confirm(self, partition: TopicPartition, offsets: set[int], error: Exception | None) -> None:
        for offset in offsets:
            place = partition.partition, offset
            if error is None and self.sent.get(place) in (ACCEPT, REJECT):
                self.history.finished.add(place)


def consumer(bootstrap: str, **changes: Any) -> ShareConsumer:
    settings: dict[str, Any] = {
        "group_id": "g",
        "share_acknowledgement_mode": "explicit",
        "fetch_max_wait_ms": 50,
        "max_poll_records": 10,
        "retry_backoff_ms": 10,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
        "request_timeout_ms": 2_000,
    }
    return ShareConsumer("t", bootstrap_servers=bootstrap, **{**settings, **changes})


async def break_things(proxy: FaultyProxy, victim: Victim, dice: random.Random, history: History, kills: bool) -> None:
    """Faults one after the other; members finish something between most of them."""
    for _ in range(FAULTS):
        await asyncio.sleep(dice.uniform(0.01, 0.3))
        if dice.random() < 0.7:
            before = len(history.finished)
            await until(lambda before=before: len(history.finished) > before)  # type: ignore[misc]
        fault = dice.choice(["cut", "swallow", "hold", "delay", "cut after", "kill" if kills else "cut"])
        if fault == "cut":
            proxy.cut()
        elif fault == "swallow":
            proxy.swallows_answers = True
            await asyncio.sleep(dice.uniform(0.01, 0.3))
            proxy.swallows_answers = False
            proxy.cut()
        elif fault == "hold":
            proxy.hold()
            await asyncio.sleep(dice.uniform(0.1, 1.5))
            proxy.release()
        elif fault == "delay":
            proxy.delay = dice.uniform(0, 0.005)
        elif fault == "cut after":
            proxy.cut_after = dice.randint(1, 20_000)
        else:
            victim.kill()
            await asyncio.to_thread(victim.start)
    proxy.cut_after, proxy.delay = None, 0.0


async def prepare(victim: Victim) -> None:
    async with Admin(bootstrap_servers=victim.bootstrap) as admin:
        await admin.create_topics([NewTopic(name="t", num_partitions=PARTITIONS)])
        wanted: dict[str, str | None] = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": "1000",
            "share.delivery.count.limit": str(LIMIT),
        }
        await admin.alter_configs(ConfigResource(ResourceType.GROUP, "g"), wanted)
    async with Producer(bootstrap_servers=victim.bootstrap, linger_ms=0) as producer:
        for number in range(RECORDS):
            await producer.send("t", b"%d" % number, partition=number % PARTITIONS)
            if not number % 7:
                await producer.flush()


async def drain(victim: Victim, history: History) -> set[Place]:
    """The records that a late member gets: all that must come, and whatever else comes soon after them."""
    found: set[Place] = set()
    begun = time.monotonic()
    quiet = 0
    async with consumer(victim.bootstrap, share_acknowledgement_mode="implicit") as one:
        while quiet < 15 or (missing(history) - found and time.monotonic() < begun + 60):
            records = await one.poll(timeout_ms=100)
            quiet = 0 if records else quiet + 1
            for record in records:
                history.deliver(record)
                found.add((record.partition, record.offset))
    return found


def missing(history: History) -> set[Place]:
    """The records that must come: nobody said that they are finished, nor may the group have given them up."""
    everything = {(number % PARTITIONS, number // PARTITIONS) for number in range(RECORDS)}
    return {place for place in everything - history.unsure if history.counts.get(place, 0) < LIMIT - 3}


@pytest.mark.parametrize(("seed", "kills"), [(1, False), (2, True)])
def test_nothing_finished_comes_again_and_everything_else_comes(tmp_path: Path, seed: int, kills: bool) -> None:
    dice, history = random.Random(seed), History()

    async def main() -> set[Place]:
        settings = {**QUICK_SHARES, "group.share.max.delivery.count.limit": str(LIMIT)}
        with Victim(tmp_path, settings) as victim:
            victim.start()
            await prepare(victim)
            async with FaultyProxy(victim.port) as proxy:
                stop = asyncio.Event()
                members = [Member(history, random.Random(seed * 10 + n), proxy.bootstrap) for n in range(3)]
                work = asyncio.gather(*(each.work(stop) for each in members))
                await break_things(proxy, victim, dice, history, kills)
                stop.set()
                await work
            drained = await drain(victim, history)
            assert not victim.faults
            return drained

    drained = asyncio.run(main())
    assert history.finished
    assert drained
    assert drained.isdisjoint(history.finished)
    assert not missing(history) - drained
