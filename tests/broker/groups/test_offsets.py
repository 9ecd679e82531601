"""Committed offsets: permissions, limits and expiry."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import GROUP, REBALANCE, SESSION, ManualCoordinator, subscription

from kafkawire.broker.groups.classic.group import CommittedOffset
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import MemberKey, Protocol
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.messages.errors import (
    ErrorCode,
    GroupIdNotFoundError,
    GroupNotEmptyError,
    KafkaStorageError,
    RecordTooLargeError,
)

ORDERS = ("orders", 0)
PAYMENTS = ("payments", 0)
DAY = 86_400_000
WEEK = 7 * DAY
ANYONE = MemberKey("", -1)


def test_a_commit_from_no_member_makes_a_simple_group(scene: ManualCoordinator) -> None:
    assert scene.commit(ORDERS, 5) == ErrorCode.NONE
    assert scene.group.is_simple
    assert scene.group.offsets == {ORDERS: CommittedOffset(5, -1, "", scene.now)}


def test_a_commit_from_a_generation_of_no_group_is_refused(scene: ManualCoordinator) -> None:
    with pytest.raises(GroupIdNotFoundError):
        scene.commit(ORDERS, 5, "m", 1)
    assert list(scene.coordinator) == []


@pytest.mark.parametrize(
    ("member", "generation", "instance", "error"),
    [
        ("right", 1, None, ErrorCode.NONE),
        ("right", 0, None, ErrorCode.ILLEGAL_GENERATION),
        ("right", 2, None, ErrorCode.ILLEGAL_GENERATION),
        ("right", -1, None, ErrorCode.ILLEGAL_GENERATION),
        ("wrong", 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("right", 1, "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_stable_group_takes_commits_of_its_members_only(
    scene: ManualCoordinator, member: str, generation: int, instance: str | None, error: ErrorCode
) -> None:
    (known,) = scene.stable_group()
    assert scene.commit(ORDERS, 5, known if member == "right" else member, generation, instance) == error
    assert (ORDERS in scene.group.offsets) is (error == ErrorCode.NONE)


def test_a_group_that_became_empty_takes_commits_of_anyone_but_no_old_members(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    scene.leave(member)
    assert scene.commit(ORDERS, 5) == ErrorCode.NONE
    assert scene.commit(ORDERS, 6, member, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_between_join_and_sync_is_sent_back(scene: ManualCoordinator) -> None:
    request = scene.join()
    scene.pass_time(0)
    assert scene.commit(ORDERS, 5, request.joined.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_before_joining_again_is_taken(scene: ManualCoordinator) -> None:
    first, _ = scene.stable_group(2)
    scene.join()
    assert scene.commit(ORDERS, 5, first, 2) == ErrorCode.NONE


def test_a_commit_counts_as_a_heartbeat(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    for offset in range(3):
        scene.pass_time(SESSION - 1)
        assert scene.commit(ORDERS, offset, member, 1) == ErrorCode.NONE


def test_only_the_partition_with_too_long_a_note_is_refused(scene: ManualCoordinator) -> None:
    commits = {ORDERS: Commit(1, metadata="x" * 4097), PAYMENTS: Commit(2, metadata="x" * 4096)}
    errors = scene.coordinator.commit(GROUP, ANYONE, commits, scene.now)
    assert errors == {ORDERS: ErrorCode.OFFSET_METADATA_TOO_LARGE, PAYMENTS: ErrorCode.NONE}
    assert list(scene.group.offsets) == [PAYMENTS]


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (RecordTooLargeError(), ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (OSError("disk full"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_commit_that_cannot_be_written_did_not_happen(
    scene: ManualCoordinator, failure: KafkaStorageError, told: ErrorCode
) -> None:
    scene.commit(ORDERS, 5)
    scene.log.failure = failure
    assert scene.commit(ORDERS, 6) == told
    assert scene.group.offsets[ORDERS].offset == 5


def test_a_refused_commit_leaves_no_group_behind(scene: ManualCoordinator) -> None:
    scene.log.failure = KafkaStorageError()
    scene.commit(ORDERS, 6)
    assert list(scene.coordinator) == []


class TestDeleting:
    def test_offsets_of_a_topic_that_is_consumed_stay(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.commit(ORDERS, 5, member, 1)
        scene.commit(PAYMENTS, 6, member, 1)
        errors = scene.coordinator.delete_offsets(GROUP, [ORDERS, PAYMENTS, ("payments", 9)], scene.now)
        none = ErrorCode.NONE
        assert errors == {ORDERS: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, PAYMENTS: none, ("payments", 9): none}
        assert list(scene.group.offsets) == [ORDERS]

    def test_a_group_of_another_kind_must_be_empty(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group(protocol_type="connect")
        with pytest.raises(GroupNotEmptyError):
            scene.coordinator.delete_offsets(GROUP, [ORDERS], scene.now)
        scene.leave(member)
        assert scene.coordinator.delete_offsets(GROUP, [ORDERS], scene.now) == {ORDERS: ErrorCode.NONE}

    def test_no_group_has_no_offsets(self, scene: ManualCoordinator) -> None:
        with pytest.raises(GroupIdNotFoundError):
            scene.coordinator.delete_offsets(GROUP, [ORDERS], scene.now)

    def test_a_group_with_members_is_not_deleted(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        assert scene.coordinator.delete(GROUP, scene.now) == ErrorCode.NON_EMPTY_GROUP
        scene.leave(member)
        group = scene.group
        assert scene.coordinator.delete(GROUP, scene.now) == ErrorCode.NONE
        assert (group.state, scene.coordinator.find(GROUP)) == (State.DEAD, None)
        assert scene.coordinator.delete(GROUP, scene.now) == ErrorCode.GROUP_ID_NOT_FOUND

    def test_a_group_whose_end_cannot_be_written_lives_on(self, scene: ManualCoordinator) -> None:
        scene.commit(ORDERS, 5)
        scene.log.failure = KafkaStorageError()
        assert scene.coordinator.delete(GROUP, scene.now) == ErrorCode.NOT_COORDINATOR
        assert scene.group.offsets[ORDERS].offset == 5

    def test_a_deleted_group_and_its_offsets_stay_away_after_a_restart(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.commit(ORDERS, 5, member, 1)
        scene.leave(member)
        scene.coordinator.delete(GROUP, scene.now)
        assert list(scene.restarted().coordinator) == []

    def test_a_deleted_topic_takes_its_offsets_along(self, scene: ManualCoordinator) -> None:
        scene.commit(ORDERS, 5)
        scene.commit(PAYMENTS, 5)
        scene.coordinator.forget_topic("orders", scene.now)
        assert list(scene.group.offsets) == [PAYMENTS]
        assert list(scene.restarted().group.offsets) == [PAYMENTS]


class TestExpiry:
    def later(self, scene: ManualCoordinator, milliseconds: int) -> None:
        scene.now += milliseconds
        scene.coordinator.expire(scene.now)

    def test_a_simple_groups_offsets_expire_one_by_one_and_the_group_with_the_last(
        self, scene: ManualCoordinator
    ) -> None:
        scene.commit(ORDERS, 5)
        scene.now += DAY
        scene.commit(PAYMENTS, 5)
        self.later(scene, WEEK - DAY)
        assert list(scene.group.offsets) == [PAYMENTS]
        self.later(scene, DAY)
        assert scene.coordinator.find(GROUP) is None
        assert list(scene.restarted().coordinator) == []

    def test_offsets_of_an_empty_group_count_from_the_day_it_became_empty(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.commit(ORDERS, 5, member, 1)
        scene.now += WEEK
        scene.leave(member)
        scene.coordinator.expire(scene.now)
        assert list(scene.group.offsets) == [ORDERS]
        self.later(scene, WEEK - 1)
        assert list(scene.group.offsets) == [ORDERS]
        self.later(scene, 1)
        assert scene.coordinator.find(GROUP) is None

    def test_that_day_is_remembered_through_a_restart(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.commit(ORDERS, 5, member, 1)
        scene.leave(member)
        scene.now += DAY
        again = scene.restarted()
        self.later(again, WEEK - DAY)
        assert list(again.coordinator) == []

    def test_an_active_group_forgets_only_topics_that_nobody_is_subscribed_to(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.commit(ORDERS, 5, member, 1)
        scene.commit(PAYMENTS, 5, member, 1)
        scene.coordinator.expire(scene.now + WEEK)
        assert list(scene.group.offsets) == [ORDERS]

    @pytest.mark.parametrize("said", [{"protocol_type": "connect"}, {"protocols": (Protocol("range", b"?"),)}])
    def test_an_active_group_that_does_not_say_what_it_consumes_forgets_nothing(
        self, scene: ManualCoordinator, said: dict[str, object]
    ) -> None:
        (member,) = scene.stable_group(1, **said)
        scene.commit(ORDERS, 5, member, 1)
        scene.coordinator.expire(scene.now + WEEK)
        assert list(scene.group.offsets) == [ORDERS]

    def test_a_group_in_a_rebalance_forgets_nothing(self, scene: ManualCoordinator) -> None:
        first, _ = scene.stable_group(2)
        scene.commit(PAYMENTS, 5, first, 2)
        scene.join()
        scene.coordinator.expire(scene.now + WEEK)
        assert list(scene.group.offsets) == [PAYMENTS]

    def test_an_offset_with_a_time_of_its_own_keeps_to_it(self, scene: ManualCoordinator) -> None:
        commits = {ORDERS: Commit(1, expires=scene.now + 100), PAYMENTS: Commit(2, expires=scene.now + 2 * WEEK)}
        scene.coordinator.commit(GROUP, ANYONE, commits, scene.now)
        scene = scene.restarted()
        scene.coordinator.expire(scene.now + 100)
        assert list(scene.group.offsets) == [PAYMENTS]
        scene.coordinator.expire(scene.now + 2 * WEEK - 1)
        assert list(scene.group.offsets) == [PAYMENTS]

    def test_the_retention_is_a_setting(self) -> None:
        scene = ManualCoordinator(GroupSettings(retention_ms=1_000))
        scene.commit(ORDERS, 5)
        scene.coordinator.expire(scene.now + 999)
        assert list(scene.group.offsets) == [ORDERS]
        scene.coordinator.expire(scene.now + 1_000)
        assert scene.coordinator.find(GROUP) is None

    def test_an_empty_group_with_no_offsets_is_gone_at_the_next_look(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.leave(member)
        scene.coordinator.expire(scene.now)
        assert scene.coordinator.find(GROUP) is None
        assert list(scene.restarted().coordinator) == []

    def test_an_id_that_was_given_out_keeps_its_group_until_it_is_forgotten(self, scene: ManualCoordinator) -> None:
        scene.join_new()
        scene.coordinator.expire(scene.now)
        assert scene.group.state is State.EMPTY
        scene.pass_time(REBALANCE)
        scene.coordinator.expire(scene.now)
        assert scene.coordinator.find(GROUP) is None


def test_subscriptions_of_all_members_count(scene: ManualCoordinator) -> None:
    first = scene.join(protocols=(Protocol("range", subscription("orders")),))
    scene.pass_time(0)
    second = scene.join(protocols=(Protocol("range", subscription("payments")),))
    scene.join(first.joined.member_id)
    assert second.joined.generation == 2
    assert scene.group.subscribed_topics == frozenset({"orders", "payments"})
