"""Regular expressions over topic names: full matches in the syntax of RE2/J, in linear time.

`tests/interop/test_patterns.py` compares them with RE2/J itself.
"""

from __future__ import annotations

import pytest

from kafkawire.broker.groups.consumer.patterns import compile_pattern
from kafkawire.broker.groups.consumer.patterns.automaton import MOST_INSTRUCTIONS
from kafkawire.broker.groups.consumer.patterns.parser import LONGEST, MOST_NESTED
from kafkawire.messages.errors import InvalidRegularExpressionError

LONGEST_NAME = 249


@pytest.mark.parametrize(
    ("regex", "matches", "others"),
    [
        ("orders", ["orders"], ["my-orders", "orders-1", ""]),
        ("orders.*", ["orders", "orders-1"], ["my-orders"]),
        ("a|b|ab", ["a", "b", "ab"], ["ba"]),
        ("(?i)Orders", ["orders", "ORDERS"], ["order"]),
        (r"\w+", ["a_1"], ["a-1", "a.1"]),
        (r"[^\w.]", ["-"], [".", "a"]),
        (r"\p{Lu}+", ["AB"], ["aB", "1"]),
        ("[[:digit:]]{2,3}", ["12", "123"], ["1", "1234"]),
        (r"a\b.*", ["a", "a-b"], ["ab"]),
        (r"\Qa.b\E", ["a.b"], ["a-b"]),
        ("^a$", ["a"], ["ab"]),
        ("", [""], ["a"]),
    ],
)
def test_whole_name_must_match(regex: str, matches: list[str], others: list[str]) -> None:
    pattern = compile_pattern(regex)
    assert [name for name in (*matches, *others) if pattern.matches(name)] == matches


@pytest.mark.parametrize(
    "regex",
    [
        *(
            "(",
            ")",
            "[",
            "a**",
            "*a",
            "(?=a)",
            "(?<!a)",
            r"(a)\1",
            "\\",
            "a{1001}",
            "a{2,1}",
            "[z-a]",
            r"\q",
            "(?P<n>a)(?P<n>b)",
        ),
        "a" * (LONGEST + 1),
        "a" * (MOST_INSTRUCTIONS + 1),
        "(" * (MOST_NESTED + 1) + ")" * (MOST_NESTED + 1),
        "((((a{1000}){1000}){1000}){1000})",
        "((((){1000}){1000}){1000}){1000}",
    ],
)
def test_expression_that_is_wrong_or_too_large_is_refused(regex: str) -> None:
    with pytest.raises(InvalidRegularExpressionError, match="is not a valid regular expression"):
        compile_pattern(regex)


@pytest.mark.parametrize(
    "regex", ["(a*)*b", "(a|a)*b", "(a+)+b", "(.*)*-(.*)*", "(a?){200}a{200}", "(a|b)*a(a|b){12}", "((a*)*)*"]
)
def test_expression_that_would_be_catastrophic_takes_one_step_per_character(regex: str) -> None:
    steps = compile_pattern(regex).matching("a" * LONGEST_NAME)
    assert sum(1 for _ in steps) <= LONGEST_NAME
