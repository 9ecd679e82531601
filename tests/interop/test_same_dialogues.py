"""Conversations in which each request builds on the last answer go the same way with Apache Kafka and with us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch, values
from tests.interop.answers import Asked
from tests.interop.dialogue import Talk, compare, create_topic, has_coordinator
from tests.interop.waiting import until

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

    from kafkawire.messages import Message

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPIC, TIME = "same-talk", 1_700_000_000_000


@pytest.fixture(scope="module")
def both(each_kafka: ApacheBroker, our_twin: OurBroker) -> Iterator[tuple[Asked, Asked]]:
    with Asked(our_twin) as ours, Asked(each_kafka) as theirs:
        for broker in (ours, theirs):
            create_topic(broker, TOPIC, 2)
            until(lambda broker=broker: has_coordinator(broker, TOPIC))  # type: ignore[misc]
        yield ours, theirs


def join(group: str, member: str, **fields: Any) -> Message:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\x00\x01")
    given = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "consumer"}
    return m.JoinGroupRequest(group_id=group, member_id=member, **{**given, "protocols": [protocol], **fields})


def sync(group: str, member: str, generation: int, **parts: bytes) -> Message:
    made = m.SyncGroupRequest.SyncGroupRequestAssignment
    return m.SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[made(member_id=member, assignment=part) for part in parts.values()],
    )


def commit(group: str, member: str, generation: int, offset: int, talk: Talk) -> Message:
    place = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(partitions=[place])
    if talk.version("OffsetCommit") >= 10:
        topic.topic_id = talk.topic_id(TOPIC)
    else:
        topic.name = TOPIC
    return m.OffsetCommitRequest(
        group_id=group, member_id=member, generation_id_or_member_epoch=generation, topics=[topic]
    )


def leave(group: str, member: str, talk: Talk) -> Message:
    if talk.version("LeaveGroup") < 3:
        return m.LeaveGroupRequest(group_id=group, member_id=member)
    return m.LeaveGroupRequest(group_id=group, members=[m.LeaveGroupRequest.MemberIdentity(member_id=member)])


@pytest.mark.parametrize("age", [0.0, 0.5, 1.0])
def test_the_life_of_a_member(both: tuple[Asked, Asked], age: float) -> None:
    group = f"same-life-{age}"

    def talk(talk: Talk) -> None:
        joined = talk.ask(join(group, ""))
        member = joined.member_id
        if joined.error_code:
            joined = talk.ask(join(group, member))
        generation = joined.generation_id
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member))
        talk.ask(sync(group, member, generation + 1))
        talk.ask(sync(group, member, generation, mine=b"\x01"))
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member))
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation + 1, member_id=member))
        talk.ask(m.DescribeGroupsRequest(groups=[group]))
        talk.ask(commit(group, member, generation, 7, talk))
        talk.ask(commit(group, member, generation + 1, 8, talk))
        talk.ask(commit(group, "", -1, 9, talk))
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]))
        again = talk.ask(join(group, member))
        talk.ask(join(group, member, protocol_type="connect"))
        talk.ask(sync(group, member, again.generation_id, mine=b"\x02"))
        talk.ask(leave(group, member, talk))
        talk.ask(leave(group, member, talk))
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member))
        talk.ask(m.DescribeGroupsRequest(groups=[group]))
        talk.ask(commit(group, "", -1, 9, talk))
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]))
        talk.ask(m.DescribeGroupsRequest(groups=[group]))

    compare(both, age, talk)


def produce(talk: Talk, records: bytes, partition: int = 1) -> Message:
    data = m.ProduceRequest.PartitionProduceData(index=partition, records=records)
    topic = m.ProduceRequest.TopicProduceData(partition_data=[data])
    if talk.version("Produce") >= 13:
        topic.topic_id = talk.topic_id(TOPIC)
    else:
        topic.name = TOPIC
    return m.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


def fetch(talk: Talk, offset: int, **fields: Any) -> Message:
    place = m.FetchRequest.FetchPartition(partition=1, fetch_offset=offset, partition_max_bytes=10_000)
    topic = m.FetchRequest.FetchTopic(partitions=[place])
    if talk.version("Fetch") >= 13:
        topic.topic_id = talk.topic_id(TOPIC)
    else:
        topic.topic = TOPIC
    return m.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=100_000, topics=[topic], **fields)


@pytest.mark.parametrize("age", [0.0, 0.5, 1.0])
def test_records_and_sessions(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        start = (
            talk.ask(produce(talk, batch(b"a", b"b", timestamp=TIME))).responses[0].partition_responses[0].base_offset
        )
        talk.ask(produce(talk, batch(b"c", timestamp=TIME, compression="gzip")))
        read = talk.ask(fetch(talk, start))
        assert values(read.responses[0].partitions[0].records) == [b"a", b"b", b"c"]
        talk.ask(fetch(talk, start + 9))
        if talk.version("Fetch") >= 7:
            opened = talk.ask(fetch(talk, start, session_epoch=0))
            known = {"session_id": opened.session_id, "max_wait_ms": 0, "max_bytes": 100_000}
            talk.ask(m.FetchRequest(session_epoch=1, **known))
            talk.ask(produce(talk, batch(b"d", timestamp=TIME)))
            talk.ask(m.FetchRequest(session_epoch=2, **known))
            talk.ask(m.FetchRequest(session_epoch=2, **known))
            talk.ask(m.FetchRequest(session_epoch=-1, **known))
            talk.ask(m.FetchRequest(session_epoch=3, **known))

    compare(both, age, talk)
