"""Values as text of one line, without control characters."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafkawire.messages import uuid_text


def value_text(value: Any, limit: int | None = None) -> str:
    r"""A value in at most `limit` characters; a shortened value ends with an ellipsis.

    >>> value_text("a\x1bb"), value_text(b"\x00\x01"), value_text(b"key"), value_text(None), value_text(True)
    ('"a\\x1bb"', '2 bytes', 'b"key"', 'null', 'true')
    >>> value_text("abcdefghijkl", 8)
    '"abcde…"'
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UUID):
        return uuid_text(value)
    if isinstance(value, str):
        return _quoted(value, limit)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_text(value, limit)
    return str(value)


def visible(text: str) -> str:
    """The text with escapes for characters that are not printable."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _quoted(text: str, limit: int | None) -> str:
    if limit is not None and len(text) > limit:
        text = text[:limit]
        cut = True
    else:
        cut = False
    shown = visible(text)
    if limit is not None and (cut or len(shown) + 2 > limit):
        return f'"{shown[: max(1, limit - 3)]}…"'
    return f'"{shown}"'


def _bytes_text(value: bytes | bytearray | memoryview, limit: int | None) -> str:
    head = bytes(value[: limit * 4]) if limit is not None else bytes(value)
    text = head.decode("utf-8", "replace").rstrip("\ufffd") if limit is not None else head.decode("utf-8", "replace")
    if not value or not text or not all(char.isprintable() or char in "\r\n\t" for char in text) or "\ufffd" in text:
        return f"{len(value)} bytes" if value else "empty"
    if limit is None or len(visible(text)) + 3 <= limit:
        return f"b{_quoted(text, None)}"
    size = f" ({len(value)} bytes)"
    return f"b{_quoted(text, max(4, limit - 1 - len(size)))}{size}"
