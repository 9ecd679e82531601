"""The reader of OpenTelemetry's metrics: every kind of number, fields that are not known, and hostile bytes."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.otlp import field, gauge, metrics_data, number, pair, point, text, total, varint

from kafkawire.broker._telemetry.otlp import MOST_FIELDS, Point, TelemetryFormatError, read_points

NAMES = st.text(min_size=1, max_size=20)


def test_gauges_and_sums_are_read_with_their_attributes() -> None:
    data = metrics_data(
        gauge("lag", point(2.5, topic="a", partition="0"), point(-3)),
        total("sent", point(7, topic="a")),
        total("open", point(1), monotonic=False, delta=False),
        resource={"group_id": "g"},
    )
    common = ("group_id", "g")
    assert read_points(data) == [
        Point("lag", (common, ("topic", "a"), ("partition", "0")), 2.5, False, False, False),
        Point("lag", (common,), -3, False, False, False),
        Point("sent", (common, ("topic", "a")), 7, True, True, True),
        Point("open", (common,), 1, True, False, False),
    ]


@given(st.lists(st.tuples(NAMES, st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)))))
def test_every_number_is_read_back(numbers: list[tuple[str, float]]) -> None:
    found = read_points(metrics_data(*(gauge(name, point(value)) for name, value in numbers)))
    finite = [(name, value) for name, value in numbers if value not in (float("inf"), float("-inf"))]
    assert [(each.name, each.value) for each in found if each.value == each.value] == finite


def test_values_of_attributes_may_be_numbers_and_switches() -> None:
    values = {"a": number(2, 1), "b": number(3, 2**64 - 5), "c": varint(4 << 3 | 1) + struct.pack("<d", 0.5)}
    attributes = b"".join(field(7, pair(key, value)) for key, value in values.items())
    (found,) = read_points(metrics_data(gauge("m", point(1) + attributes)))
    assert found.attributes == (("a", "true"), ("b", "-5"), ("c", "0.5"))


def test_what_is_not_known_is_skipped() -> None:
    unknown = field(99, b"x") + number(98, 3) + varint(97 << 3 | 5) + b"1234" + varint(96 << 3 | 1) + b"12345678"
    histogram = field(2, field(1, b"h") + field(9, field(1, b"")))
    nameless = field(2, field(5, field(1, point(1))))
    listed = field(7, pair("list", field(5, field(1, text("x")))))
    data = unknown + metrics_data(unknown + histogram, nameless, gauge("m", unknown + point(1) + listed))
    assert read_points(data) == [Point("m", (), 1, False, False, False)]
    assert read_points(b"") == []


@pytest.mark.parametrize(("data", "words"), [
    (b"\x0a\x05abc", "a field of 5 bytes at byte 2, 3 are left"),
    (b"\x0a", "a number ends at byte 1"),
    (b"\xff" * 11, "more than 10 bytes"),
    (b"\x02\x00", "field number 0"),
    (b"\x0b", "wire type 3"),
    (b"\x09\x00", "a field of 8 bytes at byte 1, 1 are left"),
    (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "are left"),
])  # fmt: skip
def test_broken_bytes_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(TelemetryFormatError, match=words):
        read_points(data)


@pytest.mark.parametrize("data", [
    field(1, b"") * MOST_FIELDS + field(1, b""),
    metrics_data(*[field(2, b"")] * MOST_FIELDS),
    metrics_data(gauge("m", *[b""] * MOST_FIELDS)),
    b"\x98\x06\x00" * (MOST_FIELDS + 1),
], ids=["resources", "metrics", "points", "unknown"])  # fmt: skip
def test_many_small_fields_are_refused_soon(data: bytes) -> None:
    began = time.process_time()
    with pytest.raises(TelemetryFormatError, match="more than"):
        read_points(data)
    assert time.process_time() - began < 2


def test_random_bytes_end_in_points_or_in_the_error() -> None:
    random = Random(714)
    good = metrics_data(total("sent", point(7, topic="a")), gauge("lag", point(2.5, topic="b")), resource={"g": "h"})
    for _ in range(5_000):
        data = bytearray(good)
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        with suppress(TelemetryFormatError):
            assert all(isinstance(each, Point) for each in read_points(bytes(data)))
