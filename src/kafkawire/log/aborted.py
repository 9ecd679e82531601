"""`.txnindex`: the aborted transactions whose markers lie in a segment.

Rules:
- Entries are in the order of their markers. Only aborts are listed, so most segments have no file at all.
- The stored last stable offset bounds how far a reader must look: later entries concern later data.
- The list is small, so it is held in memory once it was read, and written through.
"""

from __future__ import annotations

import itertools
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.log.files import FileSystem

LAYOUT = Struct(">hqqqq")
VERSION = 0


class AbortedTransaction(NamedTuple):
    """A transaction that came to nothing: who, from where, up to its marker."""

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

    @property
    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            file = self._files.open(self.path)
            self._entries = decode_aborted(file.read(0, file.size()))
            if self._entries is None:
                raise ValueError(f"{self.path}: not an index of aborted transactions")
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        position = len(self.entries) * LAYOUT.size
        self._files.open(self.path, create=True).write(position, [encode_aborted([entry])])
        self.entries.append(entry)

    def replace(self, entries: list[AbortedTransaction]) -> None:
        """Write the file anew; no entries, no file."""
        self._entries = entries
        if entries:
            file = self._files.open(self.path, create=True)
            file.truncate(0)
            file.write(0, [encode_aborted(entries)])
        else:
            self._files.remove(self.path)

    def truncate(self, offset: int) -> None:
        """Forget transactions whose marker is at or past an offset."""
        kept = [entry for entry in self.entries if entry.last_offset < offset]
        if len(kept) < len(self.entries):
            self.replace(kept)

    def sync(self) -> None:
        if self._entries:
            self._files.open(self.path).sync()
