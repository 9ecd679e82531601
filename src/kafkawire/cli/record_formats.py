"""Records as text: kcat's percent formats, kcat's JSON envelope, and offsets as people type them.

Rules:
- %s or %v value, %S its size, %R its size in four bytes, %k key, %K its size, %t topic, %p partition, %o offset,
  %T timestamp, %h headers, %% a percent sign; \\n \\t \\r \\0 \\xNN as in C. A missing key or value is empty text (or
  what stands for null) and size -1.
- JSON has kcat's keys; what is not UTF-8 stands under the same name with `_base64`.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.cli.commands import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Text with its escapes as the bytes they mean.

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
    """What makes a record into bytes by a percent format."""
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


def as_json(record: ConsumerRecord) -> bytes:
    """A record in kcat's envelope, on a line of its own."""
    envelope: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": _TSTYPES.get(record.timestamp_type, "unknown"),
        "ts": record.timestamp,
    }
    if record.headers:
        envelope["headers"] = [part for name, value in record.headers for part in (name, _lossy(value))]
    _put(envelope, "key", record.key)
    _put(envelope, "payload", record.value)
    return json.dumps(envelope, ensure_ascii=False).encode() + b"\n"


class OffsetSpec(NamedTuple):
    """Where to begin and end: offsets, distances from the end, times, or words."""

    start: str = ""
    start_time: int | None = None
    end_time: int | None = None


def parse_offsets(texts: list[str]) -> OffsetSpec:
    """What -o was given, as kcat takes it: beginning, end, stored, N, -N, s@TIME, e@TIME.

    >>> parse_offsets(["s@1000", "e@2000"])
    OffsetSpec(start='', start_time=1000, end_time=2000)
    """
    spec = OffsetSpec()
    for text in texts:
        if re.fullmatch(r"s@\d+", text):
            spec = spec._replace(start_time=int(text[2:]))
        elif re.fullmatch(r"e@\d+", text):
            spec = spec._replace(end_time=int(text[2:]))
        elif text in ("beginning", "earliest", "end", "latest", "stored") or re.fullmatch(r"-?\d+", text):
            spec = spec._replace(start={"earliest": "beginning", "latest": "end"}.get(text, text))
        else:
            raise UsageError(
                f"-o {text!r}: expected beginning, end, stored, an offset, -N from the end, s@MS or e@MS, "
                "or a file that ends in .parquet"
            )
    return spec


def _size(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


def _put(envelope: dict[str, Any], name: str, data: bytes | None) -> None:
    try:
        envelope[name] = None if data is None else data.decode()
    except UnicodeDecodeError:
        assert data is not None
        envelope[f"{name}_base64"] = base64.b64encode(data).decode()


def _lossy(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
