"""Start offsets of share groups: described, set, deleted, over restarts and crashes between their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask
from tests.broker.share.share_requests import (
    ALL,
    GROUP,
    acknowledge,
    acquired,
    fetch,
    fetch_request,
    heartbeat,
    join,
    produce,
)

from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.messages import (
    AlterShareGroupOffsetsRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
)
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkawire.broker._node import Node


@pytest.fixture
def shared(node: Node) -> Node:
    """A node with ten records of a topic with two partitions."""
    node.group_configs.change(GROUP, {"share.auto.offset.reset": "earliest"})
    node.create_topic("pair", 2)
    produce(node, 10, "pair")
    return node


def described(node: Node, topics: Mapping[str, Sequence[int]] | None = None, *, group: str = GROUP) -> Any:
    kind = DescribeShareGroupOffsetsRequest
    wanted = None
    if topics is not None:
        wanted = [
            kind.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[*partitions])
            for name, partitions in topics.items()
        ]
    asked = kind.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=wanted)
    (found,) = ask(node, kind(groups=[asked])).groups
    assert not found.error_code, found
    return {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag)
        for topic in found.topics
        for each in topic.partitions
        if not each.error_code
    }


def alter(node: Node, offsets: Mapping[tuple[str, int], int], group: str = GROUP) -> Any:
    kind = AlterShareGroupOffsetsRequest
    topics: dict[str, Any] = {}
    for (name, index), offset in offsets.items():
        topic = topics.setdefault(name, kind.AlterShareGroupOffsetsRequestTopic(topic_name=name))
        topic.partitions.append(kind.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset))
    return ask(node, kind(group_id=group, topics=list(topics.values())))


def delete(node: Node, *topics: str, group: str = GROUP) -> Any:
    kind = DeleteShareGroupOffsetsRequest
    wanted = [kind.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
    return ask(node, kind(group_id=group, topics=wanted))


def errors(answer: Any) -> dict[tuple[str, int], int]:
    assert not answer.error_code, answer
    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }


def leave(node: Node, member: str = "m") -> None:
    assert not heartbeat(node, member, -1).error_code


def test_offsets_and_lag_follow_what_a_group_reads(shared: Node) -> None:
    join(shared, "m", "pair")
    assert described(shared) == {("pair", 0): (-1, -1), ("pair", 1): (-1, -1)}
    pair = shared.topics.get("pair").id
    fetch(shared, "m", 0, topic=pair)
    fetch(shared, "m", 1, (0, 3, ALL), topic=pair)
    assert described(shared)["pair", 0] == (0, 6)
    fetch(shared, "m", 2, (6, 6, ALL), topic=pair)
    assert described(shared, {"pair": [0, 0]}) == {("pair", 0): (4, 5)}


def test_set_offsets_replace_the_state_of_a_group_and_last(shared: Node, open_node: Callable[..., Node]) -> None:
    join(shared, "m", "pair")
    pair = shared.topics.get("pair").id
    fetch(shared, "m", 0, topic=pair)
    fetch(shared, "m", 1, (2, 5, ALL), topic=pair)
    leave(shared)
    assert errors(alter(shared, {("pair", 0): 3})) == {("pair", 0): 0}
    for node in (shared, restarted(open_node)):
        assert described(node) == {("pair", 0): (3, 7), ("pair", 1): (-1, -1)}
    join(shared, "m", "pair")
    assert acquired(fetch(shared, "m", 0, topic=pair)) == [(3, 9, 1)]


def test_a_group_begins_with_its_first_offset(shared: Node, open_node: Callable[..., Node]) -> None:
    assert errors(alter(shared, {("pair", 0): 9, ("pair", 1): 0})) == {("pair", 0): 0, ("pair", 1): 0}
    node = restarted(open_node)
    assert described(node) == {("pair", 0): (9, 1), ("pair", 1): (0, 0)}
    join(node, "m", "pair")
    assert acquired(fetch(node, "m", 0, topic=node.topics.get("pair").id)) == [(9, 9, 1)]


def test_an_offset_of_minus_one_lets_the_group_begin_where_its_settings_say(shared: Node) -> None:
    alter(shared, {("pair", 0): 9})
    alter(shared, {("pair", 0): -1})
    assert described(shared) == {("pair", 0): (-1, -1)}
    join(shared, "m", "pair")
    assert acquired(fetch(shared, "m", 0, topic=shared.topics.get("pair").id)) == [(0, 9, 1)]


def test_wrong_partitions_are_refused_and_others_set(shared: Node) -> None:
    offsets = {("pair", 0): 1, ("pair", 2): 1, ("pair", -1): 1, ("pair", 1): -2, ("nowhere", 0): 1}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors(alter(shared, offsets)) == {
        ("pair", 0): 0,
        ("pair", 2): unknown,
        ("pair", -1): unknown,
        ("pair", 1): ErrorCode.INVALID_REQUEST,
        ("nowhere", 0): unknown,
    }
    assert described(shared) == {("pair", 0): (1, 9)}


def test_a_request_without_a_valid_offset_creates_no_group(shared: Node) -> None:
    alter(shared, {})
    alter(shared, {("nowhere", 0): 1})
    assert shared.groups.find(GROUP) is None


def test_offsets_of_a_group_with_members_stay(shared: Node) -> None:
    join(shared, "m", "pair")
    before = described(shared)
    assert alter(shared, {("pair", 0): 3}).error_code == ErrorCode.NON_EMPTY_GROUP
    assert delete(shared, "pair").error_code == ErrorCode.NON_EMPTY_GROUP
    assert described(shared) == before


def test_groups_of_other_kinds_and_missing_ones_are_refused(shared: Node) -> None:
    beat = ConsumerGroupHeartbeatRequest(
        group_id="other", member_id="a", rebalance_timeout_ms=1, subscribed_topic_names=["pair"], topic_partitions=[]
    )
    assert not ask(shared, beat).error_code
    for group, error in (("other", ErrorCode.GROUP_ID_NOT_FOUND), ("", ErrorCode.INVALID_GROUP_ID)):
        assert alter(shared, {("pair", 0): 3}, group).error_code == error
        assert delete(shared, "pair", group=group).error_code == error
    assert delete(shared, "pair", group="nowhere").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described(shared, group="other") == {}
    assert described(shared, {"pair": [0, 7], "nowhere": [0]}, group="nowhere") == {
        ("pair", 0): (-1, -1),
        ("pair", 7): (-1, -1),
        ("nowhere", 0): (-1, -1),
    }


def test_deleted_offsets_are_gone_and_the_group_begins_again(shared: Node, open_node: Callable[..., Node]) -> None:
    alter(shared, {("pair", 0): 9, ("pair", 1): 0, ("orders", 0): 0})
    answer = delete(shared, "pair", "pair", "nowhere")
    assert [(each.topic_name, each.error_code) for each in answer.responses] == [
        ("pair", 0),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    again = delete(shared, "pair").responses[0]
    assert (again.error_code, again.topic_id) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_ID)
    for node in (shared, restarted(open_node)):
        assert described(node) == {("orders", 0): (0, 0)}
    join(node, "m", "pair")
    assert acquired(fetch(node, "m", 0, topic=node.topics.get("pair").id)) == [(0, 9, 1)]


def test_a_deleted_group_leaves_no_state(shared: Node, open_node: Callable[..., Node]) -> None:
    alter(shared, {("pair", 0): 9, ("orders", 0): 0})
    assert ask(shared, DeleteGroupsRequest(groups_names=[GROUP])).results[0].error_code == 0
    for node in (shared, restarted(open_node)):
        assert node.shares.keys_of(GROUP) == []
        assert node.groups.find(GROUP) is None


@pytest.mark.parametrize("step", ["initialize", "delete"])
def test_a_crash_between_the_steps_of_a_change_is_mended_by_the_next(
    shared: Node, open_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    alter(shared, {("pair", 0): 5})

    def crash(*_: object) -> None:
        raise KafkaStorageError("the crash")

    with monkeypatch.context() as patched:
        patched.setattr(shared.shares, step, crash)
        changed = alter(shared, {("pair", 0): 3}) if step == "initialize" else delete(shared, "pair")
        assert changed.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    node = restarted(open_node)
    if step == "initialize":
        assert described(node) == {("pair", 0): (5, 5)}
        alter(node, {("pair", 0): 3})
        assert described(node) == {("pair", 0): (3, 7)}
    else:
        assert described(node) == {}
        assert delete(node, "pair").responses[0].error_code == 0
        assert node.shares.keys_of(GROUP) == []


def test_the_records_that_a_fetch_releases_come_after_those_that_were_available(shared: Node) -> None:
    produce(shared, 4)
    join(shared, "m", "orders")
    settings: dict[str, Any] = {"max_records": 2, "share_acquire_mode": 1}
    assert acquired(fetch(shared, "m", 0, **settings)) == [(0, 1, 1)]
    assert acquired(fetch(shared, "m", 1, (0, 1, (2,)), **settings)) == [(2, 3, 1)]
    assert acquired(fetch(shared, "m", 2, **settings)) == [(0, 1, 2)]


def test_a_fetch_that_waits_gets_what_it_has_released_itself(shared: Node) -> None:
    produce(shared, 4)
    join(shared, "m", "orders")
    fetch(shared, "m", 0)
    assert acquired(fetch(shared, "m", 1, (0, 3, (2,)), max_wait_ms=60_000, min_bytes=1)) == [(0, 3, 2)]


def test_acknowledgements_of_a_fetch_have_taken_effect_when_it_is_answered(shared: Node) -> None:
    produce(shared, 4)
    join(shared, "m", "orders")
    fetch(shared, "m", 0)
    request = fetch_request(shared, "m", 1, [(1, 1, ALL)])
    request.topics.append(fetch_request(shared, "m", 1, [(1, 2, ALL)]).topics[0])
    codes = {each.acknowledge_error_code for each in ask(shared, request).responses[0].partitions}
    assert codes == {ErrorCode.INVALID_RECORD_STATE}, "the second acknowledgement of an offset"
    assert acknowledge(shared, "m", 2, (0, 0, ALL), (2, 3, ALL)).error_code == 0


def restarted(open_node: Callable[..., Node]) -> Node:
    """The node after a crash: what it has written is read again."""
    node = open_node()
    node.group_configs.change(GROUP, {"share.auto.offset.reset": "earliest"})
    node.start()
    return node
