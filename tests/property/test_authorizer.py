"""The authorizer decides as a naive reading of Kafka's rules does, while entries come and go."""

from __future__ import annotations

from time import process_time
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.broker._acls.authorizer import Authorizer
from kafkawire.broker._acls.entries import Entries, canonical_host
from kafkawire.wire.acls import Acl, AclFilter, Operation, Pattern, PatternType, Permission, ResourceType

TOPIC = ResourceType.TOPIC
NAMES = st.sampled_from(["*", "a", "ab", "abc", "b", "ba"])
PRINCIPALS = ["User:a", "User:b", "User:*"]
HOSTS = ["*", "10.0.0.1", "::ffff:10.0.0.1", "0:0:0:0:0:0:0:1", "::1"]
OPERATIONS = [each for each in Operation if each >= Operation.ALL]
IMPLIED = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
ACLS = st.builds(
    Acl,
    st.builds(Pattern, st.just(TOPIC), NAMES, st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED])),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from([Permission.DENY, Permission.ALLOW]),
)


def naive(acls: set[Acl], principal: str, host: str, operation: int, name: str, *, everyone: bool) -> bool:
    about = [acl for acl in acls if acl.pattern.matches(name)]
    if not about:
        return everyone
    mine = [
        acl
        for acl in about
        if acl.principal in (principal, "User:*") and canonical_host(acl.host) in ("*", canonical_host(host))
    ]
    if any(acl.permission == Permission.DENY and acl.operation in (operation, Operation.ALL) for acl in mine):
        return False
    enough = {operation, Operation.ALL, *IMPLIED.get(Operation(operation), ())}
    return any(acl.permission == Permission.ALLOW and acl.operation in enough for acl in mine)


@given(st.lists(st.tuples(ACLS, st.booleans()), max_size=25), st.booleans())
def test_decisions_are_those_of_the_naive_model(changes: list[tuple[Acl, bool]], everyone: bool) -> None:
    entries, model = Entries(), set[Acl]()
    authorizer = Authorizer(entries, {"User:root"}, allow_everyone_if_no_acl=everyone)
    for number, (acl, is_added) in enumerate(changes):
        if is_added:
            entries.add(UUID(int=number), acl)
            model.add(acl)
        elif model:
            gone = sorted(model)[number % len(model)]
            entries.remove(entries.id_of(gone))
            model.discard(gone)
        for name in ("a", "abcd", "*", "z"):
            for operation in OPERATIONS[1:]:
                expected = naive(model, "User:a", "10.0.0.1", operation, name, everyone=everyone)
                assert authorizer.allows("User:a", "10.0.0.1", operation, TOPIC, name) == expected
                assert authorizer.allows("User:root", "10.0.0.1", operation, TOPIC, name)
    assert set(entries) == model


@given(
    st.lists(ACLS, max_size=15),
    st.one_of(st.none(), NAMES, st.just("abcd")),
    st.sampled_from(list(PatternType)),
    st.sampled_from([None, *PRINCIPALS]),
)
def test_a_search_holds_every_entry_that_the_filter_finds(
    acls: list[Acl], name: str | None, kind: PatternType, principal: str | None
) -> None:
    entries = Entries()
    for number, acl in enumerate(acls):
        entries.add(UUID(int=number), acl)
    wanted = AclFilter(TOPIC, name, kind, principal)
    found = [acl for acl in entries.search(wanted) if wanted.finds(acl)]
    assert len(found) == len(set(found))
    assert set(found) == {acl for acl in acls if wanted.finds(acl)}


def test_any_resource_needs_an_entry_that_no_denial_covers() -> None:
    def allows(*acls: Acl) -> bool:
        entries = Entries()
        for number, acl in enumerate(acls):
            entries.add(UUID(int=number), acl)
        return Authorizer(entries).allows_any("User:a", "::1", Operation.WRITE, TOPIC)

    def acl(name: str, permission: Permission, kind: PatternType = PatternType.LITERAL) -> Acl:
        return Acl(Pattern(TOPIC, name, kind), "User:a", "*", Operation.WRITE, permission)

    allow, deny, prefixed = Permission.ALLOW, Permission.DENY, PatternType.PREFIXED
    assert not allows()
    assert allows(acl("orders", allow))
    assert not allows(acl("orders", allow), acl("orders", deny))
    assert not allows(acl("orders", allow), acl("ord", deny, prefixed))
    assert allows(acl("ord", allow, prefixed), acl("orders", deny, prefixed))
    assert allows(acl("ord", allow, prefixed), acl("ord", deny))
    assert not allows(acl("*", allow), acl("*", deny))
    assert allows(acl("*", allow), acl("orders", deny))


@pytest.fixture(scope="module")
def crowded() -> Authorizer:
    """An authorizer with 10 000 entries, half of them with prefixes of several lengths."""
    entries = Entries()
    for number in range(10_000):
        kind = PatternType.PREFIXED if number % 2 else PatternType.LITERAL
        pattern = Pattern(TOPIC, f"topic-{number}", kind)
        entries.add(UUID(int=number), Acl(pattern, f"User:{number % 100}", "*", Operation.READ, Permission.ALLOW))
    return Authorizer(entries)


ASKED_TOPICS = [f"topic-{number}" for number in range(0, 10_000, 10)]


def seconds_per_decision(authorizer: Authorizer) -> float:
    began = process_time()
    for name in ASKED_TOPICS:
        authorizer.allows("User:7", "10.0.0.1", Operation.READ, TOPIC, name)
    return (process_time() - began) / len(ASKED_TOPICS)


def test_a_cached_decision_among_10_000_entries_takes_under_5_microseconds(crowded: Authorizer) -> None:
    assert min(seconds_per_decision(crowded) for _ in range(20)) < 5e-6


def test_an_uncached_decision_among_10_000_entries_takes_under_5_microseconds(crowded: Authorizer) -> None:
    best = 1.0
    for number in range(50):
        crowded.entries.add(UUID(int=20_000 + number), Acl(Pattern(TOPIC, f"x-{number}"), "User:x", "*", 3, 3))
        best = min(best, seconds_per_decision(crowded))  # a change makes the authorizer forget all decisions
    assert best < 5e-6
