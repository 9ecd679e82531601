"""The bytes before a value that name its schema, as Confluent's serialisers write them.

Rules:
- In front of the value: magic 0 and the id in four bytes, or magic 1 and the GUID in sixteen.
- Or in a header, `__key_schema_id` or `__value_schema_id`, with the same bytes; the value is then bare. A header
  counts before the bytes of the value.
- With Protobuf the path of the message within its file follows: a count and that many indexes, as zigzag numbers. A
  count of 0 is short for the first message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkawire.values.errors import FramingError

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
_ID_SIZE: Final = 5
_GUID_SIZE: Final = 17
_MOST_INDEXES: Final = 100
_LONGEST_VARINT: Final = 5

Headers = Sequence[tuple[str, Any]]
"""Headers of a record; their values are bytes or null."""


class Frame(NamedTuple):
    """The schema of a value by id or GUID, the path of its message, and the value itself."""

    schema: int | UUID
    indexes: tuple[int, ...]
    payload: bytes | memoryview


def parse_frame(data: bytes, headers: Headers = (), *, is_key: bool = False, has_indexes: bool = False) -> Frame:
    """Split a framed value.

    >>> parse_frame(b"\\x00\\x00\\x00\\x00\\x07abc")
    Frame(schema=7, indexes=(), payload=b'abc')
    """
    name = KEY_HEADER if is_key else VALUE_HEADER
    named = next((value for header, value in reversed(headers) if header == name), None)
    if named is not None:
        schema, end = _schema_of(named, f"header {name}")
        indexes, after = _indexes(named, end) if has_indexes else ((), end)
        if after != len(named):
            raise FramingError(f"header {name}: expected {after} bytes, found {len(named)}")
        return Frame(schema, indexes, data)
    schema, end = _schema_of(data, "the value")
    indexes, end = _indexes(data, end) if has_indexes else ((), end)
    return Frame(schema, indexes, data[end:])


def frame_of(schema: int | UUID, indexes: Sequence[int] | None = None) -> bytes:
    """The bytes that name a schema; `indexes` is the path of a Protobuf message.

    >>> frame_of(7), frame_of(7, [0]), frame_of(7, [1, 0])
    (b'\\x00\\x00\\x00\\x00\\x07', b'\\x00\\x00\\x00\\x00\\x07\\x00', b'\\x00\\x00\\x00\\x00\\x07\\x04\\x02\\x00')
    """
    head = b"\x01" + schema.bytes if isinstance(schema, UUID) else b"\x00" + schema.to_bytes(4, "big")
    if indexes is None:
        return head
    if list(indexes) == [0]:
        return head + b"\x00"
    return head + b"".join(_varint(number) for number in (len(indexes), *indexes))


def _schema_of(data: bytes, what: str) -> tuple[int | UUID, int]:
    if not data:
        raise FramingError(f"{what} is empty, expected magic 0 and the id of a schema")
    if data[0] == 0 and len(data) >= _ID_SIZE:
        return int.from_bytes(data[1:_ID_SIZE], "big"), _ID_SIZE
    if data[0] == 1 and len(data) >= _GUID_SIZE:
        return UUID(bytes=bytes(data[1:_GUID_SIZE])), _GUID_SIZE
    if data[0] in (0, 1):
        size = _GUID_SIZE if data[0] else _ID_SIZE
        raise FramingError(f"{what} has {len(data)} bytes, expected at least {size} for magic {data[0]} and a schema")
    raise FramingError(f"{what} begins with byte 0x{data[0]:02x}, expected magic 0 and the id of a schema")


def _indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    count, at = _read_varint(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MOST_INDEXES:
        raise FramingError(f"the path of the message has {count} indexes, expected 0 to {_MOST_INDEXES}")
    found = []
    for _ in range(count):
        number, at = _read_varint(data, at)
        if number < 0:
            raise FramingError(f"the path of the message has index {number}, expected 0 or more")
        found.append(number)
    return tuple(found), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for count in range(_LONGEST_VARINT):
        if at + count >= len(data):
            raise FramingError("the value ends within the path of its message")
        byte = data[at + count]
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + count + 1
    raise FramingError("the path of the message has an index of more than 32 bits")


def _varint(number: int) -> bytes:
    left, out = number << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
