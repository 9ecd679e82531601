"""Frames as text to copy: JSON as `kafkawire decode --json` prints it, and Python code that makes the message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire.inspect import render_json
from kafkawire.messages import CodecError, message_class
from kafkawire.web._bytes.versions import body_of_frame
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.inspect import Explanation

_INDENT = "    "


def as_json(frame: Explanation) -> str:
    """The tree of a frame as JSON."""
    return json.dumps(render_json(frame), ensure_ascii=False, indent=1)


def as_code(frame: Explanation) -> str:
    """Python code that makes the message of a frame and encodes it."""
    body = body_of_frame(frame)
    cls = message_class(frame.message)
    try:
        message = cls.decode(body, frame.version)
    except CodecError as error:
        raise Problem(f"only a frame without a fault becomes code: {error}") from error
    head = ["from kafkawire.messages import " + frame.message, ""]
    if "UUID(" in (made := _code(message, frame.message, "")):
        head.insert(0, "from uuid import UUID\n")
    return "\n".join([*head, f"message = {made}", f"body = message.encode({frame.version})", ""])


def _code(value: Any, name: str, indent: str) -> str:
    """A struct as a call of its class, with the fields that do not have their default."""
    fresh = type(value)()
    inside = indent + _INDENT
    parts = []
    for slot in value.__shape__.slots:
        held = getattr(value, slot.attribute)
        if held == getattr(fresh, slot.attribute):
            continue
        parts.append(f"{inside}{slot.attribute}={_value(held, name, inside)},")
    return f"{name}()" if not parts else "\n".join([f"{name}(", *parts, f"{indent})"])


def _value(value: Any, owner: str, indent: str) -> str:
    if hasattr(value, "__shape__"):
        return _code(value, f"{owner.split('.')[0]}.{type(value).__name__}", indent)
    if isinstance(value, list):
        inside = indent + _INDENT
        made = [_value(each, owner, inside) for each in value]
        if all("\n" not in each for each in made) and sum(map(len, made)) < 80:
            return f"[{', '.join(made)}]"
        return "\n".join(["[", *(f"{inside}{each}," for each in made), f"{indent}]"])
    if isinstance(value, memoryview | bytes | bytearray):
        return f'bytes.fromhex("{bytes(value).hex()}")'
    return f'UUID("{value}")' if isinstance(value, UUID) else repr(value)
