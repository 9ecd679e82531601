"""Avro types as types of Arrow, and decoded values as their cells.

Rules:
- Values are decoded without logical types, because numbers need no objects of Python on their way into a column.
- A union with null is the other type. int and long are long, float and double are double. Any other union is a struct
  with the fields member0, member1, ... by branch, as Spark's Avro has it; all but one are null.
- Types that a column cannot have are text: recursive types and records without fields as JSON, decimals of more than 38
  digits as their digits, and null alone.
- Times of day are nanoseconds, or with `plain_times` the numbers that were written. Timestamps are microseconds.
  timestamp-nanos stays a number.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import pyarrow as pa

from kafkawire.values._avro.schema import definitions
from kafkawire.values._nesting import ColumnCount
from kafkawire.values._plain import json_text
from kafkawire.values.errors import MalformedValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.values._avro.schema import Parsed

    Convert = Callable[[Any], Any] | None

_PRIMITIVES: Final[dict[str, pa.DataType]] = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LARGEST_DECIMAL: Final = 38
_EXACT: Final = Context(prec=1000)
_DAY: Final = 86_400_000_000_000
_INT: Final = 2**31
_UTC: Final = pa.timestamp("us", "UTC")
_LOCAL: Final = pa.timestamp("us")
_TIMES: Final[dict[str, tuple[pa.DataType, int]]] = {
    "timestamp-millis": (_UTC, 1000),
    "timestamp-micros": (_UTC, 1),
    "local-timestamp-millis": (_LOCAL, 1000),
    "local-timestamp-micros": (_LOCAL, 1),
    "time-millis": (pa.time64("ns"), 1_000_000),
    "time-micros": (pa.time64("ns"), 1000),
    "date": (pa.date32(), 1),
}
_BASES: Final = {"date": "int", "time-millis": "int"}


def without_logical_types(part: Parsed) -> Parsed:
    """A schema in which numbers and bytes are only that."""
    if isinstance(part, list):
        return [without_logical_types(branch) for branch in part]
    if isinstance(part, str):
        return part
    found = {
        name: without_logical_types(value) if name in ("items", "values") else value
        for name, value in part.items()
        if name not in ("logicalType", "precision", "scale") and not name.startswith("__")
    }
    if "fields" in found:
        found["fields"] = [{**field, "type": without_logical_types(field["type"])} for field in found["fields"]]
    elif isinstance(found["type"], (dict, list)):
        found["type"] = without_logical_types(found["type"])
    return found


def column_of(parsed: Parsed, *, plain_times: bool = False) -> tuple[pa.DataType, Convert]:
    """The type of a column for a schema, and how decoded values become its cells."""
    return _Columns(parsed, plain_times=plain_times).of(parsed, ())


class _Columns:
    def __init__(self, parsed: Parsed, *, plain_times: bool) -> None:
        self._named = definitions(parsed)
        self._plain_times = plain_times
        self._columns = ColumnCount()

    def of(self, part: Parsed, above: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
        self._columns.add()
        if isinstance(part, str):
            if part in _PRIMITIVES:
                return _PRIMITIVES[part], None
            part = self._named[part]
        if isinstance(part, list):
            return self._union(part, above)
        kind = part["type"]
        if not isinstance(kind, str):
            return self.of(kind, above)
        if kind in ("record", "error"):
            return self._record(part, above)
        if kind == "array":
            item, convert = self.of(part["items"], above)
            many = None if convert is None else lambda found: [_converted(convert, each) for each in found]
            return pa.list_(pa.field("element", item)), many
        if kind == "map":
            value, convert = self.of(part["values"], above)
            if convert is None:
                return pa.map_(pa.string(), value), None
            return pa.map_(pa.string(), value), lambda found: {
                name: _converted(convert, each) for name, each in found.items()
            }
        return _logical(part, kind, plain_times=self._plain_times)

    def _record(self, part: Parsed, above: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
        if part["name"] in above or not part["fields"]:
            return pa.string(), lambda found: json_text(_without_names(found))
        fields = {field["name"]: self.of(field["type"], (*above, part["name"])) for field in part["fields"]}
        converts = [(name, convert) for name, (_, convert) in fields.items() if convert is not None]

        def fill(found: dict[str, Any]) -> dict[str, Any]:
            for name, convert in converts:
                if found[name] is not None:
                    found[name] = convert(found[name])
            return found

        kind = pa.struct([pa.field(name, kind) for name, (kind, _) in fields.items()])
        return kind, fill if converts else None

    def _union(self, part: list[Parsed], above: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
        branches = [branch for branch in part if branch != "null" and _kind(branch) != "null"]
        if not branches:
            return pa.string(), None
        kinds = {_kind(branch) for branch in branches if not (isinstance(branch, dict) and "logicalType" in branch)}
        if len(kinds) == len(branches) == 2 and kinds in ({"int", "long"}, {"float", "double"}):
            return (pa.int64() if "int" in kinds else pa.float64()), None
        members = [self.of(branch, above) for branch in branches]
        if len(members) == 1:
            kind, convert = members[0]
            return kind, lambda found: _converted(convert, _bare(found))
        names = [f"member{number}" for number in range(len(members))]
        choose = _chooser(
            [self._named.get(branch, branch) if isinstance(branch, str) else branch for branch in branches]
        )

        def pick(found: Any) -> dict[str, Any] | None:
            if found is None:
                return None
            number = choose(found)
            return {names[number]: _converted(members[number][1], _bare(found))}

        return pa.struct([pa.field(name, kind) for name, (kind, _) in zip(names, members, strict=True)]), pick


def _converted(convert: Convert, found: Any) -> Any:
    return found if convert is None or found is None else convert(found)


def _bare(found: Any) -> Any:
    """A value without the name of its branch, which fastavro adds to named types in unions."""
    return found[1] if isinstance(found, tuple) else found


def _without_names(found: Any) -> Any:
    """A value without the names of branches at any depth."""
    if isinstance(found, tuple):
        return _without_names(found[1])
    if isinstance(found, dict):
        return {name: _without_names(each) for name, each in found.items()}
    return [_without_names(each) for each in found] if isinstance(found, list) else found


def _chooser(branches: list[Parsed]) -> Callable[[Any], int]:
    """The branch that a decoded value is of."""
    kinds = [_kind(branch) for branch in branches]
    named = {
        branch["name"]: number
        for number, branch in enumerate(branches)
        if isinstance(branch, dict) and "name" in branch
    }

    def choose(found: Any) -> int:
        if isinstance(found, tuple):
            number = named.get(found[0])
            if number is not None:
                return number
            found = found[1]
        for number, kind in enumerate(kinds):
            if _is_of(found, kind):
                return number
        if isinstance(found, int) and not isinstance(found, bool):  # a whole number that was written by another branch
            for number, kind in enumerate(kinds):
                if kind in ("float", "double"):
                    return number
        raise MalformedValueError(f"no branch of the union is for {type(found).__name__}")

    return choose


def _is_of(found: Any, kind: str) -> bool:
    match kind:
        case "boolean":
            return isinstance(found, bool)
        case "int":
            return isinstance(found, int) and not isinstance(found, bool) and -_INT <= found < _INT
        case "long":
            return isinstance(found, int) and not isinstance(found, bool)
        case "float" | "double":
            return isinstance(found, float)
        case "string" | "enum":
            return isinstance(found, str)
        case "bytes" | "fixed":
            return isinstance(found, bytes)
        case "array":
            return isinstance(found, list)
    return isinstance(found, dict)


def _logical(part: Parsed, kind: str, *, plain_times: bool) -> tuple[pa.DataType, Convert]:
    logical = part.get("logicalType")
    is_decimal = logical == "decimal" and kind in ("bytes", "fixed") and isinstance(part.get("precision"), int)
    if is_decimal and 0 < part["precision"] <= _EXACT.prec:
        return _decimal(part["precision"], part.get("scale", 0))
    if logical == "uuid" and kind == "fixed" and part["size"] == 16:
        return pa.string(), lambda found: str(UUID(bytes=found))
    if logical in _TIMES and kind == _BASES.get(logical, "long"):
        target, factor = _TIMES[logical]
        if pa.types.is_time(target):
            if plain_times:
                return _PRIMITIVES[kind], None
            return target, lambda found: _time_of_day(found * factor)
        return target, None if factor == 1 else lambda found: found * factor
    return _PRIMITIVES[kind], None


def _decimal(precision: int, scale: int) -> tuple[pa.DataType, Convert]:
    limit = 10**precision

    def convert(found: bytes) -> Decimal:
        number = int.from_bytes(found, "big", signed=True)
        if not -limit < number < limit:
            raise MalformedValueError(f"a decimal has more than {precision} digits")
        return Decimal(number).scaleb(-scale, _EXACT)

    if 0 < precision <= _LARGEST_DECIMAL and 0 <= scale <= precision:
        return pa.decimal128(precision, scale), convert
    return pa.string(), lambda found: f"{convert(found):f}"


def _time_of_day(nanoseconds: int) -> int:
    if not 0 <= nanoseconds < _DAY:
        raise MalformedValueError(f"a time of day is {nanoseconds} ns, expected less than a day")
    return nanoseconds


def _kind(part: Parsed) -> str:
    if isinstance(part, str):
        return part
    kind = part["type"]
    return kind if isinstance(kind, str) else _kind(kind)
