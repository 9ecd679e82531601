"""Work over many groups and offsets: in steps, between which anything may happen."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import GROUP, ManualCoordinator

from kafkawire.broker.groups.offsets import AT_ONCE, Commit
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.broker.groups.records import OffsetKey, decode_key
from kafkawire.messages.errors import ErrorCode

ANYONE = MemberKey("", -1)
MANY = 3 * AT_ONCE + 7


@pytest.fixture
def scene() -> ManualCoordinator:
    return ManualCoordinator()


def commit_many(scene: ManualCoordinator, group_id: str = GROUP) -> None:
    commits = {("orders", index): Commit(5) for index in range(MANY)}
    scene.coordinator.commit(group_id, ANYONE, commits, scene.now)
    scene.log.entries.clear()


def gone(scene: ManualCoordinator) -> int:
    keys = [decode_key(key) for key, value in scene.log.entries if value is None]
    return sum(isinstance(key, OffsetKey) for key in keys)


def test_a_group_with_many_offsets_is_deleted_in_batches_of_a_bounded_size(scene: ManualCoordinator) -> None:
    commit_many(scene)
    steps = scene.coordinator.removals.deleting(GROUP, scene.now)
    sizes: list[int] = []
    for _ in steps:
        sizes.append(len(scene.log.entries) - sum(sizes))
    assert sizes == [AT_ONCE] * 3
    assert (gone(scene), scene.coordinator.find(GROUP)) == (MANY, None)


def test_a_group_that_somebody_joins_while_it_is_deleted_stays(scene: ManualCoordinator) -> None:
    commit_many(scene)
    steps = scene.coordinator.removals.deleting(GROUP, scene.now)
    next(steps)
    scene.join()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == ErrorCode.NON_EMPTY_GROUP
    assert len(scene.group.offsets) == MANY - AT_ONCE


def test_a_deleted_topic_is_forgotten_in_steps(scene: ManualCoordinator) -> None:
    commit_many(scene)
    commit_many(scene, "others")
    assert sum(1 for _ in scene.coordinator.removals.forgetting_topic("orders", scene.now)) == 2 * (4 + 1)
    assert gone(scene) == 2 * MANY


def test_a_commit_to_a_new_topic_of_the_same_name_is_kept(scene: ManualCoordinator) -> None:
    for name in ("first", GROUP):
        commit_many(scene, name)
    steps = scene.coordinator.removals.forgetting_topic("orders", scene.now)
    scene.commit(("orders", 1), 9)
    for _ in steps:
        """The other group forgets."""
    assert {place: each.offset for place, each in scene.group.offsets.items()} == {("orders", 1): 9}
    assert len(scene.coordinator.find("first").offsets) == 0  # type: ignore[union-attr]  # the group is still there


def test_a_group_that_goes_while_offsets_expire_is_passed_over(scene: ManualCoordinator) -> None:
    for name in ("first", GROUP):
        commit_many(scene, name)
    steps = scene.coordinator.removals.expiring(scene.now + 10**12)
    next(steps)
    scene.coordinator.delete("first", scene.now)
    scene.coordinator.delete(GROUP, scene.now)
    assert list(steps) != []
    assert list(scene.coordinator) == []
