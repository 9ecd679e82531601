"""OffsetFetch: v0-10. The offsets that groups have written down.

Rules:
- v0-7 ask about one group, v8+ about many. Null topics (v2+) ask for everything the group has written down.
- What was never committed: offset -1 and no error, also for groups and topics that are not there; v0 alone says
  UNKNOWN_TOPIC_OR_PARTITION. v10 asks by topic id: an unknown one is UNKNOWN_TOPIC_ID.
- There are no transactional commits, so every offset is stable, whatever RequireStable (v7+) says; member id and epoch
  (v9+) are for groups of the newer protocol, and not looked at.
- A group, a topic or a partition that occurs more than once is answered once. Apache Kafka answers every occurrence,
  which lets a small request have an answer of any size.
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
    from collections.abc import Collection, Iterable
    from uuid import UUID

    from kafkawire.broker.groups.group import CommittedOffset, TopicPartition
    from kafkawire.broker.node import Node

    Offsets = dict[TopicPartition, CommittedOffset]
    Topics = dict[str | UUID, dict[int, None]]

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
    partitions: Collection[int]
    missing: ErrorCode = ErrorCode.NONE


def refuse(request: OffsetFetchRequest, error: ErrorAnswer, context: RequestContext) -> OffsetFetchResponse:
    code = ErrorCode(error.code)
    kind = OffsetFetchResponse.OffsetFetchResponsePartition
    topics = (request.topics or ()) if context.version < 2 else ()
    return OffsetFetchResponse(
        error_code=code,
        groups=[
            OffsetFetchResponse.OffsetFetchResponseGroup(group_id=each.group_id, error_code=code)
            for each in {each.group_id: each for each in request.groups}.values()
        ],
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=each.name,
                partitions=[
                    _partition(kind, {}, Place("", NO_ID, (), code), index) for index in each.partition_indexes
                ],
            )
            for each in topics
        ],
    )


@serves("OffsetFetch", refuse=refuse)
async def handle(node: Node, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    if context.version < 8:
        response = OffsetFetchResponse(topics=await _one_group(node, request, context))
        await node.groups.settle([request.group_id], context)
        return response
    wanted = await _wanted(request, context)
    response = OffsetFetchResponse()
    for group_id, topics in wanted.items():
        response.groups.append(await _group(node, group_id, topics, context))
        await context.yield_if_due()
    await node.groups.settle(wanted, context)
    return response


async def _one_group(
    node: Node, request: OffsetFetchRequest, context: RequestContext
) -> list[OffsetFetchResponse.OffsetFetchResponseTopic]:
    places: Iterable[Place]
    offsets = _offsets(node, request.group_id)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if context.version == 0 else ErrorCode.NONE
    if request.topics is None:
        places = await _everything(node, offsets, context)
    else:
        topics: Topics = {}
        for topic in request.topics:
            await _add(topics, topic.name, topic.partition_indexes, context)
        places = (Place(str(name), NO_ID, indexes, missing) for name, indexes in topics.items())
    kind = OffsetFetchResponse.OffsetFetchResponsePartition
    found = []
    for place in places:
        partitions = await _find(kind, offsets, place, context)
        found.append(OffsetFetchResponse.OffsetFetchResponseTopic(name=place.name, partitions=partitions))
    return found


async def _wanted(request: OffsetFetchRequest, context: RequestContext) -> dict[str, Topics | None]:
    """The partitions of every group; None for all of them."""
    wanted: dict[str, Topics | None] = {}
    for group in request.groups:
        topics = wanted.setdefault(group.group_id, {})
        if group.topics is None:
            wanted[group.group_id] = None
        elif topics is not None:
            for topic in group.topics:
                name = topic.name if context.version < 10 else topic.topic_id
                await _add(topics, name, topic.partition_indexes, context)
        await context.yield_if_due()
    return wanted


async def _add(topics: Topics, name: str | UUID, indexes: list[int], context: RequestContext) -> None:
    known = topics.setdefault(name, {})
    for index in indexes:
        known[index] = None
        await context.yield_if_due()
    await context.yield_if_due()


async def _group(
    node: Node, group_id: str, topics: Topics | None, context: RequestContext
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    places: Iterable[Place]
    offsets = _offsets(node, group_id)
    if topics is None:
        everything = await _everything(node, offsets, context)
        places = (place for place in everything if context.version < 10 or place.topic_id != NO_ID)
    else:
        places = (_place(node, name, indexes) for name, indexes in topics.items())
    kind = OffsetFetchResponse.OffsetFetchResponsePartitions
    answered = OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id)
    for place in places:
        partitions = await _find(kind, offsets, place, context)
        answered.topics.append(
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name=place.name, topic_id=place.topic_id, partitions=partitions
            )
        )
    return answered


def _place(node: Node, name: str | UUID, indexes: Collection[int]) -> Place:
    if isinstance(name, str):
        return Place(name, NO_ID, indexes)
    found = node.topics.find_id(name)
    if found is None:
        return Place("", name, indexes, ErrorCode.UNKNOWN_TOPIC_ID)
    return Place(found.name, name, indexes)


async def _everything(node: Node, offsets: Offsets, context: RequestContext) -> list[Place]:
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for name, index in list(offsets):
        topics[name].append(index)
        await context.yield_if_due()
    found = {name: node.topics.find(name) for name in sorted(topics)}
    return [Place(name, NO_ID if topic is None else topic.id, sorted(topics[name])) for name, topic in found.items()]


async def _find(kind: type[Partition], offsets: Offsets, place: Place, context: RequestContext) -> list[Partition]:
    found = []
    for index in place.partitions:
        found.append(_partition(kind, offsets, place, index))
        await context.yield_if_due()
    await context.yield_if_due()
    return found


def _partition(kind: type[Partition], offsets: Offsets, place: Place, index: int) -> Partition:
    committed = offsets.get((place.name, index))
    if committed is None:
        return kind(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=place.missing)
    offset, epoch, metadata = committed.offset, committed.leader_epoch, committed.metadata
    return kind(partition_index=index, committed_offset=offset, committed_leader_epoch=epoch, metadata=metadata)


def _offsets(node: Node, group_id: str) -> Offsets:
    group = node.groups.find(group_id)
    return {} if group is None else group.offsets
