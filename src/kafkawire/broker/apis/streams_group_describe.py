"""StreamsGroupDescribe: v0-1. Describes streams groups: epochs, topology, members, their tasks and targets.

Rules:
- Errors, repeated names and topics that the client may not describe: `groups.describing`.
- The topology of a group that is ready has the decided numbers of partitions, else those that the first member stated.
- streams.version 0, or a list of protocols without "streams": UNSUPPORTED_VERSION for every group.
- v1 names the assignor, and has the description of the topology if the request wants it. Its status is NOT_REQUESTED,
  NOT_STORED or AVAILABLE. No released broker serves v1: it follows the definition of the message.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.streams_group_heartbeat import check_protocol
from kafkawire.broker.groups.describing import describe_groups, find_group, refused
from kafkawire.broker.groups.streams.description import current_description
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.messages import StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.streams.configuration import InternalTopic
    from kafkawire.broker.groups.streams.member import StreamsMember
    from kafkawire.broker.groups.streams.tasks import EpochTasks, OwnedTasks, Tasks, TaskSet
    from kafkawire.broker.groups.streams.topology import TopicInfo
    from kafkawire.messages import StreamsGroupDescribeRequest, StreamsGroupTopologyDescriptionUpdateRequest

    DescribedNode = StreamsGroupDescribeResponse.TopologyDescriptionNode

_Described = StreamsGroupDescribeResponse.DescribedGroup
_ASSIGNOR: Final = "sticky"
_NOT_STORED: Final = 1
_AVAILABLE: Final = 3


def refuse(
    request: StreamsGroupDescribeRequest, error: Refusal, context: RequestContext
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(groups=refused(request, error, _Described))


@serves("StreamsGroupDescribe", refuse=refuse)
async def handle(
    node: Node, request: StreamsGroupDescribeRequest, context: RequestContext
) -> StreamsGroupDescribeResponse:
    check_protocol(node)
    describe = partial(_describe, node, request, context)
    groups = await describe_groups(node, request, context, _Described, describe, _topics)
    return StreamsGroupDescribeResponse(groups=groups)


async def _describe(
    node: Node, request: StreamsGroupDescribeRequest, context: RequestContext, group_id: str
) -> _Described:
    group = find_group(node, group_id, StreamsGroup, "streams")
    described = _Described(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group),
        assignor_name=_ASSIGNOR,
    )
    for member in list(group.members.values()):
        described.members.append(_member(group, member))
        await context.yield_if_due()
    if request.include_topology_description:
        await _add_description(group, described, context)
    return described


async def _add_description(group: StreamsGroup, described: _Described, context: RequestContext) -> None:
    """Add what the members of a group tell about its topology."""
    known = current_description(group)
    if known is None:
        described.topology_description_status = _NOT_STORED
        return
    kind = StreamsGroupDescribeResponse
    found = kind.TopologyDescription()
    for part in known.stated.subtopologies:
        nodes = []
        for each in part.nodes:
            nodes.append(_node(each))
            await context.yield_if_due()
        found.subtopologies.append(kind.TopologyDescriptionSubtopology(subtopology_id=part.subtopology_id, nodes=nodes))
        await context.yield_if_due()
    for store in known.stated.global_stores:
        pair = kind.TopologyDescriptionGlobalStore(source=_node(store.source), processor=_node(store.processor))
        found.global_stores.append(pair)
        await context.yield_if_due()
    described.topology_description, described.topology_description_status = found, _AVAILABLE


def _node(stated: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode) -> DescribedNode:
    return StreamsGroupDescribeResponse.TopologyDescriptionNode(
        name=stated.name,
        node_type=stated.node_type,
        source_topics=stated.source_topics,
        sink_topic=stated.sink_topic,
        stores=stated.stores,
        successors=stated.successors,
    )


def _nodes(described: _Described) -> Iterator[DescribedNode]:
    """Every node of the description of a topology."""
    if described.topology_description is not None:
        for part in described.topology_description.subtopologies:
            yield from part.nodes
        for store in described.topology_description.global_stores:
            yield from (store.source, store.processor)


def _topics(described: _Described) -> Iterator[str]:
    parts = () if described.topology is None else described.topology.subtopologies or ()
    for part in parts:
        yield from (*part.source_topics, *part.repartition_sink_topics)
        yield from (each.name for each in (*part.state_changelog_topics, *part.repartition_source_topics))
    for node in _nodes(described):
        yield from (topic for topic in (*node.source_topics, node.sink_topic) if topic)


def _topology(group: StreamsGroup) -> StreamsGroupDescribeResponse.Topology | None:
    configured, topology = group.configured, group.topology
    if topology is None:
        return None
    kind = StreamsGroupDescribeResponse
    listed = []
    ready = configured.subtopologies if configured is not None and configured.is_ready else None
    for name, stated in sorted(topology.subtopologies.items()):
        decided = None if ready is None else ready.get(name)
        if decided is None:
            changelogs, repartition = _infos(stated.changelog_topics), _infos(stated.repartition_source_topics)
        else:
            changelogs, repartition = _infos(decided.changelogs.values()), _infos(decided.repartition.values())
        sources: Iterable[str] = stated.source_topics if decided is None else decided.sources
        sinks: Iterable[str] = stated.repartition_sink_topics if decided is None else decided.sinks
        listed.append(
            kind.Subtopology(
                subtopology_id=name,
                source_topics=sorted(sources),
                repartition_sink_topics=sorted(sinks),
                state_changelog_topics=changelogs,
                repartition_source_topics=repartition,
            )
        )
    return kind.Topology(epoch=topology.epoch, subtopologies=listed)


def _infos(topics: Iterable[TopicInfo | InternalTopic]) -> list[StreamsGroupDescribeResponse.TopicInfo]:
    kind = StreamsGroupDescribeResponse
    return [
        kind.TopicInfo(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            topic_configs=[
                kind.KeyValue(key=key, value=value)
                for key, value in (configs if isinstance(configs, tuple) else configs.items())
            ],
        )
        for name, partitions, replication_factor, configs in sorted(topics, key=_name)
    ]


def _name(topic: TopicInfo | InternalTopic) -> str:
    return topic.name


def _member(group: StreamsGroup, member: StreamsMember) -> StreamsGroupDescribeResponse.Member:
    kind = StreamsGroupDescribeResponse
    endpoint = member.endpoint
    return kind.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else kind.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[kind.KeyValue(key=key, value=value) for key, value in member.tags.items()],
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(group.target(member.member_id)),
    )


def _assignment(tasks: TaskSet | OwnedTasks) -> StreamsGroupDescribeResponse.Assignment:
    return StreamsGroupDescribeResponse.Assignment(
        active_tasks=_listed(tasks.active), standby_tasks=_listed(tasks.standby), warmup_tasks=_listed(tasks.warmup)
    )


def _listed(tasks: Tasks | EpochTasks) -> list[StreamsGroupDescribeResponse.TaskIds]:
    return [
        StreamsGroupDescribeResponse.TaskIds(subtopology_id=name, partitions=sorted(partitions))
        for name, partitions in sorted(tasks.items())
    ]
