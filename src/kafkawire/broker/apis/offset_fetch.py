"""OffsetFetch: v0-10. The offsets that groups have written down.

Rules:
- v0-7 ask about one group, v8+ about many. Null topics (v2+) ask for everything the group has written down.
- What was never committed: offset -1 and no error, also for groups and topics that are not there; v0 alone says
  UNKNOWN_TOPIC_OR_PARTITION. v10 asks by topic id: an unknown one is UNKNOWN_TOPIC_ID.
- There are no transactional commits, so every offset is stable, whatever RequireStable (v7+) says; member id and epoch
  (v9+) are for groups of the newer protocol, and not looked at.
- Nothing is told that a crash could still take back.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.broker.topics import NO_ID
from kafkawire.messages import OffsetFetchRequest, OffsetFetchResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from uuid import UUID

    from kafkawire.broker.groups.group import CommittedOffset, TopicPartition
    from kafkawire.broker.node import Node

    Offsets = dict[TopicPartition, CommittedOffset]

NO_OFFSET = -1
Partition = TypeVar(
    "Partition",
    OffsetFetchResponse.OffsetFetchResponsePartition,
    OffsetFetchResponse.OffsetFetchResponsePartitions,
)


class Place(NamedTuple):
    """Partitions of a topic that are asked about, and the error of each that has no offset."""

    name: str
    topic_id: UUID
    partitions: list[int]
    missing: ErrorCode = ErrorCode.NONE


def refuse(request: OffsetFetchRequest, error: ErrorAnswer, context: RequestContext) -> OffsetFetchResponse:
    code = ErrorCode(error.code)
    kind = OffsetFetchResponse.OffsetFetchResponsePartition
    topics = (request.topics or ()) if context.version < 2 else ()
    return OffsetFetchResponse(
        error_code=code,
        groups=[
            OffsetFetchResponse.OffsetFetchResponseGroup(group_id=each.group_id, error_code=code)
            for each in request.groups
        ],
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=each.name, partitions=_partitions(kind, {}, Place("", NO_ID, each.partition_indexes, code))
            )
            for each in topics
        ],
    )


@serves("OffsetFetch", refuse=refuse)
def handle(
    node: Node, request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
    if context.version < 8:
        response = OffsetFetchResponse(topics=_one_group(node, request, context.version))
        return node.groups.when_settled([request.group_id], response)
    response = OffsetFetchResponse(groups=[_group(node, each, context.version) for each in request.groups])
    return node.groups.when_settled([group.group_id for group in request.groups], response)


def _one_group(
    node: Node, request: OffsetFetchRequest, version: int
) -> list[OffsetFetchResponse.OffsetFetchResponseTopic]:
    offsets = _offsets(node, request.group_id)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
    places = _everything(node, offsets)
    if request.topics is not None:
        places = [Place(topic.name, NO_ID, topic.partition_indexes, missing) for topic in request.topics]
    return [
        OffsetFetchResponse.OffsetFetchResponseTopic(
            name=place.name, partitions=_partitions(OffsetFetchResponse.OffsetFetchResponsePartition, offsets, place)
        )
        for place in places
    ]


def _group(
    node: Node, group: OffsetFetchRequest.OffsetFetchRequestGroup, version: int
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    offsets = _offsets(node, group.group_id)
    if group.topics is None:
        places = [place for place in _everything(node, offsets) if version < 10 or place.topic_id != NO_ID]
    elif version < 10:
        places = [Place(topic.name, NO_ID, topic.partition_indexes) for topic in group.topics]
    else:
        places = [_place(node, topic) for topic in group.topics]
    return OffsetFetchResponse.OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name=place.name,
                topic_id=place.topic_id,
                partitions=_partitions(OffsetFetchResponse.OffsetFetchResponsePartitions, offsets, place),
            )
            for place in places
        ],
    )


def _place(node: Node, topic: OffsetFetchRequest.OffsetFetchRequestTopics) -> Place:
    found = node.topics.find_id(topic.topic_id)
    if found is None:
        return Place("", topic.topic_id, topic.partition_indexes, ErrorCode.UNKNOWN_TOPIC_ID)
    return Place(found.name, topic.topic_id, topic.partition_indexes)


def _everything(node: Node, offsets: Offsets) -> list[Place]:
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for name, index in sorted(offsets):
        topics[name].append(index)
    found = {name: node.topics.find(name) for name in topics}
    return [Place(name, NO_ID if topic is None else topic.id, topics[name]) for name, topic in found.items()]


def _partitions(kind: type[Partition], offsets: Offsets, place: Place) -> list[Partition]:
    found = []
    for index in place.partitions:
        committed = offsets.get((place.name, index))
        if committed is None:
            found.append(kind(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=place.missing))
        else:
            offset, epoch, metadata = committed.offset, committed.leader_epoch, committed.metadata
            found.append(
                kind(partition_index=index, committed_offset=offset, committed_leader_epoch=epoch, metadata=metadata)
            )
    return found


def _offsets(node: Node, group_id: str) -> Offsets:
    group = node.groups.find(group_id)
    return {} if group is None else group.offsets
