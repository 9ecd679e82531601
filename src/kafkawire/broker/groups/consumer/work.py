"""The changes of one event: applied to the group at once, then written as one batch, or undone.

Rules:
- Later steps of an event see the changes of earlier ones.
- If the event is refused, or its records cannot be written, the group is as it was before.
- A group of another kind that this one replaces ends in the same batch. It keeps its place until the batch is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.records import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.groups.consumer.changes import Change
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.group import Group
    from kafkawire.broker.groups.records import Entry


class Work:
    """One event of a consumer group."""

    def __init__(self, group: ConsumerGroup, *, replaces: Group | None = None) -> None:
        self.group = group
        self.replaces = replaces
        self.before: list[Entry] = []
        self.after: list[Entry] = []
        """Records before and after those of the changes."""
        self._changes: list[Change] = []
        self._undo: list[Change] = []

    def do(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._undo.append(self.group.apply(change))
            self._changes.append(change)

    def undo(self) -> None:
        for change in reversed(self._undo):
            self.group.apply(change)

    def entries(self) -> list[Entry]:
        """The records of the event."""
        return [*self.before, *encode(self.group.group_id, self._changes), *self.after]
