"""Batches with impossible headers: whatever a client sends, it is admitted or refused with one of Kafka's errors."""

from __future__ import annotations

import struct

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from tests.log.batches import NOW, batch

from kafkawire.log import LogConfig
from kafkawire.log._admission import SLOW_TO_UNPACK, admit, is_slow
from kafkawire.messages.errors import CorruptRecordError, InvalidRecordError, KafkaError
from kafkawire.records import crc32c

pytestmark = pytest.mark.twin

FIELDS = {
    "base offset": (0, "q"),
    "size": (8, "i"),
    "leader epoch": (12, "i"),
    "magic": (16, "b"),
    "crc": (17, "I"),
    "attributes": (21, "h"),
    "last offset delta": (23, "i"),
    "base timestamp": (27, "q"),
    "largest timestamp": (35, "q"),
    "producer id": (43, "q"),
    "producer epoch": (51, "h"),
    "base sequence": (53, "i"),
    "record count": (57, "i"),
}
WIDTHS = {"b": 1, "h": 2, "i": 4, "I": 4, "q": 8}
CONFIGS = {
    "plain": LogConfig(),
    "compacted": LogConfig(cleanup_policy="compact"),
    "append time": LogConfig(message_timestamp_type="LogAppendTime"),
    "packed": LogConfig(compression_type="gzip"),
    "strict times": LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000),
}
BATCHES = {
    "plain": batch(b"a", b"b", b"c"),
    "idempotent": batch(b"a", b"b", producer=(7, 0, 0)),
    "gzip": batch(b"a" * 300, codec="gzip"),
    "lz4": batch(b"a" * 300, codec="lz4"),
    "zstd": batch(b"a" * 300, codec="zstd"),
    "snappy": batch(b"a" * 300, codec="snappy"),
    "magic 1": batch(b"a", b"b", magic=1),
    "magic 1 gzip": batch(b"a" * 100, b"b", magic=1, codec="gzip"),
    "magic 0": batch(b"a", b"b", magic=0),
}


def extremes(code: str) -> list[int]:
    bits = 8 * WIDTHS[code]
    low, high = (0, 2**bits - 1) if code.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    near = [-2, -1, 0, 1, 2, 13, 14, 48, 49, 50]
    return sorted({low, low + 1, high - 1, high, *(value for value in near if low <= value <= high)})


def with_field(data: bytes, name: str, value: int, *, signed: bool = True) -> bytes:
    """A batch with another value in a field, and the CRC that is due then."""
    at, code = FIELDS[name]
    changed = bytearray(data)
    struct.pack_into(">" + code, changed, at, value)
    if signed and name != "crc" and at > 20:
        changed[17:21] = crc32c(memoryview(changed)[21:]).to_bytes(4, "big")
    return bytes(changed)


def admit_or_refuse(data: bytes, config: LogConfig) -> None:
    try:
        is_slow(data, config)
        admit(data, config, NOW)
    except KafkaError:
        pass


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("data", BATCHES.values(), ids=BATCHES)
def test_only_kafkas_errors_leave_admission_for_extreme_fields(data: bytes, config: LogConfig) -> None:
    for name, (at, code) in FIELDS.items():
        if at + WIDTHS[code] <= len(data):
            for value in extremes(code):
                admit_or_refuse(with_field(data, name, value), config)
                admit_or_refuse(with_field(data, name, value) + BATCHES["plain"], config)


@settings(max_examples=400, deadline=None)
@given(
    data=st.sampled_from(list(BATCHES.values())),
    config=st.sampled_from(list(CONFIGS.values())),
    changes=st.lists(
        st.sampled_from(list(FIELDS)).flatmap(
            lambda name: st.tuples(st.just(name), st.sampled_from(extremes(FIELDS[name][1])))
        ),
        max_size=4,
    ),
    noise=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3),
    cut=st.none() | st.integers(0, 400),
    more=st.binary(max_size=80),
)
def test_only_kafkas_errors_leave_admission(
    data: bytes,
    config: LogConfig,
    changes: list[tuple[str, int]],
    noise: list[tuple[int, int]],
    cut: int | None,
    more: bytes,
) -> None:
    changed = bytearray(data)
    for at, value in noise:
        changed[at % len(changed)] = value
    for name, value in changes:
        if len(changed) >= 61:
            changed = bytearray(with_field(bytes(changed), name, value))
    admit_or_refuse(bytes(changed[:cut]) + more, config)


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 13, 14, 48, 49, 70, 100, 2**31 - 1])
def test_a_size_that_is_not_the_batchs_is_corrupt(size: int) -> None:
    for data in (BATCHES["plain"], BATCHES["plain"] + bytes(SLOW_TO_UNPACK)):
        for config in CONFIGS.values():
            is_slow(with_field(data, "size", size), config)
            with pytest.raises(CorruptRecordError):
                admit(with_field(data, "size", size), config, NOW)


@pytest.mark.parametrize("size", range(1, len(BATCHES["plain"])))
def test_a_batch_that_is_cut_is_corrupt(size: int) -> None:
    with pytest.raises(CorruptRecordError):
        admit(BATCHES["plain"][:size], LogConfig(), NOW)


def test_no_bytes_are_invalid() -> None:
    with pytest.raises(InvalidRecordError):
        admit(b"", LogConfig(), NOW)
