"""The metrics of a push: OpenTelemetry's MetricsData (OTLP v1), from protobuf's bytes.

Rules:
- Only sums and gauges are read, because clients of Kafka send nothing else (KIP-714). Other kinds are skipped.
- The bytes are hostile. Every length is checked against the bytes left, nothing is read recursively, and after
  MOST_FIELDS fields the payload is refused. So the time is bounded whatever is sent.
- A field that is not known is skipped, as protobuf demands. The last value of a repeated single field counts.
- The reader is here, and not a library, because it needs nine messages of a stable format: the package `protobuf` would
  be a dependency of the broker.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    Buffer = bytes | bytearray | memoryview
    Value = int | memoryview
    """A varint, the bits of a fixed number, or the bytes of a text or message."""

MOST_FIELDS: Final = 60_000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10
_SIGN: Final = 1 << 63
_DELTA: Final = 1
_DOUBLE: Final = struct.Struct("<d")


class TelemetryFormatError(KafkaWireError):
    """Bytes that are not metrics of OpenTelemetry."""


class Point(NamedTuple):
    """One number of one metric."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    value: float
    is_sum: bool
    """Whether numbers of this metric may be added up; a gauge is the state at one time."""
    is_delta: bool
    """Whether a sum has grown by the value since the last push."""
    is_monotonic: bool


class _Reader:
    """The fields of messages, with one count for the whole payload."""

    def __init__(self) -> None:
        self._left = MOST_FIELDS

    def fields(self, data: Buffer) -> Iterator[tuple[int, int, Value]]:
        """The number, the wire type and the value of each field of a message."""
        view, at = memoryview(data), 0
        while at < len(view):
            self._left -= 1
            if self._left < 0:
                raise TelemetryFormatError(f"more than {MOST_FIELDS} fields in a push of metrics")
            tag, at = _varint(view, at)
            number, kind = tag >> 3, tag & 7
            if not number:
                raise TelemetryFormatError(f"field number 0 at byte {at} of a message")
            if kind == _VARINT:
                value, at = _varint(view, at)
                yield number, kind, value
                continue
            if kind == _BYTES:
                size, at = _varint(view, at)
            elif kind in _SIZES:
                size = _SIZES[kind]
            else:
                raise TelemetryFormatError(f"wire type {kind} at byte {at} of a message")
            if size > len(view) - at:
                raise TelemetryFormatError(f"a field of {size} bytes at byte {at}, {len(view) - at} are left")
            part = view[at : at + size]
            at += size
            yield number, kind, part if kind == _BYTES else int.from_bytes(part, "little")

    def messages(self, data: Buffer, number: int) -> Iterator[memoryview]:
        """The messages of one field."""
        for found, _, value in self.fields(data):
            if found == number and isinstance(value, memoryview):
                yield value

    def points(self, data: Buffer) -> Iterator[Point]:
        """The numbers of a MetricsData."""
        for resource_metrics in self.messages(data, 1):
            common: tuple[tuple[str, str], ...] = ()
            scopes = []
            for number, _, value in self.fields(resource_metrics):
                if isinstance(value, memoryview):
                    if number == 1:
                        common = tuple(self.attributes(value, 1))
                    elif number == 2:
                        scopes.append(value)
            for scope in scopes:
                for metric in self.messages(scope, 2):
                    yield from self._metric(metric, common)

    def attributes(self, data: Buffer, number: int) -> Iterator[tuple[str, str]]:
        """The attributes of a message, whose values are texts, switches and numbers."""
        for pair in self.messages(data, number):
            key, text = "", None
            for found, _, value in self.fields(pair):
                if isinstance(value, memoryview):
                    if found == 1:
                        key = _text(value)
                    elif found == 2:
                        text = self._any_value(value)
            if key and text is not None:
                yield key, text

    def _any_value(self, data: Buffer) -> str | None:
        text = None
        for number, kind, value in self.fields(data):
            if number == 1 and isinstance(value, memoryview):
                text = _text(value)
            elif number == 2 and kind == _VARINT:
                text = "true" if value else "false"
            elif number == 3 and isinstance(value, int):
                text = str(_signed(value))
            elif number == 4 and isinstance(value, int) and kind == _FIXED64:
                text = str(_double(value))
        return text

    def _metric(self, data: Buffer, common: tuple[tuple[str, str], ...]) -> Iterator[Point]:
        name, body, is_sum = "", None, False
        for number, _, value in self.fields(data):
            if isinstance(value, memoryview):
                if number == 1:
                    name = _text(value)
                elif number in (5, 7):  # gauge, sum
                    body, is_sum = value, number == 7
        if body is None or not name:
            return
        numbers, is_delta, is_monotonic = [], False, False
        for number, kind, value in self.fields(body):
            if number == 1 and isinstance(value, memoryview):
                numbers.append(value)
            elif is_sum and kind == _VARINT:
                if number == 2:
                    is_delta = value == _DELTA
                elif number == 3:
                    is_monotonic = bool(value)
        for each in numbers:
            found = self._number(each)
            if found is not None:
                own = tuple(self.attributes(each, 7))
                yield Point(name, (*common, *own), found, is_sum, is_delta, is_monotonic)

    def _number(self, data: Buffer) -> float | None:
        found: float | None = None
        for number, kind, value in self.fields(data):
            if kind == _FIXED64 and isinstance(value, int):
                if number == 4:
                    found = _double(value)
                elif number == 6:
                    found = _signed(value)
        return found


def read_points(data: Buffer) -> list[Point]:
    """The numbers in the metrics of a push; TelemetryFormatError if the bytes are not metrics.

    >>> gauge = bytes.fromhex("0a036c6167" + "2a0b" + "0a09" + "210000000000000440")  # name lag; a gauge of one double
    >>> scope = bytes([0x12, len(gauge)]) + gauge
    >>> resource = bytes([0x12, len(scope)]) + scope
    >>> [(point.name, point.value) for point in read_points(bytes([0x0A, len(resource)]) + resource)]
    [('lag', 2.5)]
    """
    return list(_Reader().points(data))


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    found = 0
    for place in range(_LONGEST_VARINT):
        if at >= len(view):
            raise TelemetryFormatError(f"a number ends at byte {at}, where its message ends")
        byte = view[at]
        at += 1
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return found & 0xFFFF_FFFF_FFFF_FFFF, at
    raise TelemetryFormatError(f"a number of more than {_LONGEST_VARINT} bytes at byte {at}")


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "replace")


def _signed(value: int) -> int:
    return value - (_SIGN << 1) if value & _SIGN else value


def _double(bits: int) -> float:
    found: float = _DOUBLE.unpack(bits.to_bytes(8, "little"))[0]
    return found if math.isfinite(found) else math.nan
