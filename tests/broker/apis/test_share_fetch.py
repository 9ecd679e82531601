"""ShareFetch and ShareAcknowledge: records are acquired, acknowledged and released, over sessions and restarts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from tests.broker.node_requests import answer, ask, batch, begin
from tests.broker.share.share_requests import (
    ALL,
    GROUP,
    acknowledge,
    acquired,
    delivered,
    fetch,
    fetch_request,
    join,
    produce,
    topic_id,
)

from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.broker._security.peer import Peer
from kafkawire.broker.share.fetching import ShareFetch
from kafkawire.messages import ShareGroupHeartbeatRequest
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

RELEASE, REJECT, RENEW = (2,), (3,), (4,)
LOCK = 30_000


@pytest.fixture
def shared(node: Node) -> Node:
    """A node with ten records, and a member of a group that begins at the first of them."""
    configure(node, "share.auto.offset.reset", "earliest")
    produce(node, 10)
    join(node, "m", "orders")
    return node


def configure(node: Node, name: str, value: str) -> None:
    node.group_configs.change(GROUP, {name: value})


def test_records_are_acquired_once(shared: Node) -> None:
    first = fetch(shared, "m", 0)
    assert acquired(first) == [(0, 9, 1)]
    assert delivered(first) == [b"%d" % number for number in range(10)]
    join(shared, "n", "orders")
    assert acquired(fetch(shared, "n", 0)) == []


def test_accepted_records_never_come_again(shared: Node, open_node: Callable[..., Node]) -> None:
    fetch(shared, "m", 0)
    assert fetch(shared, "m", 1, (0, 9, ALL)).acknowledge_error_code == 0
    assert acquired(fetch(reopened(open_node), "m", 0)) == []


def test_released_records_come_again_and_others_do_not(shared: Node, open_node: Callable[..., Node]) -> None:
    fetch(shared, "m", 0)
    assert acknowledge(shared, "m", 1, (0, 9, [1, 2, 3, 1, 1, 2, 1, 1, 1, 1])).error_code == 0
    assert acquired(fetch(shared, "m", 2)) == [(1, 1, 2), (5, 5, 2)]
    assert acquired(fetch(reopened(open_node), "m", 0)) == [(1, 1, 2), (5, 5, 2)]


def test_records_that_were_acquired_at_a_crash_come_again(shared: Node, open_node: Callable[..., Node]) -> None:
    produce(shared, 5)
    fetch(shared, "m", 0)
    acknowledge(shared, "m", 1, (10, 14, ALL))
    assert acquired(fetch(reopened(open_node), "m", 0)) == [(0, 9, 1)]


def test_a_lock_that_ends_releases_its_records(shared: Node, clock: ManualClock) -> None:
    fetch(shared, "m", 0)
    clock.advance(LOCK - 1)
    join(shared, "n", "orders")
    clock.advance(1)
    assert acquired(fetch(shared, "n", 0)) == [(0, 9, 2)]
    late = acknowledge(shared, "m", 1, (0, 9, ALL))
    assert late.error_code == ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_ends_later(shared: Node, clock: ManualClock) -> None:
    fetch(shared, "m", 0)
    clock.advance(LOCK - 1)
    assert acknowledge(shared, "m", 1, (0, 9, RENEW), renews=True).error_code == 0
    clock.advance(LOCK - 1)
    assert acknowledge(shared, "m", 2, (0, 9, ALL)).error_code == 0


def test_a_group_may_forbid_renewals(shared: Node) -> None:
    configure(shared, "share.renew.acknowledge.enable", "false")
    fetch(shared, "m", 0)
    assert acknowledge(shared, "m", 1, (0, 9, RENEW), renews=True).error_code == ErrorCode.INVALID_RECORD_STATE


def test_a_record_is_archived_at_the_delivery_limit(shared: Node) -> None:
    configure(shared, "share.delivery.count.limit", "2")
    fetch(shared, "m", 0)
    acknowledge(shared, "m", 1, (0, 9, [2, *[1] * 9]))
    assert acquired(fetch(shared, "m", 2)) == [(0, 0, 2)]
    acknowledge(shared, "m", 3, (0, 0, RELEASE))
    assert acquired(fetch(shared, "m", 4)) == []
    produce(shared, 1)
    assert acquired(fetch(shared, "m", 5)) == [(10, 10, 1)]


def test_a_group_without_own_settings_begins_at_the_end(node: Node) -> None:
    produce(node, 10)
    join(node, "m", "orders")
    assert acquired(fetch(node, "m", 0)) == []
    produce(node, 2)
    assert acquired(fetch(node, "m", 1)) == [(10, 11, 1)]


def test_a_group_may_begin_some_time_ago(node: Node, clock: ManualClock) -> None:
    configure(node, "share.auto.offset.reset", "by_duration:PT1H")
    node.append("orders", 0, batch(b"old", timestamp=clock.now() - 7_200_000))
    node.append("orders", 0, batch(b"young", timestamp=clock.now() - 1_800_000))
    join(node, "m", "orders")
    assert delivered(fetch(node, "m", 0)) == [b"young"]


def test_the_limit_of_records_in_flight(shared: Node) -> None:
    configure(shared, "share.partition.max.record.locks", "100")
    for _ in range(30):
        produce(shared, 10)
    assert acquired(fetch(shared, "m", 0)) == [(0, 99, 1)]
    assert acquired(fetch(shared, "m", 1)) == []
    acknowledge(shared, "m", 2, (0, 9, ALL))
    assert acquired(fetch(shared, "m", 3)) == [(100, 109, 1)]


def test_batches_stay_whole_unless_the_records_are_limited(shared: Node) -> None:
    assert acquired(fetch(shared, "m", 0, max_records=3)) == [(0, 9, 1)]
    join(shared, "n", "orders")
    produce(shared, 10)
    assert acquired(fetch(shared, "n", 0, max_records=3, share_acquire_mode=1)) == [(10, 12, 1)]
    assert acquired(fetch(shared, "n", 1, max_records=3, share_acquire_mode=1)) == [(13, 15, 1)]


def test_aborted_transactions_are_left_out(shared: Node) -> None:
    configure(shared, "share.isolation.level", "read_committed")
    log = shared.log("orders", 0)
    now = shared.clock.now()
    log.append_unsequenced(batch(b"a", b"b", timestamp=now, is_transactional=True, producer_id=9, producer_epoch=0))
    assert acquired(fetch(shared, "m", 0)) == [(0, 9, 1)]
    log.append_marker(9, 0, 0, commit=False, leader_epoch=0)
    produce(shared, 1)
    assert acquired(fetch(shared, "m", 1, (0, 9, ALL))) == [(12, 13, 1)]


def test_records_that_retention_has_deleted_are_skipped(shared: Node) -> None:
    produce(shared, 10)
    fetch(shared, "m", 0)
    acknowledge(shared, "m", 1, (0, 19, RELEASE))
    shared.log("orders", 0).delete_records(12)
    assert acquired(fetch(shared, "m", 2)) == [(12, 19, 2)]


def test_a_fetch_waits_for_new_records(shared: Node) -> None:
    fetch(shared, "m", 0)
    assert acquired(woken(shared, lambda: produce(shared, 3))) == [(10, 12, 1)]


def test_a_fetch_waits_for_released_records(shared: Node) -> None:
    join(shared, "n", "orders")
    fetch(shared, "n", 0)
    fetch(shared, "m", 0)
    found = woken(shared, lambda: shared.shares.end_session(next(iter(shared.shares.sessions)).key))
    assert acquired(found) == [(0, 9, 2)]


def woken(node: Node, event: Callable[[], object]) -> Any:
    """The partition that a fetch gets that waits for an event."""

    async def run() -> Any:
        call = begin(node, fetch_request(node, "m", 1, max_wait_ms=60_000, min_bytes=1))
        assert call.is_waiting
        waiting = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        await asyncio.sleep(0)
        assert not waiting.done()
        event()
        await waiting
        return answer(node, call)

    return asyncio.run(run()).responses[0].partitions[0]


@pytest.mark.parametrize("epoch", [0, 3, -1])
def test_a_fetch_whose_session_went_on_without_it_acquires_nothing(shared: Node, epoch: int) -> None:
    """A client that hears nothing comes back over another connection, while its fetch still waits on the old one."""
    fetch(shared, "m", 0)
    fetch(shared, "m", 1, (0, 9, ALL))

    async def run() -> Any:
        old = begin(shared, fetch_request(shared, "m", 2, max_wait_ms=60_000, min_bytes=1))
        waiting = asyncio.create_task(Dispatcher(shared, Metrics()).wait(old))
        await asyncio.sleep(0)
        new = begin(shared, fetch_request(shared, "m", epoch))
        if new.is_waiting:
            await Dispatcher(shared, Metrics()).wait(new)
        assert answer(shared, new).error_code == 0
        produce(shared, 3)
        await waiting
        return answer(shared, old)

    assert asyncio.run(run()).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert acquired(fetch(shared, "n", 0)) == [(10, 12, 1)]


def test_a_full_disk_has_the_codes_that_java_expects_of_a_leader(shared: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(node: Node) -> None:
        append = node.append

        def fail(name: str, *rest: Any, **options: Any) -> Any:
            if name == "__share_group_state":
                raise KafkaStorageError("no space left on device")
            return append(name, *rest, **options)

        monkeypatch.setattr(node, "append", fail)

    fill(shared)
    assert fetch(shared, "m", 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    monkeypatch.undo()
    assert acquired(fetch(shared, "m", 1)) == [(0, 9, 1)]
    fill(shared)
    assert acknowledge(shared, "m", 2, (0, 9, ALL)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    monkeypatch.undo()
    assert acknowledge(shared, "m", 3, (0, 9, ALL)).error_code == 0


def test_records_are_not_acquired_from_what_was_loaded_before_a_reset(
    shared: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator moves the group between the look for records and their acquisition."""
    fetch(shared, "m", 0)
    find = ShareFetch._find

    async def find_and_reset(self: ShareFetch, **options: bool) -> Any:
        found = await find(self, **options)
        shared.shares.initialize(GROUP, -1, {topic_id(shared): {0: 4}})
        return found

    fetch(shared, "m", 1, (0, 9, (2,)))
    monkeypatch.setattr(ShareFetch, "_find", find_and_reset)
    assert acquired(fetch(shared, "m", 2)) == []
    monkeypatch.undo()
    assert acquired(fetch(shared, "m", 3)) == [(4, 9, 1)]


def test_a_client_that_leaves_while_its_group_gets_its_partitions_does_not_delay_others(node: Node) -> None:
    """Without the topic of share states the first heartbeat waits for it; its connection closes meanwhile."""
    configure(node, "share.auto.offset.reset", "earliest")
    produce(node, 10)
    node.create_topic("__consumer_offsets", 1)

    async def run() -> None:
        call = begin(
            node,
            ShareGroupHeartbeatRequest(
                group_id=GROUP, member_id="l", member_epoch=0, subscribed_topic_names=["orders"]
            ),
        )
        leaving = asyncio.create_task(Dispatcher(node, Metrics()).wait(call))
        await asyncio.sleep(0)
        assert not leaving.done()
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        async with asyncio.timeout(10):
            while "__share_group_state" not in node.topics or not node.shares.keys_of(GROUP):
                await asyncio.sleep(0.01)

    asyncio.run(run())
    assert join(node, "m", "orders").assignment.topic_partitions
    assert acquired(fetch(node, "m", 0)) == [(0, 9, 1)]


def test_a_connection_that_closes_ends_its_session(shared: Node) -> None:
    fetch(shared, "m", 0)
    (session,) = shared.shares.sessions
    assert isinstance(session.connection, Peer)
    shared.shares.disconnected(session.connection)
    assert not len(shared.shares.sessions)
    assert acquired(fetch(shared, "m", 0)) == [(0, 9, 2)]


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
        (2, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (-1, ErrorCode.NONE),
        (-2, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    ],
)
def test_the_epoch_of_a_session(shared: Node, epoch: int, error: ErrorCode) -> None:
    fetch(shared, "m", 0)
    assert ask(shared, fetch_request(shared, "m", epoch)).error_code == error


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (0, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (1, ErrorCode.NONE),
        (2, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (-1, ErrorCode.NONE),
    ],
)
def test_acknowledgements_advance_the_session_too(shared: Node, epoch: int, error: ErrorCode) -> None:
    fetch(shared, "m", 0)
    assert acknowledge(shared, "m", epoch).error_code == error
    after = {1: ErrorCode.INVALID_SHARE_SESSION_EPOCH, -1: ErrorCode.SHARE_SESSION_NOT_FOUND}
    assert acknowledge(shared, "m", 1).error_code == after.get(epoch, ErrorCode.NONE)


def test_the_first_request_of_a_session_acknowledges_nothing(shared: Node) -> None:
    request = fetch_request(shared, "m", 0, [(0, 9, ALL)])
    assert ask(shared, request).error_code == ErrorCode.INVALID_REQUEST


def test_the_number_of_sessions_is_limited(open_node: Callable[..., Node]) -> None:
    node = open_node(group_share_max_share_sessions="1")
    node.create_topic("orders", 1)
    join(node, "m", "orders")
    fetch(node, "m", 0)
    assert ask(node, fetch_request(node, "n", 0)).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    fetch(node, "m", 0)


def test_the_last_request_of_a_session_releases_the_rest(shared: Node) -> None:
    fetch(shared, "m", 0)
    assert acknowledge(shared, "m", -1, (0, 3, ALL)).error_code == 0
    assert acquired(fetch(shared, "m", 0)) == [(4, 9, 2)]


@pytest.mark.parametrize(
    ("acks", "error"),
    [
        ((5, 4, ALL), ErrorCode.INVALID_REQUEST),
        ((0, 9, []), ErrorCode.INVALID_REQUEST),
        ((0, 9, [1, 1]), ErrorCode.INVALID_REQUEST),
        ((0, 9, [5]), ErrorCode.INVALID_REQUEST),
        ((0, 9, RENEW), ErrorCode.INVALID_REQUEST),
        ((0, 10, ALL), ErrorCode.INVALID_REQUEST),
        ((10, 11, ALL), ErrorCode.INVALID_REQUEST),
    ],
)
def test_wrong_acknowledgements_change_nothing(
    shared: Node, acks: tuple[int, int, list[int]], error: ErrorCode
) -> None:
    fetch(shared, "m", 0)
    assert acknowledge(shared, "m", 1, acks).error_code == error
    assert acknowledge(shared, "m", 2, (0, 9, ALL)).error_code == 0


def test_records_of_another_member_cannot_be_acknowledged(shared: Node) -> None:
    fetch(shared, "m", 0)
    join(shared, "n", "orders")
    fetch(shared, "n", 0)
    assert acknowledge(shared, "n", 1, (0, 9, ALL)).error_code == ErrorCode.INVALID_RECORD_STATE
    assert acknowledge(shared, "m", 1, (0, 9, ALL)).error_code == 0
    assert acknowledge(shared, "m", 2, (0, 9, REJECT)).error_code == 0


def test_a_partition_without_a_state_is_an_error(node: Node) -> None:
    assert fetch(node, "m", 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_unknown_topic_is_an_error(shared: Node) -> None:
    assert fetch(shared, "m", 0, topic=UUID(int=9)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert fetch(shared, "m", 0, index=7).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(("group", "member"), [(None, "m"), (GROUP, ""), (GROUP, "m" * 37), (GROUP, None)])
def test_wrong_names_are_refused(shared: Node, group: str | None, member: str | None) -> None:
    request = fetch_request(shared, "m", 0)
    request.group_id, request.member_id = group, member
    assert ask(shared, request).error_code == ErrorCode.INVALID_REQUEST


def test_a_renewing_fetch_has_no_limits(shared: Node) -> None:
    fetch(shared, "m", 0)
    request = fetch_request(shared, "m", 1, [(0, 9, RENEW)], is_renew_ack=True)
    assert ask(shared, request).error_code == ErrorCode.INVALID_REQUEST
    request = fetch_request(shared, "m", 1, [(0, 9, RENEW)], is_renew_ack=True, max_bytes=0, max_records=0)
    found = ask(shared, request)
    assert found.error_code == 0
    assert found.acquisition_lock_timeout_ms == LOCK
    assert found.responses[0].partitions[0].acknowledge_error_code == 0


def test_the_protocol_may_be_turned_off(shared: Node) -> None:
    shared.features._levels["share.version"] = 0
    assert ask(shared, fetch_request(shared, "m", 0)).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_snapshots_bound_the_log_of_states(open_node: Callable[..., Node], clock: ManualClock) -> None:
    node = open_node(share_coordinator_snapshot_update_records_per_snapshot="10")
    node.create_topic("orders", 1)
    configure(node, "share.auto.offset.reset", "earliest")
    join(node, "m", "orders")
    for epoch in range(60):
        produce(node, 1)
        fetch(node, "m", epoch, *([(epoch - 1, epoch - 1, ALL)] if epoch else []))
    logs = [log for (topic, _), log in node.logs.partitions.items() if topic == "__share_group_state"]
    (log,) = (log for log in logs if log.end_offset)
    assert log.end_offset > 60
    asyncio.run(node.shares._log.prune())
    assert log.end_offset - log.log_start_offset <= 12
    (key,) = node.shares.keys_of(GROUP)
    assert reopened(open_node).shares.state(key) == node.shares.state(key)


def reopened(open_node: Callable[..., Node]) -> Node:
    """The node after a crash: what it has written is read again."""
    node = open_node()
    configure(node, "share.auto.offset.reset", "earliest")
    node.start()
    return node


def test_the_state_of_a_deleted_topic_is_deleted(shared: Node) -> None:
    fetch(shared, "m", 0)
    gone = topic_id(shared)
    shared.delete_topic(shared.topics.get("orders"))
    assert not [key for key in shared.shares.keys_of(GROUP) if key.topic_id == gone]
    assert not shared.groups.shares.get(GROUP).partitions.initialized
