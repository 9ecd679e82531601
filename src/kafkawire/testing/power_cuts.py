"""The states that a power cut may leave of changes that were not synced.

Rules:
- Each write may be complete, missing, torn at any byte, or have only some of its sectors. A disk writes in any order,
  so any combination may occur. A truncation is applied or not. A file may have its new size with zeros as content.
- A change of names is complete or missing, and if it is complete, so are all earlier ones: the journals of ext4 and xfs
  keep that order. A directory that was synced does not wait for its turn.
- Changes that were synced are never lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

SECTOR: Final = 512


class Write(NamedTuple):
    """Bytes that were written at a position."""

    position: int
    content: bytes


class Truncation(NamedTuple):
    """A file that was given a size."""

    size: int


Change = Write | Truncation


def apply(content: bytearray, changes: Iterable[Change]) -> None:
    """Apply changes to a content, in order."""
    for change in changes:
        if isinstance(change, Truncation):
            resize(content, change.size)
        else:
            if change.position > len(content):
                resize(content, change.position)
            content[change.position : change.position + len(change.content)] = change.content


def resize(content: bytearray, size: int) -> None:
    """Truncate a content, or extend it with zeros."""
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def scatter(content: bytearray, changes: Sequence[Change], dice: Random) -> None:
    """Apply some of the changes to a content, as a disk that lost its power."""
    mode = dice.choice(("all", "none", "beginning", "any", "any"))
    if not changes or mode == "none":
        return
    if mode == "beginning":
        whole = dice.randrange(len(changes))
        apply(content, changes[:whole])
        apply(content, _torn(changes[whole], dice))
    elif mode == "any":
        for change in changes:
            apply(content, _torn(change, dice))
    else:
        apply(content, changes)
    if dice.random() < 0.25:
        resize(content, max(len(content), *map(_end, changes)))


def _end(change: Change) -> int:
    return 0 if isinstance(change, Truncation) else change.position + len(change.content)


def _torn(change: Change, dice: Random) -> list[Change]:
    """The remains of one change: all, nothing, or parts of a write."""
    fate = dice.choice(("whole", "whole", "gone", "torn", "sectors"))
    if fate == "gone":
        return []
    if isinstance(change, Truncation) or fate == "whole":
        return [change]
    position, content = change
    if fate == "torn":
        return [Write(position, content[: dice.randint(0, len(content))])]
    starts = [0, *range(SECTOR - position % SECTOR, len(content), SECTOR)]
    ends = [*starts[1:], len(content)]
    sectors = zip(starts, ends, strict=True)
    return [Write(position + start, content[start:end]) for start, end in sectors if dice.random() < 0.5]
