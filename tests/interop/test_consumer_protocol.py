"""Clients of the consumer protocol (KIP-848) in groups of our broker: Java's and librdkafka's, and Kafka's tools.

The broker has short intervals, which clients of this protocol take over.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from tests.broker.raw_connection import Peer
from tests.interop.drivers import JavaClients
from tests.interop.waiting import until

from kafkawire.messages import ConsumerGroupHeartbeatRequest
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.drivers import Member

    from kafkawire.broker.groups.kinds import AnyGroup

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
PARTITIONS = 6
CONSUMER = {"group.protocol": "consumer", "auto.offset.reset": "earliest"}
QUICK = {
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.session.timeout.ms": "4000",
    "group.consumer.assignment.interval.ms": "0",
}
TOOLS = "org.apache.kafka.tools"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", config=QUICK) as running:
        running.create_topic("orders", PARTITIONS)
        yield running


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    made = JavaClients(tmp_path_factory.mktemp("drivers") / "java.log")
    yield made
    made.close()


def produce(broker: RunningBroker, first: int, count: int, topic: str = "orders") -> list[bytes]:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    values = [b"%d" % number for number in range(first, first + count)]
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    return values


def are_shared(*members: Member) -> bool:
    """Whether every partition belongs to one of the members, and no member is without."""
    parts = [member.partitions() for member in members]
    return all(parts) and sum(map(len, parts)) == PARTITIONS == len(set().union(*parts))


def group_of(broker: RunningBroker, name: str) -> AnyGroup:
    group = broker.call(lambda: broker.broker.node.groups.find(name))
    assert group is not None
    return group


def received(*members: Member) -> list[bytes]:
    return sorted(value for member in members for value in member.values() if value is not None)


def test_java_members_share_partitions_as_they_come_and_go(java: JavaClients, broker: RunningBroker) -> None:
    address = broker.bootstrap_servers
    first, second = (java.join(address, "readers", ["orders"], **CONSUMER) for _ in range(2))
    until(lambda: are_shared(first, second))
    sent = produce(broker, 0, 60)
    until(lambda: received(first, second) == sorted(sent))
    first.commit()
    third = java.join(address, "readers", ["orders"], **CONSUMER)
    until(lambda: are_shared(first, second, third))
    second.commit()
    second.leave()
    until(lambda: are_shared(first, third))
    more = produce(broker, 60, 60)
    until(lambda: set(received(first, third)) >= set(more))
    for member in (first, third):
        member.commit()
        member.leave()
    later = java.join(address, "readers", ["orders"], **CONSUMER)
    until(lambda: len(later.partitions()) == PARTITIONS)
    last = produce(broker, 120, 6)
    until(lambda: received(later) == sorted(last))
    later.leave()


def test_java_static_member_gets_its_partitions_back(java: JavaClients, broker: RunningBroker) -> None:
    address = broker.bootstrap_servers
    static = {**CONSUMER, "group.instance.id": "one"}
    first, second = (java.join(address, "static", ["orders"], **settings) for settings in (static, CONSUMER))
    until(lambda: are_shared(first, second))
    had = first.partitions()
    first.leave()
    back = java.join(address, "static", ["orders"], **static)
    until(lambda: back.partitions() == had)
    for member in (back, second):
        member.leave()


def test_java_member_subscribes_by_a_pattern_of_the_broker(java: JavaClients, broker: RunningBroker) -> None:
    broker.create_topic("my-orders", 1)
    member = java.join(broker.bootstrap_servers, "patterns", [], pattern="ord[a-z]+", **CONSUMER)
    until(lambda: {topic for topic, _ in member.partitions()} == {"orders"})
    broker.create_topic("ordinary", 1)
    until(lambda: {topic for topic, _ in member.partitions()} == {"orders", "ordinary"})
    member.leave()


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_group_migrates_from_classic_to_consumer_and_back(
    java: JavaClients, broker: RunningBroker, assignor: str
) -> None:
    address, group = broker.bootstrap_servers, f"moving-{assignor}"
    classic = {
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{assignor}",
    }
    sent_so_far = 0
    members = [java.join(address, group, ["orders"], **classic) for _ in range(2)]
    until(lambda: are_shared(*members))
    for settings in (CONSUMER, classic):
        for number in range(2):
            sent = produce(broker, sent_so_far, 12)
            sent_so_far += 12
            members.append(java.join(address, group, ["orders"], **settings))
            until(lambda: are_shared(*members))
            until(lambda sent=sent: set(received(*members)) >= {*sent})  # type: ignore[misc]
            old = members.pop(0)
            old.commit()
            old.leave()
            until(lambda: are_shared(*members))
            is_classic = settings is classic and number == 1
            assert group_of(broker, group).kind == ("classic" if is_classic else "consumer")
    for member in members:
        member.commit()
        member.leave()


def test_librdkafka_members_share_partitions(broker: RunningBroker) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "librdkafka", **CONSUMER}
    sent = produce(broker, 0, 60)
    got: list[bytes | None] = []
    with closing(Consumer(settings)) as first, closing(Consumer(settings)) as second:

        def poll() -> tuple[set[int], set[int]]:
            for each in (first, second):
                message = each.poll(0.05)
                if message is not None and not message.error():
                    got.append(message.value())
            return tuple({place.partition for place in each.assignment()} for each in (first, second))  # type: ignore[return-value]  # two of them

        for each in (first, second):
            each.subscribe(["orders"])
        until(lambda: {*map(len, poll())} == {PARTITIONS // 2})
        until(lambda: poll() is not None and {*got} == {*sent})
        first.commit(asynchronous=False)
        second.commit(asynchronous=False)
    group = group_of(broker, "librdkafka")
    assert sum(each.offset for each in group.offsets.values()) == 60
    assert not group.members


def test_librdkafka_and_java_are_members_of_one_group(java: JavaClients, broker: RunningBroker) -> None:
    member = java.join(broker.bootstrap_servers, "both", ["orders"], **CONSUMER)
    until(lambda: len(member.partitions()) == PARTITIONS)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "both", **CONSUMER}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe(["orders"])

        def shared() -> bool:
            consumer.poll(0.05)
            return len(consumer.assignment()) == len(member.partitions()) == PARTITIONS // 2

        until(shared)
    until(lambda: len(member.partitions()) == PARTITIONS)
    member.leave()


def test_members_go_on_after_the_broker_was_restarted(java: JavaClients, broker: RunningBroker) -> None:
    members = [java.join(broker.bootstrap_servers, "lasting", ["orders"], **CONSUMER) for _ in range(2)]
    until(lambda: are_shared(*members))
    had = [member.partitions() for member in members]
    broker.restart()
    sent = produce(broker, 0, 12)
    until(lambda: received(*members) == sorted(sent))
    assert [member.partitions() for member in members] == had
    for member in members:
        member.leave()


def test_tools_show_and_configure_consumer_groups(kafka: ApacheKafka, java: JavaClients, broker: RunningBroker) -> None:
    member = java.join(broker.bootstrap_servers, "shown", ["orders"], **CONSUMER)
    until(lambda: len(member.partitions()) == PARTITIONS)
    produce(broker, 0, 6)
    until(lambda: len(member.values()) == 6)
    member.commit()

    def groups(*options: str) -> str:
        tool = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
        return kafka.run(tool, "--bootstrap-server", broker.bootstrap_servers, *options)

    assert "shown" in groups("--list", "--type", "consumer")
    assert "shown" not in groups("--list", "--type", "classic")
    assert "Stable" in groups("--describe", "--group", "shown", "--state")
    described = groups("--describe", "--group", "shown", "--members", "--verbose")
    assert "orders:0,1,2,3,4,5" in described.replace("(", ":").replace(")", "")
    offsets = groups("--describe", "--group", "shown", "--offsets")
    assert offsets.count("orders") >= PARTITIONS

    def configs(*options: str) -> str:
        entity = ("--entity-type", "groups", "--entity-name", "shown")
        return kafka.run("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap_servers, *entity, *options)

    configs("--alter", "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in configs("--describe")
    member.leave()
    assert "successful" in groups("--delete", "--group", "shown")


def test_kafka_reads_the_records_of_our_groups(kafka: ApacheKafka, tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", config=QUICK) as running:
        running.create_topic("orders", PARTITIONS)
        with Peer(running) as peer:
            kind = ConsumerGroupHeartbeatRequest
            join: dict[str, Any] = {"group_id": "kept", "rebalance_timeout_ms": 1_000, "topic_partitions": []}
            for request in (
                kind(member_id="a", subscribed_topic_names=["orders"], **join),
                kind(member_id="b", subscribed_topic_regex="o.*", **join),
                kind(group_id="kept", member_id="a", member_epoch=-1),
            ):
                assert peer.call(request, 1).error_code == 0
    segments = sorted((tmp_path / "data").glob("__consumer_offsets-*/*.log"))
    dumped = kafka.dump(segments, "--offsets-decoder")
    types = {int(found) for found in re.findall(r'key: \{"type":"(\d+)"', dumped)}
    assert types == {3, 5, 6, 7, 8, 16}
    assert '"metadataHash"' in dumped
    assert '"assignmentEpochs"' in dumped
