"""Dealing out partitions: the strategies by example, stickiness as a property, the wire by the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.assignors import (
    Member,
    assign,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    strategies,
)
from kafkawire.client.errors import GroupError, OptionError

ALL = ["range", "roundrobin", "sticky", "cooperative-sticky"]


def places(*texts: str) -> list[TopicPartition]:
    return [TopicPartition(text[0], int(text[1:])) for text in texts]


def shown(assigned: dict[str, list[TopicPartition]]) -> dict[str, str]:
    return {member: " ".join(f"{topic}{number}" for topic, number in each) for member, each in assigned.items()}


@pytest.mark.parametrize(
    ("strategy", "topics", "counts", "expected"),
    [
        ("range", {"a": "t", "b": "t"}, {"t": 3}, {"a": "t0 t1", "b": "t2"}),
        ("range", {"a": "tu", "b": "tu"}, {"t": 3, "u": 3}, {"a": "t0 t1 u0 u1", "b": "t2 u2"}),
        ("range", {"a": "t", "b": "u"}, {"t": 2, "u": 2}, {"a": "t0 t1", "b": "u0 u1"}),
        ("range", {"a": "t", "b": "t", "c": "t"}, {"t": 2}, {"a": "t0", "b": "t1", "c": ""}),
        ("roundrobin", {"a": "tu", "b": "tu"}, {"t": 3, "u": 3}, {"a": "t0 t2 u1", "b": "t1 u0 u2"}),
        (
            "roundrobin",
            {"a": "t", "b": "tu", "c": "tuv"},
            {"t": 1, "u": 2, "v": 3},
            {"a": "t0", "b": "u0", "c": "u1 v0 v1 v2"},
        ),
        ("sticky", {"a": "t", "b": "t"}, {"t": 4}, {"a": "t0 t2", "b": "t1 t3"}),
    ],
)
def test_partitions_are_dealt_out(
    strategy: str, topics: dict[str, str], counts: dict[str, int], expected: dict[str, str]
) -> None:
    members = [Member(name, list(wanted)) for name, wanted in topics.items()]
    assert shown(assign(strategy, members, counts)) == expected


def test_static_members_keep_their_order_whatever_their_member_ids() -> None:
    members = [Member("x1", ["t"], "two"), Member("a9", ["t"], "one"), Member("0", ["t"])]
    assert shown(assign("range", members, {"t": 3})) == {"x1": "t1", "a9": "t0", "0": "t2"}


def test_sticky_moves_only_what_it_must_when_a_member_comes() -> None:
    members = [
        Member("a", ["t"], owned=places("t0", "t1", "t2"), generation=4),
        Member("b", ["t"], owned=places("t3", "t4", "t5"), generation=4),
        Member("c", ["t"]),
    ]
    dealt = assign("sticky", members, {"t": 6})
    assert set(dealt["a"]) < set(places("t0", "t1", "t2"))
    assert set(dealt["b"]) < set(places("t3", "t4", "t5"))
    assert [len(each) for each in dealt.values()] == [2, 2, 2]


def test_sticky_keeps_everything_when_a_member_goes() -> None:
    members = [
        Member("a", ["t"], owned=places("t0", "t3"), generation=2),
        Member("b", ["t"], owned=places("t1"), generation=2),
    ]
    dealt = assign("sticky", members, {"t": 4})
    assert set(places("t0", "t3")) == set(dealt["a"])
    assert set(places("t1", "t2")) == set(dealt["b"])


def test_of_two_claims_the_later_generation_counts() -> None:
    members = [
        Member("a", ["t"], owned=places("t0", "t1"), generation=3),
        Member("b", ["t"], owned=places("t0", "t1"), generation=2),
    ]
    assert "t0" in shown(assign("sticky", members, {"t": 2}))["a"]


def test_cooperative_members_give_up_first_and_receive_in_the_next_round() -> None:
    members = [Member("a", ["t"], owned=places("t0", "t1"), generation=1), Member("b", ["t"])]
    first = assign("cooperative-sticky", members, {"t": 2})
    assert shown(first) == {"a": "t0", "b": ""}
    members = [Member("a", ["t"], owned=first["a"], generation=2), Member("b", ["t"], generation=2)]
    assert shown(assign("cooperative-sticky", members, {"t": 2})) == {"a": "t0", "b": "t1"}


groups = some.dictionaries(some.sampled_from("abcdef"), some.sets(some.sampled_from("tuvw")), min_size=1)
sizes = some.fixed_dictionaries({topic: some.integers(0, 7) for topic in "tuvw"})


@given(some.sampled_from(ALL), groups, sizes)
def test_every_wanted_partition_has_one_owner_that_wants_it(
    strategy: str, wants: dict[str, set[str]], counts: dict[str, int]
) -> None:
    dealt = assign(strategy, [Member(name, sorted(topics)) for name, topics in wants.items()], counts)
    every = [each for partitions in dealt.values() for each in partitions]
    wanted = set().union(*wants.values())
    assert sorted(every) == sorted(TopicPartition(t, n) for t in wanted for n in range(counts[t]))
    assert all(each.topic in wants[name] for name, partitions in dealt.items() for each in partitions)


@given(groups, groups, sizes)
def test_sticky_is_even_and_rests_once_it_is(
    before: dict[str, set[str]], after: dict[str, set[str]], counts: dict[str, int]
) -> None:
    dealt = assign("sticky", [Member(name, sorted(topics)) for name, topics in before.items()], counts)
    members = [Member(name, sorted(topics), owned=dealt.get(name, []), generation=1) for name, topics in after.items()]
    dealt = assign("sticky", members, counts)
    for giver, partitions in dealt.items():
        for taker in dealt:
            if any(each.topic in after[taker] for each in partitions):
                assert len(dealt[giver]) - len(dealt[taker]) < 2
    members = [Member(name, sorted(topics), owned=dealt[name], generation=2) for name, topics in after.items()]
    assert assign("sticky", members, counts) == dealt


def test_a_subscription_is_what_java_writes() -> None:
    data = encode_subscription("range", ["t"], places("t1"), 5)
    assert data.hex() == "0003" + "00000001" + "000174" + "ffffffff" + "00000000" + "00000005" + "ffff"
    data = encode_subscription("cooperative-sticky", ["t"], places("t1"), 5)
    owned = "00000001" + "000174" + "00000001" + "00000001"
    assert data.hex() == "0003" + "00000001" + "000174" + "00000004" + "00000005" + owned + "00000005" + "ffff"


def test_the_eager_sticky_strategy_carries_what_it_had_in_its_own_data() -> None:
    data = encode_subscription("sticky", ["t"], places("t1", "t0"), 5)
    own = "00000001" + "000174" + "00000002" + "00000000" + "00000001" + "00000005"
    assert own in data.hex()
    member = decode_subscription("sticky", "m", None, data)
    assert (member.owned, member.generation) == (places("t0", "t1"), 5)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_subscription_is_read_back(strategy: str) -> None:
    data = encode_subscription(strategy, ["u", "t"], places("t1"), 5)
    member = decode_subscription(strategy, "m", "i", data)
    assert (member.topics, member.instance_id) == (["t", "u"], "i")
    assert member.owned == (places("t1") if strategy == "cooperative-sticky" else [])


def test_a_subscription_from_before_generations_has_none() -> None:
    member = decode_subscription("range", "m", None, bytes.fromhex("0000" + "00000001" + "000174" + "ffffffff"))
    assert (member.topics, member.generation) == (["t"], -1)


def test_a_subscription_newer_than_ours_is_read_as_far_as_we_know_it() -> None:
    data = encode_subscription("range", ["t"], [], 1)
    assert decode_subscription("range", "m", None, b"\x00\x09" + data[2:] + b"more").topics == ["t"]


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x01\x7f\xff\xff\xff"])
def test_a_subscription_that_cannot_be_read_names_its_member(data: bytes) -> None:
    with pytest.raises(GroupError, match="subscription of member 'bad'"):
        decode_subscription("range", "bad", None, data)


@given(some.binary())
def test_bad_data_of_the_sticky_strategy_claims_nothing_and_breaks_nothing(garbage: bytes) -> None:
    head = bytes.fromhex("0000" + "00000001" + "000174") + len(garbage).to_bytes(4, "big")
    decode_subscription("sticky", "m", None, head + garbage)


def test_an_assignment_is_read_back() -> None:
    assert decode_assignment(encode_assignment(places("u0", "t1", "t0"))) == places("t0", "t1", "u0")
    assert decode_assignment(b"") == []
    with pytest.raises(GroupError, match="assignment"):
        decode_assignment(b"\x00\x01\x00")


def test_strategies_go_by_java_names_too() -> None:
    assert strategies("org.apache.kafka.clients.consumer.CooperativeStickyAssignor, RoundRobinAssignor") == [
        "cooperative-sticky",
        "roundrobin",
    ]
    with pytest.raises(OptionError, match="expected range, roundrobin, sticky, cooperative-sticky, found 'fair'"):
        strategies(["fair"])
