"""Members of share groups: they join, get partitions, leave, and are dropped; groups are the same after a replay."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.groups.manual_coordinator import START, ListLog

from kafkawire.broker._metadata.topics import Topic, Topics
from kafkawire.broker.groups.consumer.heartbeat import Beat
from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.broker.groups.replay import Replay
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.share.heartbeat import ShareBeat, ShareResult, check_request
from kafkawire.messages.errors import (
    ErrorCode,
    FencedMemberEpochError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    KafkaError,
    KafkaStorageError,
    UnknownMemberIdError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "g"
SESSION = 45_000


class Stage:
    """A coordinator whose share partitions get their states at once."""

    def __init__(self, log: ListLog | None = None, topics: Topics | None = None, max_size: int = 200) -> None:
        self.now = START
        self.log = ListLog() if log is None else log
        self.topics = Topics() if topics is None else topics
        self.settings = GroupSettings(share_max_size=max_size)
        self.coordinator = GroupCoordinator(self.settings, self.log, topics=self.topics)
        self._ids = count(1)

    def create(self, name: str, partitions: int) -> UUID:
        topic = Topic(name, UUID(int=len(self.topics) + 1), partitions)
        self.topics.add(topic)
        return topic.id

    def beat(self, member: str, epoch: int, topics: Iterable[str] | None = None, group: str = GROUP) -> ShareResult:
        beat = ShareBeat(group, member, epoch, topics=None if topics is None else frozenset(topics))
        check_request(beat)
        result = self.coordinator.shares.heartbeat(beat, self.now)
        if result.initializing:
            self.coordinator.shares.initialized(group, result.initializing, self.now)
        return result

    def join(self, member: str, *topics: str) -> ShareResult:
        """The member after its second heartbeat, when its partitions have states."""
        result = self.beat(member, 0, topics)
        self.now += 1_000
        return self.beat(member, result.epoch, topics)

    def group(self) -> ShareGroup:
        group = self.coordinator.find(GROUP)
        assert isinstance(group, ShareGroup)
        return group

    def partitions(self, member: str) -> set[tuple[int, int]]:
        assigned = self.group().members[member].assigned
        return {(topic.int, index) for topic, partitions in assigned.items() for index in partitions}

    def pass_time(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.coordinator.tick(self.now)

    def restarted(self) -> Stage:
        stage = Stage(self.log, self.topics)
        stage.now = self.now
        stage.coordinator.load(replayed(self.log), stage.now)
        return stage


def replayed(log: ListLog) -> list[ShareGroup]:
    replay = Replay()
    replay.entries(log.entries)
    return [group for group in replay.groups() if isinstance(group, ShareGroup)]


def described(group: ShareGroup) -> object:
    return (group.epoch, group.metadata_hash, group.assignment_epoch, group.members, group.targets, group.partitions)


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.create("orders", 3)
    return stage


def test_the_first_answer_has_no_partitions_and_the_second_has_all(stage: Stage) -> None:
    first = stage.beat("m", 0, ["orders"])
    assert (first.epoch, first.assignment) == (2, {})
    stage.now += 1_000
    second = stage.beat("m", first.epoch)
    assert second.epoch == 3
    assert second.assignment == {UUID(int=1): frozenset({0, 1, 2})}
    assert stage.beat("m", second.epoch).assignment is None


def test_members_share_partitions(stage: Stage) -> None:
    members = ["a", "b", "c", "d", "e"]
    for member in members:
        stage.join(member, "orders")
    for _ in range(2):
        stage.now += 1_000
        for member in members:
            stage.beat(member, stage.group().members[member].epoch)
    held = [place for member in members for place in stage.partitions(member)]
    assert {place: held.count(place) for place in held} == {(1, 0): 2, (1, 1): 2, (1, 2): 2}
    assert all(1 <= len(stage.partitions(member)) <= 2 for member in members)


def test_few_members_have_disjoint_partitions(stage: Stage) -> None:
    stage.join("a", "orders")
    stage.join("b", "orders")
    stage.now += 1_000
    stage.beat("a", stage.group().members["a"].epoch)
    assert stage.partitions("a") | stage.partitions("b") == {(1, 0), (1, 1), (1, 2)}
    assert not stage.partitions("a") & stage.partitions("b")


def test_a_topic_that_grows_is_assigned(stage: Stage) -> None:
    stage.join("m", "orders")
    stage.topics.grow(stage.topics.get("orders"), 4)
    for _ in range(3):
        stage.now += 1_000
        stage.beat("m", stage.group().members["m"].epoch)
    assert stage.partitions("m") == {(1, index) for index in range(4)}


def test_a_silent_member_is_dropped(stage: Stage) -> None:
    stage.join("m", "orders")
    epoch = stage.group().epoch
    stage.pass_time(SESSION)
    assert stage.group().is_empty
    assert stage.group().epoch == epoch + 1


def test_a_member_leaves(stage: Stage) -> None:
    joined = stage.join("m", "orders")
    assert stage.beat("m", -1).epoch == -1
    assert stage.group().is_empty
    with pytest.raises(UnknownMemberIdError):
        stage.beat("m", joined.epoch)


def test_the_previous_epoch_is_accepted_and_others_are_not(stage: Stage) -> None:
    joined = stage.join("m", "orders")
    assert stage.beat("m", joined.epoch - 1).epoch == joined.epoch
    for epoch in (joined.epoch + 1, joined.epoch - 2):
        with pytest.raises(FencedMemberEpochError):
            stage.beat("m", epoch)


def test_a_group_is_limited(stage: Stage) -> None:
    small = Stage(topics=stage.topics, max_size=1)
    small.join("m", "orders")
    with pytest.raises(GroupMaxSizeReachedError):
        small.join("n", "orders")


@pytest.mark.parametrize(
    "beat",
    [
        ShareBeat(GROUP, "", 0, topics=frozenset({"a"})),
        ShareBeat("", "m", 0, topics=frozenset({"a"})),
        ShareBeat(GROUP, "m", 0, rack="", topics=frozenset({"a"})),
        ShareBeat(GROUP, "m", 0),
        ShareBeat(GROUP, "m", 0, topics=frozenset()),
        ShareBeat(GROUP, "m", -2),
    ],
)
def test_wrong_heartbeats_are_refused(beat: ShareBeat) -> None:
    with pytest.raises(InvalidRequestError):
        check_request(beat)


def test_a_name_belongs_to_one_kind_of_group(stage: Stage) -> None:
    stage.join("m", "orders")
    consumer = Beat(GROUP, "c", 0, rebalance_timeout=1, topics=frozenset({"orders"}), owned={})
    with pytest.raises(GroupIdNotFoundError):
        stage.coordinator.consumer_heartbeat(consumer, stage.now)
    commit = {("orders", 0): Commit(1)}
    errors = stage.coordinator.commit(GROUP, MemberKey("", -1), commit, stage.now)
    assert errors == {("orders", 0): ErrorCode.GROUP_ID_NOT_FOUND}
    assert stage.coordinator.heartbeat(GROUP, MemberKey("m", 1), stage.now) is ErrorCode.UNKNOWN_MEMBER_ID
    stage.coordinator.consumer_heartbeat(
        Beat("consumers", "c", 0, rebalance_timeout=1, topics=frozenset({"orders"}), owned={}), stage.now
    )
    with pytest.raises(GroupIdNotFoundError, match="is not a share group"):
        stage.beat("m", 0, ["orders"], group="consumers")


def test_an_event_that_cannot_be_written_changes_nothing(stage: Stage) -> None:
    stage.join("m", "orders")
    before = described(stage.group())
    stage.log.failure = KafkaStorageError("the disk is full")
    with pytest.raises(KafkaError):
        stage.beat("n", 0, ["orders"])
    assert described(stage.group()) == before


def test_a_deleted_group_is_gone_after_a_restart(stage: Stage) -> None:
    stage.join("m", "orders")
    assert stage.coordinator.delete(GROUP, stage.now) is ErrorCode.NON_EMPTY_GROUP
    stage.beat("m", -1)
    assert stage.coordinator.delete(GROUP, stage.now) is ErrorCode.NONE
    assert not replayed(stage.log)


TOPICS = ("a", "b", "c")
STEPS = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 4), st.sampled_from([("a",), ("a", "b"), ("c",), ("b", "c")])),
    st.tuples(st.just("beat"), st.integers(0, 4)),
    st.tuples(st.just("leave"), st.integers(0, 4)),
    st.tuples(st.just("time"), st.sampled_from([500, 1_000, SESSION])),
    st.tuples(st.just("create"), st.sampled_from(TOPICS), st.integers(1, 5)),
    st.tuples(st.just("grow"), st.sampled_from(TOPICS)),
    st.tuples(st.just("kill")),
)


@given(st.lists(STEPS, min_size=5, max_size=40))
@settings(max_examples=150, deadline=None)
def test_every_history(history: list[tuple[object, ...]]) -> None:
    stage = Stage()
    for kind, *what in history:
        stage = take(stage, str(kind), *what)
        found = {group.group_id: described(group) for group in replayed(stage.log)}
        assert found == {
            group.group_id: described(group) for group in stage.coordinator if isinstance(group, ShareGroup)
        }
    settle(stage)


def take(stage: Stage, kind: str, *what: object) -> Stage:
    match kind, what:
        case "join", (number, topics):
            stage.beat(f"m{number}", 0, topics)  # type: ignore[arg-type]
        case "beat", (number,):
            group = stage.coordinator.find(GROUP)
            if group is not None and f"m{number}" in group.members:
                stage.beat(f"m{number}", group.members[f"m{number}"].epoch)  # type: ignore[union-attr]
        case "leave", (number,):
            group = stage.coordinator.find(GROUP)
            if group is not None and f"m{number}" in group.members:
                stage.beat(f"m{number}", -1)
        case "time", (passed,):
            stage.pass_time(passed)  # type: ignore[arg-type]
        case "create", (name, partitions):
            if str(name) not in stage.topics:
                stage.create(name, partitions)  # type: ignore[arg-type]
        case "grow", (name,):
            topic = stage.topics.find(name)  # type: ignore[arg-type]
            if topic is not None:
                stage.topics.grow(topic, topic.partitions + 1)
        case "kill", ():
            return stage.restarted()
    return stage


def settle(stage: Stage) -> None:
    """After a few heartbeats every partition of every subscribed topic has a member."""
    if stage.coordinator.find(GROUP) is None:
        return
    group = stage.group()
    for _ in range(4):
        stage.now += 1_000
        for member in list(group.members):
            stage.beat(member, group.members[member].epoch)
    for name in group.names:
        topic = stage.topics.find(name)
        if topic is not None:
            held = [index for member in group.members.values() for index in member.assigned.get(topic.id, ())]
            assert set(held) == set(range(topic.partitions))
    assert all(member.epoch == group.assignment_epoch for member in group.members.values())
