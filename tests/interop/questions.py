"""Requests whose answers two brokers must agree on: what is asked, by a name that says it.

Every question takes the version that it will be asked in, so that what it makes can have a name of its own. Both
brokers have the topics of `PREPARED`, with the records of `RECORDS` in partition 0 of `orders`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.broker.node_requests import batch

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

ORDERS, COMPACTED, NOWHERE = "same-orders", "same-compacted", "same-nowhere"
GROUP = "same-group"
NOBODY = UUID(int=0x1234)
PREPARED: dict[str, dict[str, str]] = {ORDERS: {}, COMPACTED: {"cleanup.policy": "compact"}, "same-produced": {}}
TIME = 1_700_000_000_000
RECORDS = [batch(b"a", b"b", timestamp=TIME), batch(b"c", timestamp=TIME + 50), batch(b"d", timestamp=TIME + 10)]
QUESTIONS: dict[str, Callable[[int], Message]] = {}


def asks(name: str) -> Callable[[Callable[[int], Message]], Callable[[int], Message]]:
    def remember(question: Callable[[int], Message]) -> Callable[[int], Message]:
        QUESTIONS[name] = question
        return question

    return remember


def metadata(*names: str) -> m.MetadataRequest:
    topics = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return m.MetadataRequest(topics=topics, allow_auto_topic_creation=False)


for _name, _topics in {
    "metadata of topics": (ORDERS, COMPACTED),
    "metadata of a topic that is not there": (NOWHERE,),
    "metadata of a bad name": ("not/good",),
    "metadata of some that are there and some that are not": (NOWHERE, ORDERS),
    "metadata of an empty name": ("",),
}.items():
    QUESTIONS[_name] = lambda version, topics=_topics: metadata(*topics)  # type: ignore[misc]


@asks("metadata of an id that no topic has")
def _(version: int) -> Message:
    name, topic_id = (None, NOBODY) if version >= 12 else (ORDERS, UUID(int=0))
    return m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=name)])


def create(name: str, partitions: int = 1, replicas: int = 1, *, only: bool = False, **fields: Any) -> Message:
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=replicas, **fields
    )
    return m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000, validate_only=only)


def assignment(*partitions: tuple[int, list[int]]) -> dict[str, Any]:
    made = m.CreateTopicsRequest.CreatableReplicaAssignment
    return {"assignments": [made(partition_index=number, broker_ids=nodes) for number, nodes in partitions]}


def config(**values: str | None) -> dict[str, Any]:
    made = m.CreateTopicsRequest.CreatableTopicConfig
    return {"configs": [made(name=name.replace("_", "."), value=value) for name, value in values.items()]}


QUESTIONS |= {
    "create a topic": lambda version: create(f"same-made-{version}", 3),
    "create a topic with defaults": lambda version: create(f"same-default-{version}", -1, -1),
    "create a topic that is there": lambda version: create(ORDERS),
    "create a topic, only to see": lambda version: create("same-only-seen", 2, only=True),
    "create no partitions": lambda version: create(NOWHERE, 0),
    "create less than no partitions": lambda version: create(NOWHERE, -2),
    "create with too many replicas": lambda version: create(NOWHERE, 1, 3),
    "create with no replicas": lambda version: create(NOWHERE, 1, 0),
    "create a bad name": lambda version: create("not/good"),
    "create a name that is too long": lambda version: create("x" * 250),
    "create an empty name": lambda version: create(""),
    "create a dot": lambda version: create("."),
    "create an internal topic's name that collides": lambda version: create("same.orders"),
    "create with an assignment": lambda version: create(
        f"same-assigned-{version}", -1, -1, **assignment((0, [1]), (1, [1]))
    ),
    "create with an assignment and a number": lambda version: create(NOWHERE, 1, -1, **assignment((0, [1]))),
    "create with a gap in the assignment": lambda version: create(NOWHERE, -1, -1, **assignment((1, [1]))),
    "create on a broker that is not there": lambda version: create(NOWHERE, -1, -1, **assignment((0, [7]))),
    "create with an empty assignment": lambda version: create(NOWHERE, -1, -1, **assignment((0, []))),
    "create with a replica twice": lambda version: create(NOWHERE, -1, -1, **assignment((0, [1, 1]))),
    "create with a setting that is none": lambda version: create(NOWHERE, **config(no_such="1")),
    "create with a bad setting": lambda version: create(NOWHERE, **config(retention_ms="soon")),
    "create with a setting out of range": lambda version: create(NOWHERE, **config(segment_bytes="-5")),
    "create with a null setting": lambda version: create(NOWHERE, **config(retention_ms=None)),
}


@asks("create a topic twice in one request")
def _(version: int) -> Message:
    topic = m.CreateTopicsRequest.CreatableTopic(name=NOWHERE, num_partitions=1, replication_factor=1)
    return m.CreateTopicsRequest(topics=[topic, topic], timeout_ms=10_000)


def delete(*names: str, version: int) -> Message:
    states = [m.DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
    return m.DeleteTopicsRequest(
        topics=states if version >= 6 else [], topic_names=[] if version >= 6 else [*names], timeout_ms=10_000
    )


QUESTIONS |= {
    "delete a topic that is not there": lambda version: delete(NOWHERE, version=version),
    "delete topics": lambda version: delete(
        "same-made-7" if version == 6 else f"same-made-{version + 1}", version=version
    ),
    "delete an id that no topic has": lambda version: m.DeleteTopicsRequest(
        topics=[m.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=NOBODY)], timeout_ms=10_000
    ),
}


def grow(name: str, count: int, nodes: list[list[int]] | None = None, *, only: bool = False) -> Message:
    made = m.CreatePartitionsRequest.CreatePartitionsAssignment
    topic = m.CreatePartitionsRequest.CreatePartitionsTopic(
        name=name, count=count, assignments=None if nodes is None else [made(broker_ids=each) for each in nodes]
    )
    return m.CreatePartitionsRequest(topics=[topic], timeout_ms=10_000, validate_only=only)


QUESTIONS |= {
    "grow a topic": lambda version: grow(COMPACTED, 2 + version),
    "grow to what it has": lambda version: grow(ORDERS, 2),
    "grow to less": lambda version: grow(ORDERS, 1),
    "grow a topic that is not there": lambda version: grow(NOWHERE, 3),
    "grow with an assignment, only to see": lambda version: grow(ORDERS, 3, [[1]], only=True),
    "grow with an assignment that is too short": lambda version: grow(ORDERS, 4, [[1]]),
    "grow onto a broker that is not there": lambda version: grow(ORDERS, 3, [[7]]),
}


def offsets(name: str, partition: int, time: int, *, epoch: int = -1) -> Message:
    place = m.ListOffsetsRequest.ListOffsetsPartition(
        partition_index=partition, timestamp=time, current_leader_epoch=epoch
    )
    topic = m.ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=[place])
    return m.ListOffsetsRequest(replica_id=-1, topics=[topic])


QUESTIONS |= {
    f"the offset at {time}": lambda version, time=time: offsets(ORDERS, 0, time)  # type: ignore[misc]
    for time in (-1, -2, -3, -4, -5, 0, TIME, TIME + 1, TIME + 11, TIME + 51, -9)
}
QUESTIONS |= {
    "the offset of a topic that is not there": lambda version: offsets(NOWHERE, 0, -1),
    "the offset of a partition that is not there": lambda version: offsets(ORDERS, 9, -1),
    "the offset of an empty partition": lambda version: offsets(ORDERS, 1, TIME),
    "the largest time of an empty partition": lambda version: offsets(ORDERS, 1, -3),
    "the offset in an epoch to come": lambda version: offsets(ORDERS, 0, -1, epoch=9),
}


def epoch_end(name: str, partition: int, epoch: int, current: int = -1) -> Message:
    place = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=partition, leader_epoch=epoch, current_leader_epoch=current
    )
    topic = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[place])
    return m.OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic])


QUESTIONS |= {
    "the end of an epoch": lambda version: epoch_end(ORDERS, 0, 0),
    "the end of an epoch to come": lambda version: epoch_end(ORDERS, 0, 5),
    "the end of an epoch, fenced": lambda version: epoch_end(ORDERS, 0, 0, 9),
    "the end of an epoch of a topic that is not there": lambda version: epoch_end(NOWHERE, 0, 0),
}
