"""Groups of kafka-python: sharing, moving on, committing, coming back, administration."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

kafka = pytest.importorskip("kafka")
from kafka.structs import OffsetAndMetadata, TopicPartition  # noqa: E402 - optional

from kafkawire.broker.groups.classic.group import Group  # noqa: E402 - after optional ones

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.testing import RunningBroker

GROUP = "readers"
PATIENCE = 60.0
POLL = 500
"""Milliseconds; a poll that ends while kafka-python takes its assignment in makes it forget that it has one."""


def consumer(broker: RunningBroker, **settings: Any) -> Any:
    return kafka.KafkaConsumer(
        "orders",
        bootstrap_servers=broker.bootstrap_servers,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=30_000,
        heartbeat_interval_ms=100,
        retry_backoff_ms=50,
        **settings,
    )


def produce(broker: RunningBroker, values: range, partitions: int = 1) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    for number in values:
        producer.send("orders", b"%d" % number, partition=number % partitions)
    producer.flush()
    producer.close()


def consume(consumer: Any, count: int) -> list[int]:
    found: list[int] = []
    end = monotonic() + PATIENCE
    while len(found) < count and monotonic() < end:
        for records in consumer.poll(POLL, max_records=count - len(found)).values():
            found += [int(record.value) for record in records]
    return found


class Member:
    """A consumer that polls in a thread of its own, as members do that wait for each other."""

    def __init__(self, broker: RunningBroker) -> None:
        self.part: set[int] = set()
        self.values: list[int] = []
        self._stopping = Event()
        self._thread = Thread(target=self._run, args=(broker,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(PATIENCE)

    def _run(self, broker: RunningBroker) -> None:
        member = consumer(broker)
        while not self._stopping.is_set():
            for records in member.poll(POLL).values():
                self.values += [int(record.value) for record in records]
            self.part = {place.partition for place in member.assignment() or ()}
        member.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < end, "it did not come to pass"
        sleep(0.02)


def test_two_members_share_and_the_one_that_stays_takes_over(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 4)
    first = Member(kafka_broker)
    wait_until(lambda: first.part == {0, 1, 2, 3})
    second = Member(kafka_broker)
    wait_until(lambda: [len(first.part), len(second.part)] == [2, 2])
    assert first.part | second.part == {0, 1, 2, 3}
    produce(kafka_broker, range(20), partitions=4)
    wait_until(lambda: sorted(first.values + second.values) == list(range(20)))
    first.stop()
    wait_until(lambda: second.part == {0, 1, 2, 3})
    second.stop()


def test_a_group_resumes_where_it_committed_even_after_the_broker_restarted(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)
    place = TopicPartition("orders", 0)
    produce(broker, range(10))
    first = consumer(broker)
    assert consume(first, 6) == [0, 1, 2, 3, 4, 5]
    first.commit({place: OffsetAndMetadata(6, "half-way", -1)})
    first.close()
    broker.restart()
    second = consumer(broker)
    assert consume(second, 4) == [6, 7, 8, 9]
    assert second.committed(place, metadata=True) == OffsetAndMetadata(6, "half-way", -1)
    second.close()


def test_a_static_member_comes_back_to_its_part(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 1)
    produce(kafka_broker, range(4))
    first = consumer(kafka_broker, group_instance_id="one")
    assert consume(first, 4) == [0, 1, 2, 3]
    first.commit()
    groups = kafka_broker.broker.node.groups
    generation = kafka_broker.call(lambda: [group.generation for group in groups if isinstance(group, Group)])
    first.close()
    back = consumer(kafka_broker, group_instance_id="one")
    produce(kafka_broker, range(4, 6))
    assert consume(back, 2) == [4, 5]
    assert kafka_broker.call(lambda: [group.generation for group in groups if isinstance(group, Group)]) == generation
    back.close()


def test_administrators_see_groups_and_delete_them(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 1)
    produce(kafka_broker, range(3))
    member = consumer(kafka_broker)
    consume(member, 3)
    member.commit()
    admin = kafka.KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
    place = TopicPartition("orders", 0)
    assert GROUP in str(admin.list_groups())
    assert "Stable" in str(admin.describe_groups([GROUP]))
    member.close()
    assert admin.list_group_offsets(GROUP)[GROUP][place].offset == 3
    admin.delete_groups([GROUP])
    assert GROUP not in str(admin.list_groups())
    admin.close()
