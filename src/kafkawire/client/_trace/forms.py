"""The forms of a trace: a line per event, the same with the fields of the message, and JSON.

Rules:
- A line has time, number of the connection, address, direction (`>` to the broker, `<` from it), API, version,
  correlation id, size, duration and error.
- A tree has the fields that the message's version has, one per line. Long values and arrays are shortened.
- The values of secret fields and of settings with secret names are replaced by their length, in every form.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.messages import UnknownMessageError, api, uuid_text
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import RecordsError, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.client._trace.events import TraceEvent
    from kafkawire.messages.schema import Field, Struct

_ARROWS: Final = {"request": ">", "response": "<", "closed": "x", "failed": "x"}
_LONGEST: Final = 120
_MOST_ELEMENTS: Final = 20
_SECRET_FIELDS: Final = frozenset({"auth_bytes", "hmac", "salt", "salted_password"})
_SECRET_SETTINGS: Final = re.compile(r"password|jaas|secret|credential|keystore\.key$", re.IGNORECASE)


def line(event: TraceEvent) -> str:
    """An event as one line."""
    moment = datetime.fromtimestamp(event.time).strftime("%H:%M:%S.%f")[:-3]
    words = [moment, f"[{event.connection}]", event.place, _ARROWS[event.kind]]
    if event.api is not None:
        words += [event.api, f"v{event.version}", f"#{event.correlation_id}", f"{event.size} bytes"]
    if event.seconds is not None:
        words.append(f"{event.seconds * 1000:.1f} ms")
    if event.kind in ("closed", "failed"):
        words.append("connection ended:" if event.kind == "closed" else "no connection:")
    if event.error is not None:
        words.append(event.error)
    return " ".join(words)


def tree(event: TraceEvent) -> str:
    """An event as one line, and the fields of its message below it."""
    if event.message is None or event.version is None:
        hidden = event.kind in ("request", "response")
        return line(event) + ("\n    (credentials are not shown)" if hidden else "")
    root = event.message.__schema__.root
    return "\n".join((line(event), *_lines(event.message, root, event.version, "    ")))


def json_line(event: TraceEvent) -> str:
    """An event as one object of JSON, without its message."""
    return json.dumps(_known(event))


def json_tree(event: TraceEvent) -> str:
    """An event as one object of JSON, with the fields of its message."""
    found = _known(event)
    if event.message is not None and event.version is not None:
        found["message"] = _object(event.message, event.message.__schema__.root, event.version)
    return json.dumps(found)


def _known(event: TraceEvent) -> dict[str, Any]:
    values = {
        "kind": event.kind,
        "time": datetime.fromtimestamp(event.time, UTC).isoformat(timespec="microseconds"),
        "connection": event.connection,
        "place": event.place,
        "client_id": event.client_id,
        "api": event.api,
        "version": event.version,
        "correlation_id": event.correlation_id,
        "bytes": event.size,
        "ms": None if event.seconds is None else round(event.seconds * 1000, 3),
        "error": event.error,
    }
    return {name: value for name, value in values.items() if value is not None}


def _lines(value: Any, struct: Struct, version: int, indent: str) -> Iterator[str]:
    for field in struct.fields:
        if version not in field.versions:
            continue
        held = getattr(value, field.attribute)
        if field.struct is None or held is None:
            yield f"{indent}{field.attribute}: {_text(held, field, value)}"
        elif not field.is_array:
            yield f"{indent}{field.attribute}:"
            yield from _lines(held, field.struct, version, indent + "  ")
        else:
            yield (
                f"{indent}{field.attribute}: {_number(len(held), 'element')}"
                if held
                else f"{indent}{field.attribute}: empty"
            )
            for number, element in enumerate(held[:_MOST_ELEMENTS]):
                fields = list(_lines(element, field.struct, version, ""))
                if _is_short(fields):
                    yield f"{indent}  [{number}] {', '.join(fields)}"
                else:
                    yield f"{indent}  [{number}]"
                    yield from (f"{indent}    {each}" for each in fields)
            if len(held) > _MOST_ELEMENTS:
                yield f"{indent}  ... {len(held) - _MOST_ELEMENTS} more"


def _is_short(lines: list[str]) -> bool:
    """Whether an element fits in one line: it has no elements of its own, and little text."""
    return sum(map(len, lines)) < _LONGEST - 2 * len(lines) and not any(each.startswith(" ") for each in lines)


def _text(held: Any, field: Field, owner: Any) -> str:
    plain = _plain(held, field, owner)
    if field.name == "ErrorCode" and isinstance(plain, int):
        return f"{plain} ({ErrorCode(plain).name})"
    if field.name == "ApiKey" and isinstance(plain, int):
        return f"{plain} ({_api_name(plain)})"
    return json.dumps(plain, ensure_ascii=False) if not isinstance(plain, _Words) else plain


def _api_name(key: int) -> str:
    try:
        return api(key).name
    except UnknownMessageError:
        return "unknown"


def _object(value: Any, struct: Struct, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        held = getattr(value, field.attribute)
        if field.struct is None or held is None:
            found[field.attribute] = _plain(held, field, value)
        elif not field.is_array:
            found[field.attribute] = _object(held, field.struct, version)
        else:
            found[field.attribute] = [_object(each, field.struct, version) for each in held]
    return found


class _Words(str):
    """Text of ours in place of a value; it is printed without quotes."""

    __slots__ = ()


def _plain(held: Any, field: Field, owner: Any) -> Any:
    """A value that JSON has; long ones are shortened, secret ones replaced."""
    if isinstance(held, (str, bytes, memoryview)) and _is_secret(field, owner):
        return _Words(f"({len(held)} {'characters' if isinstance(held, str) else 'bytes'}, not shown)")
    if field.is_array and held is not None:
        shown = [_single(each) for each in held[:_MOST_ELEMENTS]]
        return shown if len(held) <= _MOST_ELEMENTS else [*shown, f"... {len(held) - _MOST_ELEMENTS} more"]
    if field.type == "records" and held is not None:
        return _Words(_records_text(held))
    return _single(held)


def _single(held: Any) -> Any:
    if isinstance(held, UUID):
        return uuid_text(held)
    if isinstance(held, (bytes, bytearray, memoryview)):
        start = bytes(held[: _LONGEST // 2]).hex()
        return _Words(f"{len(held)} bytes {start}{'...' if len(held) > _LONGEST // 2 else ''}".rstrip())
    if isinstance(held, str) and len(held) > _LONGEST:
        return held[:_LONGEST] + "..."
    return held


def _is_secret(field: Field, owner: Any) -> bool:
    if field.attribute in _SECRET_FIELDS:
        return True
    if field.attribute not in ("value", "config_value"):
        return False
    name = getattr(owner, "name", None) or getattr(owner, "config_name", None)
    return isinstance(name, str) and _SECRET_SETTINGS.search(name) is not None


def _number(count: int, noun: str, plural: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else plural}"


def _records_text(held: Any) -> str:
    """Records in one line: sizes, counts, offsets and codecs; nothing is decompressed."""
    total = f"{len(held)} bytes of records"
    batches = count = 0
    codecs: dict[str, None] = {}
    first = last = -1
    try:
        for batch in read_batches(held, verify=False):
            first = batch.base_offset if not batches else first
            batches, count, last = batches + 1, count + batch.record_count, batch.last_offset
            codecs[batch.codec.name.lower()] = None
    except RecordsError as error:
        return f"{total}: {error}"
    if not batches:
        return total
    counts = f"{_number(batches, 'batch', 'es')}, {_number(count, 'record')}"
    return f"{total}: {counts}, offsets {first} to {last}, codec {', '.join(codecs)}"
