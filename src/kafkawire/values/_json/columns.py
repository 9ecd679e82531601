"""JSON Schemas as types of Arrow, and JSON documents as their cells.

Rules:
- An object with properties is a struct, one with only additional properties of one type a map. Properties that the
  schema does not name have no column.
- integer is a long, number a double. Strings stay strings, whatever their format. A type with null is the other type.
- A column has the JSON text if its schema allows several types, or any, or is recursive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa

from kafkawire.values._nesting import ColumnCount
from kafkawire.values._plain import json_text
from kafkawire.values.errors import MalformedValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.values._json.schema import CompiledJson

    Convert = Callable[[Any], Any] | None

_SCALARS: Final[dict[str, pa.DataType]] = {"string": pa.string(), "boolean": pa.bool_()}
_MOST_STEPS: Final = 50


def json_column(compiled: CompiledJson) -> tuple[pa.DataType, Convert]:
    """The type of a column for a schema, and how documents become its cells."""
    return _Columns(compiled.imports).of(compiled.document, compiled.document, ())


class _Columns:
    def __init__(self, imports: dict[str, Any]) -> None:
        self._imports = imports
        self._columns = ColumnCount()

    def of(self, part: Any, root: Any, above: tuple[int, ...]) -> tuple[pa.DataType, Convert]:
        self._columns.add()
        part, root = self._resolved(part, root)
        if not isinstance(part, dict) or id(part) in above:
            return pa.string(), _text
        inside = (*above, id(part))
        kinds = part.get("type")
        if kinds is None and "properties" in part:
            kinds = "object"
        kind = _only([each for each in ([kinds] if isinstance(kinds, str) else kinds or ()) if each != "null"])
        if kind is None:
            return self._alternative(part, root, inside)
        if kind in _SCALARS:
            return _SCALARS[kind], None
        if kind == "integer":
            return pa.int64(), _whole
        if kind == "number":
            return pa.float64(), _number
        if kind == "array" and isinstance(part.get("items"), dict):
            item, convert = self.of(part["items"], root, inside)
            return pa.list_(pa.field("element", item)), lambda found: [_converted(convert, each) for each in found]
        if kind == "object":
            return self._object(part, root, inside)
        return pa.string(), _text

    def _object(self, part: dict[str, Any], root: Any, above: tuple[int, ...]) -> tuple[pa.DataType, Convert]:
        properties = part.get("properties")
        if properties:
            fields = {name: self.of(each, root, above) for name, each in properties.items()}
            converts = {name: convert for name, (_, convert) in fields.items()}

            def pick(found: Any) -> dict[str, Any]:
                return {name: _converted(convert, found.get(name)) for name, convert in converts.items()}

            return pa.struct([pa.field(name, kind) for name, (kind, _) in fields.items()]), pick
        more = part.get("additionalProperties")
        if isinstance(more, dict) and more:
            value, convert = self.of(more, root, above)
            every = lambda found: [(name, _converted(convert, each)) for name, each in found.items()]  # noqa: E731
            return pa.map_(pa.string(), value), every
        return pa.string(), _text

    def _alternative(self, part: dict[str, Any], root: Any, above: tuple[int, ...]) -> tuple[pa.DataType, Convert]:
        """One type besides null, or the only part of allOf; else text."""
        for word in ("oneOf", "anyOf", "allOf"):
            branches = [each for each in part.get(word, ()) if not _is_null(each)]
            if len(branches) == 1:
                return self.of(branches[0], root, above)
        values = part.get("enum", [part["const"]] if "const" in part else [])
        if values and all(isinstance(each, str) or each is None for each in values):
            return pa.string(), None
        return pa.string(), _text

    def _resolved(self, part: Any, root: Any) -> tuple[Any, Any]:
        for _ in range(_MOST_STEPS):
            reference = part.get("$ref") if isinstance(part, dict) else None
            if not isinstance(reference, str):
                return part, root
            name, _, pointer = reference.partition("#")
            if name:
                if name not in self._imports:
                    return True, root
                root = self._imports[name]
            part = _at(root, pointer)
        return True, root


def _at(root: Any, pointer: str) -> Any:
    part = root
    for step in pointer.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            return True
    return part


def _only(kinds: list[str]) -> str | None:
    if set(kinds) == {"integer", "number"}:
        return "number"
    return kinds[0] if len(kinds) == 1 else None


def _is_null(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "null"


def _converted(convert: Convert, found: Any) -> Any:
    return found if convert is None or found is None else convert(found)


def _whole(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found != int(found):
        raise MalformedValueError(f"expected an integer, found {str(found)[:50]!r}")
    return int(found)


def _number(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise MalformedValueError(f"expected a number, found {str(found)[:50]!r}")
    return float(found)


def _text(found: Any) -> str | None:
    return None if found is None else json_text(found)
