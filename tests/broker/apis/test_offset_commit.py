"""OffsetCommit over the wire."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.broker.groups.group_requests import GROUP, Talk, commit_request
from tests.broker.groups.group_requests import talk as talk

from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.groups.classic.group import CommittedOffset
from kafkawire.messages import api
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock


def stored(talk: Talk) -> CommittedOffset:
    group = talk.node.groups.find(GROUP)
    assert group is not None
    return group.offsets["orders", 0]


@pytest.mark.parametrize("version", list(api("OffsetCommit").versions))
def test_every_version_writes_an_offset_down(talk: Talk, version: int) -> None:
    request = commit_request(42, metadata="note")
    request.topics[0].topic_id = talk.node.topics.get("orders").id
    request.topics[0].partitions[0].committed_leader_epoch = 3
    (topic,) = talk.ask(request, version).topics
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, ErrorCode.NONE)]
    epoch = 3 if version >= 6 else -1
    assert stored(talk) == CommittedOffset(42, epoch, "note", talk.clock.now(), topic_id=request.topics[0].topic_id)
    assert talk.committed() == 42


def test_version_one_may_say_when_the_commit_was_made(talk: Talk) -> None:
    request = commit_request(42)
    request.topics[0].partitions[0].commit_timestamp = 99
    talk.ask(request, 1)
    assert stored(talk).committed_at == 99


@pytest.mark.parametrize("version", [2, 3, 4])
def test_versions_two_to_four_may_say_how_long_to_keep_it(talk: Talk, version: int) -> None:
    talk.ask(commit_request(42, retention_time_ms=5_000), version)
    assert stored(talk).expires == talk.clock.now() + 5_000


def test_a_retention_beyond_the_end_of_time_keeps_the_offset(talk: Talk) -> None:
    talk.ask(commit_request(42, retention_time_ms=(1 << 63) - 1), 2)
    assert talk.committed() == 42
    assert stored(talk).expires == (1 << 63) - 1


@pytest.mark.parametrize("version", range(1, 11))
def test_a_member_of_a_missing_group_gets_an_error(talk: Talk, version: int) -> None:
    request = commit_request(42, generation_id_or_member_epoch=1, member_id="ghost")
    request.topics[0].topic_id = talk.node.topics.get("orders").id
    expected = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert talk.ask(request, version).topics[0].partitions[0].error_code == expected


def test_a_topic_that_is_not_there_spoils_nothing_else(talk: Talk) -> None:
    request = commit_request(42)
    request.topics.append(commit_request(1, topic="missing").topics[0])
    answer = talk.ask(request, 9)
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"orders": ErrorCode.NONE, "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert talk.committed() == 42


def test_a_topic_id_that_is_not_there(talk: Talk) -> None:
    request = commit_request(42)
    request.topics[0].topic_id = uuid4()
    (topic,) = talk.ask(request, 10).topics
    assert (topic.topic_id, topic.partitions[0].error_code) == (
        request.topics[0].topic_id,
        ErrorCode.UNKNOWN_TOPIC_ID,
    )


def test_a_note_that_is_too_long(talk: Talk) -> None:
    assert talk.commit(1, metadata="x" * 4_097) == ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_members_commit_in_their_generation_and_nobody_else_while_they_are_in(talk: Talk) -> None:
    joined = talk.member()
    known = joined.member_id
    assert talk.commit(1, generation_id_or_member_epoch=1, member_id=known) == ErrorCode.NONE
    assert talk.commit(2, generation_id_or_member_epoch=0, member_id=known) == ErrorCode.ILLEGAL_GENERATION
    assert talk.commit(3, generation_id_or_member_epoch=1, member_id="ghost") == ErrorCode.UNKNOWN_MEMBER_ID
    assert talk.commit(4) == ErrorCode.UNKNOWN_MEMBER_ID
    assert talk.committed() == 1


def test_the_empty_name_is_good_enough_to_keep_offsets_under(talk: Talk) -> None:
    assert talk.commit(5, group_id="") == ErrorCode.NONE


def test_the_first_commit_makes_the_offsets_topic(talk: Talk) -> None:
    assert CONSUMER_OFFSETS not in talk.node.topics
    talk.commit(5)
    topic = talk.node.topics.get(CONSUMER_OFFSETS)
    assert topic.configs["cleanup.policy"] == "compact"
    logs = [talk.node.log(CONSUMER_OFFSETS, index) for index in range(topic.partitions)]
    (log,) = [log for log in logs if log.end_offset]
    (batch,) = read_batches(log.read(0, 1 << 20).read())
    assert batch.max_timestamp == talk.clock.now()


def test_a_commit_waits_for_the_disk_where_the_broker_promises_it(
    open_node: Callable[..., Node], clock: ManualClock
) -> None:
    node = open_node(flush_on_ack="true", offsets_topic_num_partitions="3")
    node.create_topic("orders", 1)
    node.start()
    with asyncio.Runner() as runner:
        talk = Talk(node, clock, runner)
        asked = talk.start(commit_request(42), 9)
        runner.run(node.flusher.drain())
        assert asked.answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        (log,) = [log for log in node.logs.partitions.values() if log.end_offset and "offsets" in log.directory.name]
        assert log.recovery_point == log.end_offset


def test_committed_offsets_exist_when_the_node_opens_again(
    talk: Talk, open_node: Callable[..., Node], clock: ManualClock
) -> None:
    talk.commit(41)
    talk.commit(42)
    talk.commit(7, index=1)
    again = open_node()
    again.start()
    group = again.groups.find(GROUP)
    assert group is not None
    assert {place: committed.offset for place, committed in group.offsets.items()} == {
        ("orders", 0): 42,
        ("orders", 1): 7,
    }


@pytest.mark.parametrize("version", list(api("OffsetCommit").versions))
def test_a_partition_that_is_not_there_is_refused_and_the_others_are_not(talk: Talk, version: int) -> None:
    request = commit_request(42)
    topic = request.topics[0]
    topic.topic_id = talk.node.topics.get("orders").id
    topic.partitions.append(type(topic.partitions[0])(partition_index=9, committed_offset=1))
    (answered,) = talk.ask(request, version).topics
    codes = {each.partition_index: each.error_code for each in answered.partitions}
    assert codes == {0: ErrorCode.NONE, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    group = talk.node.groups.find(GROUP)
    assert group is not None
    assert set(group.offsets) == {("orders", 0)}
