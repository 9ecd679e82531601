"""Consumer groups (KIP-848) of many members: the time until every partition has its owner, and the cost of heartbeats.

Rules:
- A member is a connection that follows the protocol: it gives partitions up at once, says so at once, and reports every
  PACE seconds otherwise. A group is settled when its members have equally many of all partitions.
- Our broker and Apache Kafka have the same settings: new targets at most every second.
- Heartbeats of 1 000 members come 200 per second, that is at the default interval. The processor time is that of the
  broker.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.interop.apache_kafka import JARS, ApacheBroker, ApacheKafka
from tests.interop.maven import are_fetched

from benchmarks.apache import VIRTUAL_MACHINE, Contender
from benchmarks.broker import broker, server
from benchmarks.report import Row
from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.messages import ConsumerGroupHeartbeatRequest
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMBERS, PARTITIONS, LOST = 200, 1_000, 10
MANY, INTERVAL, SECONDS = 1_000, 5.0, 15.0
PACE = 0.5
TOPIC, KEY, VERSION = "many", 68, 1
LOADING = (14, 15, 16)
"""Errors of a coordinator that is not ready yet."""
Place = ConsumerGroupHeartbeatRequest.TopicPartitions


class Member:
    """A member on a connection of its own."""

    def __init__(self, group: str) -> None:
        self._group, self.member_id = group, str(uuid4())
        self.epoch, self.owned = 0, frozenset[tuple[Any, int]]()
        self.is_leaving = False
        self._sent = 0

    async def connect(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))

    async def beat(self, epoch: int | None = None, **said: Any) -> bool:
        """Send a heartbeat; whether the assignment has changed."""
        self._sent += 1
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=self.epoch if epoch is None else epoch, **said
        )
        self._writer.write(encode_request(request, version=VERSION, correlation_id=self._sent, client_id="bench"))
        head = await self._reader.readexactly(4)
        frame = head + await self._reader.readexactly(int.from_bytes(head, "big"))
        answer: Any = decode_response(frame, api_key=KEY, version=VERSION, correlation_id=self._sent)[1]
        if answer.error_code in LOADING:
            await asyncio.sleep(PACE)
            return await self.beat(epoch, **said)
        assert not answer.error_code, answer
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            return False
        before = self.owned
        listed = answer.assignment.topic_partitions
        self.owned = frozenset((each.topic_id, one) for each in listed for one in each.partitions)
        return self.owned != before

    async def join(self, address: str) -> None:
        await self.connect(address)
        await self.beat(0, rebalance_timeout_ms=60_000, subscribed_topic_names=[TOPIC], topic_partitions=[])

    async def live(self) -> None:
        while not self.is_leaving:
            places: dict[Any, list[int]] = {}
            for topic, partition in self.owned:
                places.setdefault(topic, []).append(partition)
            owned = [Place(topic_id=topic, partitions=numbers) for topic, numbers in places.items()]
            if not await self.beat(topic_partitions=owned):
                await asyncio.sleep(PACE)
        await self.beat(-1)


async def settled(members: list[Member]) -> None:
    while True:
        owned = [place for member in members for place in member.owned]
        least = PARTITIONS // len(members)
        if len(owned) == len({*owned}) == PARTITIONS and all(len(member.owned) >= least for member in members):
            return
        await asyncio.sleep(0.01)


async def rebalance(address: str) -> tuple[float, float]:
    """Seconds until all members that join have settled, and until they have settled after some have left."""
    group_id = str(uuid4())
    members = [Member(group_id) for _ in range(MEMBERS)]
    start = perf_counter()
    await asyncio.gather(*(member.join(address) for member in members))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(member.live()) for member in members]
        await settled(members)
        joined = perf_counter() - start
        start = perf_counter()
        for member in members[:LOST]:
            member.is_leaving = True
        await settled(members[LOST:])
        lost = perf_counter() - start
        for task in tasks:
            task.cancel()
    return joined, lost


async def heartbeats(contender: Contender) -> float:
    """The share of a processor that the heartbeats of many members take."""
    members = [Member("beating") for _ in range(MANY)]
    for member in members:
        await member.join(contender.address)

    async def live(member: Member, delay: float) -> None:
        await asyncio.sleep(delay)
        while True:
            await member.beat()
            await asyncio.sleep(INTERVAL)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(live(member, INTERVAL * number / MANY)) for number, member in enumerate(members)]
        await asyncio.sleep(2 * INTERVAL)
        used, start = contender.processor_seconds(), perf_counter()
        await asyncio.sleep(SECONDS)
        share = (contender.processor_seconds() - used) / (perf_counter() - start)
        for task in tasks:
            task.cancel()
    return share


def prepare(address: str) -> None:
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])
        admin.list_group_offsets("first")  # Apache Kafka makes its topic of groups when the first one is looked for


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as place, server(*broker("--data", place)) as running:
        contender = Contender(f"127.0.0.1:{running.port}", running.process.pid)
        prepare(contender.address)
        ours = [asyncio.run(rebalance(contender.address)) for _ in range(3)]
        share = asyncio.run(heartbeats(contender))
    yield Row(f"{MANY} members of a group", "processors for heartbeats", share, 0.1, at_most=True)
    joined, lost = (sorted(times)[1] for times in zip(*ours, strict=True))
    if not are_fetched(JARS):
        missing = "make interop fetches Apache Kafka"
        yield Row(f"{MEMBERS} members join, {PARTITIONS} partitions", "seconds", joined, note=missing)
        yield Row(f"{LOST} of them leave", "seconds", lost, note=missing)
        return
    with tempfile.TemporaryDirectory() as place:
        kafka = ApacheBroker(ApacheKafka(), Path(place), virtual_machine=VIRTUAL_MACHINE)
        kafka.start()
        try:
            prepare(kafka.bootstrap)
            theirs = [asyncio.run(rebalance(kafka.bootstrap)) for _ in range(3)]
        finally:
            kafka.stop()
    for what, mine, their in (
        (f"{MEMBERS} members join, {PARTITIONS} partitions", joined, sorted(times[0] for times in theirs)[1]),
        (f"{LOST} of them leave", lost, sorted(times[1] for times in theirs)[1]),
    ):
        yield Row(what, "times as fast as Apache Kafka", their / mine, 0.95, note=f"{mine:.2f} s against {their:.2f} s")
