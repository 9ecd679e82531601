"""Transactions while the clock is set, and over a restart of the broker between two steps of an end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import answer, begin
from tests.broker.transactions.producer import (
    pass_time,
)
from tests.broker.transactions.scenario import (
    NONE,
    producer_of,
    start,
    write,
)

from kafkawire.broker._dispatch.turns import TurnBudget
from kafkawire.broker.transactions.states import State
from kafkawire.messages import (
    EndTxnRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock


@pytest.mark.parametrize("hours", [-72, 72])
def test_setting_the_clock_ends_no_transaction(node: Node, clock: ManualClock, hours: int) -> None:
    asyncio.run(start(node))
    producer = producer_of(node)
    write(producer, b"a")
    pass_time(node, clock, 40_000)
    clock.set(hours * 3_600_000)
    pass_time(node, clock, 10_000)
    write(producer, b"b", partition=1)
    assert producer.state == "Ongoing"
    pass_time(node, clock, 20_000)
    assert producer.state == "CompleteAbort"


def test_setting_the_clock_removes_no_id(open_node: Callable[..., Node], clock: ManualClock) -> None:
    node = open_node(transaction_abort_timed_out_transaction_cleanup_interval_ms="600000000")
    asyncio.run(start(node))
    producer = producer_of(node)
    clock.set(30 * 86_400_000)
    pass_time(node, clock, 2 * 3_600_000)
    assert producer.state == "Empty"


def test_the_markers_of_overdue_transactions_belong_to_the_turns_that_abort_them(
    node: Node, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(start(node))
    producers = [producer_of(node, name) for name in "abc"]
    for each in producers:
        write(each, b"v")
    left: list[int] = []

    async def note(budget: TurnBudget) -> None:
        left.append(len(node.ended))

    monkeypatch.setattr(TurnBudget, "yield_if_due", note)
    pass_time(node, clock, 80_000)
    assert [each.state for each in producers] == ["CompleteAbort"] * 3
    assert len(left) >= 3
    assert set(left) == {0}


def test_a_producer_id_of_the_log_is_not_given_out_again(node: Node, open_node: Callable[..., Node]) -> None:
    producer = producer_of(node)
    again = open_node()
    again.producer_ids.restore(producer.id)  # as if the journal was lost
    again.start()
    other = producer_of(again, "other")
    assert other.id > producer.id


def test_the_answer_about_an_end_leaves_first_and_the_markers_are_written_before_the_next_request(node: Node) -> None:
    producer = producer_of(node)
    assert producer.produce(b"v") == NONE
    request = EndTxnRequest(
        transactional_id="t", producer_id=producer.id, producer_epoch=producer.epoch, committed=True
    )

    async def end() -> list[State]:
        call = begin(node, request, 5)
        assert not call.is_waiting
        answered = answer(node, call)
        assert answered.error_code == NONE
        entry = node.transactions.find("t")
        assert entry is not None
        states = [entry.current.state]
        await asyncio.sleep(0)
        return [*states, entry.current.state]

    before = node.log("orders", 0).last_stable_offset
    assert asyncio.run(end()) == [State.PREPARE_COMMIT, State.COMPLETE_COMMIT]
    assert (before, node.log("orders", 0).last_stable_offset) == (0, 2)


def test_a_kill_between_the_answer_and_the_markers_loses_nothing(
    open_node: Callable[..., Node], clock: ManualClock
) -> None:
    node = open_node()
    node.create_topic("orders", 2)
    producer = producer_of(node)
    assert producer.produce(b"v") == NONE
    request = EndTxnRequest(
        transactional_id="t", producer_id=producer.id, producer_epoch=producer.epoch, committed=True
    )

    async def end() -> int:
        answered = answer(node, begin(node, request, 5))
        node.transactions.stop()
        await asyncio.sleep(0)
        return int(answered.error_code)

    assert asyncio.run(end()) == NONE
    assert node.log("orders", 0).last_stable_offset == 0
    again = open_node()
    asyncio.run(start(again))
    pass_time(again, clock, 1)
    entry = again.transactions.find("t")
    assert entry is not None
    assert entry.current.state is State.COMPLETE_COMMIT
    assert again.log("orders", 0).last_stable_offset == 2
