"""Compaction: the last record of each key, and what must be kept besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, Clock, batch, keyed, records
from tests.log.conftest import DIRECTORY

from kafkawire.log import LogConfig, MemoryFiles, Partition
from kafkawire.records import Batch, BatchBuilder, read_batches
from kafkawire.records._kernel.twins import payload

if TYPE_CHECKING:
    from tests.log.conftest import OpenLog

pytestmark = pytest.mark.twin

DAY = 86_400_000


@pytest.fixture
def log(open_log: OpenLog) -> Partition:
    return open_log(cleanup_policy="compact", segment_bytes=100_000)


def put(log: Partition, pairs: dict[bytes, bytes | None], **arguments: object) -> None:
    """Append a batch and finish its segment."""
    log.append(keyed(pairs, **arguments))  # type: ignore[arg-type]  # passed through
    log.roll()


def state(log: Partition) -> dict[bytes | None, bytes | None]:
    """The last value per key, for a reader from the beginning."""
    return {record.key: record.value for record in records(log)}


def stored(log: Partition) -> list[Batch]:
    return [found for segment in log.segments for found in read_batches(segment.file.read(0, segment.size))]


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd", "snappy"])
def test_of_each_key_the_last_record_stays_with_its_offset(log: Partition, codec: str) -> None:
    put(log, {b"a": b"1", b"b": b"1", b"c": b"1"}, codec=codec)
    put(log, {b"b": b"2", b"d": b"1"}, codec=codec)
    put(log, {b"a": b"2"}, codec=codec)
    assert log.compact()
    assert [(record.offset, record.key, record.value) for record in records(log)] == [
        (2, b"c", b"1"),
        (3, b"b", b"2"),
        (4, b"d", b"1"),
        (5, b"a", b"2"),
    ]
    assert [(b.base_offset, b.last_offset, b.record_count, b.codec.name.lower()) for b in stored(log)] == [
        (0, 2, 1, codec),
        (3, 4, 2, codec),
        (5, 5, 1, codec),
    ]


def test_the_growing_segment_is_not_touched_but_counts_later(log: Partition) -> None:
    put(log, {b"a": b"1"})
    log.append(keyed({b"a": b"2"}))
    assert log.compact()
    assert [record.value for record in records(log)] == [b"1", b"2"]
    assert not log.compact()


def test_headers_and_bytes_that_are_not_text_survive(log: Partition) -> None:
    builder = BatchBuilder()
    builder.append(b"a", b"1", timestamp=NOW, headers=[("trace", b"\xff"), ("trace", None), ("", b"")])
    builder.append(b"b", b"1", timestamp=NOW + 7)
    log.append(builder.build())
    log.roll()
    put(log, {b"b": b"2"})
    log.compact()
    first = records(log)[0]
    assert first.headers == (("trace", b"\xff"), ("trace", None), ("", b""))
    assert stored(log)[0].max_timestamp == NOW


def test_small_segments_are_merged(log: Partition) -> None:
    for number in range(8):
        put(log, {b"k%d" % number: b"v"})
    assert log.compact()
    assert [segment.base_offset for segment in log.segments] == [0, 8]
    assert len(records(log)) == 8


def test_merged_segments_stay_within_segment_bytes(open_log: OpenLog) -> None:
    size = len(keyed({b"k0": b"v"}))
    log = open_log(cleanup_policy="compact", segment_bytes=3 * size)
    for number in range(9):
        put(log, {b"k%d" % number: b"v"})
    log.compact()
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6, 9]


def test_it_waits_until_enough_is_dirty(open_log: OpenLog) -> None:
    log = open_log(cleanup_policy="compact", min_cleanable_dirty_ratio=0.6)
    put(log, {b"%d" % n: b"v" for n in range(50)})
    assert log.compact()
    put(log, {b"1": b"w"})
    assert not log.compact()
    assert log.compact(force=True)


def test_it_does_not_wait_longer_than_the_largest_lag(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(cleanup_policy="compact", min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=DAY)
    put(log, {b"1": b"v"})
    log.compact(force=True)
    put(log, {b"1": b"w"})
    assert not log.compact()
    clock.advance(DAY + 1)
    assert log.compact()


def test_young_records_are_left_alone(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(cleanup_policy="compact", min_compaction_lag_ms=1000)
    put(log, {b"1": b"v"})
    assert not log.compact(force=True)
    clock.advance(1000)
    assert log.compact()


class TestTombstones:
    def test_a_tombstone_gets_a_horizon_first_and_goes_after_it(self, log: Partition, clock: Clock) -> None:
        put(log, {b"a": b"1", b"b": b"1"})
        put(log, {b"a": None, b"c": b"1"}, timestamp=NOW + 5)
        log.compact()
        (_, second) = stored(log)
        assert second.has_delete_horizon
        assert second.delete_horizon == NOW + DAY
        assert [(r.key, r.value, r.timestamp) for r in second.records()] == [
            (b"a", None, NOW + 5),
            (b"c", b"1", NOW + 5),
        ]
        clock.advance(DAY)
        put(log, {b"z": b"1"}, timestamp=clock())
        log.compact(force=True)
        assert state(log) == {b"b": b"1", b"c": b"1", b"z": b"1"}

    def test_the_horizon_is_not_moved_by_a_second_cleaning(self, log: Partition, clock: Clock) -> None:
        put(log, {b"a": None})
        log.compact()
        clock.advance(DAY // 2)
        put(log, {b"b": b"1"})
        log.compact(force=True)
        assert stored(log)[0].delete_horizon == NOW + DAY

    def test_a_batch_of_old_tombstones_at_the_end_stays_empty(self, log: Partition, clock: Clock) -> None:
        put(log, {b"a": None})
        log.compact()
        clock.advance(DAY)
        log.cleaned_offset = 0
        log.compact(force=True)
        (only,) = stored(log)
        assert (only.size, only.record_count, only.base_timestamp, only.base_offset) == (61, 0, -1, 0)
        assert log.end_offset == 1


class TestTransactions:
    def test_aborted_records_go_and_committed_stay(self, log: Partition, clock: Clock) -> None:
        log.append(batch(b"kept", key=b"a", producer=(1, 0, 0), transactional=True))
        log.append_marker(1, 0, 0, commit=True)
        log.append(batch(b"lost", key=b"a", producer=(1, 0, 1), transactional=True))
        log.append_marker(1, 0, 0, commit=False)
        log.append(batch(b"end", key=b"z", producer=(1, 0, 2)))
        log.roll()
        log.compact()
        assert [record.value for record in records(log)] == [b"kept", b"end"]
        assert [b.is_control for b in stored(log)] == [False, True, True, False]
        assert len(log.aborted_transactions(0, 99)) == 1

    def test_a_marker_goes_after_its_records_and_its_horizon(self, log: Partition, clock: Clock) -> None:
        log.append(batch(b"lost", key=b"a", producer=(1, 0, 0), transactional=True))
        log.append_marker(1, 0, 0, commit=False)
        log.append(batch(b"end", key=b"z", producer=(1, 0, 1)))
        log.roll()
        log.compact()
        assert len(log.aborted_transactions(0, 99)) == 1
        log.cleaned_offset = 0
        log.compact(force=True)
        assert log.aborted_transactions(0, 99) == []
        (marker, _) = stored(log)
        assert marker.delete_horizon == NOW + DAY
        clock.advance(DAY)
        log.cleaned_offset = 0
        log.compact(force=True)
        assert [b.is_control for b in stored(log)] == [False]
        assert [record.value for record in records(log)] == [b"end"]

    def test_an_open_transaction_stops_it(self, log: Partition) -> None:
        put(log, {b"a": b"1"})
        put(log, {b"a": b"2"})
        log.append(batch(b"open", key=b"a", producer=(1, 0, 0), transactional=True))
        log.roll()
        put(log, {b"a": b"3"})
        log.compact()
        assert [record.value for record in records(log)] == [b"2", b"open", b"3"]

    def test_the_last_batch_of_a_producer_stays_to_remember_its_sequence(
        self, log: Partition, open_log: OpenLog
    ) -> None:
        log.append(batch(b"1", key=b"a", producer=(7, 2, 40)))
        put(log, {b"b": b"1"})
        put(log, {b"a": b"2", b"b": b"2"})
        log.compact()
        first = stored(log)[0]
        assert (first.record_count, first.producer_id, first.producer_epoch, first.last_sequence) == (0, 7, 2, 40)
        again = open_log(clean=False, cleanup_policy="compact")
        assert again.append(batch(b"1", key=b"a", producer=(7, 2, 40))).duplicate


def test_readers_keep_what_they_hold(log: Partition) -> None:
    put(log, {b"a": b"1"})
    put(log, {b"a": b"2"})
    held = log.read(0, 10_000)
    before = bytes(held.read())
    log.compact()
    assert held.read() == before
    assert log.read(0, 10_000).read() != before


def test_compacted_logs_survive_restarts(log: Partition, open_log: OpenLog) -> None:
    for number in range(6):
        put(log, {b"%d" % (number % 2): b"%d" % number})
    log.compact()
    expected = [(record.offset, record.value) for record in records(log)]
    for clean in (False, True):
        again = open_log(clean=clean, cleanup_policy="compact", segment_bytes=100_000)
        assert [(record.offset, record.value) for record in records(again)] == expected
        assert again.end_offset == 6
        again.close()


def test_old_formats_in_the_log_are_compacted_in_their_format(files: MemoryFiles, open_log: OpenLog) -> None:
    parts = []
    for offset, (key, value) in enumerate([(b"a", b"1"), (b"b", b"1"), (b"a", b"2")]):
        builder = BatchBuilder(magic=1, compression="gzip", base_offset=2 * offset)
        builder.append(key, value, timestamp=NOW)
        builder.append(b"filler", b"%d" % offset, timestamp=NOW)
        parts.append(builder.build())
    files.open(DIRECTORY / "00000000000000000000.log", create=True).write(0, parts)
    log = open_log(clean=False, cleanup_policy="compact")
    log.roll()
    log.compact(force=True)
    assert {record.key: (record.offset, record.value) for record in records(log)} == {
        b"b": (2, b"1"),
        b"a": (4, b"2"),
        b"filler": (5, b"2"),
    }
    assert {found.magic for found in stored(log)} == {1}


@pytest.mark.parametrize("stage", range(1, 12))
def test_a_swap_that_a_crash_interrupted_is_completed_or_forgotten(clock: Clock, stage: int) -> None:
    from kafkawire.messages.errors import KafkaStorageError
    from kafkawire.testing.faulty_files import Fault, FaultyFiles

    files = FaultyFiles(clock)
    files.make_directory(DIRECTORY)
    config = LogConfig(cleanup_policy="compact")
    log = Partition(files, DIRECTORY, config, clock)
    for number in range(6):
        put(log, {b"%d" % (number % 2): b"%d" % number})
        log.append(batch(b"x", key=b"t", producer=(1, 0, number), transactional=True))
        log.append_marker(1, 0, 0, commit=False)
    log.roll()
    log.flush()
    whole = state(log)
    files.arm(Fault("rename", after=stage))
    with pytest.raises(KafkaStorageError):
        log.compact()
    assert {r.key: r.value for r in records(log) if r.key != b"t"} == {k: v for k, v in whole.items() if k != b"t"}
    assert log.offset_for_timestamp(NOW) is not None
    for after in (files.killed(), files.unplugged()):
        again = Partition(after, DIRECTORY, config, clock, clean=False)
        visible = {r.key: r.value for r in records(again) if r.key != b"t"}
        assert visible == {key: value for key, value in whole.items() if key != b"t"}
        assert [segment.base_offset for segment in again.segments] == sorted({s.base_offset for s in again.segments})
        assert again.compact(force=True) in (True, False)
        assert {r.key: r.value for r in records(again) if r.key != b"t"} == visible


@pytest.mark.parametrize("shift", [0, 5, -5, 10**12, -(10**12)])
def test_thinning_keeps_records_byte_for_byte_but_for_the_shift(shift: int) -> None:
    builder = BatchBuilder()
    for number in range(5):
        builder.append(b"k%d" % number, b"v" * number * 60, timestamp=NOW + number, headers=[("h", b"%d" % number)])
    raw = builder.build()[61:]
    thinned = payload.thin(raw, bytes([0, 1, 0, 1, 1]), shift)
    expected = BatchBuilder(delete_horizon=NOW - shift)
    for number in (1, 3, 4):
        expected.append(
            b"k%d" % number, b"v" * number * 60, timestamp=NOW + number, headers=[("h", b"%d" % number)], offset=number
        )
    assert thinned == expected.build()[61:]
