"""Answers of the page: JSON, lines of JSON while work goes on, and raw bytes.

Rules:
- Numbers that may be larger than 2**53 are sent as strings; each view does so for its own fields.
- A stream ends with a line `{"end": ...}`. A stream that breaks off has no such line, so the page recognises it.
- A stream whose reader is gone is cancelled: its generator is closed.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

_JSON = "application/json"
_LINES = "application/x-ndjson"


def json_text(data: object) -> str:
    """Compact JSON. Bytes become hex; numbers that are not finite become strings.

    >>> json_text({"a": b"x", "b": float("inf")})
    '{"a":"78","b":"inf"}'
    """
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_other, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), default=_other)


def answer(data: object, status: int = 200) -> Response:
    """JSON."""
    text = json_text(data)
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=_JSON)


def stream(events: AsyncGenerator[dict[str, Any], None]) -> Response:
    """Lines of JSON, one per event. An error becomes the last line."""
    return StreamingResponse(_lines(events), media_type=_LINES)


async def _lines(events: AsyncGenerator[dict[str, Any], None]) -> AsyncIterator[bytes]:
    async with aclosing(events):
        try:
            async for event in events:
                yield json_text(event).encode("utf-8", "backslashreplace") + b"\n"
        except (KafkaWireError, OSError) as error:
            yield json_text({"end": "error", "error": str(error)}).encode("utf-8", "backslashreplace") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and value - value != 0 else value


def _other(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, UUID):
        from kafkawire.messages import uuid_text  # the schemas are not needed to listen

        return uuid_text(value)
    return str(value)
