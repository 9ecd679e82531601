"""A walk over the bytes of an Avro value before fastavro reads it.

Rules:
- fastavro recurses in C and allocates an element at a time. A few bytes of a recursive schema can overflow
  the stack. An array of elements without bytes can fill the memory.
- Only schemas that allow either are walked. Each level, and each element without bytes, is counted against a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.values._avro.schema import NAMED, definitions
from kafkawire.values.errors import MalformedValueError

if TYPE_CHECKING:
    from kafkawire.values._avro.schema import Parsed

MAX_LEVELS: Final = 200
MOST_EMPTY: Final = 100_000
_FIXED_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_LONGEST: Final = 10


def guard_of(parsed: Parsed) -> Guard | None:
    """The guard that values of a schema need, or None."""
    guard = Guard(parsed)
    return guard if guard.is_needed else None


class Guard:
    """Walks over values of one schema."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._named = definitions(parsed)
        self.is_needed = self._is_risky(parsed, ())

    def check(self, data: bytes | memoryview) -> None:
        """Raise if a value is nested too deep, or has too many elements without bytes."""
        _Walk(data, self._named).skip(self._parsed, 0)

    def _is_risky(self, part: Parsed, above: tuple[str, ...]) -> bool:
        if isinstance(part, str):
            return part in above
        if isinstance(part, list):
            return any(self._is_risky(branch, above) for branch in part)
        kind = part["type"]
        if kind == "array":
            return self._is_empty(part["items"], ()) or self._is_risky(part["items"], above)
        if kind == "map":
            return self._is_risky(part["values"], above)
        if isinstance(kind, str) and kind in ("record", "error"):
            return any(self._is_risky(field["type"], (*above, part["name"])) for field in part["fields"])
        return not isinstance(kind, str) and self._is_risky(kind, above)

    def _is_empty(self, part: Parsed, above: tuple[str, ...]) -> bool:
        """Whether a value may have no bytes."""
        part = self._named.get(part, part) if isinstance(part, str) else part
        if isinstance(part, (str, list)):
            return part == "null"
        kind = part["type"]
        if kind == "fixed":
            return bool(part["size"] == 0)
        if kind in ("record", "error") and part["name"] not in above:
            return all(self._is_empty(field["type"], (*above, part["name"])) for field in part["fields"])
        return bool(kind == "null")


class _Walk:
    def __init__(self, data: bytes | memoryview, named: dict[str, Parsed]) -> None:
        self._data = data
        self._named = named
        self._at = 0
        self._empty = 0

    def skip(self, part: Parsed, level: int) -> None:
        if level > MAX_LEVELS:
            raise MalformedValueError(f"the value is nested deeper than {MAX_LEVELS} levels")
        if isinstance(part, str):
            part = self._named.get(part, part)
        if isinstance(part, list):
            branch = self._long()
            if not 0 <= branch < len(part):
                raise MalformedValueError(f"a union has the branch {branch}, expected 0 to {len(part) - 1}")
            self.skip(part[branch], level + 1)
            return
        kind = part if isinstance(part, str) else part["type"]
        if not isinstance(kind, str):
            self.skip(kind, level + 1)
        elif kind in ("record", "error"):
            for field in part["fields"]:
                self.skip(field["type"], level + 1)
        elif kind in ("array", "map"):
            self._blocks(part, kind, level)
        elif kind in _FIXED_SIZES or kind == "fixed":
            self._take(part["size"] if kind in NAMED else _FIXED_SIZES[kind])
        elif kind in ("bytes", "string"):
            self._take(self._long())
        else:
            self._long()

    def _blocks(self, part: Parsed, kind: str, level: int) -> None:
        while count := self._long():
            if count < 0:
                count = -count
                self._long()
            for _ in range(count):
                before = self._at
                if kind == "map":
                    self._take(self._long())
                self.skip(part["values"] if kind == "map" else part["items"], level + 1)
                self._empty += before == self._at
                if self._empty > MOST_EMPTY:
                    raise MalformedValueError(f"an array has more than {MOST_EMPTY} elements without bytes")

    def _take(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._at:
            raise MalformedValueError(f"expected {size} bytes, found {len(self._data) - self._at}")
        self._at += size

    def _long(self) -> int:
        number = 0
        for count in range(_LONGEST):
            if self._at >= len(self._data):
                raise MalformedValueError("the value ends within a number")
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise MalformedValueError("a number has more than 64 bits")
