"""Offsets of members of consumer groups."""

from __future__ import annotations

import pytest
from tests.broker.groups.consumer.consumer_stage import GROUP, PAUSE, Client, Stage, settle

from kafkawire.broker.groups.consumer.commits import check_fetch
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.messages.errors import ErrorCode


def commit(stage: Stage, member_id: str, epoch: int, *partitions: int, version: int = 9) -> set[ErrorCode]:
    topic = stage.topics.get("orders")
    places = {("orders", each): Commit(7, topic_id=topic.id) for each in partitions or (0,)}
    prepared = {place: stage.coordinator.prepare(GROUP, place, each, stage.now) for place, each in places.items()}
    errors = stage.coordinator.commit_prepared(GROUP, MemberKey(member_id, epoch), prepared, stage.now, version=version)
    return set(errors.values())


@pytest.fixture
def client(stage: Stage) -> Client:
    stage.create("orders", 4)
    client = stage.client("a", "orders")
    settle(stage, client, rounds=1)
    return client


def test_member_commits_in_its_epoch(stage: Stage, client: Client) -> None:
    assert commit(stage, "a", client.epoch) == {ErrorCode.NONE}
    assert stage.consumers.offsets["orders", 0].offset == 7


@pytest.mark.parametrize(
    ("member_id", "ahead", "version", "error"),
    [
        ("b", 0, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", 1, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", -1, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 0, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("", -3, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_commit_is_refused(stage: Stage, client: Client, member_id: str, ahead: int, version: int, error: int) -> None:
    assert commit(stage, member_id, client.epoch + ahead, version=version) == {error}
    assert not stage.consumers.offsets


def test_older_epoch_may_commit_what_was_assigned_by_then_and_is_not_given_up(stage: Stage, client: Client) -> None:
    other = stage.client("b", "orders")
    stage.pass_time(PAUSE)
    client.poll()
    assert commit(stage, "a", client.epoch, 0, 1, 2, 3) == {ErrorCode.NONE}
    settle(stage, client, other, rounds=3)
    kept = [partition for _, partition in client.partitions]
    assert client.epoch == 3
    assert commit(stage, "a", 2, *kept) == {ErrorCode.NONE}
    assert commit(stage, "a", 2, 0, 1, 2, 3) == {ErrorCode.STALE_MEMBER_EPOCH}
    fresh = [partition for _, partition in other.partitions]
    assert commit(stage, "b", 2, *fresh) == {ErrorCode.STALE_MEMBER_EPOCH}


def test_anyone_commits_to_an_empty_group(stage: Stage, client: Client) -> None:
    client.leave()
    assert commit(stage, "", -1) == {ErrorCode.NONE}


def test_fetch_needs_a_member_in_its_epoch_or_none(stage: Stage, client: Client) -> None:
    group = stage.consumers
    assert check_fetch(group, None, -1) == ErrorCode.NONE
    assert check_fetch(group, "a", client.epoch) == ErrorCode.NONE
    assert check_fetch(group, "a", client.epoch - 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert check_fetch(group, "b", client.epoch) == ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_subscribed_topics_do_not_expire_and_others_do(stage: Stage, client: Client) -> None:
    commit(stage, "a", client.epoch)
    week = stage.coordinator.settings.retention_ms
    stage.coordinator.expire(stage.now + week)
    assert stage.consumers.offsets
    client.topics = frozenset()
    client.poll()
    stage.coordinator.expire(stage.now + week)
    assert not stage.consumers.offsets


def test_empty_group_is_deleted_with_all_its_records(stage: Stage, client: Client) -> None:
    commit(stage, "a", client.epoch)
    assert stage.coordinator.delete(GROUP, stage.now) == ErrorCode.NON_EMPTY_GROUP
    client.leave()
    assert stage.coordinator.delete(GROUP, stage.now) == ErrorCode.NONE
    assert stage.coordinator.find(GROUP) is None
    assert stage.restarted().coordinator.find(GROUP) is None
    left = dict(stage.log.entries)
    assert set(left.values()) == {None}
