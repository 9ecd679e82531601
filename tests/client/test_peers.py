"""Our consumers in one group with other clients: each can lead, and all read the same assignments."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client import Consumer, Producer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.topics import Topics

confluent_kafka = pytest.importorskip("confluent_kafka")


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 4)


class LibrdkafkaMember:
    """A confluent-kafka consumer that polls in a thread."""

    def __init__(self, bootstrap: str, topic: str, group: str, strategy: str) -> None:
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "partition.assignment.strategy": strategy,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 100,
                "session.timeout.ms": 30_000,
            }
        )
        self._assigned: set[TopicPartition] = set()
        self._consumer.subscribe([topic], on_assign=self._gained, on_revoke=self._dropped)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._stop.is_set():
            self._consumer.poll(0.05)
        self._consumer.close()

    def _gained(self, _: Any, partitions: list[Any]) -> None:
        self._assigned |= {TopicPartition(each.topic, each.partition) for each in partitions}

    def _dropped(self, _: Any, partitions: list[Any]) -> None:
        self._assigned -= {TopicPartition(each.topic, each.partition) for each in partitions}

    def assignment(self) -> set[TopicPartition]:
        # asking the consumer itself would hold the interpreter's lock, which its own threads may wait for
        return set(self._assigned)

    async def leave(self) -> None:
        self._stop.set()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("ours_leads", [True, False])
@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_shared_with_librdkafka(broker: Topics, topic: str, strategy: str, ours_leads: bool) -> None:
    async def main() -> None:
        settings: dict[str, Any] = {
            "bootstrap_servers": broker.bootstrap,
            "group_id": topic,
            "partition_assignment_strategy": strategy,
            "heartbeat_interval_ms": 50,
        }
        ours = Consumer(topic, **settings)
        if ours_leads:
            await ours.start()
            await until(lambda: len(ours.assignment()) == 4)
            theirs = LibrdkafkaMember(broker.bootstrap, topic, topic, strategy)
        else:
            theirs = LibrdkafkaMember(broker.bootstrap, topic, topic, strategy)
            await until(lambda: len(theirs.assignment()) == 4)
            await ours.start()
        try:
            await until(lambda: len(ours.assignment()) == 2 and len(theirs.assignment()) == 2)
            assert ours.assignment().isdisjoint(theirs.assignment())
        finally:
            await theirs.leave()
        await until(lambda: len(ours.assignment()) == 4)
        await ours.stop()

    asyncio.run(main())


def test_librdkafka_and_we_put_a_key_into_the_same_partition(broker: Topics, topic: str) -> None:
    keys = [b"key-%d" % number for number in range(50)]
    theirs: dict[bytes, int] = {}
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(
            topic, b"x", key, on_delivery=lambda error, sent: theirs.update({sent.key(): sent.partition()})
        )
    producer.flush()

    async def main() -> dict[bytes, int]:
        async with Producer(bootstrap_servers=broker.bootstrap) as ours:
            return {key: (await ours.send_and_wait(topic, b"x", key)).partition for key in keys}

    assert asyncio.run(main()) == theirs
