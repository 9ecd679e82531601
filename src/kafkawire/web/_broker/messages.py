"""Messages of a topic: a search that streams, a tail, one record with all of it, and the batch that it is in.

Rules:
- A search reads forward from a place, partition by partition, and sends matches as it finds them, with the number of
  records scanned. It stops after `limit` matches; the answer says where to go on.
- A search for `key = K` first reads the partition that the hash of the key names. If it finds nothing, it reads the
  others, because some clients hash keys in other ways.
- A word is searched in key, value and headers. Fields of JSON values are compared by `value.a.b`, with 64-bit numbers
  exact. A value that is not JSON fits no such comparison.
- Keys and values in a list are cut at SHOWN bytes. One record has windows of all of it.
- A tail keeps up: it sends at most TAIL_ROWS of a moment, and the number of those that it left out.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final

from kafkawire.web._filter.language import Compare, parse
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    import pyarrow as pa

    from kafkawire.client import BulkReader
    from kafkawire.web._filter.columns import Fields

SHOWN: Final = 400
TAIL_ROWS: Final = 1_000
LIMIT: Final = 500
LOOK_SECONDS: Final = 0.2
_REPORT_SECONDS: Final = 0.1
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")


def record_fields() -> Fields:
    """The fields of messages in the filter language."""
    import pyarrow as pa
    import pyarrow.compute

    from kafkawire.web._filter.columns import Field, Fields

    pc: Any = pyarrow.compute

    def binary(column: Any, term: Compare) -> Any:
        if term.operator in ("~", "!~"):
            try:
                found = pc.fill_null(pc.match_substring_regex(column, term.values[0]), False)
            except pa.ArrowInvalid as refusal:
                raise Problem(f"column {term.column}: {refusal}", column=term.column) from None
            return found if term.operator == "~" else pc.invert(found)
        texts = [each.encode() for each in term.values]
        if term.operator == "in":
            return pc.is_in(column, value_set=pa.array(texts, column.type))
        if term.operator not in ("=", "!="):
            raise Problem(f"column {term.column}: bytes have no order; use = != ~ or in", column=term.column)
        if term.values[0] == "null":
            found = pc.is_null(column)
            return found if term.operator == "=" else pc.invert(found)
        found = pc.fill_null(pc.equal(column, pa.scalar(texts[0], column.type)), False)
        return found if term.operator == "=" else pc.invert(found)

    def special(table: pa.Table, term: Compare) -> Any:
        name = term.field.lower()
        if name in ("key", "value"):
            return binary(table[name], term)
        head, _, path = term.field.partition(".")
        if head in ("value", "key") and path:
            return _json_mask(table[head], path, term)
        if head == "header" and path:
            values = [_header(each, path) for each in table["headers"].to_pylist()]
            return binary(pa.array(values, pa.binary()), term)
        return None

    def headers(table: pa.Table) -> Any:
        texts = [
            b" ".join(b"%s=%s" % (each["key"].encode(), each["value"] or b"") for each in row or ())
            for row in table["headers"].to_pylist()
        ]
        return pa.array(texts, pa.binary())

    known = {
        "offset": Field("number", "offset"),
        "partition": Field("number", "partition"),
        "time": Field("time", lambda table: table["timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())),
        "size": Field("size", lambda table: pc.binary_length(table["value"])),
        "key": Field("text", "key"),
        "value": Field("text", "value"),
    }
    return Fields(known, ("key", "value", headers), special)


def matching(
    reader: BulkReader, topic: str, text: str, starts: dict[int, int], ends: dict[int, int]
) -> Iterator[tuple[int, pa.Table, pa.RecordBatch]]:
    """The messages between offsets that fit a filter: partition by partition, with the batch that they are in."""
    term, fields = parse(text), record_fields()
    for number in sorted(starts):
        if starts[number] < ends[number]:
            for batch in reader.read(topic, number, starts[number], ends[number], columns=_COLUMNS):
                yield number, _matches(batch, number, fields, term), batch


def search(reader: BulkReader, topic: str, asked: dict[str, Any], stop: threading.Event) -> Iterator[dict[str, Any]]:
    """The events of a search: `rows`, `scanned` of `of`, and at the end `next` if there is more.

    If keys name partitions, these are read first, and `keyed` has them. The others are read only if nothing was found.
    """
    limit, keyed = asked["limit"], asked.get("keyed", [])
    starts = {int(number): int(offset) for number, offset in asked["starts"].items()}
    ends = {int(number): int(offset) for number, offset in asked["ends"].items()}
    total = scanned = matched = 0
    began = said = time.monotonic()
    for turn in (keyed, sorted(starts.keys() - set(keyed))):
        if not turn or matched:
            continue
        total += sum(max(0, ends[number] - starts[number]) for number in turn)
        yield {"keyed": keyed if turn is keyed else [], "of": total}
        for number, found, batch in matching(reader, topic, asked["filter"], {n: starts[n] for n in turn}, ends):
            if stop.is_set():
                return
            scanned += len(batch)
            rows = found.slice(0, limit - matched)
            matched += len(rows)
            for before in turn:
                if before < number:
                    starts[before] = ends[before]
            starts[number] = (rows["offset"][-1].as_py() if len(rows) < len(found) else batch["offset"][-1].as_py()) + 1
            now = time.monotonic()
            if len(rows):
                yield {"rows": [row_of(each) for each in rows.to_pylist()]}
            if len(rows) or now - said > _REPORT_SECONDS:
                said = now
                yield {"scanned": scanned, "of": total, "matched": matched, "seconds": round(now - began, 3)}
            if matched >= limit:
                rest = {n: at if n in turn else ends[n] for n, at in starts.items()}
                yield {"end": "limit", "next": {str(n): str(at) for n, at in rest.items()}}
                return
        starts.update((number, ends[number]) for number in turn)
    yield {"scanned": scanned, "of": total, "matched": matched, "seconds": round(time.monotonic() - began, 3)}
    yield {"end": "all"}


def tail(reader: BulkReader, topic: str, text: str, stop: threading.Event) -> Iterator[dict[str, Any]]:
    """The events of a tail: `rows` as they arrive, and `left_out`."""
    term, fields = parse(text), record_fields()
    places = reader.latest(topic)
    yield {"from": {str(number): str(offset) for number, offset in places.items()}}
    while not stop.wait(LOOK_SECONDS):
        rows: list[dict[str, Any]] = []
        left_out = scanned = 0
        for number, end in reader.latest(topic).items():
            start = places.get(number, 0)
            if start >= end:
                continue
            for batch in reader.read(topic, number, start, end, columns=_COLUMNS):
                if stop.is_set():
                    return
                found = _matches(batch, number, fields, term)
                scanned += len(batch)
                rows += [row_of(each) for each in found.slice(max(0, len(found) - TAIL_ROWS)).to_pylist()]
                left_out += max(0, len(found) - TAIL_ROWS)
                if len(rows) > 2 * TAIL_ROWS:
                    left_out += len(rows) - TAIL_ROWS
                    del rows[:-TAIL_ROWS]
            places[number] = end
        left_out += max(0, len(rows) - TAIL_ROWS)
        yield {
            "rows": sorted(rows[-TAIL_ROWS:], key=lambda row: int(row["t"])),
            "left_out": left_out,
            "scanned": scanned,
        }


def one(reader: BulkReader, topic: str, partition: int, offset: int) -> dict[str, Any]:
    """One record with its whole key, value and headers."""
    for batch in reader.read(topic, partition, offset, offset + 1, columns=_COLUMNS):
        for row in batch.to_pylist():
            if row["offset"] == offset:
                return {**row, "partition": partition}
    raise Problem(f"there is no record at offset {offset} of {topic}-{partition}; it may be deleted", status=404)


def row_of(row: dict[str, Any]) -> dict[str, Any]:
    """A record as a row of a list."""
    stamp = row["timestamp"]
    return {
        "p": row["partition"],
        "o": str(row["offset"]),
        "t": "-1" if stamp is None else str(round(stamp.timestamp() * 1000) * 1000),
        "k": bytes_text(row["key"]),
        "v": bytes_text(row["value"]),
        "h": len(row["headers"] or ()),
        "l": -1 if row["value"] is None else len(row["value"]),
    }


def bytes_text(data: bytes | None, most: int = SHOWN) -> str | None:
    """Bytes as text where they are UTF-8, else as hex; cut."""
    if data is None:
        return None
    head = data[:most]
    try:
        return head.decode("utf-8") if len(data) <= most else head.decode("utf-8", "ignore") + "…"
    except UnicodeDecodeError:
        return "0x" + head[: most // 4].hex() + ("…" if len(data) > most // 4 else "")


def pretty(data: bytes | None) -> tuple[str, str]:
    """A value as indented text, and what it is: JSON, text, bytes or null. JSON keeps the digits of its numbers."""
    if data is None:
        return "null", "null"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data.hex(" "), "bytes"
    if text[:1] in "{[":
        try:
            json.loads(text)
            return indented(text), "JSON"
        except (ValueError, RecursionError):
            return text, "text"
    return text, "text"


def indented(text: str) -> str:
    """JSON with indentation; every number and string is left as it is.

    >>> print(indented('{"a":[1.10,9007199254740993],"b":{}}'))
    {
      "a": [
        1.10,
        9007199254740993
      ],
      "b": {}
    }
    """
    parts: list[str] = []
    depth = 0
    tokens = _JSON_TOKEN.findall(text)
    for place, token in enumerate(tokens):
        behind = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in "{[":
            depth += 1
            parts.append(token if behind in ("}", "]") else f"{token}\n{'  ' * depth}")
        elif token in "}]":
            depth -= 1
            parts.append(token if place and tokens[place - 1] in ("{", "[") else f"\n{'  ' * depth}{token}")
        else:
            parts.append(f",\n{'  ' * depth}" if token == "," else ": " if token == ":" else token)
    return "".join(parts)


def _matches(batch: pa.RecordBatch, number: int, fields: Fields, term: Any) -> pa.Table:
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    table = table.append_column("partition", pa.repeat(pa.scalar(number, pa.int32()), len(table)))
    mask = fields.mask(table, term)
    return table if mask is None else table.filter(mask)


def _json_mask(column: Any, path: str, term: Compare) -> Any:
    """The rows whose field of a JSON value fits a comparison. Whole numbers are compared as such, beside fractions."""
    import pyarrow as pa
    import pyarrow.compute

    from kafkawire.web._filter.columns import compared

    pc: Any = pyarrow.compute
    numeric = term.operator not in ("~", "!~") and all(_is_number(each) for each in term.values)
    values = _held(column, path.split("."), term, numeric=numeric)
    if isinstance(values, pa.Array):
        return compared(values, "number" if numeric else "text", term)
    if not numeric:
        texts = [
            None if each is _ABSENT else each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
            for each in values
        ]
        return compared(pa.array(texts, pa.string()), "text", term)
    kept = [each if isinstance(each, int | float) and not isinstance(each, bool) else None for each in values]
    are_whole = [isinstance(each, int) and -(2**63) <= each < 2**63 for each in kept]
    fractions = pa.array([None if each is None else float(each) for each in kept], pa.float64())
    if any("." in each for each in term.values):
        return compared(fractions, "number", term)
    whole = pa.array([each if fits else None for each, fits in zip(kept, are_whole, strict=True)], pa.int64())
    return pc.if_else(pa.array(are_whole), compared(whole, "number", term), compared(fractions, "number", term))


def _held(column: Any, steps: list[str], term: Compare, *, numeric: bool) -> Any:
    """The values of a field: an Arrow array, or a list with `_ABSENT` where there is none.

    An equal whole number or text is written in the bytes as it is, or with a backslash or an exponent. So for `=` and
    `in`, only values with one of these are parsed. For other comparisons Arrow parses whole blocks. It refuses a block
    with a value that is not JSON or not of this kind; such a block is parsed value by value.
    """
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute
    if term.operator in ("=", "in") and all("." not in each if numeric else _is_plain(each) for each in term.values):
        escape = r"[0-9.][eE][+-]?[0-9]" if numeric else r"\\"
        wanted = [re.escape(_digits(each) if numeric else each) for each in term.values]
        may_fit = pc.fill_null(pc.match_substring_regex(column, "|".join([*wanted, escape])), False)
        if not pc.any(may_fit).as_py():
            return pa.nulls(len(column), pa.int64() if numeric else pa.string())
        values = pc.if_else(may_fit, column, pa.scalar(None, column.type)).to_pylist()
        return [_at(value, steps) for value in values]
    if numeric and all("." not in each for each in term.values):
        parsed = _parsed_block(column, steps, pa.int64())
        if parsed is not None:
            return parsed
    return [_at(each, steps) for each in column.to_pylist()]


def _parsed_block(column: Any, steps: list[str], kind: Any) -> Any:
    """A field of a block of JSON values, parsed by Arrow; None if the block has a value that it refuses."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.json

    pc: Any = pyarrow.compute
    reader: Any = pyarrow.json
    # A value with braces at its ends is one document or invalid, so that rows stay aligned.
    braced = pc.and_(pc.starts_with(column, "{"), pc.ends_with(column, "}"))
    if column.null_count or not pc.all(braced).as_py() or any(step.isdecimal() for step in steps):
        return None
    schema = kind
    for step in reversed(steps):
        schema = pa.struct([pa.field(step, schema)])
    options: Any = reader.ParseOptions(
        explicit_schema=pa.schema(list(schema)), newlines_in_values=True, unexpected_field_behavior="ignore"
    )
    data = pa.py_buffer(b"\n".join(column.to_pylist()))
    try:
        table = reader.read_json(pa.BufferReader(data), parse_options=options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if len(table) != len(column):
        return None
    found: Any = table[steps[0]].combine_chunks()
    for step in steps[1:]:
        found = pc.struct_field(found, step)
    return found


def _is_plain(text: str) -> bool:
    """Whether a text is written in JSON as it is, but for escapes: it is not a number, list, object, true or null."""
    return text not in ("true", "false", "null") and text[:1] not in ("{", "[") and not _is_number(text)


def _digits(number: str) -> str:
    """The digits of a whole number that all of its forms without an exponent contain: 42, 42.0 and -42."""
    return number.lstrip("-").lstrip("0") or "0"


_ABSENT: Final = object()


def _at(data: bytes | None, steps: list[str]) -> Any:
    if not data:
        return _ABSENT
    try:
        found = json.loads(data)
        for step in steps:
            found = found[int(step)] if isinstance(found, list) and step.isdecimal() else found[step]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return _ABSENT
    return found


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal()


def _header(headers: Any, name: str) -> bytes | None:
    return next((each["value"] for each in headers or () if each["key"] == name), None)
