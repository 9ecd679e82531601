"""A frame with one field changed, encoded again.

Rules:
- Only a field of the header or of the body of a frame without a fault is changed. Sizes and counts follow from it.
- A text is read by the type of the field: numbers in decimal or with 0x, bytes in hex, uuids in either form.
"""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.messages import CodecError, message_class
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.inspect import ExplainedNode, Explanation
    from kafkawire.web._bytes.document import Place

_STEP: Final = re.compile(r"\.?([a-z][a-z0-9_]*)|\[(\d{1,9})\]")
_UUID_BYTES: Final = 16
LONGEST: Final = 8_192


def edited(frame: Explanation, place: Place, text: str | None) -> bytes:
    """The bytes of a frame in which a field has the value of a text; None is null."""
    part, _, path = place.path.partition(".") if frame.kind != "message" else ("", "", place.path)
    if not frame.whole or not path:
        raise Problem("only a field of the header or the body of a frame without a fault can be changed")
    value = _value(place.node.type, text)
    root = frame.space.root
    if frame.kind == "message":
        return _changed(frame.space.data[root.offset : root.end], frame.message, frame.version, path, value)
    made = [_again(each, frame, part, path, value) for each in root.children() if each.name != "size"]
    body = b"".join(made)
    return struct.pack(">i", len(body)) + body


def plain_value(value: Any) -> str:
    """A value as the text that a person would change, cut after LONGEST characters."""
    if value is None:
        return ""
    if isinstance(value, memoryview | bytes | bytearray):
        return bytes(value[:LONGEST]).hex()
    return str(value)[:LONGEST] if not isinstance(value, bool) else str(value).lower()


def _again(node: ExplainedNode, frame: Explanation, part: str, path: str, value: Any) -> bytes:
    data = frame.space.data[node.offset : node.end]
    if node.name != part:
        return bytes(data)
    name, _, version = node.type.rpartition(" v")
    return _changed(data, name, int(version), path, value)


def _changed(data: memoryview, name: str, version: int, path: str, value: Any) -> bytes:
    cls = message_class(name)
    message = cls.decode(data, version)
    holder, step = _holder(message, path)
    if isinstance(step, int):
        holder[step] = value
    else:
        setattr(holder, step, value)
    try:
        return bytes(message.encode(version))
    except CodecError as error:
        raise Problem(str(error)) from error


def _holder(message: Any, path: str) -> tuple[Any, str | int]:
    """The struct or list that holds a field, and the name or place of the field in it."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise Problem(f"{path} cannot be changed")
        steps.append(match[1] if match[1] else int(match[2]))
        at = match.end()
    holder = message
    try:
        for step in steps[:-1]:
            holder = holder[step] if isinstance(step, int) else getattr(holder, step)
        last = steps[-1]
        _ = holder[last] if isinstance(last, int) else getattr(holder, last)
    except (AttributeError, IndexError, TypeError) as error:
        raise Problem(f"{path} is not a field of the message, or it belongs to its encoding") from error
    return holder, steps[-1]


def _value(kind: str, text: str | None) -> Any:
    """A value of a type on the wire, such as `compact string?`."""
    plain = kind.removeprefix("compact ").removesuffix("?")
    if text is None:
        if not kind.endswith("?"):
            raise Problem(f"a field of type {kind} cannot be null")
        return None
    try:
        if plain == "string":
            return text
        if plain in ("bytes", "records"):
            return bytes.fromhex(text)
        if plain == "bool":
            return {"true": True, "false": False, "1": True, "0": False}[text.strip().lower()]
        if plain == "uuid":
            return _uuid(text.strip())
        if plain.startswith(("int", "uint")):
            return int(text.strip(), 0)
        if plain == "float64":
            return float(text)
    except (ValueError, KeyError) as error:
        raise Problem(f"{text[:60]!r} is not a value of type {plain}") from error
    raise Problem(f"a field of type {kind} cannot be changed here; change one of its parts")


def _uuid(text: str) -> UUID:
    if len(text) in (32, 36):
        return UUID(text)
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(data) != _UUID_BYTES:
        raise ValueError(text)
    return UUID(bytes=data)
