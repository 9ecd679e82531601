"""The states of a group, and which may follow which.

Rules:
- A group is created Empty, and is Dead after its deletion. A group that does not exist is described as Dead.
- Members join while PreparingRebalance, wait for the leader's assignment while CompletingRebalance, and consume while
  Stable.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """A state, by the name that DescribeGroups gives it."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


FOLLOWS: Final[dict[State, frozenset[State]]] = {
    State.PREPARING: frozenset({State.STABLE, State.COMPLETING, State.EMPTY}),
    State.COMPLETING: frozenset({State.PREPARING}),
    State.STABLE: frozenset({State.COMPLETING}),
    State.EMPTY: frozenset({State.PREPARING}),
    State.DEAD: frozenset({State.EMPTY}),
}
"""The states that each state may come after."""


def can_follow(state: State, before: State) -> bool:
    """Whether a group may go from one state to another.

    >>> can_follow(State.STABLE, before=State.COMPLETING), can_follow(State.STABLE, before=State.EMPTY)
    (True, False)
    """
    return before in FOLLOWS[state]
