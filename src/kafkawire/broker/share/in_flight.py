"""A batch of records in flight: the state, delivery count, owner and lock of each.

Rules:
- A batch has one state for all of its records, until an event concerns only some of them. Then it is split: each record
  has its own state. A batch is never joined again.
- ACQUIRED records have a member and a lock that ends. Records of other states have neither.
- ACKNOWLEDGED and ARCHIVED are final.
- The delivery count grows with each acquisition, and never falls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

AVAILABLE: Final = 0
ACQUIRED: Final = 1
ACKNOWLEDGED: Final = 2
ARCHIVED: Final = 4
FINAL: Final = (ACKNOWLEDGED, ARCHIVED)
NOBODY: Final = ""


class StateBatch(NamedTuple):
    """Records of one state, as they are stored."""

    first: int
    last: int
    state: int
    deliveries: int


class Run(NamedTuple):
    """Neighbouring records of a batch that have everything in common."""

    first: int
    last: int
    state: int
    deliveries: int
    member: str
    locked_until: int


class InFlight:
    """One batch."""

    __slots__ = (
        "_counts",
        "_locks",
        "_members",
        "_states",
        "count",
        "first",
        "last",
        "locked_until",
        "member",
        "state",
    )

    def __init__(
        self, first: int, last: int, state: int, count: int, member: str = NOBODY, locked_until: int = 0
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.count = count
        self.member = member
        self.locked_until = locked_until
        self._states: bytearray | None = None
        self._counts: list[int] = []
        self._members: list[str] = []
        self._locks: list[int] = []

    def __repr__(self) -> str:
        return f"InFlight({', '.join(map(repr, self.runs(self.first, self.last)))})"

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_split(self) -> bool:
        """Whether each record has its own state."""
        return self._states is not None

    def split(self) -> None:
        """Give each record its own state."""
        if self._states is None:
            size = len(self)
            self._states = bytearray([self.state]) * size
            self._counts = [self.count] * size
            self._members = [self.member] * size
            self._locks = [self.locked_until] * size

    def runs(self, first: int, last: int) -> Iterator[Run]:
        """The runs of these offsets, as far as they are in the batch."""
        first, last = max(first, self.first), min(last, self.last)
        if first > last:
            return
        states = self._states
        if states is None:
            yield Run(first, last, self.state, self.count, self.member, self.locked_until)
            return
        counts, members, locks, base = self._counts, self._members, self._locks, self.first
        begun = at = first - base
        end = last - base
        while at <= end:
            state, count, member, lock = states[at], counts[at], members[at], locks[at]
            at += 1
            while (
                at <= end
                and states[at] == state
                and counts[at] == count
                and members[at] == member
                and locks[at] == lock
            ):
                at += 1
            yield Run(base + begun, base + at - 1, state, count, member, lock)
            begun = at

    def state_at(self, offset: int) -> int:
        """The state of one record."""
        return self.state if self._states is None else self._states[offset - self.first]

    def count_at(self, offset: int) -> int:
        """The delivery count of one record."""
        return self.count if self._states is None else self._counts[offset - self.first]

    def first_available(self) -> int | None:
        """The first record that can be acquired."""
        if self._states is None:
            return self.first if self.state == AVAILABLE else None
        found = self._states.find(AVAILABLE)
        return None if found < 0 else self.first + found

    def finished(self, start: int) -> int:
        """The number of records from an offset on that have a final state."""
        skipped = max(0, start - self.first)
        if self._states is None:
            return max(0, len(self) - skipped) if self.state in FINAL else 0
        return self._states.count(ACKNOWLEDGED, skipped) + self._states.count(ARCHIVED, skipped)

    def first_unfinished(self) -> int | None:
        """The first record without a final state."""
        if self._states is None:
            return None if self.state in FINAL else self.first
        for at, state in enumerate(self._states):
            if state not in FINAL:
                return self.first + at
        return None

    def most_delivered(self, first: int, last: int) -> int:
        """The largest delivery count of the available records of these offsets; 0 if there are none."""
        return max((run.deliveries for run in self.runs(first, last) if run.state == AVAILABLE), default=0)

    def change(self, first: int, last: int, state: int) -> None:
        """Give records another state, in which they have no owner."""
        if self._states is None and first <= self.first and self.last <= last:
            self.state, self.member, self.locked_until = state, NOBODY, 0
            return
        self.split()
        self._set(first, last, state, NOBODY, 0)

    def acquire(self, first: int, last: int, member: str, locked_until: int) -> None:
        """Give records to a member."""
        if self._states is None and first <= self.first and self.last <= last:
            self.state, self.member, self.locked_until = ACQUIRED, member, locked_until
            self.count += 1
            return
        self.split()
        self._set(first, last, ACQUIRED, member, locked_until)
        for at in range(max(first, self.first) - self.first, min(last, self.last) - self.first + 1):
            self._counts[at] += 1

    def renew(self, first: int, last: int, locked_until: int) -> None:
        """Let the locks of records end later."""
        if self._states is None and first <= self.first and self.last <= last:
            self.locked_until = locked_until
            return
        self.split()
        begin, end = max(first, self.first) - self.first, min(last, self.last) - self.first + 1
        self._locks[begin:end] = [locked_until] * (end - begin)

    def _set(self, first: int, last: int, state: int, member: str, locked_until: int) -> None:
        assert self._states is not None
        begin, end = max(first, self.first) - self.first, min(last, self.last) - self.first + 1
        size = end - begin
        self._states[begin:end] = bytes([state]) * size
        self._members[begin:end] = [member] * size
        self._locks[begin:end] = [locked_until] * size
