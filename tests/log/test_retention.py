"""The segments that retention deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.log.batches import NOW, Clock, batch, keyed, values
from tests.log.conftest import DIRECTORY

from kafkawire.log._segment import stem

if TYPE_CHECKING:
    from tests.log.conftest import OpenLog

    from kafkawire.log import MemoryFiles

SIZE = len(batch(b"0"))
DAY = 86_400_000


def test_segments_older_than_retention_ms_go(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(segment_bytes=2 * SIZE, retention_ms=10 * DAY)
    for number in range(6):
        log.append(batch(b"%d" % number, timestamp=NOW - (6 - number) * 3 * DAY))
    assert log.apply_retention() == [0]
    assert values(log) == [b"2", b"3", b"4", b"5"]
    clock.advance(100 * DAY)
    assert log.apply_retention() == [2, 4]
    assert (log.log_start_offset, log.end_offset, values(log)) == (6, 6, [])
    log.append(batch(b"next", timestamp=clock()))
    assert values(log) == [b"next"]


def test_one_young_record_keeps_its_segment(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(segment_bytes=2 * SIZE, segment_ms=100 * DAY, retention_ms=DAY)
    for stamp in (NOW - 50 * DAY, NOW, NOW - 50 * DAY, NOW - 50 * DAY, NOW):
        log.append(batch(b"x", timestamp=stamp))
    assert log.apply_retention() == []


def test_without_timestamps_the_files_age_counts(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(segment_bytes=2 * SIZE, retention_ms=DAY)
    for _ in range(4):
        log.append(batch(b"x", timestamp=-1))
    assert log.apply_retention() == []
    clock.advance(DAY + 1)
    assert log.apply_retention() == [0, 2]


def test_segments_beyond_retention_bytes_go(open_log: OpenLog) -> None:
    log = open_log(segment_bytes=2 * SIZE, retention_bytes=3 * SIZE, retention_ms=-1)
    for number in range(10):
        log.append(batch(b"%d" % number))
    log.apply_retention()
    assert log.segments.size >= 3 * SIZE
    assert values(log) == [b"6", b"7", b"8", b"9"]


def test_a_compacted_topic_without_delete_keeps_everything(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(segment_bytes=2 * SIZE, retention_ms=1, cleanup_policy="compact")
    for number in range(4):
        log.append(batch(b"%d" % number))
    clock.advance(DAY)
    assert log.apply_retention() == []


def test_deleted_records_go_whatever_the_policy(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(segment_bytes=2 * SIZE, cleanup_policy="compact")
    for number in range(6):
        log.append(batch(b"%d" % number))
    log.delete_records(3)
    assert [segment.base_offset for segment in log.segments] == [2, 4]
    assert log.snapshots.offsets[0] >= 2


def test_files_of_deleted_segments_stay_for_a_while(open_log: OpenLog, clock: Clock, files: MemoryFiles) -> None:
    log = open_log(segment_bytes=2 * SIZE, file_delete_delay_ms=60_000)
    for number in range(6):
        log.append(batch(b"%d" % number))

    def leaving() -> set[str]:
        return {entry.name[:20] for entry in files.list(DIRECTORY) if entry.name.endswith(".deleted")}

    log.delete_records(2)
    clock.advance(30_000)
    log.delete_records(4)
    log.apply_retention()
    assert leaving() == {stem(0), stem(2)}
    clock.advance(30_000)
    log.apply_retention()
    assert leaving() == {stem(2)}
    assert values(open_log(clean=False, log_start=4, segment_bytes=2 * SIZE)) == [b"4", b"5"]
    assert leaving() == set()


def test_files_that_compaction_replaced_stay_for_a_while(open_log: OpenLog, clock: Clock, files: MemoryFiles) -> None:
    log = open_log(segment_bytes=2 * SIZE, file_delete_delay_ms=60_000, cleanup_policy="compact")
    for number in range(6):
        log.append(keyed({b"k": b"%d" % number}))
    assert log.compact(force=True)
    assert any(entry.name.endswith(".deleted") for entry in files.list(DIRECTORY))
    clock.advance(60_000)
    log.apply_retention()
    assert not any(entry.name.endswith(".deleted") for entry in files.list(DIRECTORY))
