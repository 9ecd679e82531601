"""A filter applied to the columns of a table, with Arrow.

Rules:
- A field has a kind, which says how its values are written: durations and sizes have units, errors have names.
- Null matches only `!=` and `!~`.
- The values of a dictionary are compared once each, and not once per row.
- Regular expressions are those of RE2, whose time is linear, so a filter cannot stop the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute

from kafkawire.messages.errors import ErrorLookupError, error
from kafkawire.web._filter.language import Both, Compare, Either, Not, Word
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkawire.web._filter.language import Term

pc: Any = pyarrow.compute  # its stubs do not know most of these calls
Kind = Literal["text", "number", "duration", "size", "time", "error", "flag"]
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-zA-Zµ]*)")
_LONGEST: Final = 20
_UNITS: Final[dict[str, dict[str, float]]] = {
    "duration": {"": 1, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6, "m": 6e7, "min": 6e7, "h": 3.6e9},
    "size": {
        "": 1,
        "b": 1,
        "k": 1e3,
        "kb": 1e3,
        "kib": 1024,
        "m": 1e6,
        "mb": 1e6,
        "mib": 1 << 20,
        "gb": 1e9,
        "gib": 1 << 30,
    },
    "number": {"": 1, "k": 1e3, "m": 1e6},
}
_COMPARED: Final[dict[str, Callable[..., Any]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the language: its kind, and the column that it is; a function makes a column of the table."""

    kind: Kind
    column: str | Callable[[pa.Table], Any]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one kind of rows, and the text columns in which a word is searched."""

    known: Mapping[str, Field]
    texts: Sequence[str | Callable[[pa.Table], Any]]
    special: Callable[[pa.Table, Compare], Any] | None = None
    """Decides a comparison of a field that is not a column; None for fields that it does not know."""

    def mask(self, table: pa.Table, term: Term | None) -> Any:
        """The rows that fit; None if all do."""
        return None if term is None else pc.fill_null(self._of(table, term), False)

    def _of(self, table: pa.Table, term: Term) -> Any:
        if isinstance(term, Not):
            return pc.invert(pc.fill_null(self._of(table, term.term), False))
        if isinstance(term, Both | Either):
            combine: Any = pc.and_ if isinstance(term, Both) else pc.or_
            mask = pc.fill_null(self._of(table, term.terms[0]), False)
            for each in term.terms[1:]:
                mask = combine(mask, pc.fill_null(self._of(table, each), False))
            return mask
        if isinstance(term, Word):
            return self._searched(table, term)
        return self._compared(table, term)

    def _searched(self, table: pa.Table, word: Word) -> Any:
        mask = None
        for column in self.texts:
            values = column(table) if callable(column) else table[column]
            found = _on_values(values, lambda each: pc.match_substring(each, word.text, ignore_case=True))
            mask = found if mask is None else pc.or_(mask, found)
        return mask

    def _compared(self, table: pa.Table, term: Compare) -> Any:
        if self.special is not None:
            decided = self.special(table, term)
            if decided is not None:
                return decided
        field = self.known.get(term.field.lower())
        if field is None:
            names = ", ".join(sorted(self.known))
            words = f"column {term.column}: there is no field {term.field!r}; the fields are {names}"
            raise Problem(words, column=term.column)
        column = field.column(table) if callable(field.column) else table[field.column]
        return compared(column, field.kind, term)


def _on_values(column: Any, test: Callable[[Any], Any]) -> Any:
    """The rows whose value fits a test; a dictionary is tested instead of its rows."""
    if not pa.types.is_dictionary(column.type):
        return pc.fill_null(test(column), False)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not len(column.dictionary):
        return pa.repeat(pa.scalar(False), len(column))
    return pc.fill_null(pc.fill_null(test(column.dictionary), False).take(column.indices), False)


def compared(column: Any, kind: Kind, term: Compare) -> Any:
    """The rows whose value fits a comparison."""
    if pa.types.is_dictionary(column.type):
        found = _on_values(column, lambda values: compared(values, kind, term))
        return pc.or_(found, pc.is_null(column)) if term.operator in ("!=", "!~") else found
    if term.operator in ("~", "!~"):
        texts = (
            column
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            else column.cast(pa.string())
        )
        try:
            found = pc.fill_null(pc.match_substring_regex(texts, term.values[0]), False)
        except pa.ArrowInvalid as refusal:
            raise Problem(f"column {term.column}: {refusal}", column=term.column) from None
        return found if term.operator == "~" else pc.invert(found)
    values = [_value(each, kind, term) for each in term.values]
    if pa.types.is_floating(column.type):
        values = [float(each) for each in values]
    if kind in ("text", "flag"):
        column = column if pa.types.is_boolean(column.type) else column.cast(pa.string())
    elif not pa.types.is_floating(column.type):
        column = column.cast(pa.int64()) if all(isinstance(each, int) for each in values) else column.cast(pa.float64())
    if term.operator == "in":
        return pc.is_in(column, value_set=pa.array(values, column.type))
    found = _COMPARED[term.operator](column, pa.scalar(values[0], column.type))
    return pc.fill_null(found, True) if term.operator == "!=" else found


def _value(text: str, kind: Kind, term: Compare) -> Any:
    if kind == "text":
        return text
    if kind == "flag":
        if text.lower() in ("true", "yes", "1"):
            return True
        if text.lower() in ("false", "no", "0"):
            return False
        raise Problem(f"column {term.column}: {term.field} is true or false, not {text!r}", column=term.column)
    if kind == "time":
        return _moment(text, term)
    if kind == "error" and not re.fullmatch(r"-?\d{1,5}", text):
        try:
            return int(error(text.upper()).code)
        except ErrorLookupError as refusal:
            raise Problem(f"column {term.column}: {refusal}", column=term.column) from None
    match = _NUMBER.fullmatch(text)
    units = _UNITS.get(kind, _UNITS["number"])
    if match is None or match[2].lower() not in units:
        wanted = {"duration": "a duration such as 20ms", "size": "a size such as 64kB"}.get(kind, "a number")
        raise Problem(f"column {term.column}: {term.field} needs {wanted}, not {text!r}", column=term.column)
    factor = units[match[2].lower()]
    if match[1].lstrip("-").isdecimal() and factor == int(factor):
        number = int(match[1]) * int(factor) if len(match[1]) <= _LONGEST else 2**63
        if not -(2**63) <= number < 2**63:
            raise Problem(f"column {term.column}: {text} has more than 64 bits", column=term.column)
        return number
    return float(match[1]) * factor


def _moment(text: str, term: Compare) -> int:
    micro = whole_number(text)
    if micro is not None:
        return micro
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        words = f"column {term.column}: {text!r} is not a time such as 2026-01-31T12:00:00"
        raise Problem(words, column=term.column) from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1e6)
