"""ListTransactions: filters by state, producer, duration and pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask
from tests.broker.transactions.producer import TransactionalProducer

from kafkawire.messages import ListTransactionsRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

IDS = ("app-0_0", "app-1_2", "Sink: orders -> eu-0", "bestellung-größe", "APP-3")


@pytest.fixture
def filled(node: Node) -> Node:
    for name in IDS:
        assert TransactionalProducer(node, name).init() == 0
    return node


def listed(node: Node, **filters: Any) -> set[str]:
    return {each.transactional_id for each in ask(node, ListTransactionsRequest(**filters)).transaction_states}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, {*IDS}),
        ("", {*IDS}),
        (".*", {*IDS}),
        ("app-.*", {"app-0_0", "app-1_2"}),
        ("app", set()),
        (r"app-\d+_\d+", {"app-0_0", "app-1_2"}),
        ("(?i)app-.*", {"app-0_0", "app-1_2", "APP-3"}),
        (r"[A-Z][a-z]+: \w+ -> .*", {"Sink: orders -> eu-0"}),
        (r".*\s.*", {"Sink: orders -> eu-0"}),
        ("[^0-9]+", {"bestellung-größe"}),
        ("bestellung-gr..e", {"bestellung-größe"}),
    ],
)
def test_a_pattern_matches_whole_ids(filled: Node, pattern: str | None, expected: set[str]) -> None:
    assert listed(filled, transactional_id_pattern=pattern) == expected


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", r"\1", "(?=a)", "a{1001}"])
def test_what_is_no_pattern_is_refused(filled: Node, pattern: str) -> None:
    answer = ask(filled, ListTransactionsRequest(transactional_id_pattern=pattern))
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.transaction_states == []


def test_a_pattern_that_would_backtrack_without_end_is_quick(node: Node) -> None:
    assert TransactionalProducer(node, "a" * 5_000 + "!").init() == 0
    assert listed(node, transactional_id_pattern="(a+)+b") == set()


def test_filters_are_combined(filled: Node) -> None:
    assert listed(filled, transactional_id_pattern="app-.*", state_filters=["Ongoing"]) == set()
    assert listed(filled, transactional_id_pattern="app-.*", state_filters=["Empty"]) == {"app-0_0", "app-1_2"}
