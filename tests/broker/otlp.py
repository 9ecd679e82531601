"""Writes the metrics of OpenTelemetry as protobuf, for tests."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    """A field that contains bytes, a text or a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def pair(key: str, value: bytes) -> bytes:
    return field(1, key.encode()) + field(2, value)


def text(value: str) -> bytes:
    return field(1, value.encode())


def point(value: float, **attributes: str) -> bytes:
    """A NumberDataPoint; integers and floats have fields of their own."""
    fixed = varint(6 << 3 | 1) + struct.pack("<q", value) if isinstance(value, int) else b""
    fixed = fixed or varint(4 << 3 | 1) + struct.pack("<d", value)
    return (
        varint(3 << 3 | 1)
        + struct.pack("<Q", 7)
        + fixed
        + b"".join(field(7, pair(key, text(each))) for key, each in attributes.items())
    )


def gauge(name: str, *points: bytes) -> bytes:
    return field(2, field(1, name.encode()) + field(5, b"".join(field(1, each) for each in points)))


def total(name: str, *points: bytes, delta: bool = True, monotonic: bool = True) -> bytes:
    """A sum."""
    body = b"".join(field(1, each) for each in points) + number(2, 1 if delta else 2) + number(3, int(monotonic))
    return field(2, field(1, name.encode()) + field(7, body))


def metrics_data(*metrics: bytes, resource: Mapping[str, str] | None = None) -> bytes:
    """A MetricsData of one resource and one scope."""
    about = b"".join(field(1, pair(key, text(value))) for key, value in (resource or {}).items())
    return field(1, field(1, about) + field(2, field(1, b"") + b"".join(metrics)))
