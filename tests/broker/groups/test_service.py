"""Groups at work in a node: timers, gauges, and a log that can be deleted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.groups.group_requests import GROUP, Talk, commit_request, sync_request
from tests.broker.groups.group_requests import talk as talk
from tests.broker.node_requests import batch

from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.messages import OffsetFetchRequest
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

WEEK = 7 * 86_400_000


def group_of(node: Node) -> Group:
    group = node.groups.find(GROUP)
    assert isinstance(group, Group)
    return group


def test_a_silent_member_is_out_without_anyone_asking(talk: Talk) -> None:
    talk.member()
    talk.turn(10_000)
    assert group_of(talk.node).state is State.EMPTY


@pytest.mark.parametrize("by", [WEEK, -WEEK])
def test_a_clock_that_is_set_ends_no_session_and_prolongs_none(talk: Talk, by: int) -> None:
    joined = talk.member()
    talk.turn(4_000)
    talk.clock.set(by)
    talk.turn(5_999)
    assert group_of(talk.node).state is State.STABLE
    talk.turn(1)
    assert group_of(talk.node).state is State.EMPTY
    assert talk.heartbeat(joined) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("by", [WEEK, -WEEK])
def test_a_heartbeat_after_the_clock_was_set_is_worth_a_session(talk: Talk, by: int) -> None:
    joined = talk.member()
    talk.turn(9_000)
    talk.clock.set(by)
    assert talk.heartbeat(joined) == ErrorCode.NONE
    talk.turn(9_999)
    assert group_of(talk.node).state is State.STABLE
    talk.turn(1)
    assert group_of(talk.node).state is State.EMPTY


def test_offsets_are_dated_with_the_time_of_day(talk: Talk) -> None:
    talk.clock.set(5_000)
    talk.commit(42)
    assert group_of(talk.node).offsets["orders", 0].committed_at == talk.clock.now()


def test_members_that_were_loaded_have_one_session_to_show_themselves(
    talk: Talk, open_node: Callable[..., Node], clock: ManualClock
) -> None:
    talk.member()
    again = open_node()
    again.start()
    assert group_of(again).state is State.STABLE
    clock.advance(10_000)
    assert group_of(again).state.value == "Empty"


def test_expired_offsets_are_looked_for_from_time_to_time(talk: Talk) -> None:
    talk.commit(42)
    talk.turn(WEEK - 1)
    assert talk.committed() == 42
    talk.turn(600_000)
    assert list(talk.node.groups) == []


def test_expiry_that_cannot_be_written_is_tried_again(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    talk.commit(42)

    def fail(*_: object) -> None:
        raise KafkaStorageError("no disk")

    with monkeypatch.context() as patch:
        patch.setattr(talk.node, "append", fail)
        talk.turn(WEEK + 600_000)
    assert talk.committed() == 42
    assert "expired offsets are still kept" in caplog.text
    talk.turn(600_000)
    assert list(talk.node.groups) == []


def test_a_stopped_service_does_nothing_more(talk: Talk) -> None:
    talk.member()
    talk.node.groups.stop()
    talk.turn(WEEK)
    assert group_of(talk.node).state is State.STABLE


def test_gauges_show_states_members_and_lag(talk: Talk) -> None:
    joined = talk.member()
    talk.node.append("orders", 0, batch(b"a", b"b", b"c"))
    talk.commit(1, member_id=joined.member_id, generation_id_or_member_epoch=1)
    assert list(talk.node.groups.gauges()) == [
        Gauge("kafkawire_groups", {"state": "Stable"}, 1),
        Gauge("kafkawire_group_members", {"group": GROUP}, 1),
        Gauge("kafkawire_group_lag", {"group": GROUP, "topic": "orders", "partition": "0"}, 2),
    ]


def test_members_have_to_join_again_when_the_offsets_topic_is_deleted(talk: Talk) -> None:
    joined = talk.member()
    waiting = talk.join()
    talk.node.delete_topic(talk.node.topics.get(CONSUMER_OFFSETS))
    assert waiting.answer.error_code == ErrorCode.NOT_COORDINATOR
    assert talk.heartbeat(joined) == ErrorCode.UNKNOWN_MEMBER_ID
    assert talk.commit(5) == ErrorCode.NONE
    assert talk.committed() == 5


class TestFlushOnAck:
    @pytest.fixture
    def durable(self, open_node: Callable[..., Node], clock: ManualClock) -> Iterator[Talk]:
        node = open_node(flush_on_ack="true", offsets_topic_num_partitions="1")
        node.create_topic("orders", 1)
        node.start()
        with asyncio.Runner() as runner:
            yield Talk(node, clock, runner)

    def test_no_commit_is_answered_before_the_disk_has_it(self, durable: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
        disk = asyncio.Event()

        async def slow(*_: object) -> None:
            await disk.wait()

        monkeypatch.setattr(durable.node.flusher, "wait", slow)
        commit = durable.start(commit_request(42), 9)
        fetch = durable.start(OffsetFetchRequest(group_id=GROUP, topics=None), 7)
        assert (commit.is_waiting, fetch.is_waiting) == (True, True)
        disk.set()
        assert commit.answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        assert fetch.answer.topics[0].partitions[0].committed_offset == 42

    def test_a_failing_disk_is_answered_as_a_coordinator_to_find_again(
        self, durable: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object) -> None:
            raise KafkaStorageError("no disk")

        joined = durable.join().answer
        monkeypatch.setattr(durable.node.flusher, "wait", fail)
        commit = durable.ask(commit_request(42, group_id="simple"), 9)
        assert commit.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        sync = durable.ask(sync_request(joined, {joined.member_id: b"all"}))
        assert sync.error_code == ErrorCode.NOT_COORDINATOR


def test_a_compacted_log_has_the_same_state_in_fewer_bytes(open_node: Callable[..., Node], clock: ManualClock) -> None:
    node = open_node(offsets_topic_num_partitions="1", offsets_topic_segment_bytes="4096")
    node.create_topic("orders", 2)
    node.start()
    with asyncio.Runner() as runner:
        talk = Talk(node, clock, runner)
        for offset in range(300):
            talk.commit(offset, index=offset % 2)
    log = node.log(CONSUMER_OFFSETS, 0)
    before = sum(segment.size for segment in log.segments)
    log.compact()
    assert sum(segment.size for segment in log.segments) < before / 4
    again = open_node()
    again.start()
    assert group_of(again).offsets == group_of(node).offsets
    assert {committed.offset for committed in group_of(again).offsets.values()} == {298, 299}
