"""The description of a streams application's topology: asked for, sent, shown, refused, and forgotten by a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask

from kafkawire import messages as m
from kafkawire.broker.groups.streams import description
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node

Update = m.StreamsGroupTopologyDescriptionUpdateRequest
GROUP, MEMBER = "application", "member"
NOT_REQUESTED, NOT_STORED, AVAILABLE = 0, 1, 3
SOURCE, PROCESSOR, SINK = 1, 2, 3


def beat(node: Node, epoch: int = 0, version: int = 1, topology_epoch: int = 0) -> Any:
    kind = m.StreamsGroupHeartbeatRequest
    part = kind.Subtopology(subtopology_id="0", source_topics=["orders"])
    request = kind(group_id=GROUP, member_id=MEMBER, member_epoch=epoch)
    if not epoch:
        request.topology = kind.Topology(epoch=topology_epoch, subtopologies=[part])
        request.rebalance_timeout_ms, request.process_id = 1_000, "process"
        request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
    answer = ask(node, request, version)
    assert not answer.error_code, answer
    return answer


def update(node: Node, **changes: Any) -> Any:
    node_of = Update.TopologyDescriptionNode
    nodes = [
        node_of(name="in", node_type=SOURCE, source_topics=["orders"], successors=["count"]),
        node_of(name="count", node_type=PROCESSOR, stores=["counts"], successors=["out"]),
        node_of(name="out", node_type=SINK, sink_topic="results"),
    ]
    stated = Update.TopologyDescription(
        subtopologies=[Update.TopologyDescriptionSubtopology(subtopology_id="0", nodes=nodes)],
        global_stores=[
            Update.TopologyDescriptionGlobalStore(
                source=node_of(name="all", node_type=SOURCE), processor=node_of(name="keep", node_type=PROCESSOR)
            )
        ],
    )
    request = Update(group_id=GROUP, member_id=MEMBER, topology_epoch=0, topology_description=stated)
    for name, value in changes.items():
        setattr(request, name, value)
    return ask(node, request)


def described(node: Node, *, wanted: bool = True, version: int = 1) -> Any:
    request = m.StreamsGroupDescribeRequest(group_ids=[GROUP], include_topology_description=wanted)
    return ask(node, request, version).groups[0]


def test_a_member_is_asked_until_the_group_has_a_description(node: Node) -> None:
    joined = beat(node)
    assert joined.topology_description_required
    assert beat(node, joined.member_epoch).topology_description_required
    assert update(node).error_code == 0
    assert not beat(node, joined.member_epoch).topology_description_required
    assert not beat(node, joined.member_epoch, version=0).topology_description_required


def test_older_clients_are_not_asked(node: Node) -> None:
    assert not beat(node, version=0).topology_description_required


def test_the_description_is_shown_to_those_who_ask(node: Node) -> None:
    beat(node)
    assert described(node).topology_description_status == NOT_STORED
    update(node)
    group = described(node)
    assert (group.topology_description_status, group.assignor_name) == (AVAILABLE, "sticky")
    (part,) = group.topology_description.subtopologies
    assert [(each.name, each.node_type, each.sink_topic, each.successors) for each in part.nodes] == [
        ("in", SOURCE, None, ["count"]),
        ("count", PROCESSOR, None, ["out"]),
        ("out", SINK, "results", []),
    ]
    (store,) = group.topology_description.global_stores
    assert (store.source.name, store.processor.name) == ("all", "keep")
    quiet = described(node, wanted=False)
    assert (quiet.topology_description_status, quiet.topology_description) == (NOT_REQUESTED, None)
    assert described(node, wanted=False, version=0).group_id == GROUP


def test_a_restart_forgets_the_description_and_asks_again(node: Node, open_node: Callable[..., Node]) -> None:
    epoch = beat(node).member_epoch
    update(node)
    again = open_node()
    again.start()
    assert described(again).topology_description_status == NOT_STORED
    assert beat(again, epoch).topology_description_required
    assert update(again).error_code == 0
    assert described(again).topology_description_status == AVAILABLE


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "nowhere"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "classic"}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"topology_epoch": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_wrong_descriptions_change_nothing(node: Node, changes: dict[str, Any], error: ErrorCode) -> None:
    beat(node)
    place = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[place])
    ask(node, m.OffsetCommitRequest(group_id="classic", topics=[topic]), 9)
    assert update(node, **changes).error_code == error
    assert described(node).topology_description_status == NOT_STORED


def test_a_description_that_is_too_large_is_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "MOST_BYTES", -1)
    beat(node)
    assert update(node).error_code == ErrorCode.STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED


def test_the_protocol_may_be_turned_off(node: Node) -> None:
    beat(node)
    node.features._levels["streams.version"] = 0
    assert update(node).error_code == ErrorCode.UNSUPPORTED_VERSION
