"""Unsigned varints of 32 bits: base 128, low groups first.

Rules:
- At most five bytes; a fifth byte with its top bit set is an error.
- Overlong forms are accepted; the result is a 32-bit pattern, so higher bits are dropped. Only the shortest form is
  written.
"""

from __future__ import annotations

from kafkawire._codec.errors import PAST_END, VARINT, fault


def read_uvarint(view: memoryview | bytes, position: int, end: int) -> tuple[int, int]:
    """The value, and the position after it.

    >>> read_uvarint(bytes.fromhex("ac02"), 0, 2)
    (300, 2)
    """
    result = 0
    for index in range(5):
        if position + index >= end:
            raise fault(PAST_END, position, index + 1, index)
        byte = view[position + index]
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return result & 0xFFFFFFFF, position + index + 1
    raise fault(VARINT, position, 0, 0)


def write_uvarint(out: bytearray, value: int) -> None:
    """Append the shortest form of a value of at most 32 bits."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
