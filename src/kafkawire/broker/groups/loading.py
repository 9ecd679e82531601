"""Groups and offsets from the records they were written as.

Rules:
- The last record of a key counts, and one without value ends what the key names.
- What belongs to a transaction counts when its commit marker comes, and never if it is aborted or still open at the end
  of the log.
- A record that is not to be understood is passed over with a warning: one bad record must not keep a broker from
  starting.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.group import CommittedOffset, Group
from kafkawire.broker.groups.records import OffsetKey, decode_group, decode_key, decode_offset
from kafkawire.messages import CodecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.groups.records import Entry
    from kafkawire.records import Batch

_log: Final = logging.getLogger(__name__)
_COMMIT: Final = b"\x00\x01"


class Replay:
    """What the records of one partition add up to."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._offsets: dict[OffsetKey, CommittedOffset] = {}
        self._open: dict[int, list[Entry]] = {}

    def batch(self, batch: Batch) -> None:
        """Take in a batch of the log."""
        entries: list[Entry] = [(bytes(each.key or b""), _copied(each.value)) for each in batch.records()]
        if batch.is_control:
            committed = self._open.pop(batch.producer_id, [])
            if entries and entries[0][0][2:4] == _COMMIT:
                self.entries(committed)
        elif batch.is_transactional:
            self._open.setdefault(batch.producer_id, []).extend(entries)
        else:
            self.entries(entries)

    def entries(self, entries: Iterable[Entry]) -> None:
        """Take in records that count."""
        for key, value in entries:
            try:
                self._entry(key, value)
            except CodecError as error:
                _log.warning("passed over a record of __consumer_offsets with key %s: %s", key.hex(), error)

    def groups(self) -> list[Group]:
        """The groups, each with its offsets; those with offsets alone are simple ones."""
        for key, committed in self._offsets.items():
            group = self._groups.get(key.group_id)
            if group is None:
                group = self._groups[key.group_id] = Group(key.group_id)
            group.offsets[key.topic, key.partition] = committed
        return list(self._groups.values())

    def _entry(self, key: bytes, value: bytes | None) -> None:
        about = decode_key(key)
        if isinstance(about, OffsetKey):
            if value is None:
                self._offsets.pop(about, None)
            else:
                self._offsets[about] = decode_offset(value)
        elif about is not None:
            self._groups.pop(about.group_id, None)
            if value is not None:
                self._groups[about.group_id] = decode_group(about.group_id, value)


def _copied(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
