"""Static members: a name that outlives the process."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import RANGE, REBALANCE, SESSION, ManualCoordinator

from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import Protocol
from kafkawire.messages.errors import ErrorCode, KafkaStorageError


def static_pair(scene: ManualCoordinator) -> tuple[str, str]:
    """Ids of 'one', who leads, and 'two' in a stable generation 2."""
    one = scene.join(instance="one")
    scene.pass_time(0)
    two = scene.join(instance="two")
    scene.join(one.joined.member_id, instance="one")
    ids = one.joined.member_id, two.joined.member_id
    scene.sync(ids[0], 2, {ids[0]: b"part one", ids[1]: b"part two"})
    scene.sync(ids[1], 2)
    return ids


def test_a_static_newcomer_is_taken_in_without_asking_for_an_id_first(scene: ManualCoordinator) -> None:
    request = scene.join(instance="one", known_id=True)
    scene.pass_time(0)
    assert (request.error, request.joined.member_id) == (ErrorCode.NONE, "one-1")


def test_a_restarted_static_member_gets_its_part_back_without_a_rebalance(scene: ManualCoordinator) -> None:
    _, old = static_pair(scene)
    back = scene.join(instance="two")
    assert (back.joined.generation, scene.group.state) == (2, State.STABLE)
    assert back.joined.member_id != old
    assert scene.sync(back.joined.member_id, 2, instance="two").synced.assignment == b"part two"
    assert back.reply is not None
    assert back.reply.needs_sync


def test_the_process_that_was_replaced_is_fenced_everywhere(scene: ManualCoordinator) -> None:
    _, old = static_pair(scene)
    scene.join(instance="two")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert scene.heartbeat(old, 2, "two") == fenced
    assert scene.sync(old, 2, instance="two").error == fenced
    assert scene.join(old, instance="two").error == fenced
    assert scene.leave(old, "two") == fenced
    assert scene.commit(("orders", 0), 5, old, 2, "two") == fenced


def test_a_replaced_process_that_still_waits_to_join_is_fenced_at_once(scene: ManualCoordinator) -> None:
    one, two = static_pair(scene)
    scene.join(one, instance="one")
    waiting = scene.join(two, instance="two")
    assert waiting.joined.generation == 3
    scene.sync(two, 3, instance="two")
    scene.join(instance="three")
    older = scene.join(two, instance="two")
    newer = scene.join(instance="two")
    assert older.error == ErrorCode.FENCED_INSTANCE_ID
    assert newer.is_waiting


def test_a_replaced_process_that_still_waits_for_its_part_is_fenced_and_all_join_again(
    scene: ManualCoordinator,
) -> None:
    one, two = static_pair(scene)
    scene.join(one, instance="one")
    scene.join(two, instance="two")
    older = scene.sync(two, 3, instance="two")
    newer = scene.join(instance="two")
    assert older.error == ErrorCode.FENCED_INSTANCE_ID
    assert (scene.group.state, newer.is_waiting) == (State.PREPARING, True)


def test_a_static_leader_that_comes_back_skips_the_assignment(scene: ManualCoordinator) -> None:
    static_pair(scene)
    back = scene.join(instance="one", can_skip=True)
    assert (back.joined.leader, back.joined.skip_assignment) == (back.joined.member_id, True)
    assert len(back.joined.members) == 2


def test_a_static_follower_that_comes_back_skips_nothing(scene: ManualCoordinator) -> None:
    one, _ = static_pair(scene)
    back = scene.join(instance="two", can_skip=True)
    assert (back.joined.leader, back.joined.skip_assignment, back.joined.members) == (one, False, ())


def test_an_old_static_leader_that_comes_back_does_not_lead(scene: ManualCoordinator) -> None:
    one, _ = static_pair(scene)
    back = scene.join(instance="one")
    assert (back.joined.leader, back.joined.members) == (one, ())
    assert scene.group.leader == back.joined.member_id


def test_a_static_member_whose_protocols_change_the_choice_starts_a_rebalance(scene: ManualCoordinator) -> None:
    both = (Protocol("sticky", b""), *RANGE)
    one = scene.join(instance="one", protocols=(*RANGE, Protocol("sticky", b"")))
    scene.pass_time(0)
    scene.sync(one.joined.member_id, 1, instance="one")
    back = scene.join(instance="one", protocols=both)
    assert back.joined.generation == 2
    assert back.joined.protocol_name == "sticky"


def test_a_return_that_cannot_be_written_down_did_not_happen(scene: ManualCoordinator) -> None:
    _, two = static_pair(scene)
    scene.log.failure = KafkaStorageError()
    back = scene.join(instance="two")
    assert (back.error, back.joined.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert scene.heartbeat(two, 2, "two") == ErrorCode.NONE
    assert scene.group.members[two].assignment == b"part two"


def test_a_static_member_that_is_away_keeps_its_place_through_a_rebalance_until_its_session_ends(
    scene: ManualCoordinator,
) -> None:
    one, two = static_pair(scene)
    away = SESSION * 20
    scene.group.members[two].session_timeout = away
    scene.heartbeat(two, 2, "two")
    again = scene.join(one, instance="one")
    scene.pass_time(REBALANCE)
    assert {each.instance_id for each in again.joined.members} == {"one", "two"}


def test_a_rebalance_that_nobody_joined_in_time_waits_for_the_first_member(scene: ManualCoordinator) -> None:
    one, two = static_pair(scene)
    for member in scene.group.members.values():
        member.session_timeout = SESSION * 100
    scene.heartbeat(one, 2, "one")
    scene.heartbeat(two, 2, "two")
    newcomer = scene.join()
    scene.leave(newcomer.joined.member_id if not newcomer.is_waiting else list(scene.group.members)[-1])
    scene.pass_time(REBALANCE * 3)
    assert (scene.group.state, scene.group.generation) == (State.PREPARING, 2)
    again = scene.join(one, instance="one")
    scene.pass_time(REBALANCE)
    assert again.joined.generation == 3


def test_a_static_member_that_came_back_and_never_fetches_its_part_is_out_like_any_other(
    scene: ManualCoordinator,
) -> None:
    one = scene.join(instance="one")
    scene.pass_time(0)
    two = scene.join(instance="two")
    leader = scene.join(one.joined.member_id, instance="one").joined.member_id
    scene.sync(leader, 2, instance="one")
    back = scene.join(instance="two").joined.member_id
    assert back != two.joined.member_id
    for _ in range(REBALANCE // 5_000):
        scene.pass_time(5_000)
        scene.heartbeat(leader, 2, "one")
        scene.heartbeat(back, 2, "two")
    assert list(scene.group.instances) == ["one"]


def test_an_administrator_removes_a_static_member_by_its_name(scene: ManualCoordinator) -> None:
    static_pair(scene)
    assert scene.leave("", "two") == ErrorCode.NONE
    assert list(scene.group.instances) == ["one"]
    assert scene.group.state is State.PREPARING


@pytest.mark.parametrize("instance", ["one", "two"])
def test_a_static_member_that_stays_away_is_out_when_its_session_ends(scene: ManualCoordinator, instance: str) -> None:
    one, two = static_pair(scene)
    stays = {"one": (two, "two"), "two": (one, "one")}[instance]
    scene.pass_time(SESSION - 1)
    scene.heartbeat(stays[0], 2, stays[1])
    scene.pass_time(1)
    assert list(scene.group.instances) == [stays[1]]
