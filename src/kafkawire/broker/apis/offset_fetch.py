"""OffsetFetch: v0-10. Returns the committed offsets of groups.

Rules:
- v0-7 are about one group, v8+ about many. Null topics (v2+) ask for all committed offsets of the group.
- Without a committed offset: offset -1 and no error, also for unknown groups and topics. Only v0 returns
  UNKNOWN_TOPIC_OR_PARTITION. v10 has topic ids: an unknown one is UNKNOWN_TOPIC_ID, and an offset that was committed
  for an earlier topic of the same name counts as none.
- With RequireStable (v7+) a partition with an offset of an open transaction is UNSTABLE_OFFSET_COMMIT. Without it, its
  last committed offset is returned.
- v9+: a member of a consumer group names itself and its epoch. UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH for the group if
  they are not those of a member. Classic groups ignore them.
- A group, a topic or a partition that occurs more than once is answered once. Apache Kafka answers every occurrence,
  so that a small request can have a response of any size.
- A group that the client may not describe: GROUP_AUTHORIZATION_FAILED. A topic: TOPIC_AUTHORIZATION_FAILED for its
  partitions, whether it exists or not; the list of all offsets leaves it out.
- An offset that a crash could still lose is not returned.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.messages import OffsetFetchRequest, OffsetFetchResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import CommittedOffset, TopicPartition

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
    expected_id: UUID = NO_ID
    """The topic that an offset must be of; without one, any topic of the name."""


class Known(NamedTuple):
    """The committed offsets of a group, and the partitions whose offsets are unstable, if that is asked for."""

    offsets: Offsets
    unstable: Collection[TopicPartition] = ()


def refuse(request: OffsetFetchRequest, error: Refusal, context: RequestContext) -> OffsetFetchResponse:
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
                    _partition(kind, Known({}), Place("", NO_ID, (), code), index) for index in each.partition_indexes
                ],
            )
            for each in topics
        ],
    )


@serves("OffsetFetch", refuse=refuse)
async def handle(node: Node, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    if context.version < 8:
        context.require(Operation.DESCRIBE, ResourceType.GROUP, request.group_id)
        response = OffsetFetchResponse(topics=await _one_group(node, request, context))
        await node.groups.durable([request.group_id], context)
        return response
    wanted = await _wanted(request, context)
    response = OffsetFetchResponse()
    refused = await _refused(node, request, context)
    for group_id, topics in wanted.items():
        if group_id in refused:
            response.groups.append(
                OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id, error_code=refused[group_id])
            )
        else:
            known = _known(node, group_id, request)
            response.groups.append(await _group(node, group_id, known, topics, context))
        await context.yield_if_due()
    await node.groups.durable(wanted, context)
    return response


async def _one_group(
    node: Node, request: OffsetFetchRequest, context: RequestContext
) -> list[OffsetFetchResponse.OffsetFetchResponseTopic]:
    places: Iterable[Place]
    known = _known(node, request.group_id, request)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if context.version == 0 else ErrorCode.NONE
    if request.topics is None:
        places = await _everything(node, known.offsets, context)
        places = [place for place in places if context.may(Operation.DESCRIBE, ResourceType.TOPIC, place.name)]
    else:
        topics: Topics = {}
        for topic in request.topics:
            await _add(topics, topic.name, topic.partition_indexes, context)
        places = (Place(str(name), NO_ID, indexes, missing) for name, indexes in topics.items())
    kind = OffsetFetchResponse.OffsetFetchResponsePartition
    found = []
    for place in places:
        partitions = await _find(kind, known, place, context)
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


async def _refused(node: Node, request: OffsetFetchRequest, context: RequestContext) -> dict[str, ErrorCode]:
    """The groups whose members may not fetch, with their errors."""
    refused = {}
    for group in request.groups:
        if context.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            error = node.groups.check_fetch(group.group_id, group.member_id, group.member_epoch)
        else:
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
        if error:
            refused[group.group_id] = error
        await context.yield_if_due()
    return refused


async def _add(topics: Topics, name: str | UUID, indexes: list[int], context: RequestContext) -> None:
    known = topics.setdefault(name, {})
    for index in indexes:
        known[index] = None
        await context.yield_if_due()
    await context.yield_if_due()


async def _group(
    node: Node, group_id: str, known: Known, topics: Topics | None, context: RequestContext
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    places: Iterable[Place]
    if topics is None:
        everything = [
            place
            for place in await _everything(node, known.offsets, context)
            if context.may(Operation.DESCRIBE, ResourceType.TOPIC, place.name)
        ]
        places = (place for place in everything if context.version < 10 or place.topic_id != NO_ID)
    else:
        places = (_place(node, name, indexes) for name, indexes in topics.items())
    kind = OffsetFetchResponse.OffsetFetchResponsePartitions
    answered = OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id)
    for place in places:
        partitions = await _find(kind, known, place, context)
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
    return Place(found.name, name, indexes, expected_id=name)


async def _everything(node: Node, offsets: Offsets, context: RequestContext) -> list[Place]:
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for name, index in list(offsets):
        topics[name].append(index)
        await context.yield_if_due()
    found = {name: node.topics.find(name) for name in sorted(topics)}
    return [Place(name, NO_ID if topic is None else topic.id, sorted(topics[name])) for name, topic in found.items()]


async def _find(kind: type[Partition], known: Known, place: Place, context: RequestContext) -> list[Partition]:
    found = []
    is_known = place.name or place.topic_id == NO_ID
    if is_known and not context.may(Operation.DESCRIBE, ResourceType.TOPIC, place.name):
        known, place = Known({}), place._replace(missing=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    for index in place.partitions:
        found.append(_partition(kind, known, place, index))
        await context.yield_if_due()
    await context.yield_if_due()
    return found


def _partition(kind: type[Partition], known: Known, place: Place, index: int) -> Partition:
    where = place.name, index
    if where in known.unstable:
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return kind(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=unstable)
    committed = known.offsets.get(where)
    if committed is None or NO_ID != committed.topic_id != place.expected_id != NO_ID:
        return kind(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=place.missing)
    offset, epoch, metadata = committed.offset, committed.leader_epoch, committed.metadata
    return kind(partition_index=index, committed_offset=offset, committed_leader_epoch=epoch, metadata=metadata)


def _known(node: Node, group_id: str, request: OffsetFetchRequest) -> Known:
    group = node.groups.find(group_id)
    if group is None:
        return Known({})
    return Known(group.offsets, node.groups.unstable(group_id) if request.require_stable else ())
