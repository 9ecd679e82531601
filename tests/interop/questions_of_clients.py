"""Requests of producers, consumers and members of groups, beside those of `questions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker.node_requests import batch
from tests.interop.questions import COMPACTED, GROUP, NOBODY, NOWHERE, ORDERS, TIME

from kafkawire import messages as m
from kafkawire.records import HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

FRESH = "same-produced"
QUESTIONS: dict[str, Callable[[int], Message]] = {}


def damaged() -> bytes:
    data = bytearray(batch(b"x"))
    data[HEADER_SIZE + 3] ^= 1
    return bytes(data)


def produce(name: str, records: bytes | None, *, version: int, partition: int = 0, acks: int = -1) -> Message:
    data = m.ProduceRequest.PartitionProduceData(index=partition, records=records)
    topic = m.ProduceRequest.TopicProduceData(partition_data=[data])
    if version >= 13:
        topic.topic_id = NOBODY
    else:
        topic.name = name
    return m.ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[topic])


def numbered(version: int, sequence: int, *, count: int = 1, epoch: int = 0) -> bytes:
    """A batch of an idempotent producer, one for each version."""
    values = [b"v"] * count
    return batch(*values, timestamp=TIME, producer_id=7_000 + version, producer_epoch=epoch, base_sequence=sequence)


def producing(records: bytes | None, name: str = FRESH, **how: Any) -> Callable[[int], Message]:
    return lambda version: produce(name, records, version=version, **how)


QUESTIONS |= {
    "produce": producing(batch(b"x", timestamp=TIME)),
    "produce, asking for the leader only": producing(batch(b"x", timestamp=TIME), acks=1),
    "produce with acks that are none": producing(batch(b"x"), acks=2),
    "produce to a topic that is not there": producing(batch(b"x"), NOWHERE),
    "produce to a partition that is not there": producing(batch(b"x"), partition=9),
    "produce a damaged batch": producing(damaged()),
    "produce half a batch": producing(batch(b"x" * 100)[:-20]),
    "produce a batch that is too large": producing(batch(b"x" * 1_100_000)),
    "produce without a key to a compacted topic": producing(batch(b"x", key=None), COMPACTED),
    "produce a record of the future": producing(batch(b"x", timestamp=4_000_000_000_000)),
    "produce two batches": producing(batch(b"x") + batch(b"y")),
    "produce as a number that is nobody's first": lambda version: produce(FRESH, numbered(version, 5), version=version),
    "produce with a sequence": lambda version: produce(FRESH, numbered(version, 0), version=version),
    "produce it again": lambda version: produce(FRESH, numbered(version, 0), version=version),
    "produce the next": lambda version: produce(FRESH, numbered(version, 1, count=2), version=version),
    "produce with a gap": lambda version: produce(FRESH, numbered(version, 9), version=version),
    "produce in a new epoch": lambda version: produce(FRESH, numbered(version, 0, epoch=1), version=version),
    "produce in an old epoch": lambda version: produce(FRESH, numbered(version, 3, epoch=0), version=version),
}


def fetch(name: str, offset: int, *, version: int, partition: int = 0, epoch: int = -1, **fields: Any) -> Message:
    place = m.FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=10_000
    )
    topic = m.FetchRequest.FetchTopic(partitions=[place])
    if version >= 13:
        topic.topic_id = NOBODY
    else:
        topic.topic = name
    return m.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=100_000, topics=[topic], **fields)


def fetching(offset: int, name: str = ORDERS, **how: Any) -> Callable[[int], Message]:
    return lambda version: fetch(name, offset, version=version, **how)


QUESTIONS |= {
    "fetch": fetching(0),
    "fetch from the middle of a batch": fetching(1),
    "fetch at the end": fetching(4),
    "fetch past the end": fetching(5),
    "fetch below the start": fetching(-1),
    "fetch from a topic that is not there": fetching(0, NOWHERE),
    "fetch from a partition that is not there": fetching(0, partition=9),
    "fetch in an epoch to come": fetching(0, epoch=9),
    "fetch what is committed": fetching(0, isolation_level=1),
    "fetch in a session that is not there": fetching(0, session_id=77, session_epoch=3),
    "fetch in no session with an epoch": fetching(0, session_id=0, session_epoch=3),
}


def coordinator(key: str, kind: int, version: int) -> Message:
    if version >= 4:
        return m.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    return m.FindCoordinatorRequest(key_type=kind, key=key)


QUESTIONS |= {
    "find a group's coordinator": lambda version: coordinator(GROUP, 0, version),
    "find the coordinator of a kind that is none": lambda version: coordinator(GROUP, 9, version),
}


def join(group: str = GROUP, member: str = "", **fields: Any) -> Message:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    given = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "consumer"}
    return m.JoinGroupRequest(group_id=group, member_id=member, **{**given, "protocols": [protocol], **fields})


def member(name: str = "nobody") -> Any:
    return m.LeaveGroupRequest.MemberIdentity(member_id=name)


QUESTIONS |= {
    "join without an id": lambda version: join(f"same-joined-{version}") if version >= 4 else join(member="nobody"),
    "join with an id that is nobody's": lambda version: join(member="nobody"),
    "join a group without a name": lambda version: join(group=""),
    "join with a short session": lambda version: join(session_timeout_ms=1),
    "join with a long session": lambda version: join(session_timeout_ms=2_000_000_000),
    "join without protocols": lambda version: join(protocols=[]),
    "join without a kind": lambda version: join(protocol_type=""),
    "sync as nobody": lambda version: m.SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="nobody"),
    "sync without a group": lambda version: m.SyncGroupRequest(group_id="", generation_id=1, member_id="nobody"),
    "beat as nobody": lambda version: m.HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="nobody"),
    "beat without a group": lambda version: m.HeartbeatRequest(group_id="", generation_id=1, member_id="nobody"),
    "leave as nobody": lambda version: (
        m.LeaveGroupRequest(group_id=GROUP, members=[member()])
        if version >= 3
        else m.LeaveGroupRequest(group_id=GROUP, member_id="nobody")
    ),
}


def commit(name: str, partition: int, offset: int, **fields: Any) -> Message:
    note = fields.pop("note", "")
    place = m.OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=note
    )
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[place])
    return m.OffsetCommitRequest(**{"group_id": GROUP, "topics": [topic], **fields})


def committed(name: str | None, group: str, version: int) -> Message:
    if version >= 8:
        wanted = m.OffsetFetchRequest.OffsetFetchRequestTopics
        topics = None if name is None else [wanted(name=name, partition_indexes=[0, 1, 9])]
        return m.OffsetFetchRequest(
            groups=[m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=topics)]
        )
    old = m.OffsetFetchRequest.OffsetFetchRequestTopic
    topic = None if name is None else [old(name=name, partition_indexes=[0, 1, 9])]
    return m.OffsetFetchRequest(group_id=group, topics=topic)


def forget(group: str, name: str) -> Message:
    partitions = [m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
    topic = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name=name, partitions=partitions)
    return m.OffsetDeleteRequest(group_id=group, topics=[topic])


QUESTIONS |= {
    "commit": lambda version: commit(ORDERS, 0, 3, note="half-way"),
    "commit to a topic that is not there": lambda version: commit(NOWHERE, 0, 3),
    "commit to a partition that is not there": lambda version: commit(ORDERS, 9, 3),
    "commit as nobody": lambda version: commit(ORDERS, 0, 3, member_id="nobody", generation_id_or_member_epoch=4),
    "commit a long note": lambda version: commit(ORDERS, 0, 3, note="x" * 5_000),
    "commit without a group": lambda version: commit(ORDERS, 0, 3, group_id=""),
    "committed offsets": lambda version: committed(ORDERS, GROUP, version),
    "all committed offsets": lambda version: committed(None, GROUP, version),
    "committed offsets of a topic that is not there": lambda version: committed(NOWHERE, GROUP, version),
    "committed offsets of nobody": lambda version: committed(ORDERS, "same-nobody", version),
    "all committed offsets of nobody": lambda version: committed(None, "same-nobody", version),
    "describe a group": lambda version: m.DescribeGroupsRequest(groups=[GROUP]),
    "describe a group that is not there": lambda version: m.DescribeGroupsRequest(groups=["same-nobody"]),
    "delete an offset": lambda version: forget(GROUP, ORDERS),
    "delete an offset of a topic that is not there": lambda version: forget(GROUP, NOWHERE),
    "delete an offset of nobody": lambda version: forget("same-nobody", ORDERS),
    "delete a group that is not there": lambda version: m.DeleteGroupsRequest(groups_names=["same-nobody"]),
    "delete a group without a name": lambda version: m.DeleteGroupsRequest(groups_names=[""]),
}
