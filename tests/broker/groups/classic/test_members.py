"""Protocols, votes and subscriptions."""

from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import subscription

from kafkawire.broker.groups.classic.members import Member, elect_protocol, subscribed_topics
from kafkawire.broker.groups.protocol import Protocol


def member(*protocols: str, metadata: bytes = b"") -> Member:
    return Member("m", None, "c", "/h", 1, 1, tuple(Protocol(name, metadata) for name in protocols))


@pytest.mark.parametrize(
    ("supported", "elected"),
    [
        ([("range",)], "range"),
        ([("range", "sticky"), ("range", "sticky"), ("sticky", "range")], "range"),
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        ([("range", "sticky"), ("sticky",)], "sticky"),
        ([("cooperative-sticky", "range"), ("range", "cooperative-sticky")], "cooperative-sticky"),
        ([("a", "b", "c"), ("c", "b"), ("d", "b", "c")], "b"),
    ],
)
def test_the_protocol_that_all_support_and_most_prefer_is_elected(
    supported: list[tuple[str, ...]], elected: str
) -> None:
    assert elect_protocol([member(*names) for names in supported]) == elected


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (subscription("a", "b"), frozenset({"a", "b"})),
        (subscription(), frozenset()),
        (b"\x00\x09" + subscription("a")[2:] + b"from the future", frozenset({"a"})),
        (b"", None),
        (b"\xff\xff", None),
        (b"\x00\x00\x00\x00\x00\x09", None),
        (b"not kafka's", None),
    ],
)
def test_subscribed_topics_are_read_from_what_consumers_say(metadata: bytes, topics: frozenset[str] | None) -> None:
    assert subscribed_topics([member("range", metadata=metadata)], "range") == topics


def test_one_member_that_cannot_be_understood_hides_what_all_are_subscribed_to() -> None:
    members = [member("range", metadata=subscription("a")), member("range", metadata=b"?")]
    assert subscribed_topics(members, "range") is None
