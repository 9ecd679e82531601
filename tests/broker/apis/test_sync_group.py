"""SyncGroup over the wire."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.groups.group_requests import Talk, sync_request
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock


@pytest.mark.parametrize("version", list(api("SyncGroup").versions))
def test_every_version_passes_the_assignment_on(talk: Talk, version: int) -> None:
    joined = talk.join().answer
    answer = talk.ask(sync_request(joined, {joined.member_id: b"all of it"}), version)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"all of it")
    assert answer.protocol_name == ("range" if version >= 5 else None)
    assert answer.protocol_type == ("consumer" if version >= 5 else None)


@pytest.mark.parametrize("version", list(api("SyncGroup").versions))
def test_every_version_returns_the_reason_of_a_refusal(talk: Talk, version: int) -> None:
    joined = talk.join().answer
    joined.generation_id = 9
    assert talk.ask(sync_request(joined), version).error_code == ErrorCode.ILLEGAL_GENERATION
    joined.member_id = "ghost"
    assert talk.ask(sync_request(joined), version).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_waits_for_the_leader(talk: Talk) -> None:
    first = talk.member()
    second = talk.join()
    leader, follower = talk.join(first.member_id).answer, second.answer
    early = talk.start(sync_request(follower))
    assert early.is_waiting
    talk.ask(sync_request(leader, {leader.member_id: b"one", follower.member_id: b"two"}))
    assert early.answer.assignment == b"two"


def test_a_protocol_that_is_not_the_groups_is_refused(talk: Talk) -> None:
    request = sync_request(talk.join().answer)
    request.protocol_name = "sticky"
    assert talk.ask(request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_assignment_waits_for_the_disk_where_the_broker_promises_it(
    open_node: Callable[..., Node], clock: ManualClock
) -> None:
    node = open_node(flush_on_ack="true", offsets_topic_num_partitions="3")
    node.start()
    with asyncio.Runner() as runner:
        talk = Talk(node, clock, runner)
        joined = talk.join().answer
        asked = talk.start(sync_request(joined, {joined.member_id: b"all"}))
        runner.run(node.flusher.drain())
        assert asked.answer.assignment == b"all"
        (log,) = [log for log in node.logs.partitions.values() if log.end_offset and "offsets" in log.directory.name]
        assert log.recovery_point == log.end_offset


def test_version_five_names_the_protocol(talk: Talk) -> None:
    request = sync_request(talk.join().answer)
    request.protocol_type = request.protocol_name = None
    assert talk.ask(request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
