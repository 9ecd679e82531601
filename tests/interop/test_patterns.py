"""Regular expressions of subscriptions against RE2/J, the engine of Apache Kafka."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.interop.apache_kafka import JARS
from tests.interop.drivers import JavaCoordinator

from kafkawire.broker.groups.consumer.patterns import compile_pattern
from kafkawire.messages.errors import InvalidRegularExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = pytest.mark.interop
NAMES = [
    *(
        "a",
        "b",
        "ab",
        "aab",
        "abab",
        "A",
        "aB",
        "orders",
        "Orders-1",
        "orders-12",
        "orders.eu",
        "orders_eu",
        "my-orders",
    ),
    *(
        "0",
        "9",
        "10",
        "a-b",
        "a.b",
        "a_b",
        "-",
        "_",
        "...",
        "x1y2",
        "K",
        "k",
        "s",
        "S",
        "aaaaaaaaaaaaaaaaaaaa",
        "z" * 40,
    ),
]
WRITTEN = [
    *(
        "",
        "a",
        "orders.*",
        "orders-[0-9]+",
        "(?i)ORDERS.*",
        "(?i:or)ders",
        "(?-i)a",
        "^a$",
        "^orders",
        "a|b|ab",
        "(a|b)*",
    ),
    *(
        r"\w+",
        r"\W",
        r"\d*",
        r"\D+",
        r"[\d.]+",
        r"[^\w]",
        r"\pL+",
        r"\p{Lu}",
        r"\PL",
        r"\p{^Lu}+",
        r"\p{Greek}",
        r"\p{Latin}+",
    ),
    *(
        r"(?i)\p{Lu}+",
        "[[:alpha:]]+",
        "[[:^alpha:]]+",
        "[[:foo:]]",
        "[a-]+",
        "[]a]",
        "[^]a]",
        "[a-z",
        "[z-a]",
        "[a",
        "a{2}",
    ),
    *(
        "a{2,}",
        "a{0,1}",
        "a{,3}",
        "a{1001}",
        "a{2,1}",
        "a{01}",
        "a{1",
        "{",
        "a{",
        "a**",
        "a*?",
        "a+?b",
        "a+*",
        "*a",
        "|a",
        "a|",
    ),
    *(
        "()",
        "(",
        ")",
        "(a",
        "a)",
        "(?:a)",
        "(?P<n>a)",
        "(?<n>a)",
        "(?P<n>a)(?P<n>b)",
        "(?P<1>a)",
        "(?P<>a)",
        "(?=a)",
        "(?!a)",
    ),
    *(
        r"(a)\1",
        r"\01",
        r"\101",
        r"\x41",
        r"\x{41}",
        r"\x{110000}",
        r"\x",
        r"\xg",
        r"\q",
        r"\_",
        r"\-",
        r"\.",
        "\\",
        r"\Qa.b\E",
    ),
    *(
        r"\Qa.b",
        r"a\b.*",
        r"a\Bb",
        r"\Aa\z",
        r"\Z",
        r"\C",
        r"(?i)[k]",
        "(?i)\u212a",
        "(?i)\u017f",
        "[\\x00-\\x{10FFFF}]+",
        "(?s).+",
    ),
    *(
        "(?U)a+",
        "(?m)^a$",
        "(?z)a",
        "(?i-s)A",
        "(?-)a",
        "(?",
        "(?P",
        "(?P<",
        "a{1,2}{3}",
        "(a{2}){2}",
        "^*",
        "(?i)*",
        "(|a)+",
        "[a\\]-_]",
    ),
    *(
        "(?i)[^a]",
        "(?i)[^\u212a]",
        r"[a-\d]",
        r"[\d-z]",
        r"[--/]",
        r"[+--]",
        "\u00e4",
        "\\\u00e4",
        r"(?i)[[:upper:]]+",
        r"(?i)\W",
        "a.b",
    ),
]
PIECES = [
    *(
        "a",
        "b",
        "B",
        "ab",
        "1",
        ".",
        "-",
        "_",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,}",
        "[",
        "]",
        "[^",
        "a-z",
        "^",
        "$",
    ),
    *(
        r"\d",
        r"\w",
        r"\W",
        r"\b",
        r"\B",
        r"\pL",
        "(?i)",
        "(?:",
        "(?i:",
        "[[:alpha:]]",
        r"\Q",
        r"\E",
        r"\.",
        r"\x41",
        "orders",
    ),
]


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaCoordinator]:
    clients = JavaCoordinator(JARS, tmp_path_factory.mktemp("patterns") / "java.log")
    yield clients
    clients.close()


def test_written_expressions_match_what_re2j_matches(java: JavaCoordinator) -> None:
    compare(java, WRITTEN)


@pytest.mark.parametrize("seed", range(5))
def test_random_expressions_match_what_re2j_matches(java: JavaCoordinator, seed: int) -> None:
    chance = random.Random(seed)
    compare(java, ["".join(chance.choices(PIECES, k=chance.randint(1, 8))) for _ in range(3_000)])


def compare(java: JavaCoordinator, regexes: list[str]) -> None:
    found = [matching(regex) for regex in regexes]
    expected = java.call("match", regexes=regexes, names=NAMES)
    different = [each for each in zip(regexes, found, expected, strict=True) if each[1] != each[2]]
    assert not different, different[:10]


def matching(regex: str) -> list[str] | None:
    try:
        pattern = compile_pattern(regex)
    except InvalidRegularExpressionError:
        return None
    return [name for name in NAMES if pattern.matches(name)]
