"""Heartbeats, sessions and leaving."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import GROUP, SESSION, ManualCoordinator

from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import Leaver
from kafkawire.messages.errors import ErrorCode, KafkaStorageError


def test_heartbeats_keep_a_member_in(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    for _ in range(5):
        scene.pass_time(SESSION - 1)
        assert scene.heartbeat(member, 1) == ErrorCode.NONE


def test_a_member_that_falls_silent_is_out_when_its_session_ends(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    scene.pass_time(SESSION - 1)
    assert list(scene.group.members) == [member]
    scene.pass_time(1)
    assert scene.group.state is State.EMPTY
    assert scene.heartbeat(member, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_others_share_the_partitions_of_a_silent_member(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    scene.pass_time(SESSION - 1)
    scene.heartbeat(follower, 2)
    scene.pass_time(1)
    assert list(scene.group.members) == [follower]
    assert scene.heartbeat(follower, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.join(follower).joined.leader == follower
    assert scene.join(leader).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_waits_for_others_to_join_need_not_send_heartbeats(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    waiting = scene.join(leader)
    for _ in range(3):
        scene.pass_time(SESSION - 1)
        scene.heartbeat(follower, 2)
    scene.join(follower)
    assert waiting.joined.generation == 3


@pytest.mark.parametrize(
    ("member", "generation", "instance", "error"),
    [
        ("ghost", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 0, None, ErrorCode.ILLEGAL_GENERATION),
        (None, 2, None, ErrorCode.ILLEGAL_GENERATION),
        (None, 1, "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 1, None, ErrorCode.NONE),
    ],
)
def test_a_heartbeat_returns_the_state_of_a_member(
    scene: ManualCoordinator, member: str | None, generation: int, instance: str | None, error: ErrorCode
) -> None:
    (known,) = scene.stable_group()
    assert scene.heartbeat(member or known, generation, instance) == error


def test_a_heartbeat_between_join_and_sync_is_fine(scene: ManualCoordinator) -> None:
    request = scene.join()
    scene.pass_time(0)
    assert scene.heartbeat(request.joined.member_id, 1) == ErrorCode.NONE


def test_a_heartbeat_to_no_group_is_from_no_member(scene: ManualCoordinator) -> None:
    assert scene.heartbeat("anyone", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_to_leave_leaves_an_empty_group_that_is_written_down(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    written = len(scene.log.entries)
    assert scene.leave(member) == ErrorCode.NONE
    assert (scene.group.state, scene.group.leader, scene.group.protocol_name) == (State.EMPTY, None, None)
    assert len(scene.log.entries) == written + 1


def test_a_group_becomes_empty_even_if_that_cannot_be_written(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    scene.log.failure = KafkaStorageError()
    scene.leave(member)
    assert scene.group.state is State.EMPTY


def test_the_leader_that_leaves_is_followed_by_another(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    scene.leave(leader)
    request = scene.join(follower)
    assert (request.joined.leader, request.joined.generation) == (follower, 3)


def test_a_member_that_leaves_while_joining_does_not_stop_the_others(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    waiting = scene.join(leader)
    scene.leave(follower)
    assert [each.member_id for each in waiting.joined.members] == [leader]


def test_an_id_that_never_joined_can_leave(scene: ManualCoordinator) -> None:
    (leader,) = scene.stable_group()
    newcomer = scene.join_new()
    waiting = scene.join(leader)
    assert waiting.is_waiting
    assert scene.leave(newcomer) == ErrorCode.NONE
    assert waiting.joined.generation == 2


def test_many_leave_at_once_each_with_its_own_answer(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    leavers = [Leaver(leader), Leaver("ghost"), Leaver("", "unknown"), Leaver(follower), Leaver("")]
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    errors = scene.coordinator.leave(GROUP, leavers, scene.now)
    assert errors == [ErrorCode.NONE, unknown, unknown, ErrorCode.NONE, unknown]
    assert scene.group.state is State.EMPTY


def test_leaving_no_group_is_an_error_of_each(scene: ManualCoordinator) -> None:
    assert scene.coordinator.leave("none", [Leaver("a")], scene.now) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert scene.coordinator.leave("", [Leaver("a")], scene.now) == [ErrorCode.INVALID_GROUP_ID]
