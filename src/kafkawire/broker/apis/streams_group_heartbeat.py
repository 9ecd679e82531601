"""StreamsGroupHeartbeat: v0-1. A member of a Kafka Streams application joins, reports, leaves, and gets its tasks.

Rules:
- streams.version 0, or a list of protocols without "streams": UNSUPPORTED_VERSION.
- A topology with internal topics of the broker, or with names that no topic can have: STREAMS_INVALID_TOPOLOGY.
- A topology of more than MOST_PARTS names, topics and settings: STREAMS_INVALID_TOPOLOGY.
- A topic of the topology that the client may not describe: TOPIC_AUTHORIZATION_FAILED.
- Missing internal topics of the application are created as by CreateTopics, and the status says that they are missing.
  If the client may not create all of them, none is created, and the status names those.
- The records of the heartbeat are in the log, and synced if the settings ask for it, before the response.
- v1 asks the member for the description of its topology, unless the group has that of its newest epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.group_settings import STREAMS_HEARTBEAT_INTERVAL
from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.features import STREAMS_VERSION
from kafkawire.broker._metadata.topics import INTERNAL, check_name
from kafkawire.broker.apis.create_topics import check_new_topic
from kafkawire.broker.groups.streams.configuration import StatusCode
from kafkawire.broker.groups.streams.description import current_description
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.broker.groups.streams.heartbeat import StreamsBeat, check_request
from kafkawire.broker.groups.streams.member import Endpoint
from kafkawire.broker.groups.streams.tasks import TaskSet
from kafkawire.broker.groups.streams.topology import MOST_PARTS
from kafkawire.broker.groups.streams.topology_messages import topology_of
from kafkawire.messages import CreateTopicsRequest, StreamsGroupHeartbeatResponse
from kafkawire.messages.errors import (
    InvalidTopicError,
    KafkaError,
    StreamsInvalidTopologyError,
    UnsupportedVersionError,
)
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kafkawire.broker._metadata.changes import NewTopic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.streams.configuration import InternalTopic
    from kafkawire.broker.groups.streams.endpoints import EndpointPartitions
    from kafkawire.broker.groups.streams.heartbeat import StreamsResult
    from kafkawire.broker.groups.streams.tasks import EpochTasks, Tasks
    from kafkawire.messages import StreamsGroupHeartbeatRequest

    StatedTopology = StreamsGroupHeartbeatRequest.Topology
    StatedTasks = list[StreamsGroupHeartbeatRequest.TaskIds] | None

_SHOWN: Final = 3


def check_protocol(node: Node) -> None:
    """Refuse the streams protocol if it is turned off."""
    protocols = {each.strip() for each in node.config.text("group.coordinator.rebalance.protocols").split(",")}
    if node.features.level(STREAMS_VERSION) < 1 or "streams" not in protocols:
        raise UnsupportedVersionError("the streams group protocol is turned off")


@serves("StreamsGroupHeartbeat")
async def handle(
    node: Node, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> StreamsGroupHeartbeatResponse:
    check_protocol(node)
    if request.topology is not None:
        await _check_topology(request.topology, context)
    check_request(request)
    endpoint = request.user_endpoint
    beat = StreamsBeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.address[0]}",
        rack=request.rack_id,
        rebalance_timeout=request.rebalance_timeout_ms,
        topology=None if request.topology is None else topology_of(request.topology),
        owned=await _owned(request, context),
        process_id=request.process_id,
        endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        endpoints_epoch=request.endpoint_information_epoch,
        tags=None if request.client_tags is None else {each.key: each.value for each in request.client_tags},
        shuts_down=request.shutdown_application,
    )
    result = await node.groups.streams_heartbeat(beat)
    await node.groups.durable([request.group_id], context)
    failures = _create_missing(node, request.group_id, result.missing, context) if result.missing else ""
    response = _response(result, failures)
    response.topology_description_required = context.version >= 1 and _lacks_description(node, beat)
    return response


def _lacks_description(node: Node, beat: StreamsBeat) -> bool:
    """Whether a member should describe the topology that its group has."""
    group = node.groups.find(beat.group_id)
    if not isinstance(group, StreamsGroup) or beat.member_id not in group.members or group.topology is None:
        return False
    is_newest = group.members[beat.member_id].topology_epoch == group.topology.epoch
    return is_newest and current_description(group) is None


async def _check_topology(topology: StatedTopology, context: RequestContext) -> None:
    names: dict[str, None] = {}
    parts = 0
    for each in topology.subtopologies:
        for size in _sizes(each):
            parts += size
        if parts > MOST_PARTS:
            raise StreamsInvalidTopologyError(f"a topology of {parts} or more parts, expected at most {MOST_PARTS}")
        internal = (*each.repartition_source_topics, *each.state_changelog_topics)
        listed = (*each.source_topics, *each.repartition_sink_topics, *(topic.name for topic in internal))
        names.update(dict.fromkeys(listed))
        await context.yield_if_due()
    prohibited = [name for name in names if name in INTERNAL]
    if prohibited:
        raise StreamsInvalidTopologyError(
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        )
    invalid = [name for name in names if not _is_valid(name)]
    if invalid:
        raise StreamsInvalidTopologyError(f"Topic names {','.join(invalid)} are not valid topic names.")
    for name in names:
        context.require(Operation.DESCRIBE, ResourceType.TOPIC, name)
        await context.yield_if_due()


def _sizes(subtopology: StreamsGroupHeartbeatRequest.Subtopology) -> Iterator[int]:
    yield 1 + len(subtopology.source_topics) + len(subtopology.source_topic_regex)
    yield len(subtopology.repartition_sink_topics)
    for topics in (subtopology.state_changelog_topics, subtopology.repartition_source_topics):
        yield sum(1 + len(topic.topic_configs) for topic in topics[:MOST_PARTS]) + len(topics[MOST_PARTS:])
    yield sum(
        1 + len(group.source_topics) + len(group.source_topic_regex) + len(group.repartition_source_topics)
        for group in subtopology.copartition_groups[:MOST_PARTS]
    ) + len(subtopology.copartition_groups[MOST_PARTS:])


def _is_valid(name: str) -> bool:
    try:
        check_name(name)
    except InvalidTopicError:
        return False
    return True


async def _owned(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> TaskSet | None:
    """The tasks that a member reports; None unless it reports all kinds."""
    kinds = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(tasks is None for tasks in kinds):
        return None
    return TaskSet(*[await _tasks(tasks, context) for tasks in kinds])


async def _tasks(stated: StatedTasks, context: RequestContext) -> dict[str, set[int]]:
    tasks: dict[str, set[int]] = {}
    for each in stated or ():
        tasks.setdefault(each.subtopology_id, set()).update(each.partitions)
        await context.yield_if_due()
    return tasks


def _create_missing(node: Node, group_id: str, missing: Mapping[str, InternalTopic], context: RequestContext) -> str:
    """Have missing topics created; the errors of those that failed before, or that the client may not create."""
    if not context.may(Operation.CREATE, ResourceType.CLUSTER):
        denied = [name for name in missing if not context.may(Operation.CREATE, ResourceType.TOPIC, name)]
        if denied:
            return f"; Unauthorized to CREATE on topics {', '.join(denied)}."
    wanted = {name: _checked(node, topic) for name, topic in missing.items()}
    node.groups.internal_topics.create(wanted, 2 * node.group_configs.integer(group_id, STREAMS_HEARTBEAT_INTERVAL))
    errors = [f"{name} ({error})" for name, error in node.groups.internal_topics.errors(missing).items()]
    if not errors:
        return ""
    more = f" and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    return f"; Creation failed: {', '.join(errors[:_SHOWN])}{more}."


def _checked(node: Node, topic: InternalTopic) -> NewTopic | KafkaError:
    kind = CreateTopicsRequest
    wanted = kind.CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or -1,
        configs=[kind.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )
    try:
        return check_new_topic(node, wanted)
    except KafkaError as error:
        return error


def _response(result: StreamsResult, failures: str) -> StreamsGroupHeartbeatResponse:
    kind = StreamsGroupHeartbeatResponse
    response = kind(
        member_id=result.member_id,
        member_epoch=result.epoch,
        heartbeat_interval_ms=result.interval,
        endpoint_information_epoch=result.endpoints_epoch,
        status=[
            kind.Status(
                status_code=code,
                status_detail=detail + (failures if code is StatusCode.MISSING_INTERNAL_TOPICS else ""),
            )
            for code, detail in result.statuses
        ],
    )
    if result.tasks is not None:
        response.active_tasks = _listed(result.tasks.active)
        response.standby_tasks = _listed(result.tasks.standby)
        response.warmup_tasks = _listed(result.tasks.warmup)
    if result.endpoints is not None:
        response.partitions_by_user_endpoint = [*map(_endpoint, result.endpoints)]
    return response


def _listed(tasks: Tasks | EpochTasks) -> list[StreamsGroupHeartbeatResponse.TaskIds]:
    return [
        StreamsGroupHeartbeatResponse.TaskIds(subtopology_id=name, partitions=sorted(partitions))
        for name, partitions in sorted(tasks.items())
    ]


def _endpoint(found: EndpointPartitions) -> StreamsGroupHeartbeatResponse.EndpointToPartitions:
    kind = StreamsGroupHeartbeatResponse
    host, port = found.endpoint
    return kind.EndpointToPartitions(
        user_endpoint=kind.Endpoint(host=host, port=port),
        active_partitions=_places(found.active),
        standby_partitions=_places(found.standby),
    )


def _places(topics: Iterable[tuple[str, Sequence[int]]]) -> list[StreamsGroupHeartbeatResponse.TopicPartition]:
    kind = StreamsGroupHeartbeatResponse.TopicPartition
    return [kind(topic=name, partitions=[*partitions]) for name, partitions in topics]
