"""Rows of a table as JSON, one object per line.

`_json_lines.pyx` is the compiled twin of `render`. Rules:
- A line is what `json.dumps` prints for the row, without ASCII escapes, with times as `str` prints them.
- A table is rendered in runs, so that a long table is printed while it is rendered.
- Numbers, booleans and times are rendered from their buffers. Texts are rendered once per distinct value of a run, and
  values of other types by `json.dumps`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkawire import _native as implementation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

RUN: Final = 16_384
PAIR, NUMBER, BOOLEAN, MOMENT, TEXT = range(5)
_EARLIEST: Final = -62135596800 * 1_000_000
_LATEST: Final = 253402300800 * 1_000_000
Column = tuple[int, bytes, "NDArray[np.int64]", "NDArray[np.uint8] | None", "NDArray[np.int64] | list[bytes] | None"]
"""Its kind, the bytes before its values, its values, which are null, and the second numbers of pairs or the texts."""


def json_lines(table: pa.Table, *, named: tuple[str, str, str] | None = None) -> Iterator[str]:
    """Runs of lines. `named` puts a name of two numbers first: its key, and the two columns.

    >>> list(json_lines(pa.table({"a": [1, None], "b": ["x", "y"]})))
    ['{"a": 1, "b": "x"}\\n{"a": null, "b": "y"}\\n']
    """
    for start in range(0, len(table), RUN):
        run = table.slice(start, RUN).combine_chunks()
        columns, tail = _columns(run, named)
        yield _twin.render(columns, tail, len(run))


def render(columns: list[Column], tail: bytes, rows: int) -> str:
    """The lines of a run; `tail` ends each of them."""
    import datetime

    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    lines = []
    for row in range(rows):
        parts = []
        for kind, before, values, nulls, more in columns:
            parts.append(before.decode())
            number = int(values[row])
            if nulls is not None and nulls[row]:
                parts.append("null")
            elif kind == PAIR:
                assert more is not None
                parts.append(f'"{number}/{int(more[row])}"')
            elif kind == NUMBER:
                parts.append(str(number))
            elif kind == BOOLEAN:
                parts.append("true" if number else "false")
            elif kind == MOMENT:
                parts.append(f'"{epoch + datetime.timedelta(microseconds=number)}"')
            else:
                assert isinstance(more, list)
                parts.append(more[number].decode())
        lines.append("".join(parts) + tail.decode())
    return "".join(lines)


def _columns(run: pa.Table, named: tuple[str, str, str] | None) -> tuple[list[Column], bytes]:
    """The columns of a run that are not all null, and what follows the last of them."""
    columns: list[Column] = []
    before = b"{"
    if named is not None:
        key, first, second = named
        seconds = _numbers(run[second])
        columns.append((PAIR, before + json.dumps(key).encode() + b": ", _numbers(run[first]), None, seconds))
        before = b", "
    for place, name in enumerate(run.schema.names):
        before += (b", " if place else b"") + json.dumps(name, ensure_ascii=False).encode() + b": "
        column = run[name]
        if column.null_count == len(column):
            before += b"null"
            continue
        kind, values, more = _values(column)
        nulls = None if not column.null_count else np.asarray(column.is_null()).view(np.uint8)
        columns.append((kind, before, values, nulls, more))
        before = b""
    return columns, before + b"}\n"


def _values(column: pa.ChunkedArray[Any]) -> tuple[int, NDArray[np.int64], list[bytes] | None]:
    kind = column.type
    if pa.types.is_boolean(kind):
        return BOOLEAN, _numbers(column.cast(pa.int8())), None
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return NUMBER, _numbers(column), None
    if kind == pa.timestamp("us", "UTC"):
        moments = _numbers(column.cast(pa.int64()))
        if not len(moments) or (moments.min() >= _EARLIEST and moments.max() < _LATEST):
            return MOMENT, moments, None
    if pa.types.is_string(kind):
        encoded = column.combine_chunks().dictionary_encode()
        texts = [_rendered(each) for each in encoded.dictionary.to_pylist()]
        return TEXT, _numbers(encoded.indices), texts
    texts = [_rendered(each) for each in column.to_pylist()]
    return TEXT, np.arange(len(texts), dtype=np.int64), texts


def _rendered(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=_as_json).encode()


def _as_json(value: object) -> object:
    return bytes(value).hex() if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _numbers(column: Any) -> NDArray[np.int64]:
    return np.ascontiguousarray(column.fill_null(0) if column.null_count else column, np.int64)


_twin = implementation.load("kafkawire.inspect._tables._json_lines", __name__)
