"""The engine in Python: the reference for the tests of the compiled one, and its replacement if it was not built.

The rules of reading and of writing are in `reader` and `writer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire._codec.errors import TRAILING, CodecError, DecodeError, fault
from kafkawire._codec.plan import UNLIMITED
from kafkawire._codec.reader import Reader
from kafkawire._codec.writer import Writer

if TYPE_CHECKING:
    from kafkawire._codec.plan import Plan

Buffer = bytes | bytearray | memoryview


def decode(plan: Plan, buffer: Buffer, offset: int = 0, allow_trailing: bool = False) -> Any:
    """The value at `offset`; bytes after it are an error unless allowed."""
    value, end = decode_prefix(plan, buffer, offset)
    size = len(buffer) if not isinstance(buffer, memoryview) else buffer.nbytes
    if end < size and not allow_trailing:
        error = fault(TRAILING, end, size - end, 0)
        error.title = plan.title
        raise error
    return value


def decode_prefix(plan: Plan, buffer: Buffer, offset: int = 0, limit: int = UNLIMITED) -> tuple[Any, int]:
    """The value at `offset`, and the offset after it; ElementLimitError if its arrays hold more than `limit`."""
    view = memoryview(buffer)
    if view.format != "B" or view.ndim != 1 or not view.c_contiguous:
        view = view.cast("B")
    if not 0 <= offset <= len(view):
        raise ValueError(f"offset {offset} lies outside the buffer of {len(view)} bytes")
    reader = Reader(view, offset, limit)
    try:
        return reader.struct(plan), reader.position
    except DecodeError as error:
        error.title = plan.title
        raise


def encode(plan: Plan, value: Any) -> bytes:
    """The bytes of a value."""
    writer = Writer(None)
    _run(writer, plan, value)
    return bytes(writer.out)


def encode_parts(plan: Plan, value: Any) -> list[bytes | memoryview]:
    """The bytes of a value in parts; its records are neither copied nor joined, and external ones stay as they are."""
    parts: list[bytes | memoryview] = []
    writer = Writer(parts)
    _run(writer, plan, value)
    if writer.out or not parts:
        parts.append(bytes(writer.out))
    return parts


def _run(writer: Writer, plan: Plan, value: Any) -> None:
    try:
        writer.struct(plan, value)
    except CodecError as error:
        error.title = plan.title
        raise
