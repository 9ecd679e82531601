"""The states of a transactional id, and which may follow which.

Rules:
- The numbers are those of the records in `__transaction_state`, the names those of DescribeTransactions.
- Dead and PrepareEpochFence are never written. Dead is the state while the id's tombstone is written.
  PrepareEpochFence is the decision to abort the transaction of a producer that is fenced.
- Without an epoch of its own, only an open transaction can be aborted. With one (transaction.version 2), a producer
  may also abort when the broker never saw its transaction.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class State(Enum):
    """A state: its number on the disk and its name for clients."""

    EMPTY = 0, "Empty"
    ONGOING = 1, "Ongoing"
    PREPARE_COMMIT = 2, "PrepareCommit"
    PREPARE_ABORT = 3, "PrepareAbort"
    COMPLETE_COMMIT = 4, "CompleteCommit"
    COMPLETE_ABORT = 5, "CompleteAbort"
    DEAD = 6, "Dead"
    PREPARE_EPOCH_FENCE = 7, "PrepareEpochFence"

    @property
    def number(self) -> int:
        return self.value[0]

    @property
    def title(self) -> str:
        return self.value[1]


SETTLED: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
"""The states without an open transaction; only these expire."""
PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
"""The states in which markers are written."""
_OPEN_OR_SETTLED: Final = SETTLED | {State.ONGOING}
FOLLOWS: Final = {
    State.EMPTY: SETTLED,
    State.ONGOING: _OPEN_OR_SETTLED,
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    State.PREPARE_ABORT: _OPEN_OR_SETTLED | {State.PREPARE_EPOCH_FENCE},
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    State.DEAD: SETTLED,
    State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
}
"""The states that each state may follow."""
BY_NUMBER: Final = {state.number: state for state in State}
BY_TITLE: Final = {state.title: state for state in State}


def prepared(*, commit: bool) -> State:
    return State.PREPARE_COMMIT if commit else State.PREPARE_ABORT


def completed(state: State) -> State:
    """The state after the markers of a prepared one."""
    return State.COMPLETE_COMMIT if state is State.PREPARE_COMMIT else State.COMPLETE_ABORT
