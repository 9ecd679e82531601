"""The leader's assignment, and who gets it."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import REBALANCE, SESSION, ManualCoordinator

from kafkawire.broker.groups.classic.states import State
from kafkawire.messages.errors import ErrorCode, KafkaStorageError, RecordTooLargeError


def two_joined(scene: ManualCoordinator) -> tuple[str, str]:
    """Leader and follower of a generation 2 that has no assignment yet."""
    first = scene.join()
    scene.pass_time(0)
    second = scene.join()
    scene.join(first.joined.member_id)
    return first.joined.member_id, second.joined.member_id


def test_followers_wait_for_the_leader_and_everyone_gets_its_own_part(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    assert early.is_waiting
    led = scene.sync(leader, 2, {leader: b"one", follower: b"two"})
    assert (led.synced.assignment, early.synced.assignment) == (b"one", b"two")
    assert (early.synced.protocol_type, early.synced.protocol_name) == ("consumer", "range")
    assert scene.group.state is State.STABLE


def test_a_follower_that_comes_late_is_answered_at_once(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    scene.sync(leader, 2, {follower: b"two"})
    assert scene.sync(follower, 2).synced.assignment == b"two"


def test_a_member_that_the_leader_left_out_gets_nothing_to_do(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    scene.sync(leader, 2, {leader: b"one", "stranger": b"three"})
    assert scene.sync(follower, 2).synced.assignment == b""


def test_an_assignment_is_written_down_before_it_is_passed_on(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    led = scene.sync(leader, 2, {follower: b"two"})
    assert len(scene.log.entries) == 1
    assert led.reply is not None
    assert led.reply.needs_sync
    assert early.reply is not None
    assert early.reply.needs_sync


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (OSError("disk full"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (RecordTooLargeError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_written_is_passed_on_to_nobody(
    scene: ManualCoordinator, failure: KafkaStorageError, told: ErrorCode
) -> None:
    leader, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    scene.log.failure = failure
    led = scene.sync(leader, 2, {follower: b"two"})
    assert (led.error, early.error) == (told, told)
    assert scene.group.state is State.PREPARING
    assert scene.group.members[follower].assignment == b""


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"member_id": "ghost", "generation": 2}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 3}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "none"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_a_sync_that_does_not_fit_is_refused(
    scene: ManualCoordinator, said: dict[str, object], error: ErrorCode
) -> None:
    _, follower = two_joined(scene)
    asked = {"member_id": follower, "generation": 2, **said}
    assert scene.sync(**asked).error == error  # type: ignore[arg-type]  # a table of arguments


def test_a_sync_that_names_the_right_protocol_is_taken(scene: ManualCoordinator) -> None:
    leader, _ = two_joined(scene)
    assert scene.sync(leader, 2, protocol_type="consumer", protocol_name="range").error == ErrorCode.NONE


def test_a_sync_during_a_rebalance_sends_the_member_back_to_join(scene: ManualCoordinator) -> None:
    leader, _ = scene.stable_group(2)
    scene.join()
    assert scene.sync(leader, 2).error == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_new_member_makes_members_that_wait_for_an_assignment_join_again(scene: ManualCoordinator) -> None:
    _, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    scene.join()
    assert early.error == ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.group.state is State.PREPARING


def test_a_leader_that_never_syncs_is_out_after_the_rebalance_timeout(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    for _ in range(REBALANCE // 5_000):
        assert early.is_waiting
        scene.pass_time(5_000)
        scene.heartbeat(leader, 2)
    assert early.error == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(scene.group.members) == [follower]
    again = scene.join(follower)
    assert (again.joined.leader, again.joined.generation) == (follower, 3)


def test_a_follower_that_never_fetches_its_part_is_out_too(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    scene.sync(leader, 2, {leader: b"one", follower: b"two"})
    for _ in range(REBALANCE // 5_000):
        scene.pass_time(5_000)
        scene.heartbeat(leader, 2)
        scene.heartbeat(follower, 2)
    assert list(scene.group.members) == [leader]
    assert scene.group.state is State.PREPARING


def test_a_leader_that_dies_before_it_syncs_is_out_after_its_session(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    scene.pass_time(SESSION)
    assert leader not in scene.group.members
    assert early.error == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_repeated_sync_ends_the_older_one_that_still_waits(scene: ManualCoordinator) -> None:
    leader, follower = two_joined(scene)
    older, newer = scene.sync(follower, 2), scene.sync(follower, 2)
    assert older.error == ErrorCode.REBALANCE_IN_PROGRESS
    scene.sync(leader, 2, {follower: b"two"})
    assert newer.synced.assignment == b"two"


def test_a_member_that_leaves_while_it_waits_for_its_assignment_gets_an_error(scene: ManualCoordinator) -> None:
    _, follower = two_joined(scene)
    early = scene.sync(follower, 2)
    scene.leave(follower)
    assert early.error == ErrorCode.UNKNOWN_MEMBER_ID
