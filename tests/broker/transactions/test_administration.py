"""Requests of administrators about transactions: ListTransactions, DescribeTransactions, WriteTxnMarkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask
from tests.broker.transactions.producer import OLD, TransactionalProducer, open_producers, write_marker

from kafkawire.messages import DescribeTransactionsRequest, FindCoordinatorRequest, ListTransactionsRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

NONE = ErrorCode.NONE


def listed(node: Node, version: int | None = None, **filters: Any) -> list[str]:
    answer = ask(node, ListTransactionsRequest(**filters), version)
    assert answer.error_code == NONE
    return sorted(each.transactional_id for each in answer.transaction_states)


@pytest.fixture
def producers(node: Node) -> dict[str, TransactionalProducer]:
    """Four producers: one is new, one has an open transaction, two have ended one."""
    made = {name: TransactionalProducer(node, name) for name in ("new", "open", "did-commit", "did-abort")}
    for name, producer in made.items():
        assert producer.init() == NONE
        if name != "new":
            assert producer.produce(b"a") == NONE
        if name.startswith("did"):
            assert producer.end(commit=name == "did-commit") == NONE
    return made


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], ["did-abort", "did-commit", "new", "open"]),
        (["Ongoing"], ["open"]),
        (["Empty", "CompleteCommit"], ["did-commit", "new"]),
        (["Odd"], []),
        (["Odd", "CompleteAbort"], ["did-abort"]),
        (["Dead", "PrepareEpochFence"], []),
    ],
)
@pytest.mark.usefixtures("producers")
def test_ids_are_listed_by_state(node: Node, states: list[str], expected: list[str]) -> None:
    assert listed(node, state_filters=states) == expected
    unknown = ask(node, ListTransactionsRequest(state_filters=[*states, *states])).unknown_state_filters
    assert unknown == [name for name in states if name == "Odd"]


def test_ids_are_listed_by_producer(node: Node, producers: dict[str, TransactionalProducer]) -> None:
    assert listed(node, producer_id_filters=[producers["new"].id, 999]) == ["new"]
    assert listed(node, producer_id_filters=[999]) == []


@pytest.mark.usefixtures("producers")
def test_ids_are_listed_by_duration(node: Node, clock: ManualClock) -> None:
    clock.advance(5000)
    states = ["Ongoing", "Empty"]
    assert listed(node, duration_filter=4999, state_filters=states) == ["new", "open"]
    assert listed(node, duration_filter=5000, state_filters=states) == ["new"]
    assert listed(node, duration_filter=-1, state_filters=states) == ["new", "open"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("did-.*", ["did-abort", "did-commit"]),
        ("did", []),
        ("(new|open)", ["new", "open"]),
        ("(?i)NEW", ["new"]),
        ("[^-]+", ["new", "open"]),
        ("", ["did-abort", "did-commit", "new", "open"]),
        (None, ["did-abort", "did-commit", "new", "open"]),
    ],
)
@pytest.mark.usefixtures("producers")
def test_ids_are_listed_by_pattern(node: Node, pattern: str | None, expected: list[str]) -> None:
    assert listed(node, transactional_id_pattern=pattern) == expected


@pytest.mark.parametrize("name", ["büro", "a b\n", "заказ-1", "\U0001f600", "x" * 20_000])
def test_any_id_is_matched(node: Node, name: str) -> None:
    assert TransactionalProducer(node, name).init() == NONE
    assert listed(node, transactional_id_pattern="[^z]+") == [name]
    assert listed(node, transactional_id_pattern=f"\\Q{name[:100]}\\E(x*)") == [name]
    assert listed(node, transactional_id_pattern="(x+x+)+y") == []


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?<!a)b", "(a)\\1", "a{2,1}", "*"])
def test_a_pattern_that_is_none_is_an_error(node: Node, pattern: str) -> None:
    answer = ask(node, ListTransactionsRequest(transactional_id_pattern=pattern))
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


def test_an_open_transaction_is_described(node: Node, clock: ManualClock) -> None:
    producer = TransactionalProducer(node)
    assert producer.init(timeout=5000) == NONE
    clock.advance(100)
    assert producer.produce(b"a", partition=1) == NONE
    state = producer.described
    assert (state.error_code, state.transaction_state, state.transaction_timeout_ms) == (NONE, "Ongoing", 5000)
    assert (state.producer_id, state.producer_epoch) == (producer.id, producer.epoch)
    assert state.transaction_start_time_ms == clock.now()
    assert [(topic.topic, topic.partitions) for topic in state.topics] == [("orders", [1])]


def test_an_unknown_id_and_one_asked_for_twice(node: Node) -> None:
    request = DescribeTransactionsRequest(transactional_ids=["a", "", "a"])
    errors = [(each.transactional_id, each.error_code) for each in ask(node, request).transaction_states]
    assert errors == [("a", ErrorCode.NOT_COORDINATOR), ("", ErrorCode.INVALID_REQUEST)]
    ask(node, FindCoordinatorRequest(key_type=1, coordinator_keys=["a"]))
    errors = [(each.transactional_id, each.error_code) for each in ask(node, request).transaction_states]
    assert errors == [("a", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), ("", ErrorCode.INVALID_REQUEST)]


def test_an_administrator_ends_a_hanging_transaction(node: Node) -> None:
    object.__setattr__(node.transactions.settings, "max_timeout_ms", 2**31 - 1)
    producer = TransactionalProducer(node, level=OLD)
    assert producer.init() == NONE
    assert producer.add() == NONE
    assert producer.produce(b"a") == NONE
    assert open_producers(node) == {producer.id: 0}
    assert write_marker(node, (producer.id, producer.epoch), version=1) == NONE
    assert open_producers(node) == {}
    log = node.log("orders", 0)
    assert (log.last_stable_offset, [each.first_offset for each in log.aborted_transactions(0, 9)]) == (2, [0])


@pytest.mark.parametrize(
    ("epoch", "coordinator", "level", "expected"),
    [
        (1, 0, 0, NONE),
        (0, 0, 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, -1, 0, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
        (1, 0, 2, NONE),  # a repeated marker
        (2, 0, 2, NONE),
        (0, 0, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_marker_of_the_past_is_refused(
    node: Node, epoch: int, coordinator: int, level: int, expected: ErrorCode
) -> None:
    producer = TransactionalProducer(node)
    assert producer.init() == NONE
    assert producer.produce(b"a") == NONE
    assert producer.end() == NONE
    assert producer.epoch == 1
    assert write_marker(node, (producer.id, epoch), coordinator_epoch=coordinator, level=level) == expected


def test_a_marker_without_data_changes_nothing_for_readers(node: Node) -> None:
    assert write_marker(node, (5, 0)) == NONE
    log = node.log("orders", 0)
    assert (log.last_stable_offset, log.end_offset, log.aborted_transactions(0, 9)) == (1, 1, [])
