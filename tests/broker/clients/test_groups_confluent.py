"""Groups of confluent-kafka (librdkafka): sharing, moving on, committing, coming back, administration."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka")
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition  # noqa: E402 - optional
from confluent_kafka.admin import AdminClient  # noqa: E402 - optional

from kafkawire.broker.groups.classic.group import Group  # noqa: E402 - after optional ones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kafkawire.testing import RunningBroker

GROUP = "readers"
PATIENCE = 60.0


@pytest.fixture
def consumer(kafka_broker: RunningBroker) -> Iterator[Callable[..., Consumer]]:
    """Make consumers of one group, and close those that the test leaves open."""
    made: list[Consumer] = []

    def make(**settings: Any) -> Consumer:
        made.append(Consumer(consumer_settings(kafka_broker, **settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def consumer_settings(broker: RunningBroker, **settings: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": GROUP,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 30_000,
        "heartbeat.interval.ms": 100,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }


def produce(broker: RunningBroker, topic: str, values: range, partitions: int = 1) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in values:
        producer.produce(topic, b"%d" % number, partition=number % partitions)
    assert producer.flush(60) == 0


def consume(consumer: Consumer, count: int) -> list[int]:
    found: list[int] = []
    end = monotonic() + PATIENCE
    while len(found) < count and monotonic() < end:
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(int(message.value() or b""))
    return found


def poll_until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    """Let consumers take part in rebalances until something is so."""
    end = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < end, "it did not come to pass"
        for each in consumers:
            each.poll(0.02)


def parts(*consumers: Consumer) -> list[set[int]]:
    return [{place.partition for place in each.assignment()} for each in consumers]


def group_of(broker: RunningBroker) -> Group:
    group = broker.call(lambda: broker.broker.node.groups.find(GROUP))
    assert isinstance(group, Group)
    return group


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_two_members_share_and_the_one_that_stays_takes_over(
    kafka_broker: RunningBroker, consumer: Callable[..., Consumer], strategy: str
) -> None:
    kafka_broker.create_topic("orders", 4)
    first, second = (consumer(partition_assignment_strategy=strategy) for _ in range(2))
    first.subscribe(["orders"])
    poll_until(lambda: parts(first) == [{0, 1, 2, 3}], first)
    second.subscribe(["orders"])
    poll_until(lambda: [len(part) for part in parts(first, second)] == [2, 2], first, second)
    assert set.union(*parts(first, second)) == {0, 1, 2, 3}
    produce(kafka_broker, "orders", range(40), partitions=4)
    assert sorted(consume(first, 20) + consume(second, 20)) == list(range(40))
    first.close()
    poll_until(lambda: parts(second) == [{0, 1, 2, 3}], second)


def test_a_group_resumes_where_it_committed_even_after_the_broker_restarted(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)
    produce(broker, "orders", range(10))
    first = Consumer(consumer_settings(broker))
    first.subscribe(["orders"])
    assert consume(first, 6) == [0, 1, 2, 3, 4, 5]
    first.commit(offsets=[TopicPartition("orders", 0, 6, "half-way")], asynchronous=False)
    first.close()
    broker.restart()
    second = Consumer(consumer_settings(broker))
    second.subscribe(["orders"])
    assert consume(second, 4) == [6, 7, 8, 9]
    (committed,) = second.committed([TopicPartition("orders", 0)], 60)
    assert (committed.offset, committed.metadata) == (6, "half-way")
    second.close()


def test_a_member_carries_on_through_a_restart_of_the_broker(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)
    produce(broker, "orders", range(5))
    member = Consumer({**consumer_settings(broker), "reconnect.backoff.max.ms": 200})
    member.subscribe(["orders"])
    assert consume(member, 5) == [0, 1, 2, 3, 4]
    generation = group_of(broker).generation
    broker.restart()
    produce(broker, "orders", range(5, 8))
    assert consume(member, 3) == [5, 6, 7]
    assert group_of(broker).generation == generation
    member.commit(asynchronous=False)
    assert group_of(broker).offsets["orders", 0].offset == 8
    member.close()


def test_a_static_member_comes_back_without_a_rebalance(
    kafka_broker: RunningBroker, consumer: Callable[..., Consumer]
) -> None:
    kafka_broker.create_topic("orders", 2)
    stays = consumer(group_instance_id="stays")
    stays.subscribe(["orders"])
    poll_until(lambda: parts(stays) == [{0, 1}], stays)
    goes = consumer(group_instance_id="goes")
    goes.subscribe(["orders"])
    poll_until(lambda: [len(part) for part in parts(stays, goes)] == [1, 1], stays, goes)
    generation, part = group_of(kafka_broker).generation, parts(goes)
    goes.close()
    back = consumer(group_instance_id="goes")
    back.subscribe(["orders"])
    poll_until(lambda: parts(back) == part, stays, back)
    assert group_of(kafka_broker).generation == generation


def test_a_member_of_an_old_generation_joins_again(
    kafka_broker: RunningBroker, consumer: Callable[..., Consumer]
) -> None:
    kafka_broker.create_topic("orders", 1)
    member = consumer()
    member.subscribe(["orders"])
    poll_until(lambda: parts(member) == [{0}], member)
    generation = group_of(kafka_broker).generation
    kafka_broker.fail_next("Heartbeat", "ILLEGAL_GENERATION")
    poll_until(lambda: group_of(kafka_broker).generation > generation, member)
    produce(kafka_broker, "orders", range(3))
    assert consume(member, 3) == [0, 1, 2]


def test_administrators_see_groups_move_their_offsets_and_delete_them(
    kafka_broker: RunningBroker, consumer: Callable[..., Consumer]
) -> None:
    kafka_broker.create_topic("orders", 1)
    produce(kafka_broker, "orders", range(5))
    member = consumer()
    member.subscribe(["orders"])
    assert consume(member, 5) == [0, 1, 2, 3, 4]
    member.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers})

    (listed,) = admin.list_consumer_groups().result().valid
    assert (listed.group_id, listed.state.name) == (GROUP, "STABLE")
    described = admin.describe_consumer_groups([GROUP])[GROUP].result()
    assert (described.partition_assignor, len(described.members)) == ("range", 1)
    assert described.members[0].assignment.topic_partitions == [TopicPartition("orders", 0)]
    with pytest.raises(confluent_kafka.KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([GROUP])[GROUP].result()

    member.close()
    moved = ConsumerGroupTopicPartitions(GROUP, [TopicPartition("orders", 0, 2)])
    admin.alter_consumer_group_offsets([moved])[GROUP].result()
    again = consumer()
    again.subscribe(["orders"])
    assert consume(again, 3) == [2, 3, 4]
    again.close()
    admin.delete_consumer_groups([GROUP])[GROUP].result()
    assert admin.list_consumer_groups().result().valid == []
