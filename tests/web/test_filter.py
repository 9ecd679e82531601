"""The filter language: its grammar, its errors with their columns, and its comparisons on columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.web._filter.columns import Field, Fields
from kafkawire.web._filter.language import parse
from kafkawire.web._server.problems import Problem

TABLE = pa.table(
    {
        "api": ["Fetch", "Produce", "Fetch", None],
        "wait_us": pa.array([500, 200_000, 1_500_000, None], pa.int64()),
        "bytes": pa.array([10, 1024, 2_000_000, 2**53 + 1], pa.int64()),
        "code": pa.array([0, 3, 6, None], pa.int16()),
        "ok": [True, False, True, None],
    }
)
FIELDS = Fields(
    {
        "api": Field("text", "api"),
        "wait": Field("duration", "wait_us"),
        "size": Field("size", "bytes"),
        "error": Field("error", "code"),
        "ok": Field("flag", "ok"),
    },
    ("api",),
)


def rows(text: str) -> list[int]:
    mask = FIELDS.mask(TABLE, parse(text))
    return list(range(len(TABLE))) if mask is None else [at for at, fits in enumerate(mask.to_pylist()) if fits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [0, 1, 2, 3]),
        ("api = Fetch", [0, 2]),
        ("api:Fetch", [0, 2]),
        ("api != Fetch", [1, 3]),
        ("not api = Fetch", [1, 3]),
        ("wait > 1ms", [1, 2]),
        ("wait >= 200ms and wait <= 2s", [1, 2]),
        ("wait > 1ms api = Fetch", [2]),
        ("api = Produce or wait > 1s", [1, 2]),
        ("not (api = Produce or wait > 1s)", [0, 3]),
        ("size = 1KiB", [1]),
        ("size >= 2MB", [2, 3]),
        ("size = 9007199254740993", [3]),
        ("size = 9007199254740992", []),
        ("error = NOT_LEADER_OR_FOLLOWER", [2]),
        ("error = unknown_topic_or_partition", [1]),
        ("error != 0", [1, 2, 3]),
        ("error in (3, 6)", [1, 2]),
        ("api in (Fetch, Metadata)", [0, 2]),
        ("api ~ ^P", [1]),
        ('api !~ "^P"', [0, 2, 3]),
        ("ok = yes", [0, 2]),
        ("prod", [1]),
        ("'FETCH'", [0, 2]),
        ("API = Fetch AND NOT wait > 1s", [0]),
    ],
)
def test_a_filter_selects_rows(text: str, expected: list[int]) -> None:
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("api =", 6, "expected a value, found the end"),
        ("api = Fetch and", 16, "expected a field"),
        ("(api = Fetch", 13, "closing parenthesis"),
        ("api = Fetch)", 12, "expected an operator"),
        ("nothing = 1", 1, "the fields are api, error, ok, size, wait"),
        ("wait > soon", 1, "20ms"),
        ("wait > 5 parsecs", 10, ""),
        ("error = NOT_AN_ERROR", 1, "NOT_AN_ERROR"),
        ('api = "open', 7, "quote"),
        ("api ~ (", 7, "value"),
        ('api ~ "("', 1, "missing )"),
        ("ok = perhaps", 1, "true or false"),
        ("size > 99999999999999999999", 1, "64 bits"),
        ("api in Fetch", 8, "opening parenthesis"),
        ("(" * 60 + "api", 52, "levels"),
    ],
)
def test_an_error_names_the_column(text: str, column: int, words: str) -> None:
    if not words:
        assert rows(text) == []  # a word that no text has
        return
    with pytest.raises(Problem) as caught:
        rows(text)
    assert words in str(caught.value)
    assert caught.value.column == column


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_problem(text: str) -> None:
    column = problem_of(text)
    assert column is None or 0 < column <= len(text) + 1


def problem_of(text: str) -> int | None:
    """The column of the error of a filter; None if it is valid."""
    try:
        rows(text)
    except Problem as problem:
        return problem.column or -1
    return None


def test_nothing_in_a_filter_is_evaluated() -> None:
    for text in ("__import__('os')", "api = ${x}", "{{7*7}}", "`id`", "${jndi:ldap}"):
        assert problem_of(text) or rows(text) == []
