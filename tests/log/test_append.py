"""Appending to a partition: what is taken, what it becomes, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, Clock, batch, keyed, records, values

from kafkawire.log import RefusedRecordsError, RefusedTimestampsError
from kafkawire.messages.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
)
from kafkawire.records import HEADER_SIZE, BatchBuilder, Codec, crc32c, decompress, parse_header, read_batches

if TYPE_CHECKING:
    from tests.log.conftest import OpenLog

pytestmark = pytest.mark.twin


def test_offsets_and_leader_epoch_are_assigned_and_nothing_else_changes(open_log: OpenLog) -> None:
    log = open_log()
    sent = batch(b"a", b"b", b"c")
    assert log.append(sent, leader_epoch=4).base_offset == 0
    result = log.append(sent, leader_epoch=4)
    assert (result.base_offset, result.last_offset, result.append_time, result.log_start_offset) == (3, 5, -1, 0)
    stored = bytes(log.read(3, 10_000).read())
    header = parse_header(stored)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (3, 5, 4)
    assert stored[16:] == sent[16:]
    assert log.epochs.entries == [(4, 0)]


def test_several_batches_in_one_append(open_log: OpenLog) -> None:
    log = open_log()
    result = log.append(batch(b"a", b"b") + batch(b"c"))
    assert (result.base_offset, result.last_offset) == (0, 2)
    assert values(log) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_producers_codec_is_kept_unless_the_topic_says_otherwise(open_log: OpenLog, codec: str) -> None:
    log = open_log()
    log.append(batch(b"value" * 50, codec=codec))
    assert parse_header(log.read(0, 10_000).read()).codec.name.lower() == codec


def test_an_lz4_frame_that_kafkas_own_clients_cannot_read_is_refused(open_log: OpenLog) -> None:
    frames = pytest.importorskip("lz4.frame")
    sent = batch(b"value" * 50_000, codec="lz4")
    linked = frames.compress(decompress("lz4", sent[HEADER_SIZE:]), block_linked=True)
    checked = sent[21:HEADER_SIZE] + linked
    size, crc = (len(checked) + 9).to_bytes(4, "big"), crc32c(checked).to_bytes(4, "big")
    with pytest.raises(InvalidRecordError, match="linked blocks"):
        open_log().append(sent[:8] + size + sent[12:17] + crc + checked)


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topics_codec_is_applied_on_append(open_log: OpenLog, wanted: str) -> None:
    log = open_log(compression_type=wanted)
    log.append(batch(b"value" * 50, codec="gzip", producer=(1, 0, 0)))
    (stored,) = read_batches(log.read(0, 10_000).read())
    assert stored.codec is (Codec.NONE if wanted == "uncompressed" else Codec.of(wanted))
    assert (stored.producer_id, stored.base_sequence) == (1, 0)
    assert [record.value for record in stored.records()] == [b"value" * 50]


def test_log_append_time_replaces_the_producers(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    result = log.append(batch(b"a", timestamp=5))
    assert result.append_time == NOW
    (stored,) = read_batches(log.read(0, 10_000).read())
    assert (stored.timestamp_type, stored.max_timestamp, stored.base_timestamp) == (1, NOW, 5)
    assert [record.timestamp for record in stored.records()] == [NOW]


def test_the_largest_timestamp_is_the_one_found_in_the_records(open_log: OpenLog) -> None:
    log = open_log()
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp=NOW - 10)
    builder.append(b"k", b"v", timestamp=NOW - 20)
    honest = builder.build()
    boastful = bytearray(honest)
    boastful[35:43] = (NOW + 5).to_bytes(8, "big")
    boastful[17:21] = crc32c(bytes(boastful[21:])).to_bytes(4, "big")
    log.append(bytes(boastful))
    assert bytes(log.read(0, 10_000).read())[16:] == honest[16:]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_old_formats_are_stored_as_batches(open_log: OpenLog, magic: int, codec: str) -> None:
    log = open_log()
    result = log.append(batch(b"a", b"b", b"c", magic=magic, codec=codec))
    assert (result.base_offset, result.last_offset) == (0, 2)
    (stored,) = read_batches(log.read(0, 10_000).read())
    assert (stored.magic, stored.codec.name.lower()) == (2, codec)
    assert [(record.offset, record.value) for record in stored.records()] == [(0, b"a"), (1, b"b"), (2, b"c")]


def changed(data: bytes, position: int, content: bytes, *, seal: bool = True) -> bytes:
    damaged = bytearray(data)
    damaged[position : position + len(content)] = content
    if seal:
        damaged[17:21] = crc32c(bytes(damaged[21:])).to_bytes(4, "big")
    return bytes(damaged)


GOOD = batch(b"a", b"b")


@pytest.mark.parametrize(
    ("data", "refusal", "message"),
    [
        pytest.param(b"", InvalidRecordError, "no batch", id="nothing"),
        pytest.param(GOOD[:-1], CorruptRecordError, "after the last whole batch", id="cut"),
        pytest.param(GOOD + b"\0" * 5, CorruptRecordError, "5 bytes after the last whole batch", id="more"),
        pytest.param(changed(GOOD, 70, b"!", seal=False), CorruptRecordError, "CRC", id="CRC"),
        pytest.param(changed(GOOD, 7, b"\1"), InvalidRecordError, "base offset 1, expected 0", id="base offset"),
        pytest.param(changed(GOOD, 26, b"\2"), InvalidRecordError, "last offset delta 2", id="count and delta"),
        pytest.param(
            changed(GOOD, 23, bytes(8) + bytes(30) + bytes(4)), InvalidRecordError, "0 records", id="no records"
        ),
        pytest.param(changed(GOOD, 60, b"\1"), InvalidRecordError, "last offset delta", id="fewer than there are"),
        pytest.param(changed(GOOD, 22, b"\x20"), InvalidRecordError, "control batch", id="control"),
        pytest.param(changed(GOOD, 22, b"\x10"), InvalidRecordError, "without a producer id", id="transaction"),
        pytest.param(changed(GOOD, 22, b"\x08"), InvalidTimestampError, "LogAppendTime", id="append time"),
        pytest.param(changed(GOOD, 43, bytes(8)), InvalidRecordError, "producer 0", id="producer without sequence"),
        pytest.param(changed(GOOD, 22, b"\x07"), CorruptRecordError, "codec", id="unknown codec"),
        pytest.param(changed(GOOD, 22, b"\x01"), CorruptRecordError, "gzip", id="not gzip"),
        pytest.param(changed(GOOD, 61, b"\x7e"), CorruptRecordError, "length 63", id="record length"),
    ],
)
def test_a_malformed_append_is_refused_and_changes_nothing(
    open_log: OpenLog, data: bytes, refusal: type[Exception], message: str
) -> None:
    log = open_log()
    log.append(GOOD)
    size = log.segments.size
    with pytest.raises(refusal, match=message):
        log.append(data)
    assert (log.end_offset, log.segments.size) == (2, size)


def test_a_batch_larger_than_the_topic_allows(open_log: OpenLog) -> None:
    log = open_log(max_message_bytes=len(GOOD))
    log.append(GOOD)
    with pytest.raises(RecordTooLargeError):
        log.append(batch(b"a", b"bb"))


def test_batches_larger_than_a_segment(open_log: OpenLog) -> None:
    log = open_log(segment_bytes=2 * len(GOOD))
    log.append(GOOD + GOOD)
    with pytest.raises(RecordBatchTooLargeError):
        log.append(GOOD + GOOD + GOOD)


def test_a_compacted_topic_needs_keys_and_names_the_records_without(open_log: OpenLog) -> None:
    log = open_log(cleanup_policy="compact")
    builder = BatchBuilder()
    for key in (b"k", None, b"k", None):
        builder.append(key, b"v", timestamp=NOW)
    with pytest.raises(RefusedRecordsError, match="2 of 4 records have no key") as refusal:
        log.append(builder.build())
    assert [error.index for error in refusal.value.records] == [1, 3]
    assert refusal.value.code == 87


@pytest.mark.parametrize("offset_ms", [-101, 51])
def test_timestamps_too_far_from_the_clock_are_refused_and_named(open_log: OpenLog, offset_ms: int) -> None:
    log = open_log(message_timestamp_before_max_ms=100, message_timestamp_after_max_ms=50)
    builder = BatchBuilder()
    for stamp in (NOW, NOW + offset_ms, -1, NOW - 100, NOW + 50):
        builder.append(b"k", b"v", timestamp=stamp)
    with pytest.raises(RefusedTimestampsError) as refusal:
        log.append(builder.build())
    assert [error.index for error in refusal.value.records] == [1]
    assert refusal.value.code == 32


def test_records_without_timestamps_are_taken(open_log: OpenLog) -> None:
    log = open_log(message_timestamp_before_max_ms=100)
    log.append(batch(b"a", timestamp=-1))
    assert [record.timestamp for record in records(log)] == [-1]


def test_a_duplicate_is_answered_with_the_original_offsets(open_log: OpenLog) -> None:
    log = open_log()
    first = batch(b"a", b"b", producer=(7, 0, 0))
    log.append(first)
    log.append(batch(b"c", producer=(7, 0, 2)))
    again = log.append(first)
    assert (again.base_offset, again.last_offset, again.duplicate) == (0, 1, True)
    assert values(log) == [b"a", b"b", b"c"]


def test_a_gap_in_the_sequence_is_refused(open_log: OpenLog) -> None:
    log = open_log()
    log.append(batch(b"a", producer=(7, 0, 0)))
    with pytest.raises(OutOfOrderSequenceError):
        log.append(batch(b"a", producer=(7, 0, 2)))


@pytest.mark.parametrize(
    ("settings", "wait"),
    [
        pytest.param({"segment_bytes": 200}, 0, id="by size"),
        pytest.param({"segment_ms": 1000}, 1001, id="by time"),
        pytest.param({"segment_index_bytes": 8, "index_interval_bytes": 0}, 0, id="by index"),
    ],
)
def test_a_new_segment_starts(open_log: OpenLog, clock: Clock, settings: dict[str, int], wait: int) -> None:
    log = open_log(**settings)
    for number in range(4):
        log.append(batch(b"v%d" % number, b"w", timestamp=clock()))
        clock.advance(wait)
    assert len(log.segments) > 1
    assert next(segment.base_offset for segment in log.segments) == 0
    assert values(log) == [b"v0", b"w", b"v1", b"w", b"v2", b"w", b"v3", b"w"]


def test_keys_and_headers_come_back(open_log: OpenLog) -> None:
    log = open_log()
    log.append(keyed({b"x": b"1", b"y": None}))
    assert [(record.key, record.value) for record in records(log)] == [(b"x", b"1"), (b"y", None)]
