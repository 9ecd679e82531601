"""Groups and offsets, rebuilt from their records.

Rules:
- The last record of a key counts. One without a value deletes the key.
- Offsets of a transaction count when its commit marker comes, and never if it is aborted. At the end of the log those
  of open transactions are pending (`pending`).
- A record of a group ends one of another kind and the same name: a group has one kind at a time.
- A record that cannot be decoded is skipped with a warning, because one bad record must not prevent a start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker.groups.classic.group import CommittedOffset, Group
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.records import decode as decode_consumer
from kafkawire.broker.groups.epochs import Ended
from kafkawire.broker.groups.pending import PendingOffsets
from kafkawire.broker.groups.records import OffsetKey, decode_group, decode_key, decode_offset
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.share.records import decode as decode_share
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.broker.groups.streams.records import decode as decode_streams
from kafkawire.messages import CodecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.records import Entry
    from kafkawire.records import Batch

_log: Final = logging.getLogger(__name__)
_KINDS: Final[tuple[tuple[type[Any], Any], ...]] = (
    (ConsumerGroup, decode_consumer),
    (StreamsGroup, decode_streams),
    (ShareGroup, decode_share),
)
"""The kinds of groups with members that have epochs, and the functions that read their records."""
_COMMIT: Final = b"\x00\x01"


class Replay:
    """The groups and offsets in the records of one partition."""

    def __init__(self, pending: PendingOffsets | None = None, index: int = 0) -> None:
        self._groups: dict[str, AnyGroup] = {}
        self._offsets: dict[OffsetKey, CommittedOffset] = {}
        self._index = index
        self.pending = PendingOffsets() if pending is None else pending

    def batch(self, batch: Batch) -> None:
        """Apply a batch of the log."""
        entries: list[Entry] = [(bytes(each.key or b""), _copied(each.value)) for each in batch.records()]
        if batch.is_control:
            is_commit = bool(entries) and entries[0][0][2:4] == _COMMIT
            owner = self._index, batch.producer_id
            for group_id, place, committed in self.pending.end(owner, commit=is_commit):
                self._offsets[OffsetKey(group_id, *place)] = committed
        else:
            self.entries(entries, batch.producer_id if batch.is_transactional else None)

    def entries(self, entries: Iterable[Entry], producer_id: int | None = None) -> None:
        """Apply records; those of a producer are part of its transaction."""
        for key, value in entries:
            try:
                self._entry(key, value, producer_id)
            except CodecError as error:
                _log.warning("skipped a record of __consumer_offsets with key %s: %s", key.hex(), error)

    def groups(self) -> list[AnyGroup]:
        """The groups, each with its offsets; those with offsets alone are simple ones."""
        for key, committed in self._offsets.items():
            group = self._groups.get(key.group_id)
            if group is None:
                group = self._groups[key.group_id] = Group(key.group_id)
            group.offsets[key.topic, key.partition] = committed
        return list(self._groups.values())

    def _entry(self, key: bytes, value: bytes | None, producer_id: int | None) -> None:
        about = decode_key(key)
        if isinstance(about, OffsetKey):
            place = about.topic, about.partition
            if value is None:
                self._offsets.pop(about, None)
                self.pending.forget(about.group_id, place)
            elif producer_id is not None:
                self.pending.add((self._index, producer_id), about.group_id, place, decode_offset(value))
            else:
                self._offsets[about] = decode_offset(value)
                self.pending.supersede(about.group_id, (place,))
        elif about is not None:
            if isinstance(self._groups.get(about.group_id), Group) or value is not None:
                self._groups.pop(about.group_id, None)
            if value is not None:
                self._groups[about.group_id] = decode_group(about.group_id, value)
        else:
            for kind, decode in _KINDS:
                found = decode(key, value)
                if found is not None:
                    self._change(kind, *found, exists=value is not None)

    def _change(self, kind: type[Any], group_id: str, change: Any, *, exists: bool) -> None:
        """Apply a change to a group of a kind. A tombstone of another kind is about a group that was replaced."""
        group: Any = self._groups.get(group_id)
        if not isinstance(group, kind):
            if not exists:
                return
            group = self._groups[group_id] = kind(group_id)
        if isinstance(change, Ended):
            del self._groups[group_id]
        else:
            group.apply(change)


def _copied(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
