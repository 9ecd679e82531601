"""Joins, and the rebalances that they cause."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import GROUP, RANGE, REBALANCE, SESSION, ManualCoordinator, subscription

from kafkawire.broker.groups.classic.rebalance import NEW_MEMBER_JOIN_MS
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import Protocol
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.messages.errors import ErrorCode

STICKY = (Protocol("sticky", b"s"),)


def test_the_first_member_leads_generation_one_and_sees_itself(scene: ManualCoordinator) -> None:
    request = scene.join()
    scene.pass_time(0)
    joined = request.joined
    assert (joined.error, joined.generation, joined.leader) == (ErrorCode.NONE, 1, joined.member_id)
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert [(each.member_id, each.metadata) for each in joined.members] == [(joined.member_id, RANGE[0].metadata)]
    assert scene.group.state is State.COMPLETING


def test_a_newcomer_gets_an_id_first_where_the_version_asks_for_it(scene: ManualCoordinator) -> None:
    first = scene.join(known_id=True)
    assert first.error == ErrorCode.MEMBER_ID_REQUIRED
    assert first.joined.member_id == "client-1"
    assert scene.group.state is State.EMPTY
    second = scene.join("client-1", known_id=True)
    scene.pass_time(0)
    assert (second.error, second.joined.member_id, second.joined.generation) == (ErrorCode.NONE, "client-1", 1)


def test_an_id_that_was_given_out_is_forgotten_after_a_session(scene: ManualCoordinator) -> None:
    member_id = scene.join_new()
    scene.pass_time(SESSION)
    assert scene.join(member_id).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_ids_that_were_given_out(scene: ManualCoordinator) -> None:
    (first,) = scene.stable_group()
    newcomer = scene.join_new()
    again = scene.join(first)
    scene.pass_time(1)
    assert again.is_waiting
    joined = scene.join(newcomer)
    assert (again.joined.generation, joined.joined.generation) == (2, 2)
    assert len(again.joined.members) == 2


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_join_that_is_refused_leaves_no_group_behind(
    scene: ManualCoordinator, said: dict[str, object], error: ErrorCode
) -> None:
    assert scene.join(**said).error == error  # type: ignore[arg-type]  # a table of arguments
    assert list(scene.coordinator) == []


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": STICKY}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": "unknown", "member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_stable_group_is_not_disturbed_by_strangers(
    scene: ManualCoordinator, said: dict[str, object], error: ErrorCode
) -> None:
    scene.stable_group()
    assert scene.join(**said).error == error  # type: ignore[arg-type]  # a table of arguments
    assert scene.group.state is State.STABLE


def test_a_second_member_makes_the_first_join_again_and_only_the_leader_sees_both(scene: ManualCoordinator) -> None:
    (first,) = scene.stable_group()
    newcomer = scene.join()
    assert newcomer.is_waiting
    assert scene.heartbeat(first, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    again = scene.join(first)
    assert [each.member_id for each in again.joined.members] == [first, newcomer.joined.member_id]
    assert newcomer.joined.members == ()
    assert (newcomer.joined.leader, newcomer.joined.generation) == (first, 2)


def test_a_member_that_does_not_join_again_in_time_is_removed(scene: ManualCoordinator) -> None:
    first, second = scene.stable_group(2)
    newcomer = scene.join()
    again = scene.join(second)
    for _ in range(REBALANCE // 5_000):
        scene.pass_time(5_000)
        scene.heartbeat(first, 2)
    assert (again.joined.generation, again.joined.leader) == (3, second)
    assert {each.member_id for each in again.joined.members} == {second, newcomer.joined.member_id}
    assert scene.heartbeat(first, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_lasts_as_long_as_the_slowest_member_may_take(scene: ManualCoordinator) -> None:
    slow, _ = scene.stable_group(2, rebalance=90_000)
    newcomer = scene.join(rebalance=1_000)
    for _ in range(16):
        scene.pass_time(5_000)
        scene.heartbeat(slow, 2)
    assert newcomer.is_waiting
    scene.pass_time(10_000)
    assert newcomer.joined.generation == 3


@pytest.mark.parametrize("leads", [True, False])
def test_a_member_that_repeats_itself_disturbs_a_stable_group_only_if_it_leads(
    scene: ManualCoordinator, leads: bool
) -> None:
    leader, follower = scene.stable_group(2)
    request = scene.join(leader if leads else follower)
    assert request.is_waiting is leads
    assert scene.group.state is (State.PREPARING if leads else State.STABLE)
    if not leads:
        assert (request.joined.generation, request.joined.leader, request.joined.members) == (2, leader, ())


def test_a_member_that_says_something_new_starts_a_rebalance(scene: ManualCoordinator) -> None:
    _, follower = scene.stable_group(2)
    request = scene.join(follower, protocols=(Protocol("range", subscription("payments")),))
    assert request.is_waiting
    assert scene.group.state is State.PREPARING


def test_a_lost_join_answer_is_repeated_while_assignments_are_awaited(scene: ManualCoordinator) -> None:
    first = scene.join()
    scene.pass_time(0)
    again = scene.join(first.joined.member_id)
    assert again.joined == first.joined


def test_a_repeated_join_ends_the_older_one_that_still_waits(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2)
    older = scene.join(leader)
    newer = scene.join(leader)
    assert older.error == ErrorCode.REBALANCE_IN_PROGRESS
    scene.join(follower)
    assert newer.joined.generation == 3


def test_a_new_member_is_given_up_when_its_first_join_takes_too_long(scene: ManualCoordinator) -> None:
    leader, follower = scene.stable_group(2, rebalance=NEW_MEMBER_JOIN_MS * 3)
    newcomer = scene.join(rebalance=1_000)
    for _ in range(NEW_MEMBER_JOIN_MS // 5_000):
        assert newcomer.is_waiting
        scene.pass_time(5_000)
        scene.heartbeat(leader, 2)
        scene.heartbeat(follower, 2)
    assert (newcomer.error, newcomer.joined.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_a_group_has_no_more_members_than_it_may(scene: ManualCoordinator) -> None:
    scene = ManualCoordinator(GroupSettings(max_size=2))
    first, second = scene.stable_group(2)
    refused = scene.join()
    assert (refused.error, refused.joined.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert scene.group.state is State.STABLE
    again = scene.join(first)
    scene.join(second)
    assert again.joined.generation == 3


def test_of_too_many_members_after_a_restart_the_last_to_join_is_turned_away(scene: ManualCoordinator) -> None:
    ids = scene.stable_group(3)
    smaller = scene.restarted(GroupSettings(max_size=2))
    first, second = smaller.join(ids[0]), smaller.join(ids[1])
    third = smaller.join(ids[2])
    assert third.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(first.joined.members) == 2
    assert second.joined.generation == first.joined.generation


class TestInitialDelay:
    def test_the_first_rebalance_waits_for_more_members(self) -> None:
        scene = ManualCoordinator(GroupSettings(initial_rebalance_delay_ms=3_000))
        first = scene.join()
        scene.pass_time(2_999)
        second = scene.join()
        scene.pass_time(1)
        assert first.is_waiting
        scene.pass_time(3_000)
        assert (first.joined.generation, second.joined.generation) == (1, 1)
        assert len(first.joined.members) == 2

    def test_it_waits_no_longer_than_the_rebalance_timeout_however_many_come(self) -> None:
        scene = ManualCoordinator(GroupSettings(initial_rebalance_delay_ms=3_000))
        first = scene.join(rebalance=7_000)
        for _ in range(10):
            scene.pass_time(1_000)
            scene.join(rebalance=7_000)
        assert first.answered_at == first.asked_at + 7_000

    def test_a_delay_of_zero_starts_at_once(self, scene: ManualCoordinator) -> None:
        request = scene.join()
        scene.pass_time(0)
        assert request.answered_at == request.asked_at

    def test_a_later_rebalance_does_not_wait(self) -> None:
        scene = ManualCoordinator(GroupSettings(initial_rebalance_delay_ms=3_000))
        first = scene.join()
        scene.pass_time(3_000)
        second = scene.join()
        scene.join(first.joined.member_id)
        assert second.joined.generation == 2


def test_a_group_that_lost_all_members_keeps_counting_generations(scene: ManualCoordinator) -> None:
    (first,) = scene.stable_group()
    assert scene.leave(first) == ErrorCode.NONE
    assert (scene.group.state, scene.group.generation) == (State.EMPTY, 2)
    request = scene.join()
    scene.pass_time(0)
    assert request.joined.generation == 3


def test_an_empty_group_may_take_up_another_kind_of_protocol(scene: ManualCoordinator) -> None:
    (first,) = scene.stable_group()
    scene.leave(first)
    request = scene.join(protocol_type="connect", protocols=STICKY)
    scene.pass_time(0)
    assert (request.joined.protocol_type, request.joined.protocol_name) == ("connect", "sticky")
    assert scene.coordinator.find(GROUP) is scene.group
