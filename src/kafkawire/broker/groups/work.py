"""The changes of one event of a group: applied to it at once, then written as one batch, or undone.

Rules:
- Later steps of an event see the changes of earlier ones.
- If the event is refused, or its records cannot be written, the group is as it was before.
- A group of another kind that this one replaces ends in the same batch. It keeps its place until the batch is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkawire.broker.groups.classic.group import Group
    from kafkawire.broker.groups.records import Entry

C = TypeVar("C")


class Changing(Protocol[C]):
    """A group that changes by changes."""

    group_id: str

    def apply(self, change: C) -> C:
        """Take in a change; returns the one that undoes it."""
        ...


G = TypeVar("G", bound=Changing)  # type: ignore[type-arg]


class GroupWork(Generic[G, C]):
    """One event of a group."""

    def __init__(
        self, group: G, encode: Callable[[str, Iterable[C]], Iterable[Entry]], *, replaces: Group | None = None
    ) -> None:
        self.group = group
        self.replaces = replaces
        self.before: list[Entry] = []
        self.after: list[Entry] = []
        """Records before and after those of the changes."""
        self._encode = encode
        self._changes: list[C] = []
        self._undo: list[C] = []

    def do(self, changes: Iterable[C]) -> None:
        for change in changes:
            self._undo.append(self.group.apply(change))
            self._changes.append(change)

    def undo(self) -> None:
        for change in reversed(self._undo):
            self.group.apply(change)

    def entries(self) -> list[Entry]:
        """The records of the event."""
        return [*self.before, *self._encode(self.group.group_id, self._changes), *self.after]
