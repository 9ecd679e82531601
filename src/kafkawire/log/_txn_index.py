"""`.txnindex`: the aborted transactions whose markers lie in a segment.

Rules:
- Entries are in the order of their markers. Only aborts are listed, so most segments have no file at all.
- The stored last stable offset bounds how far a reader must look: later entries concern later data.
- The list is small, so it stays in memory once it was read. New entries are written to the file at once. If the disk
  refuses, they are written later, but before the segment counts as durable.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.storage.files import read_file
from kafkawire.messages.errors import KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.log.storage.files import FileSystem

LAYOUT = Struct(">hqqqq")
VERSION = 0


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its producer, its first offset, and the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def decode_aborted(data: bytes) -> list[AbortedTransaction] | None:
    """The entries of a `.txnindex`; None if it is damaged."""
    if len(data) % LAYOUT.size:
        return None
    rows = list(LAYOUT.iter_unpack(data))
    entries = [AbortedTransaction(*row[1:]) for row in rows]
    if any(row[0] != VERSION for row in rows):
        return None
    if any(a.last_offset >= b.last_offset for a, b in itertools.pairwise(entries)):
        return None
    if any(entry.first_offset > entry.last_offset or entry.first_offset < 0 for entry in entries):
        return None
    return entries


def encode_aborted(entries: Iterable[AbortedTransaction]) -> bytes:
    """The bytes of a `.txnindex`."""
    return b"".join(LAYOUT.pack(VERSION, *entry) for entry in entries)


class AbortedIndex:
    """The aborted transactions of one segment and their file."""

    def __init__(self, files: FileSystem, path: Path, *, exists: bool) -> None:
        self.path = path
        self._files = files
        self._entries: list[AbortedTransaction] | None = None if exists else []
        self._stored = 0
        self._keeps_file = False

    @property
    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            entries = decode_aborted(read_file(self._files, self.path))
            if entries is None:
                raise KafkaStorageError(f"{self.path}: not an index of aborted transactions")
            self._entries = entries
            self._stored = len(entries)
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        """Add an entry; if the disk refuses it now, `spill` tries again."""
        self.entries.append(entry)
        with suppress(OSError):
            self.spill()

    def spill(self) -> None:
        """Write the entries that are not yet in the file."""
        if self._entries and self._stored < len(self._entries):
            file = self._files.open(self.path, create=True)
            file.write(self._stored * LAYOUT.size, [encode_aborted(self._entries[self._stored :])])
            self._stored = len(self._entries)

    def replace(self, entries: list[AbortedTransaction], *, keep_file: bool = False) -> None:
        """Rewrite the file; without entries it is removed, unless it is to be kept."""
        self._entries, self._stored, self._keeps_file = entries, 0, keep_file
        if entries or keep_file:
            self._files.open(self.path, create=True).truncate(0)
            self.spill()
        else:
            self._files.remove(self.path)

    def truncate(self, offset: int) -> None:
        """Drop transactions whose marker is at or after an offset."""
        kept = [entry for entry in self.entries if entry.last_offset < offset]
        if len(kept) < len(self.entries):
            self.replace(kept)

    @property
    def has_file(self) -> bool:
        return bool(self._entries) or self._entries is None or self._keeps_file
