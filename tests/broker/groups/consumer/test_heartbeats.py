"""Heartbeats of the consumer protocol: joining, epochs, reconciliation, leaving, timeouts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.groups.consumer.consumer_stage import INTERVAL, PAUSE, REBALANCE, SESSION, Stage, settle

from kafkawire.broker.groups.consumer.group import ConsumerState
from kafkawire.broker.groups.consumer.member import MemberState
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

JOIN: dict[str, Any] = {"rebalance_timeout": REBALANCE, "topics": frozenset({"orders"}), "owned": {}}


def test_first_member_gets_all_partitions_in_its_first_answer(stage: Stage) -> None:
    topic = stage.create("orders", 4)
    result = stage.beat("a", 0, **JOIN)
    assert (result.member_id, result.epoch, result.interval) == ("a", 2, INTERVAL)
    assert result.assignment is not None
    assert {each: set(numbers) for each, numbers in result.assignment.items()} == {topic.id: {0, 1, 2, 3}}
    assert stage.consumers.state is ConsumerState.STABLE


def test_heartbeat_without_news_has_no_assignment_and_writes_nothing(stage: Stage) -> None:
    stage.create("orders", 4)
    stage.beat("a", 0, **JOIN)
    written = len(stage.log.entries)
    assert stage.beat("a", 2).assignment is None
    assert len(stage.log.entries) == written


def test_full_request_is_answered_with_the_assignment(stage: Stage) -> None:
    topic = stage.create("orders", 2)
    stage.beat("a", 0, **JOIN)
    result = stage.beat("a", 2, **{**JOIN, "owned": {topic.id: {0, 1}}})
    assert result.assignment is not None


def test_second_member_gets_partitions_only_when_the_first_has_given_them_up(stage: Stage) -> None:
    stage.create("orders", 4)
    first = stage.client("a", "orders")
    stage.pass_time(PAUSE)
    second = stage.client("b", "orders")
    assert (len(first.partitions), len(second.partitions), second.epoch) == (4, 0, 3)
    assert stage.consumers.members["b"].state is MemberState.UNRELEASED
    first.poll()
    assert (len(first.partitions), first.epoch) == (2, 2)
    second.poll()
    assert len(second.partitions) == 0, "the first member has not confirmed yet"
    first.poll()
    assert first.epoch == 3
    second.poll()
    assert len(second.partitions) == 2
    assert first.partitions | second.partitions == {("orders", each) for each in range(4)}
    assert stage.consumers.state is ConsumerState.STABLE


def test_targets_are_computed_at_most_once_per_interval(stage: Stage) -> None:
    stage.create("orders", 4)
    stage.client("a", "orders")
    second = stage.client("b", "orders")
    assert (stage.consumers.epoch, stage.consumers.assignment_epoch, second.epoch) == (3, 2, 2)
    assert stage.consumers.state is ConsumerState.ASSIGNING
    stage.pass_time(PAUSE)
    second.poll()
    assert (stage.consumers.assignment_epoch, second.epoch) == (3, 3)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"rebalance_timeout": -1}, ErrorCode.INVALID_REQUEST),
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"topics": None}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack": " "}, ErrorCode.INVALID_REQUEST),
        ({"assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"topics": frozenset(map(str, range(5_001)))}, ErrorCode.INVALID_REQUEST),
        ({"topics": None, "regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_join_that_breaks_a_rule_is_refused_and_leaves_no_group(stage: Stage, said: dict[str, Any], error: int) -> None:
    assert stage.refused("a", 0, **{**JOIN, **said}) == error
    assert stage.coordinator.find("orders-readers") is None
    assert not stage.log.entries


@pytest.mark.parametrize(
    ("member_id", "epoch", "said", "error"),
    [
        ("", 0, JOIN, ErrorCode.INVALID_REQUEST),
        ("a", -3, {}, ErrorCode.INVALID_REQUEST),
        ("a", -2, {}, ErrorCode.INVALID_REQUEST),
        ("a", 1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
        ("a", -1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_heartbeats_to_no_group(stage: Stage, member_id: str, epoch: int, said: dict[str, Any], error: int) -> None:
    assert stage.refused(member_id, epoch, **said) == error


def test_version_0_gives_a_new_member_its_id(stage: Stage) -> None:
    assert len(stage.beat("", 0, version=0, **JOIN).member_id) == 36


def test_unknown_member_and_wrong_epochs_are_fenced(stage: Stage) -> None:
    stage.create("orders", 1)
    stage.beat("a", 0, **JOIN)
    assert stage.refused("b", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.refused("a", 3) == ErrorCode.FENCED_MEMBER_EPOCH
    assert stage.refused("b", -1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_repeated_heartbeat_of_a_lost_answer_is_accepted_if_it_owns_no_more_than_assigned(stage: Stage) -> None:
    topic = stage.create("orders", 2)
    stage.client("a", "orders")
    stage.pass_time(PAUSE)
    stage.beat("b", 0, **JOIN)
    stage.beat("a", 2, owned={topic.id: {0, 1}})
    stage.beat("a", 2, owned={topic.id: {next(iter(stage.consumers.targets["a"][topic.id]))}})
    assert stage.consumers.members["a"].epoch == 3
    kept = next(iter(stage.consumers.targets["a"][topic.id]))
    assert stage.beat("a", 2, owned={topic.id: {kept}}).epoch == 3
    assert stage.refused("a", 2, owned={topic.id: {1 - kept}}) == ErrorCode.FENCED_MEMBER_EPOCH
    assert stage.refused("a", 2) == ErrorCode.FENCED_MEMBER_EPOCH


def test_member_that_leaves_frees_its_partitions_at_the_next_heartbeat_of_another(stage: Stage) -> None:
    stage.create("orders", 4)
    clients = [stage.client(name, "orders") for name in "ab"]
    settle(stage, *clients)
    clients[0].leave()
    assert stage.consumers.state is ConsumerState.ASSIGNING
    stage.pass_time(PAUSE)
    clients[1].poll()
    assert len(clients[1].partitions) == 4


def test_silent_member_is_removed_after_its_session(stage: Stage) -> None:
    stage.create("orders", 4)
    silent, other = stage.client("a", "orders"), stage.client("b", "orders")
    settle(stage, silent, other)
    for _ in range(SESSION // INTERVAL + 1):
        stage.pass_time(INTERVAL)
        other.poll()
    assert set(stage.consumers.members) == {"b"}
    assert len(other.partitions) == 4


def test_member_that_never_gives_up_partitions_is_removed_after_its_rebalance_timeout(stage: Stage) -> None:
    stage.create("orders", 4)
    stubborn = stage.client("a", "orders")
    stage.pass_time(PAUSE)
    other = stage.client("b", "orders")
    for _ in range(REBALANCE // INTERVAL):
        stubborn.poll()
        stubborn.owned = {topic.id: frozenset(range(4)) for topic in stage.topics}
        other.poll()
        assert other.partitions == set()
        stage.pass_time(INTERVAL)
    assert set(stage.consumers.members) == {"b"}
    stage.pass_time(PAUSE)
    other.poll()
    assert len(other.partitions) == 4


def test_group_is_full(stage: Stage) -> None:
    from dataclasses import replace

    from kafkawire.broker.groups.consumer.settings import ConsumerSettings
    from kafkawire.broker.groups.settings import GroupSettings

    small = Stage(replace(GroupSettings(), consumer=ConsumerSettings(max_size=1)))
    small.beat("a", 0, **JOIN)
    assert small.refused("b", 0, **JOIN) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert small.refused("a", 0, **JOIN) == ErrorCode.NONE


def test_topics_that_are_created_grow_and_go_change_the_assignment(stage: Stage) -> None:
    client = stage.client("a", "orders", "late")
    assert client.partitions == set()
    orders = stage.create("orders", 1)
    settle(stage, client, rounds=2)
    assert client.partitions == {("orders", 0)}
    stage.topics.grow(orders, 2)
    stage.create("late", 1)
    settle(stage, client, rounds=2)
    assert client.partitions == {("orders", 0), ("orders", 1), ("late", 0)}
    stage.topics.remove(orders)
    settle(stage, client, rounds=3)
    assert client.partitions == {("late", 0)}


def test_topic_made_again_has_another_id_and_is_assigned_anew(stage: Stage) -> None:
    client = stage.client("a", "orders")
    old = stage.create("orders", 1)
    settle(stage, client, rounds=2)
    stage.topics.remove(old)
    new = stage.create("orders", 1)
    settle(stage, client, rounds=3)
    assert client.owned == {new.id: frozenset({0})}


def test_unsubscribed_topic_is_revoked_before_there_is_a_new_target(stage: Stage) -> None:
    stage.create("orders", 2)
    stage.create("other", 2)
    client = stage.client("a", "orders", "other")
    client.topics = frozenset({"orders"})
    client.poll()
    assert client.partitions == {("orders", 0), ("orders", 1)}
    assert stage.consumers.members["a"].state is MemberState.UNREVOKED
    settle(stage, client, rounds=2)
    assert stage.consumers.state is ConsumerState.STABLE


def test_members_vote_for_the_assignor(stage: Stage) -> None:
    stage.create("one", 3)
    stage.create("two", 3)
    clients = [stage.client(name, "one", "two", assignor="range") for name in "ab"]
    settle(stage, *clients)
    assert [len(client.partitions) for client in clients] == [4, 2]


def test_refused_record_changes_nothing(stage: Stage) -> None:
    stage.create("orders", 2)
    client = stage.client("a", "orders")
    stage.pass_time(PAUSE)
    before = dict(stage.consumers.members), stage.consumers.epoch, dict(stage.consumers.targets)
    stage.log.failure = KafkaStorageError("disk")
    assert stage.refused("b", 0, **JOIN) == ErrorCode.NOT_COORDINATOR
    assert (dict(stage.consumers.members), stage.consumers.epoch, dict(stage.consumers.targets)) == before
    stage.log.failure = None
    client.poll()
    assert stage.refused("b", 0, **JOIN) == ErrorCode.NONE


def test_session_whose_end_cannot_be_written_ends_later(stage: Stage) -> None:
    stage.beat("a", 0, **JOIN)
    stage.log.failure = KafkaStorageError("disk")
    stage.pass_time(SESSION + 5_000)
    assert set(stage.consumers.members) == {"a"}
    stage.log.failure = None
    stage.pass_time(1_000)
    assert not stage.consumers.members
    assert stage.consumers.state is ConsumerState.EMPTY


def test_restart_keeps_epochs_targets_and_owners_and_members_go_on(stage: Stage) -> None:
    stage.create("orders", 4)
    first = stage.client("a", "orders")
    stage.pass_time(PAUSE)
    second = stage.client("b", "orders")
    first.poll()
    assert stage.consumers.members["a"].state is MemberState.UNREVOKED
    later = stage.restarted()
    assert later.consumers.members == stage.consumers.members
    assert later.consumers.owners == stage.consumers.owners
    settle(later, first, second, rounds=3)
    assert not first.was_fenced
    assert not second.was_fenced
    assert len(first.partitions) == len(second.partitions) == 2


def test_rebalance_timeout_runs_again_after_a_restart(stage: Stage) -> None:
    stage.create("orders", 2)
    first = stage.client("a", "orders")
    stage.pass_time(PAUSE)
    second = stage.client("b", "orders")
    first.poll()
    later = stage.restarted()
    for _ in range(REBALANCE // INTERVAL):
        later.pass_time(INTERVAL)
        second.poll(stage=later)
        if "a" in later.consumers.members:
            later.beat("a", first.epoch)
    assert set(later.consumers.members) == {"b"}
