"""Batches that came together and are written together: all or nothing, and never a reader that misses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, batch, values
from tests.log.conftest import DIRECTORY

from kafkawire.log import LogConfig, Partition
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing.faulty_files import Fault

if TYPE_CHECKING:
    from tests.log.conftest import OpenOn

    from kafkawire.testing.faulty_files import FaultyFiles


def hold(log: Partition, *contents: bytes, producer: int = -1, sequence: int = 0) -> list[int]:
    """Hold one batch for each value; the offsets they got."""
    found = []
    for number, value in enumerate(contents):
        numbered = None if producer < 0 else (producer, 0, sequence + number)
        found.append(log.append(batch(value, producer=numbered), hold=True).base_offset)
    return found


def test_held_batches_leave_in_one_write(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk)
    log.append(batch(b"first"))
    before = disk.counts["write"]
    assert hold(log, b"a", b"b", b"c") == [1, 2, 3]
    assert values(open_on(disk.killed())) == [b"first"]
    log.write_held()
    assert disk.counts["write"] == before + 1
    assert values(open_on(disk.killed())) == [b"first", b"a", b"b", b"c"]


def test_a_reader_finds_what_is_held(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk)
    hold(log, b"a", b"b")
    assert values(log) == [b"a", b"b"]
    log.write_held()
    assert values(log) == [b"a", b"b"]


def test_an_append_that_is_not_held_comes_after_what_is(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk)
    hold(log, b"a")
    assert log.append(batch(b"b")).base_offset == 1
    assert values(open_on(disk.killed())) == [b"a", b"b"]


def test_held_batches_are_written_before_a_flush_and_before_a_new_segment(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk, segment_bytes=200)
    hold(log, b"a", b"b", b"c")
    log.flush()
    assert log.recovery_point == 3
    assert len(log.segments) == 2
    assert values(open_on(disk.unplugged(), segment_bytes=200)) == [b"a", b"b", b"c"]


def test_flush_messages_counts_what_is_held(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk, flush_messages=2)
    hold(log, b"a", b"b")
    assert values(open_on(disk.unplugged())) == [b"a", b"b"]


@pytest.mark.parametrize("keep", [0, 50, 100])
def test_a_failed_write_undoes_everything_that_was_held(disk: FaultyFiles, open_on: OpenOn, keep: int) -> None:
    log = open_on(disk)
    log.append(batch(b"kept", producer=(7, 0, 0)))
    hold(log, b"a", b"b", producer=7, sequence=1)
    disk.arm(Fault("write", keep=keep))
    with pytest.raises(KafkaStorageError):
        log.write_held()
    assert log.end_offset == 1
    assert values(log) == [b"kept"]
    log.write_held()
    assert hold(log, b"a", b"b", producer=7, sequence=1) == [1, 2]
    log.write_held()
    assert values(log) == [b"kept", b"a", b"b"]
    assert values(open_on(disk.killed())) == [b"kept", b"a", b"b"]


def test_after_a_failed_write_each_append_hears_of_its_own_failure(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk)
    hold(log, b"a", b"b")
    disk.arm(Fault("write", sticky=True))
    with pytest.raises(KafkaStorageError):
        log.write_held()
    with pytest.raises(KafkaStorageError):
        hold(log, b"c")
    disk.faults.clear()
    assert hold(log, b"d") == [0]
    log.write_held()
    assert values(log) == [b"d"]


def test_a_loss_while_a_new_segment_starts_is_reported_at_once_and_when_it_is_written(
    disk: FaultyFiles, open_on: OpenOn
) -> None:
    log = open_on(disk, segment_bytes=200)
    hold(log, b"a", b"b")
    disk.arm(Fault("write"))
    with pytest.raises(KafkaStorageError):
        hold(log, b"c")
    with pytest.raises(KafkaStorageError):
        log.write_held()
    assert hold(log, b"d") == [0]
    log.write_held()
    assert values(log) == [b"d"]


def test_a_restart_and_then_held_batches_keep_the_largest_timestamp(disk: FaultyFiles, open_on: OpenOn) -> None:
    open_on(disk).close()
    log = Partition(disk, DIRECTORY, LogConfig(), lambda: NOW, clean=True)
    log.append(batch(b"a", timestamp=NOW + 50), hold=True)
    log.append(batch(b"b", timestamp=NOW), hold=True)
    log.write_held()
    found = log.offset_for_timestamp(NOW + 1)
    assert found is not None
    assert found.offset == 0
