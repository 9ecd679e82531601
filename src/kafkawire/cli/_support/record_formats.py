"""Records as text in kcat's formats, and kcat's JSON envelope.

Rules:
- %s or %v value, %S its size, %R its size in four bytes, %k key, %K its size, %t topic, %p partition, %o offset,
  %T timestamp, %h headers, %% a percent sign; \\n \\t \\r \\0 \\xNN as in C. A null key or value is empty (or the
  text for null) and has size -1.
- JSON has kcat's keys. A key or value that is not UTF-8 is base64, in a field with the suffix `_base64`.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkawire.client import ConsumerRecord

_TSTYPES: Final = {-1: "unknown", 0: "create", 1: "logappend"}
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|.)")
_NAMED: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_VERBS: Final[dict[str, Callable[[ConsumerRecord], bytes | None]]] = {
    "s": lambda record: record.value,
    "v": lambda record: record.value,
    "S": lambda record: _size(record.value),
    "R": lambda record: (-1 if record.value is None else len(record.value)).to_bytes(4, "big", signed=True),
    "k": lambda record: record.key,
    "K": lambda record: _size(record.key),
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp,
    "h": lambda record: b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers),
    "%": lambda record: b"%",
}


def unescape(text: str) -> bytes:
    """Replace the escapes in a text.

    >>> unescape(r"a\\tb\\x41\\n")
    b'a\\tbA\\n'
    """
    parts, at = [], 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[at : found.start()].encode())
        code = found[1]
        parts.append(bytes([int(code[1:], 16)]) if len(code) == 3 else _NAMED.get(code, found[0].encode()))
        at = found.end()
    return b"".join([*parts, text[at:].encode()])


def formatter(text: str, null: bytes = b"") -> Callable[[ConsumerRecord], bytes]:
    """A function that formats a record by a percent format."""
    pieces: list[bytes | Callable[[ConsumerRecord], bytes | None]] = []
    at = 0
    while at < len(text):
        percent = text.find("%", at)
        if percent < 0:
            percent = len(text)
        if percent > at:
            pieces.append(unescape(text[at:percent]))
        if percent < len(text):
            verb = text[percent + 1 : percent + 2]
            if verb not in _VERBS:
                raise UsageError(f"-f {text!r}: %{verb} is not one of {' '.join('%' + each for each in _VERBS)}")
            pieces.append(_VERBS[verb])
        at = percent + 2

    def write(record: ConsumerRecord) -> bytes:
        parts = (piece if isinstance(piece, bytes) else piece(record) for piece in pieces)
        return b"".join(null if part is None else part for part in parts)

    return write


def as_json(record: ConsumerRecord, decoded: Mapping[str, Any] = {}, fault: str = "") -> bytes:
    """A record in kcat's JSON envelope, as one line; `decoded` are the key and the value if they were decoded."""
    envelope: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": _TSTYPES.get(record.timestamp_type, "unknown"),
        "ts": record.timestamp,
    }
    if record.headers:
        envelope["headers"] = [part for name, value in record.headers for part in (name, _lossy(value))]
    for name, side, data in (("key", "key", record.key), ("payload", "value", record.value)):
        if side in decoded:
            envelope[name] = decoded[side]
        else:
            put_bytes(envelope, name, data)
    if fault:
        envelope["fault"] = fault
    return json.dumps(envelope, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def put_bytes(envelope: dict[str, Any], name: str, data: bytes | None) -> None:
    """Set a field to the text of the bytes, or to base64 if they are not UTF-8, with the suffix `_base64`."""
    try:
        envelope[name] = None if data is None else data.decode()
    except UnicodeDecodeError:
        assert data is not None
        envelope[f"{name}_base64"] = base64.b64encode(data).decode()


def _size(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


def _lossy(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
