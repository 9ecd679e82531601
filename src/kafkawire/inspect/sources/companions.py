"""The files beside a partition's logs that are no indexes: aborted transactions, snapshots, epochs, the topic's id.

Rules:
- A file that cannot be read as what it is has one disagreement, without an entry, that says what was expected.
- An aborted transaction ends with a marker of its producer in the log. Epochs and their first offsets rise, and every
  epoch that a batch has is listed.
- What follows from the log alone is checked only where the log is there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkawire.inspect.sources.segments import Disagreement
from kafkawire.log import DiskFiles
from kafkawire.log.aborted import decode_aborted
from kafkawire.log.checkpoints import EPOCHS, PARTITION, read_lines, read_topic_id
from kafkawire.log.snapshots import SnapshotError, decode_snapshot
from kafkawire.messages import CodecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkawire.inspect.sources.segments import LogWalk

_CONTROL: Final = 0x20
CHECKPOINT, METADATA = "checkpoint", "metadata"
COMPANIONS: Final = {EPOCHS: CHECKPOINT, PARTITION: METADATA}


class Companion(NamedTuple):
    """What a file has: how many entries, and which of them cannot be."""

    entries: int
    wrong: list[Disagreement]


def check_aborted(path: Path, log: LogWalk | None) -> Companion:
    """A list of aborted transactions, against the markers in its log."""
    entries = decode_aborted(path.read_bytes())
    if entries is None:
        return _unreadable("not a list of aborted transactions: 34 bytes each, version 0, in the order of their ends")
    if log is None:
        return Companion(len(entries), [])
    controls = np.flatnonzero(log.columns["attributes"] & _CONTROL)
    markers = {int(log.columns["last_offset"][row]): int(log.columns["producer_id"][row]) for row in controls}
    wrong = [
        Disagreement(number, entry.last_offset, None, entry.producer_id, markers.get(entry.last_offset), text)
        for number, entry in enumerate(entries)
        if markers.get(entry.last_offset) != entry.producer_id
        for text in (f"no marker of producer {entry.producer_id} at offset {entry.last_offset}",)
    ]
    return Companion(len(entries), wrong)


def check_snapshot(path: Path) -> Companion:
    """A snapshot of producers."""
    try:
        return Companion(len(decode_snapshot(path.read_bytes())), [])
    except (SnapshotError, CodecError) as error:
        return _unreadable(str(error))


def check_companion(path: Path, seen: set[int]) -> Companion:
    """One of the text files of a partition; `seen` has the epochs of its batches."""
    if COMPANIONS[path.name] == METADATA:
        if read_topic_id(DiskFiles(), path.parent) is None:
            return _unreadable("expected a version of 0 and a topic id")
        return Companion(1, [])
    lines = read_lines(DiskFiles(), path)
    if lines is None or not all(len(words) == 2 and all(map(_is_number, words)) for words in lines):
        return _unreadable("expected a version of 0, a count, and as many lines of epoch and offset")
    entries = [(int(epoch), int(start)) for epoch, start in lines]
    return Companion(len(entries), list(_wrong_epochs(entries, seen)))


def _wrong_epochs(entries: list[tuple[int, int]], seen: set[int]) -> Iterator[Disagreement]:
    for number, ((epoch, start), (following, offset)) in enumerate(pairwise(entries), 1):
        if following <= epoch or offset < start:
            text = f"epoch {following} at offset {offset} follows epoch {epoch} at {start}"
            yield Disagreement(number, offset, None, epoch + 1, following, text)
    for epoch in sorted(seen - {epoch for epoch, _ in entries}):
        yield Disagreement(None, None, None, epoch, None, f"epoch {epoch} is not listed, and batches have it")


def _unreadable(text: str) -> Companion:
    return Companion(0, [Disagreement(None, None, None, None, None, text)])


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 20
