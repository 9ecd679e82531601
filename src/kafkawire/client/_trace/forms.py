"""The forms of a trace: a line per event, the same with the fields of the message, and JSON.

Rules:
- A line has time, number of the connection, address, direction (`>` to the broker, `<` from it), API, version,
  correlation id, size, duration and error.
- A tree has a line per field with its bytes and its offset in the frame, as `kafkawire decode` prints it. Trees without
  records have at most 20 elements of an array.
- The values of secret fields and of settings with secret names are replaced by their length, in every form.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.messages import uuid_text

if TYPE_CHECKING:
    from kafkawire.client._trace.events import TraceEvent
    from kafkawire.messages.schema import Field, Struct

_ARROWS: Final = {"request": ">", "response": "<", "closed": "x", "failed": "x"}
_INDENT: Final = "    "
_LONGEST: Final = 120
_MOST_ELEMENTS: Final = 20
_SECRET_FIELDS: Final = frozenset({"auth_bytes", "hmac", "salt", "salted_password"})
_SETTINGS: Final = ("value", "config_value")
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
    """An event as one line, and the tree of its frame below it."""
    return _with_tree(event, _MOST_ELEMENTS)


def full_tree(event: TraceEvent) -> str:
    """An event as one line, and the tree of its frame with all elements and records."""
    return _with_tree(event, None)


def json_line(event: TraceEvent) -> str:
    """An event as one object of JSON, without its message."""
    return json.dumps(_known(event))


def json_tree(event: TraceEvent) -> str:
    """An event as one object of JSON, with the fields of its message."""
    found = _known(event)
    if event.message is not None and event.version is not None:
        found["message"] = _object(event.message, event.message.__schema__.root, event.version)
    return json.dumps(found)


def _with_tree(event: TraceEvent, most: int | None) -> str:
    if event.frame is None or event.api is None or event.version is None:
        hidden = event.kind in ("request", "response")
        return line(event) + ("\n    (credentials are not shown)" if hidden else "")
    from kafkawire.inspect import explain_request, explain_response, render_text, shortened

    if event.kind == "request":
        explained = explain_request(event.frame, sized=True)
    else:
        explained = explain_response(event.frame, event.api, event.version, sized=True)
    shown = shortened(explained, most=most, is_secret=_is_secret)
    width = shutil.get_terminal_size().columns - len(_INDENT) if sys.stderr.isatty() else None
    rows = render_text(shown, width=width, paint=lambda text, _: text)
    return "\n".join((line(event), *(f"{_INDENT}{row}" for row in rows)))


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


def _plain(held: Any, field: Field, owner: Any) -> Any:
    """A value that JSON has; long ones are shortened, secret ones replaced."""
    if isinstance(held, (str, bytes, memoryview)):
        setting = getattr(owner, "name", None) or getattr(owner, "config_name", None)
        if _is_secret(field.attribute, setting):
            return f"({len(held)} {'characters' if isinstance(held, str) else 'bytes'}, not shown)"
    if field.is_array and held is not None:
        shown = [_single(each) for each in held[:_MOST_ELEMENTS]]
        return shown if len(held) <= _MOST_ELEMENTS else [*shown, f"... {len(held) - _MOST_ELEMENTS} more"]
    if field.type == "records" and held is not None:
        from kafkawire.inspect import records_text

        return f"{len(held)} bytes of records: {records_text(held)}".removesuffix(": ")
    return _single(held)


def _single(held: Any) -> Any:
    if isinstance(held, UUID):
        return uuid_text(held)
    if isinstance(held, (bytes, bytearray, memoryview)):
        start = bytes(held[: _LONGEST // 2]).hex()
        return f"{len(held)} bytes {start}{'...' if len(held) > _LONGEST // 2 else ''}".rstrip()
    if isinstance(held, str) and len(held) > _LONGEST:
        return held[:_LONGEST] + "..."
    return held


def _is_secret(field: str, setting: object) -> bool:
    """Whether the value of a field is withheld; `setting` is the name beside it."""
    if field in _SECRET_FIELDS:
        return True
    return field in _SETTINGS and isinstance(setting, str) and _SECRET_SETTINGS.search(setting) is not None
