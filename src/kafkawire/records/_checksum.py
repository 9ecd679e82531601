"""CRC-32C in Python, for the Python form of the kernel.

Rules:
- It uses the library fastcrc if that is installed. Otherwise it uses wide integers, which is tens of times slower.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.records._kernel.kernel import Buffer

_LANE = 64


@cache
def _crc_tables() -> tuple[list[int], list[bytes], list[list[int]]]:
    """The effect of a byte on the register, the same as four planes of bytes, and the effect of a lane of zeros."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    planes = [bytes(value >> 8 * plane & 0xFF for value in table) for plane in range(4)]
    shifts = []
    for plane in range(4):
        row = [byte << 8 * plane for byte in range(256)]
        for _ in range(_LANE):
            row = [(value >> 8) ^ table[value & 0xFF] for value in row]
        shifts.append(row)
    return table, planes, shifts


def crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C of any buffer, continuing from `value`; uses the library fastcrc if it is installed."""
    fast = _fast_crc32c()
    if fast is None:
        return plain_crc32c(data, value)
    return fast(data, value)


@cache
def _fast_crc32c() -> Callable[[Buffer, int], int] | None:
    try:
        from fastcrc import crc32
    except ImportError:
        return None
    found: Callable[[Buffer, int], int] = crc32.iscsi
    return found


def plain_crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C without any library.

    A byte-by-byte loop costs 100 ns per byte. So long data is split into lanes of 64 bytes whose registers advance
    together, as four wide integers: `bytes.translate` looks up one byte of every lane at once.
    """
    table, planes, (first, second, third, fourth) = _crc_tables()
    view = memoryview(data).cast("B")
    crc = value ^ 0xFFFFFFFF
    lanes = len(view) // _LANE
    if lanes >= 8:
        wide = bytes(view[: lanes * _LANE])
        a = b = c = d = 0
        whole = int.from_bytes
        for column in range(_LANE):
            index = (whole(wide[column::_LANE], "little") ^ a).to_bytes(lanes, "little")
            a = whole(index.translate(planes[0]), "little") ^ b
            b = whole(index.translate(planes[1]), "little") ^ c
            c = whole(index.translate(planes[2]), "little") ^ d
            d = whole(index.translate(planes[3]), "little")
        for w, x, y, z in zip(*(plane.to_bytes(lanes, "little") for plane in (a, b, c, d)), strict=True):
            crc = first[crc & 255] ^ second[crc >> 8 & 255] ^ third[crc >> 16 & 255] ^ fourth[crc >> 24]
            crc ^= w | x << 8 | y << 16 | z << 24
        view = view[lanes * _LANE :]
    for byte in view:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
