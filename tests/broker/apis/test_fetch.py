"""Fetch: what is read, in which form, and when the answer comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import answer, ask, batch, begin, values

from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages._registry import api
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

    Partition = FetchRequest.FetchPartition


def fetch(node: Node, *offsets: int, topic: str = "orders", max_bytes: int = 1 << 20, **fields: Any) -> FetchRequest:
    """A request for partitions 0, 1, ... from these offsets on."""
    found = node.topics.find(topic)
    asked = FetchRequest.FetchTopic(topic=topic)
    if found is not None:
        asked.topic_id = found.id
    for index, offset in enumerate(offsets):
        asked.partitions.append(
            FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
        )
    return FetchRequest(topics=[asked], **{"min_bytes": 1, **fields})


def partitions(response: FetchResponse) -> list[FetchResponse.PartitionData]:
    return [each for topic in response.responses for each in topic.partitions]


def only(response: FetchResponse) -> FetchResponse.PartitionData:
    (one,) = partitions(response)
    return one


@pytest.mark.parametrize("version", list(api("Fetch").versions))
def test_every_version_reads_records_in_a_format_its_clients_know(node: Node, version: int) -> None:
    node.append("orders", 0, batch(b"a", b"b"))
    found = only(ask(node, fetch(node, 0), version))
    assert (found.error_code, found.high_watermark, values(found.records)) == (0, 2, [b"a", b"b"])
    expected = 0 if version < 2 else 1 if version < 4 else 2
    assert {each.magic for each in read_batches(found.records or b"")} == {expected}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize(("codec", "expected"), [("none", [b"c", b"d"]), ("gzip", [b"a", b"b", b"c", b"d"])])
def test_what_old_clients_get_begins_at_the_offset_unless_it_is_compressed(
    node: Node, version: int, codec: str, expected: list[bytes]
) -> None:
    node.append("orders", 0, batch(b"a", b"b", b"c", compression=codec))
    node.append("orders", 0, batch(b"d"))
    assert values(only(ask(node, fetch(node, 2), version)).records) == expected


def test_the_batch_that_holds_the_offset_comes_whole(node: Node) -> None:
    node.append("orders", 0, batch(b"a", b"b", b"c"))
    assert values(only(ask(node, fetch(node, 2))).records) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("offset", [-1, 4, 99])
def test_an_offset_outside_the_log_is_an_error_without_numbers(node: Node, offset: int) -> None:
    node.append("orders", 0, batch(b"a", b"b", b"c"))
    found = only(ask(node, fetch(node, offset)))
    assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (-1, -1, -1)


def test_at_the_end_there_is_nothing_and_no_error(node: Node) -> None:
    node.append("orders", 0, batch(b"a"))
    found = only(ask(node, fetch(node, 1)))
    assert (found.error_code, found.records, found.high_watermark) == (0, b"", 1)


def test_unknown_topics_and_partitions_are_errors(node: Node) -> None:
    assert only(ask(node, fetch(node, 0, topic="other"), 12)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert only(ask(node, fetch(node, 0, topic="other"), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    codes = [each.error_code for each in partitions(ask(node, fetch(node, 0, 0, 0)))]
    assert codes == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_first_batch_comes_whatever_the_limits_and_a_later_one_only_if_it_fits(node: Node) -> None:
    for index in (0, 1):
        node.append("orders", index, batch(b"x" * 1000))
    first, second = partitions(ask(node, fetch(node, 0, 0, max_bytes=100)))
    assert (values(first.records), second.records) == ([b"x" * 1000], b"")
    first, second = partitions(ask(node, fetch(node, 0, 0, max_bytes=5000)))
    assert len(first.records or b"") == len(second.records or b"") > 1000


def test_the_limit_of_the_whole_answer_holds_over_partitions(node: Node) -> None:
    for index in (0, 1):
        node.append("orders", index, batch(b"x" * 1000))
    request = fetch(node, 0, 0)
    request.max_bytes = 1100
    first, second = partitions(ask(node, request, 12))
    assert (values(first.records), second.records) == ([b"x" * 1000], b"")


def test_no_room_at_all_still_gives_one_batch_and_only_one(node: Node) -> None:
    for index in (0, 1):
        node.append("orders", index, batch(b"x" * 1000))
    request = fetch(node, 0, 0, max_bytes=0)
    request.max_bytes = 0
    assert [values(each.records) for each in partitions(ask(node, request))] == [[b"x" * 1000], []]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_before_version_three_the_limit_is_hard_and_a_batch_is_cut(node: Node, magic: int) -> None:
    node.append("orders", 0, batch(b"x" * 1000, magic=magic))
    found = only(ask(node, fetch(node, 0, max_bytes=100), 2)).records or b""
    assert len(found) == 100
    assert read_batches(found).partial_tail == 100
    assert not list(read_batches(found))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_clients_get_records_in_their_format_or_an_error(node: Node, magic: int) -> None:
    node.append("orders", 0, batch(b"a", b"b"))
    node.append("orders", 0, batch(b"c", magic=1))
    version = 1 if magic == 0 else 3
    found = only(ask(node, fetch(node, 0), version)).records or b""
    assert values(found) == [b"a", b"b", b"c"]
    assert {each.magic for each in read_batches(found)} == {magic}
    node.append("orders", 0, batch(b"d", compression="zstd"))
    refused = only(ask(node, fetch(node, 0), version))
    assert (refused.error_code, refused.high_watermark) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1)
    assert refused.records == b""


def test_epochs_that_are_not_in_charge_are_refused(node: Node) -> None:
    for epoch, error in ((-1, 0), (0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        request = fetch(node, 0)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        assert only(ask(node, request)).error_code == error
    node.leader_epoch = 1
    request.topics[0].partitions[0].current_leader_epoch = 0
    fenced = ask(node, request)
    assert only(fenced).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (only(fenced).current_leader.leader_epoch, [each.node_id for each in fenced.node_endpoints]) == (1, [1])
    assert ask(node, request, 15).node_endpoints == []
    assert only(ask(node, request, 8)).error_code == 0


def test_a_reader_of_another_history_gets_the_offset_where_it_differs(node: Node) -> None:
    node.append("orders", 0, batch(b"a", b"b"))
    node.leader_epoch = 2
    node.append("orders", 0, batch(b"c", b"d"))
    request = fetch(node, 4)
    request.topics[0].partitions[0].last_fetched_epoch = 1
    found = only(ask(node, request))
    assert (found.error_code, found.records) == (0, b"")
    assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == (0, 2)


@pytest.mark.parametrize(
    ("last_fetched", "offset", "error"),
    [(0, 2, 0), (1, 2, 0), (2, 2, 0), (3, 2, ErrorCode.OFFSET_OUT_OF_RANGE)],
    ids=["of the records", "of a leader without records", "of this leader", "of a later leader"],
)
def test_positions_at_the_end_survive_leaders_that_wrote_nothing(
    node: Node, last_fetched: int, offset: int, error: int
) -> None:
    node.append("orders", 0, batch(b"a", b"b"))
    node.leader_epoch = 2
    request = fetch(node, offset)
    request.topics[0].partitions[0].last_fetched_epoch = last_fetched
    found = only(ask(node, request))
    assert (found.error_code, found.diverging_epoch.epoch) == (error, 0 if last_fetched == 1 else -1)


def test_conversion_for_old_clients_can_be_switched_off(node: Node) -> None:
    node.create_topic("new", 1, {"message.downconversion.enable": "false"})
    node.append("new", 0, batch(b"a"))
    assert only(ask(node, fetch(node, 0, topic="new"), 3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert only(ask(node, fetch(node, 0, topic="new"), 4)).error_code == 0


def test_zstd_is_for_clients_that_know_it(node: Node) -> None:
    node.create_topic("small", 1, {"compression.type": "zstd"})
    node.append("small", 0, batch(b"a"))
    assert only(ask(node, fetch(node, 0, topic="small"), 9)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert values(only(ask(node, fetch(node, 0, topic="small"), 10)).records) == [b"a"]


def test_aborted_transactions_are_listed_for_readers_of_committed_records(node: Node) -> None:
    log = node.log("orders", 0)
    log.append(batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True))
    committed = fetch(node, 0, isolation_level=1)
    found = only(ask(node, committed))
    assert (found.records, found.high_watermark, found.last_stable_offset) == (b"", 1, 0)
    log.append_marker(5, 0, 0, commit=False)
    found = only(ask(node, committed))
    assert [(each.producer_id, each.first_offset) for each in found.aborted_transactions or []] == [(5, 0)]
    assert only(ask(node, fetch(node, 0))).aborted_transactions is None


def test_a_waiting_fetch_wakes_on_append(node: Node) -> None:
    async def scenario() -> FetchResponse:
        call = begin(node, fetch(node, 0, 0, max_wait_ms=500))
        assert call.is_waiting
        waiting = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        await asyncio.sleep(0)
        node.append("orders", 1, batch(b"a"))
        await waiting
        return answer(node, call)  # type: ignore[no-any-return]  # read back from bytes

    assert [values(each.records) for each in partitions(asyncio.run(scenario()))] == [[], [b"a"]]
    assert len(node.watches) == 0


def test_an_append_before_the_wait_has_begun_is_not_missed(node: Node) -> None:
    async def scenario() -> FetchResponse:
        call = begin(node, fetch(node, 0, max_wait_ms=500))
        waiting = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        node.append("orders", 0, batch(b"a"))
        await waiting
        return answer(node, call)  # type: ignore[no-any-return]  # read back from bytes

    assert values(only(asyncio.run(scenario())).records) == [b"a"]


@pytest.mark.parametrize("by", [0, 3_600_000, -3_600_000])
def test_a_waiting_fetch_ends_with_its_time_however_the_clock_is_set(node: Node, clock: ManualClock, by: int) -> None:
    async def scenario() -> tuple[bool, FetchResponse]:
        node.append("orders", 0, batch(b"a"))
        call = begin(node, fetch(node, 0, max_wait_ms=500, min_bytes=10_000))
        waiting = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        await asyncio.sleep(0)
        node.append("orders", 0, batch(b"b"))
        clock.set(by)
        clock.advance(499)
        for _ in range(3):
            await asyncio.sleep(0)
        early = waiting.done()
        clock.advance(1)
        await waiting
        return early, answer(node, call)

    early, response = asyncio.run(scenario())
    assert not early
    assert values(only(response).records) == [b"a", b"b"]


def test_an_error_is_not_waited_with(node: Node) -> None:
    assert not begin(node, fetch(node, 99, 0, max_wait_ms=500)).is_waiting


def test_a_topic_that_goes_ends_the_wait(node: Node) -> None:
    async def scenario() -> FetchResponse:
        call = begin(node, fetch(node, 0, max_wait_ms=500))
        waiting = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        await asyncio.sleep(0)
        node.delete_topic(node.topics.get("orders"))
        await waiting
        return answer(node, call)  # type: ignore[no-any-return]  # read back from bytes

    assert only(asyncio.run(scenario())).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_session_answers_only_with_what_changed(node: Node) -> None:
    opened = ask(node, fetch(node, 0, 0, session_epoch=0))
    assert opened.session_id > 0
    assert len(partitions(opened)) == 2
    again = FetchRequest(session_id=opened.session_id, session_epoch=1)
    assert partitions(ask(node, again)) == []
    node.append("orders", 1, batch(b"a"))
    again.session_epoch = 2
    changed = only(ask(node, again))
    assert (changed.partition_index, values(changed.records)) == (1, [b"a"])


def test_a_refused_session_is_an_error_of_the_whole(node: Node) -> None:
    refused = ask(node, FetchRequest(session_id=77, session_epoch=5))
    assert (refused.error_code, refused.session_id, refused.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])


def test_with_flush_on_ack_readers_see_what_is_on_the_disk(open_node: Callable[..., Node]) -> None:
    node = open_node(flush_on_ack="true")
    node.create_topic("orders", 1)
    node.append("orders", 0, batch(b"a"))
    assert only(ask(node, fetch(node, 0))).records == b""
    node.log("orders", 0).flush()
    assert values(only(ask(node, fetch(node, 0))).records) == [b"a"]
