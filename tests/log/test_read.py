"""Reading a partition: by offset, by time, and the aborted transactions for readers of committed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, Clock, batch, records, values

from kafkawire.log import find_largest_timestamp, run_steps
from kafkawire.messages.errors import InvalidProducerEpochError, OffsetOutOfRangeError
from kafkawire.records import BatchBuilder, parse_header, read_batches

if TYPE_CHECKING:
    from tests.log.conftest import OpenLog

    from kafkawire.log import Partition

SIZE = len(batch(b"00", b"01", b"02"))


@pytest.fixture
def log(open_log: OpenLog, clock: Clock) -> Partition:
    """Ten batches of three records, a second apart, in segments of four batches."""
    log = open_log(segment_bytes=4 * SIZE, index_interval_bytes=SIZE)
    for number in range(10):
        log.append(batch(*(b"%02d" % (3 * number + i) for i in range(3)), timestamp=NOW + 1000 * number))
    return log


@pytest.mark.parametrize("offset", range(30))
def test_a_read_starts_with_the_batch_that_holds_the_offset(log: Partition, offset: int) -> None:
    header = parse_header(log.read(offset, 1).read())
    assert header.base_offset <= offset <= header.last_offset
    assert [record.offset for record in records(log, start=offset)] == list(range(offset, 30))


def test_a_read_gives_a_file_range_that_can_be_sent(log: Partition) -> None:
    found = log.read(13, 10_000)
    assert found.path.name == "00000000000000000012.log"
    assert found.position == 0
    assert found.length == len(found) == len(found.read())


def test_a_read_does_not_pass_max_bytes_but_for_the_first_batch(log: Partition) -> None:
    assert len(log.read(0, 3 * SIZE + 5)) == 3 * SIZE + 5
    assert len(log.read(0, 10)) == len(log.read(0, 0)) > 10
    assert len(log.read(0, 10, min_one_batch=False)) == 10


def test_a_read_at_the_end_is_empty_and_past_it_an_error(log: Partition) -> None:
    assert len(log.read(30, 1000)) == 0
    with pytest.raises(OffsetOutOfRangeError, match="offset 31, expected 0 to 30"):
        log.read(31, 1000)


@pytest.mark.parametrize("up_to", range(0, 31, 3))
def test_a_read_stops_before_the_bound(log: Partition, up_to: int) -> None:
    offset, seen = 0, []
    while data := log.read(offset, 10_000, up_to=up_to).read():
        for stored in read_batches(data):
            seen += [record.offset for record in stored.records()]
            offset = stored.next_offset
    assert seen == list(range(up_to))


def test_a_range_stays_readable_when_its_segment_goes(log: Partition) -> None:
    found = log.read(0, 10_000)
    before = bytes(found.read())
    log.delete_records(20)
    assert found.read() == before


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(0, 0), (NOW, 0), (NOW + 1, 3), (NOW + 5000, 15), (NOW + 8999, 27), (NOW + 9000, 27), (NOW + 9001, None)],
)
def test_the_first_record_at_or_after_a_time(log: Partition, timestamp: int, offset: int | None) -> None:
    found = log.offset_for_timestamp(timestamp)
    assert (found.offset if found else None) == offset


def test_times_before_the_log_start_do_not_count(log: Partition) -> None:
    log.delete_records(10)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert (found.offset, found.timestamp) == (10, NOW + 3000)


def test_times_within_a_batch_and_out_of_order(open_log: OpenLog) -> None:
    log = open_log()
    builder = BatchBuilder(compression="gzip")
    for stamp in (5, 30, 20, 40):
        builder.append(b"k", b"v", timestamp=stamp)
    log.append(builder.build(), leader_epoch=2)
    log.append(batch(b"late", timestamp=10), leader_epoch=3)
    found = log.offset_for_timestamp(20)
    assert found is not None
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, 30, 2)
    largest = run_steps(find_largest_timestamp(log))
    assert largest is not None
    assert (largest.offset, largest.timestamp) == (3, 40)


def test_an_empty_log_has_no_times(open_log: OpenLog) -> None:
    log = open_log()
    assert log.offset_for_timestamp(0) is None
    assert run_steps(find_largest_timestamp(log)) is None


def test_records_before_the_log_start_are_gone(log: Partition) -> None:
    assert log.delete_records(14) == 14
    assert [segment.base_offset for segment in log.segments] == [12, 24]
    with pytest.raises(OffsetOutOfRangeError):
        log.read(13, 1)
    assert values(log)[0] == b"14"
    assert log.delete_records(3) == 14
    assert log.delete_records(-1) == 30
    with pytest.raises(OffsetOutOfRangeError, match="delete before 31, expected at most 30"):
        log.delete_records(31)
    assert values(log) == []


def test_truncation_cuts_whole_batches(log: Partition) -> None:
    log.truncate(13)
    assert log.end_offset == 12
    assert values(log) == [b"%02d" % number for number in range(12)]
    log.append(batch(b"new", timestamp=NOW))
    assert [(record.offset, record.value) for record in records(log, start=12)] == [(12, b"new")]


def test_truncation_to_the_start_and_past_the_end(log: Partition) -> None:
    log.truncate(99)
    assert log.end_offset == 30
    log.truncate(0)
    assert (log.end_offset, len(log.segments), values(log)) == (0, 1, [])


def test_truncation_forgets_sequences_epochs_and_times(open_log: OpenLog) -> None:
    log = open_log(segment_bytes=200)
    for number in range(6):
        log.append(batch(b"x", producer=(5, 0, number), timestamp=NOW + number), leader_epoch=number)
    log.truncate(3)
    assert log.producers.entries[5].last_sequence == 2
    assert log.epochs.latest == 2
    assert log.offset_for_timestamp(NOW + 3) is None
    assert log.append(batch(b"y", producer=(5, 0, 3)), leader_epoch=9).base_offset == 3


class TestTransactions:
    """Two producers, one log: 1 commits what it wrote, 2 aborts."""

    @pytest.fixture
    def log(self, open_log: OpenLog) -> Partition:
        log = open_log(segment_bytes=400)
        log.append(batch(b"a", b"b", producer=(1, 0, 0), transactional=True))
        log.append(batch(b"c", producer=(2, 0, 0), transactional=True))
        log.append(batch(b"plain"))
        return log

    def test_the_last_stable_offset_is_the_first_open_transaction(self, log: Partition) -> None:
        assert (log.last_stable_offset, log.high_watermark) == (0, 4)
        log.append_marker(1, 0, 0, commit=True)
        assert log.last_stable_offset == 2
        log.append_marker(2, 0, 0, commit=False)
        assert log.last_stable_offset == log.end_offset == 6

    def test_aborted_transactions_of_a_range(self, log: Partition) -> None:
        log.append_marker(1, 0, 0, commit=True)
        log.append_marker(2, 0, 0, commit=False)
        (aborted,) = log.aborted_transactions(0, 6)
        assert (aborted.producer_id, aborted.first_offset, aborted.last_offset) == (2, 2, 5)
        assert log.aborted_transactions(0, 2) == []
        assert log.aborted_transactions(6, 9) == []

    def test_aborted_transactions_across_segments(self, log: Partition) -> None:
        for number in range(20):
            log.append(batch(b"x", producer=(3, 0, number), transactional=True))
            log.append_marker(3, 0, 0, commit=number % 2 == 0)
        log.append_marker(1, 0, 0, commit=False)
        assert len(log.segments) > 3
        firsts = [entry.first_offset for entry in log.aborted_transactions(0, log.end_offset)]
        assert firsts == [*range(6, 44, 4), 0]

    def test_markers_take_offsets_and_are_not_data(self, log: Partition) -> None:
        result = log.append_marker(1, 0, 3, commit=True)
        assert (result.base_offset, log.end_offset) == (4, 5)
        assert len(log.read(4, 1000)) == 78
        assert values(log) == [b"a", b"b", b"c", b"plain"]

    def test_a_marker_of_an_old_epoch_is_refused(self, log: Partition) -> None:
        log.append_marker(1, 3, 0, commit=False)
        with pytest.raises(InvalidProducerEpochError):
            log.append_marker(1, 2, 0, commit=True)
