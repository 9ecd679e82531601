"""The length that would make damaged bytes parse.

Rules:
- A length field is a string, bytes, records or an array that was read before the fault, or the field that failed. The
  ones nearest to the fault are tried first.
- A trial replaces the stated length by another one of the same form, and reads the bytes again. It counts only if
  header and body then decode to their last byte.
- Of several lengths that parse, the one that leaves the fewest strings unprintable is returned. Further criteria are
  the distance of the field to the fault, and that of the length to the stated one.
- A length that leaves no string unprintable ends the search after its field.
- The work is bounded: at most MOST_FIELDS fields, MOST_TRIALS trials and MOST_BYTES read. No result means that no
  length was found, not that none exists.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._codec.errors import DecodeError
from kafkawire._codec.varint import read_uvarint, write_uvarint
from kafkawire.inspect._explain.tree import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.inspect._explain.explain import Explanation
    from kafkawire.inspect._explain.tree import Node

MOST_FIELDS: Final = 12
MOST_TRIALS: Final = 2_000
MOST_BYTES: Final = 4 << 20
_MOST_NODES: Final = 20_000
_LONGEST: Final = 4_096


class Repair(NamedTuple):
    """A length that makes the bytes parse: of which field, and the tree of the bytes with it."""

    path: str
    offset: int
    length: int
    is_array: bool
    explanation: Explanation

    @property
    def text(self) -> str:
        if self.is_array:
            what = f"{self.length} element{'s' if self.length != 1 else ''}"
            return f"if {self.path} had {what}, the rest would parse"
        return f"if {self.path} had a length of {self.length}, the rest would parse"


class _LengthField(NamedTuple):
    path: str
    offset: int
    form: str  # h, i, or v for an unsigned varint of the length plus one
    is_array: bool


def find_repair(explained: Explanation, explain: Callable[[bytes], Explanation]) -> Repair | None:
    """The nearest length before the first fault that makes the bytes parse; `explain` reads them again."""
    data = bytes(explained.space.data[explained.space.root.offset : explained.space.root.end])
    origin = explained.space.root.offset
    budget = _Budget(MOST_TRIALS, MOST_BYTES)
    best: tuple[tuple[int, int, int], Repair] | None = None
    for order, place in enumerate(_length_fields(explained)):
        at = place.offset - origin
        stated = _stated_length(data, at, place.form)
        for length in _candidates(place, len(data) - at):
            if not budget.take(len(data)):
                return None if best is None else best[1]
            changed = _with_length(data, at, place.form, length)
            if changed is None:
                break
            if changed != data and (again := explain(changed)).whole:
                rank = _unprintable_strings(again), order, abs(length - stated)
                if best is None or rank < best[0]:
                    best = rank, Repair(place.path, place.offset, length, place.is_array, again)
        if best is not None and best[0][0] == 0:
            break
    return None if best is None else best[1]


def _unprintable_strings(explained: Explanation) -> int:
    """The number of strings with characters that no name or text has."""
    count = 0
    for number, visit in enumerate(walk(explained.space, inner=False)):
        value = visit.node.value
        count += isinstance(value, str) and not value.isprintable()
        if number > _MOST_NODES:
            break
    return count


def _stated_length(data: bytes, at: int, form: str) -> int:
    """The length at a position, -1 if the bytes end before it."""
    try:
        if form == "v":
            return read_uvarint(data, at, len(data))[0] - 1
        length: int = struct.unpack_from(f">{form}", data, at)[0]
    except (DecodeError, struct.error):
        return -1
    return length


class _Budget:
    def __init__(self, trials: int, size: int) -> None:
        self._trials, self._bytes = trials, size

    def take(self, size: int) -> bool:
        self._trials -= 1
        self._bytes -= size
        return self._trials >= 0 and self._bytes >= 0


def _length_fields(explained: Explanation) -> Iterator[_LengthField]:
    """The fields with a length up to the first fault, the nearest first."""
    found: list[_LengthField] = []
    for number, visit in enumerate(walk(explained.space, inner=False)):
        node = visit.node
        form = _form(node)
        if form is not None:
            found.append(_LengthField(visit.path, node.offset, form, "[]" in node.type))
        if node.fault is not None and node.name != "size":
            break
        if number > _MOST_NODES:
            return
    yield from found[: -MOST_FIELDS - 1 : -1]


def _form(node: Node) -> str | None:
    kind = node.type.removesuffix("?")
    if node.framing or not kind:
        return None
    if kind.startswith("compact "):
        return "v"
    if kind.startswith("[]"):
        return "i"
    return {"string": "h", "bytes": "i", "records": "i"}.get(kind)


def _candidates(place: _LengthField, left: int) -> Iterator[int]:
    yield from range(min(left, _LONGEST) + 1)


def _with_length(data: bytes, at: int, form: str, length: int) -> bytes | None:
    """The bytes with another length at a position; None if no length of this form can stand there."""
    try:
        if form == "v":
            _, behind = read_uvarint(data, at, len(data))
            prefix = bytearray()
            write_uvarint(prefix, length + 1)
            return data[:at] + bytes(prefix) + data[behind:]
        packed = struct.pack(f">{form}", length)
    except (DecodeError, struct.error):
        return None
    if at + len(packed) > len(data):
        return None
    return data[:at] + packed + data[at + len(packed) :]
