"""The table of states."""

from __future__ import annotations

import pytest

from kafkawire.broker.groups.classic.group import Group, TransitionError
from kafkawire.broker.groups.classic.states import FOLLOWS, State, can_follow

ALLOWED = {
    (State.EMPTY, State.PREPARING),
    (State.PREPARING, State.COMPLETING),
    (State.PREPARING, State.EMPTY),
    (State.COMPLETING, State.STABLE),
    (State.COMPLETING, State.PREPARING),
    (State.STABLE, State.PREPARING),
    (State.EMPTY, State.DEAD),
}


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_a_group_goes_only_where_the_table_leads(before: State, after: State) -> None:
    group = Group("g")
    group.state = before
    if (before, after) in ALLOWED:
        group.go(after, now=7)
        assert (group.state, group.since) == (after, 7)
    else:
        with pytest.raises(TransitionError, match=f"'g': {after} cannot follow {before}"):
            group.go(after, now=7)


def test_every_state_but_the_first_and_the_last_can_be_left_and_reached() -> None:
    assert set(FOLLOWS) == set(State)
    assert not any(can_follow(state, State.DEAD) for state in State)
