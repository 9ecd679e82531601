"""Questions that were answered differently when both brokers were asked random requests of every API.

Other differences of that comparison are left, because no client depends on them. Apache Kafka repeats a group or a
topic that a request names twice, and leaves out topics without partitions. To an isolation level of 2 it answers
UNKNOWN_SERVER_ERROR, to a Produce without records nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interop.questions import COMPACTED, GROUP, NOBODY, NOWHERE, ORDERS

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message


def elect(kind: int, *partitions: int) -> m.ElectLeadersRequest:
    topics = [m.ElectLeadersRequest.TopicPartitions(topic=ORDERS, partitions=list(partitions))] if partitions else None
    return m.ElectLeadersRequest(election_type=kind, topic_partitions=topics, timeout_ms=1000)


def forget(group: str) -> m.OffsetDeleteRequest:
    partition = m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    topic = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name=ORDERS, partitions=[partition])
    return m.OffsetDeleteRequest(group_id=group, topics=[topic])


def commit_for_no_group(*names: str) -> m.TxnOffsetCommitRequest:
    made = m.TxnOffsetCommitRequest
    partition = made.TxnOffsetCommitRequestPartition(partition_index=0)
    topics = [made.TxnOffsetCommitRequestTopic(name=name, partitions=[partition]) for name in names]
    return made(transactional_id="same-id", group_id="", producer_id=-1, producer_epoch=-1, topics=topics)


def offset_at(topic: str, timestamp: int) -> m.ListOffsetsRequest:
    partition = m.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [m.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[partition])]
    return m.ListOffsetsRequest(replica_id=-1, topics=topics)


def named_twice(version: int) -> m.MetadataRequest:
    """A topic by an id and a name, and another by its name; before v12 both by their names."""
    made = m.MetadataRequest.MetadataRequestTopic
    first = made(topic_id=NOBODY, name=ORDERS) if version >= 12 else made(name=ORDERS)
    return m.MetadataRequest(topics=[first, made(name=COMPACTED)], allow_auto_topic_creation=False)


QUESTIONS: dict[str, Callable[[int], Message]] = {
    "elect leaders of a type that is none": lambda version: elect(9 if version else 0, 0, 99),
    "elect all leaders of a type that is none": lambda version: elect(2) if version else elect(0, 0),
    "elect no leaders, of a type that is none": lambda version: m.ElectLeadersRequest(
        election_type=9 if version else 0, topic_partitions=[], timeout_ms=1000
    ),
    "forget an offset of no group": lambda version: forget(""),
    "commit for no group, also to a topic that is not there": lambda version: commit_for_no_group(NOWHERE, ORDERS),
    "quotas that there are not": lambda version: m.DescribeClientQuotasRequest(
        components=[
            m.DescribeClientQuotasRequest.ComponentData(entity_type="client-id", match_type=0, match=GROUP),
        ]
    ),
    "metadata by an id and by names": named_twice,
    **{
        f"offset {timestamp} of a topic that is not there": lambda version, timestamp=timestamp: offset_at(  # type: ignore[misc]
            NOWHERE, timestamp
        )
        for timestamp in (-3, -4, -5, -7)
    },
}
