"""Conversations of consumer groups (KIP-848) go the same way with Apache Kafka and with us, mostly wrong requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from tests.interop.answers import Asked, comparable, differences
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire.messages import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

    from kafkawire.messages import Message

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPIC, OTHER = "consumed", "consumed-too"
FULL: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [TOPIC], "topic_partitions": []}
Place = m.ConsumerGroupHeartbeatRequest.TopicPartitions


class Talk:
    """A conversation with one broker, and the answers that are compared."""

    def __init__(self, broker: Asked) -> None:
        self._broker = broker
        self.said: list[tuple[str, Any]] = []

    def quietly(self, request: Message, version: int) -> Any:
        """An answer that is not compared."""
        return self._broker.ask(request, version)

    def ask(self, request: Message, version: int) -> Any:
        name = type(request).__schema__.name.removesuffix("Request")
        answer = self._broker.ask(request, version)
        self.said.append((f"{len(self.said)} {name} v{version}", self.shown(comparable(answer, version))))
        return answer

    def shown(self, answer: Any) -> Any:
        """The parts of an answer that are compared."""
        return answer

    def beat(self, group: str, member: str, epoch: int, version: int = 1, **said: Any) -> Any:
        return self.ask(heartbeat(group, member, epoch, **said), version)

    def describe(self, *groups: str, version: int = 1) -> Any:
        return self.ask(
            m.ConsumerGroupDescribeRequest(group_ids=[*groups], include_authorized_operations=True), version
        )

    def id_of(self, topic: str) -> UUID:
        wanted = m.MetadataRequest.MetadataRequestTopic(name=topic)
        found: UUID = self.quietly(m.MetadataRequest(topics=[wanted]), 12).topics[0].topic_id
        return found

    def commit(self, group: str, member: str, epoch: int, version: int, *partitions: int, topic: str = TOPIC) -> Any:
        kind = m.OffsetCommitRequest
        places = [kind.OffsetCommitRequestPartition(partition_index=each, committed_offset=7) for each in partitions]
        committed = kind.OffsetCommitRequestTopic(partitions=places)
        if version >= 10:
            committed.topic_id = self.id_of(topic)
        else:
            committed.name = topic
        request = kind(group_id=group, member_id=member, generation_id_or_member_epoch=epoch, topics=[committed])
        return self.ask(request, version)

    def committed(self, group: str, member: str | None, epoch: int) -> Any:
        wanted = m.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=group, member_id=member, member_epoch=epoch, topics=None
        )
        return self.ask(m.OffsetFetchRequest(groups=[wanted]), 9)

    def configure(self, group: str, name: str, value: str | None) -> Any:
        kind = m.IncrementalAlterConfigsRequest
        config = kind.AlterableConfig(name=name, value=value, config_operation=1 if value is None else 0)
        resource = kind.AlterConfigsResource(resource_type=32, resource_name=group, configs=[config])
        return self.ask(kind(resources=[resource]), 1)


class CountingTalk(Talk):
    """A conversation in which brokers name a member, so that its order among the others is chance.

    Only the numbers of partitions are compared: which of them a member gets follows from that order.
    """

    def shown(self, answer: Any) -> Any:
        if isinstance(answer, dict):
            return {
                name: sum(len(each["partitions"]) for each in value) if name == "topicPartitions" else self.shown(value)
                for name, value in answer.items()
            }
        return [self.shown(each) for each in answer] if isinstance(answer, list) else answer


T = TypeVar("T", bound=Talk)


def heartbeat(group: str, member: str, epoch: int, **said: Any) -> Message:
    return m.ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **said)


@pytest.fixture(scope="module")
def both(apache_kafka: ApacheBroker, our_broker: OurBroker) -> Iterator[tuple[Asked, Asked]]:
    with Asked(our_broker) as ours, Asked(apache_kafka) as theirs:
        for broker in (ours, theirs):
            kind = m.CreateTopicsRequest.CreatableTopic
            topics = [
                kind(name=TOPIC, num_partitions=4, replication_factor=1),
                kind(name=OTHER, num_partitions=1, replication_factor=1),
            ]
            broker.ask(m.CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
            until(lambda broker=broker: has_coordinator(broker))  # type: ignore[misc]
        yield ours, theirs


def has_coordinator(broker: Asked) -> bool:
    broker.ask(m.FindCoordinatorRequest(key="ready"), 0)
    answer: Any = broker.ask(m.DescribeGroupsRequest(groups=["ready"]), 0)
    return answer.groups[0].error_code not in (14, 15, 16)


def compare(both: tuple[Asked, Asked], conversation: Callable[[T], None], talk: type[T] = Talk) -> None:  # type: ignore[assignment]
    ours, theirs = talk(both[0]), talk(both[1])
    conversation(theirs)
    conversation(ours)
    assert [name for name, _ in ours.said] == [name for name, _ in theirs.said]
    different = [
        f"{name} {each}"
        for (name, our), (_, their) in zip(ours.said, theirs.said, strict=True)
        for each in differences(our, their)
    ]
    assert not different, "\n".join(different)


def test_wrong_heartbeats(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        for version in (0, 1):
            for member, epoch, said in (
                ("", 0, FULL),
                (" ", 0, FULL),
                ("", 1, {}),
                ("", -1, {}),
                ("m", 0, {}),
                ("m", 0, {**FULL, "rebalance_timeout_ms": -1}),
                ("m", 0, {**FULL, "rebalance_timeout_ms": 0}),
                ("m", 0, {**FULL, "topic_partitions": None}),
                ("m", 0, {**FULL, "topic_partitions": [Place(partitions=[0])]}),
                ("m", 0, {**FULL, "subscribed_topic_names": None}),
                ("m", 0, {**FULL, "instance_id": ""}),
                ("m", 0, {**FULL, "instance_id": " "}),
                ("m", 0, {**FULL, "rack_id": ""}),
                ("m", 0, {**FULL, "server_assignor": "sticky"}),
                ("m", 0, {**FULL, "server_assignor": ""}),
                ("m", 1, {}),
                ("m", 5, FULL),
                ("m", -1, {}),
                ("m", -2, {}),
                ("m", -2, {"instance_id": "one"}),
                ("m", -3, {}),
            ):
                talk.beat(f"wrong-{version}", member, epoch, version, **said)
        talk.beat("", "m", 0, **FULL)
        for regex in ("(", "[", "a**", "(?=a)", "\\", "a{1001}", r"(a)\1"):
            talk.beat(
                "wrong-regex", "m", 0, **{**FULL, "subscribed_topic_names": None, "subscribed_topic_regex": regex}
            )
        for group in ("nowhere", "wrong-1", "", "wrong-regex"):
            talk.describe(group)
        talk.describe("nowhere", version=0)

    compare(both, conversation)


def test_life_of_two_members(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        group = "two"
        talk.configure(group, "consumer.assignment.interval.ms", "0")
        joined = talk.beat(group, "a", 0, **FULL)
        first = joined.member_epoch
        topic = joined.assignment.topic_partitions[0].topic_id
        talk.beat(group, "a", first)
        talk.beat(group, "a", 0, **FULL)
        talk.beat(group, "a", first + 1)
        talk.beat(group, "b", first)
        talk.beat(group, "a", first, **{**FULL, "topic_partitions": [Place(topic_id=topic, partitions=[0, 1, 2, 3])]})
        talk.describe(group)
        talk.describe(group, version=0)
        talk.ask(m.DescribeGroupsRequest(groups=[group]), 5)
        talk.ask(m.DescribeGroupsRequest(groups=[group]), 6)
        listed = talk.quietly(m.ListGroupsRequest(types_filter=["consumer"]), 5).groups
        found = [(each.group_state, each.group_type, each.protocol_type) for each in listed if each.group_id == group]
        talk.said.append(("listed", found))
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        for version, ahead in ((8, 0), (9, 0), (10, 0), (9, -1), (9, 1), (9, -2), (10, 1)):
            talk.commit(group, "a", first + ahead, version, 0, 1)
        talk.commit(group, "", -1, 9, 0)
        talk.commit(group, "b", 1, 9, 0)
        for member, epoch in (
            (None, -1),
            ("a", first),
            ("a", first - 1),
            ("a", first + 1),
            ("b", first),
        ):
            talk.committed(group, member, epoch)
        second = talk.beat(group, "b", 0, **FULL).member_epoch
        talk.describe(group)
        answer = talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=[0, 1, 2, 3])])
        kept = answer.assignment.topic_partitions[0].partitions
        talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=[0, 1, 2, 3])])
        talk.describe(group)
        talk.commit(group, "a", first, 9, 0, 1, 2, 3)
        talk.beat(group, "b", second)
        talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=kept)])
        talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=kept)])
        talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=[0, 1, 2, 3])])
        talk.beat(group, "a", first)
        talk.commit(group, "a", first, 9, *kept)
        talk.commit(group, "a", first, 9, 0, 1, 2, 3)
        talk.beat(group, "b", second)
        talk.beat(group, "b", second, topic_partitions=[])
        talk.describe(group)
        talk.beat(group, "b", second, subscribed_topic_names=[OTHER])
        talk.describe(group)
        talk.beat(group, "b", second, subscribed_topic_names=[])
        talk.beat(group, "c", 0, **{**FULL, "server_assignor": "range", "rack_id": "r"})
        talk.describe(group)
        talk.beat(group, "a", -1)
        talk.beat(group, "a", -1)
        talk.beat(group, "a", first + 1)
        talk.describe(group)
        talk.beat(group, "b", -1)
        talk.beat(group, "c", -1)
        talk.describe(group)
        talk.commit(group, "", -1, 9, 0)
        talk.beat(group, "c", 9)
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        talk.describe(group)

    compare(both, conversation)


def test_static_members(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        group = "static"
        talk.configure(group, "consumer.assignment.interval.ms", "0")
        static = {**FULL, "instance_id": "one"}
        first = talk.beat(group, "a", 0, **static).member_epoch
        talk.beat(group, "b", 0, **static)
        talk.beat(group, "a", first, instance_id="two")
        talk.beat(group, "b", first, instance_id="one")
        talk.beat(group, "a", -2, instance_id="one")
        talk.describe(group)
        talk.beat(group, "a", first, instance_id="one")
        talk.beat(group, "b", 0, **static)
        talk.describe(group)
        talk.beat(group, "a", first, instance_id="one")
        talk.beat(group, "a", -1, instance_id="one")
        talk.beat(group, "b", -2, instance_id="one")
        talk.beat(group, "c", 0, **{**static, "subscribed_topic_names": [OTHER]})
        talk.describe(group)
        identity = m.LeaveGroupRequest.MemberIdentity(member_id="", group_instance_id="one")
        talk.ask(m.LeaveGroupRequest(group_id=group, members=[identity, identity]), 5)
        talk.describe(group)

    compare(both, conversation)


def test_regular_expressions(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        group = "expressions"
        talk.configure(group, "consumer.assignment.interval.ms", "0")
        said = {**FULL, "subscribed_topic_names": None, "subscribed_topic_regex": "c[onsumed]+"}
        talk.beat(group, "a", 0, **said)

        def is_resolved() -> bool:
            return bool(talk.quietly(heartbeat(group, "a", 0, **said), 1).assignment.topic_partitions)

        until(is_resolved)
        first = talk.beat(group, "a", 0, **said).member_epoch
        talk.describe(group)
        talk.beat(group, "b", 0, **said)
        talk.describe(group)
        talk.beat(group, "a", first, subscribed_topic_regex="")
        talk.describe(group)

    compare(both, conversation)


def subscription(*topics: str) -> bytes:
    return b"\x00\x03" + ConsumerProtocolSubscription(topics=[*topics]).encode(3)


def join(group: str, member: str, name: str = "range", **fields: Any) -> Message:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=subscription(TOPIC))
    given = {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer"}
    return m.JoinGroupRequest(group_id=group, member_id=member, **{**given, "protocols": [protocol], **fields})


def sync(group: str, member: str, generation: int, name: str | None = "range") -> Message:
    return m.SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=member, protocol_type="consumer", protocol_name=name
    )


def test_classic_member_in_a_consumer_group(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: CountingTalk) -> None:
        group = "mixed"
        talk.configure(group, "consumer.assignment.interval.ms", "0")
        begun = talk.beat(group, "a", 0, **FULL)
        first, topic = begun.member_epoch, begun.assignment.topic_partitions[0].topic_id
        talk.ask(join(group, "", protocol_type="connect"), 9)
        talk.ask(join(group, "", protocols=[]), 9)
        member = talk.ask(join(group, ""), 9).member_id
        joined = talk.ask(join(group, member), 9)
        generation = joined.generation_id
        talk.describe(group)
        for name, number in (("range", generation + 1), ("sticky", generation), ("range", generation)):
            talk.ask(sync(group, member, number, name), 5)
        talk.ask(sync(group, "nobody", generation), 5)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member), 4)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation + 1, member_id=member), 4)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=first, member_id="a"), 4)
        talk.commit(group, member, generation, 8, 0)
        talk.commit(group, member, generation + 1, 9, 0)
        kept = talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=[0, 1, 2, 3])])
        mine = kept.assignment.topic_partitions[0].partitions
        talk.beat(group, "a", first, topic_partitions=[Place(topic_id=topic, partitions=mine)])
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member), 4)
        generation = talk.ask(join(group, member), 9).generation_id
        talk.ask(sync(group, member, generation), 5)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member), 4)
        talk.describe(group)
        talk.ask(join(group, "", "roundrobin"), 9)
        talk.beat(group, "a", -1)
        talk.describe(group)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member), 4)
        talk.ask(m.DescribeGroupsRequest(groups=[group]), 6)
        rejoined = talk.ask(join(group, member), 9)
        talk.ask(sync(group, member, rejoined.generation_id), 5)
        talk.beat(group, "a", 0, **FULL)
        talk.describe(group)
        identity = m.LeaveGroupRequest.MemberIdentity
        talk.ask(m.LeaveGroupRequest(group_id=group, members=[identity(member_id=member), identity(member_id="x")]), 5)
        talk.describe(group)

    compare(both, conversation, CountingTalk)


def test_upgrade_that_is_refused(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        group = "connectors"
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="default", metadata=b"\x00\x01")
        said: dict[str, Any] = {"protocol_type": "connect", "protocols": [protocol]}
        member = talk.ask(join(group, "", **said), 9).member_id
        talk.ask(join(group, member, **said), 9)
        talk.beat(group, "a", 0, **FULL)
        talk.beat(group, "a", 1)
        talk.describe(group)
        group = "unreadable"
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\x00\x01\x00")
        member = talk.ask(join(group, "", protocols=[protocol]), 9).member_id
        talk.ask(join(group, member, protocols=[protocol]), 9)
        talk.beat(group, "a", 0, **FULL)
        talk.beat("fresh", "a", 0, **FULL)
        joined = talk.ask(join("fresh", "", protocols=[protocol]), 3)
        talk.said.append(("refused", joined.error_code != 0))

    compare(both, conversation)


def test_settings_of_groups(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: Talk) -> None:
        group = "configured"
        names = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms")
        kind = m.DescribeConfigsRequest.DescribeConfigsResource
        for name, value in (
            (names[0], "50000"),
            (names[0], "1000"),
            (names[0], "70000"),
            (names[0], "soon"),
            (names[1], "6000"),
            (names[1], "60000"),
            (names[2], "-1"),
            (names[2], "500"),
            ("retention.ms", "1"),
            (names[1], None),
        ):
            talk.configure(group, name, value)
        talk.configure("", names[0], "50000")
        for asked in (group, "nowhere-to-be-found", ""):
            resource = kind(resource_type=32, resource_name=asked, configuration_keys=[*names])
            talk.ask(m.DescribeConfigsRequest(resources=[resource]), 4)
        talk.beat(group, "a", 0, **FULL)
        listed = talk.quietly(m.ListConfigResourcesRequest(resource_types=[32]), 1).config_resources
        talk.said.append(("listed", [each.resource_type for each in listed if each.resource_name == group]))

    compare(both, conversation)
