"""Deadlines by key."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkawire.broker.groups.deadlines import Deadlines


def test_nothing_is_due_where_nothing_was_set() -> None:
    deadlines = Deadlines[str]()
    assert (deadlines.next(), deadlines.take(10**15), len(deadlines)) == (None, None, 0)


def test_a_deadline_that_moves_closer_is_due_earlier() -> None:
    deadlines = Deadlines[str]()
    deadlines.set("a", 300)
    deadlines.set("a", 100)
    assert (deadlines.next(), deadlines.take(100), deadlines.take(10**6)) == (100, "a", None)


def test_a_cancelled_key_is_never_due() -> None:
    deadlines = Deadlines[str]()
    deadlines.set("a", 1)
    deadlines.cancel("a")
    deadlines.cancel("never set")
    assert (deadlines.next(), deadlines.take(5), "a" in deadlines) == (None, None, False)


operations = st.lists(
    st.tuples(st.sampled_from(["set", "cancel", "take"]), st.sampled_from("abcd"), st.integers(0, 20)), max_size=60
)


@given(operations)
def test_it_behaves_as_a_table_that_is_searched(steps: list[tuple[str, str, int]]) -> None:
    deadlines, table = Deadlines[str](), dict[str, int]()
    for what, key, when in steps:
        if what == "set":
            deadlines.set(key, when)
            table[key] = when
        elif what == "cancel":
            deadlines.cancel(key)
            table.pop(key, None)
        else:
            taken = deadlines.take(when)
            earliest = min(table.values(), default=None)
            if earliest is None or earliest > when:
                assert taken is None
            else:
                assert taken is not None
                assert table.pop(taken) == earliest
        assert deadlines.next() == min(table.values(), default=None)
        assert len(deadlines) == len(table)
