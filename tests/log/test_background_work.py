"""Background work in steps: the log loses nothing, and keeps no file, whatever happens between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import Clock, keyed, records
from tests.log.conftest import DIRECTORY

from kafkawire.log._cleanup.compaction import compaction
from kafkawire.log._cleanup.retention import removal, retention
from kafkawire.log._cleanup.steps import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.log.conftest import OpenLog

    from kafkawire.log import MemoryFiles, Partition
    from kafkawire.log._cleanup.steps import BackgroundWork

VALUES = [b"%d" % number for number in range(6)]


@pytest.fixture
def log(open_log: OpenLog) -> Partition:
    log = open_log(cleanup_policy="compact", segment_bytes=200)
    for value in VALUES:
        log.append(keyed({b"key": value}))
        log.roll()
    return log


def step_by_step(work: BackgroundWork[bool], between: Callable[[int], object]) -> bool:
    """Do the work, and something else after each step."""
    for number in range(1000):
        try:
            step = next(work)
        except StopIteration as end:
            return bool(end.value)
        step()
        between(number)
    raise AssertionError("it never ends")


def names(files: MemoryFiles) -> set[str]:
    return {entry.name.split(".", 1)[1] for entry in files.list(DIRECTORY) if ".log" in entry.name}


def test_records_appended_meanwhile_are_kept(log: Partition, files: MemoryFiles) -> None:
    assert step_by_step(compaction(log), lambda number: log.append(keyed({b"more": b"%d" % number})))
    found = [record.value for record in records(log) if record.key == b"key"]
    more = [record.value for record in records(log) if record.key == b"more"]
    assert found[-1] == VALUES[-1]
    assert len(found) < len(VALUES)
    assert more == [b"%d" % number for number in range(len(more))] != []
    assert names(files) == {"log"}


def test_readers_see_a_whole_log_after_every_step(log: Partition) -> None:
    step_by_step(compaction(log), lambda _: check_offsets(log))


def check_offsets(log: Partition) -> None:
    offsets = [record.offset for record in records(log)]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == len(VALUES) - 1


@pytest.mark.parametrize("when", range(12))
def test_records_that_go_meanwhile_do_not_come_back(log: Partition, files: MemoryFiles, when: int) -> None:
    step_by_step(compaction(log), lambda number: number == when and log.delete_records(4))
    assert min(record.offset for record in records(log)) >= (4 if when < 11 else 0)
    assert [record.value for record in records(log)][-1] == VALUES[-1]
    run(removal(log))
    assert names(files) == {"log"}


@pytest.mark.parametrize("steps", range(1, 12))
def test_work_that_is_given_up_leaves_the_log_as_it_was(
    log: Partition, files: MemoryFiles, open_log: OpenLog, steps: int
) -> None:
    work = compaction(log)
    for _, step in zip(range(steps), work, strict=False):
        step()
    work.close()
    assert [record.value for record in records(log)][-1] == VALUES[-1]
    assert not any("cleaned" in name for name in names(files))
    again = open_log(clean=False, cleanup_policy="compact", segment_bytes=200)
    assert [record.value for record in records(again)] == [record.value for record in records(log)]


def test_files_are_removed_once_by_any_number_of_callers(open_log: OpenLog, files: MemoryFiles, clock: Clock) -> None:
    log = open_log(segment_bytes=200)
    for value in VALUES:
        log.append(keyed({b"key": value}))
        log.roll()
    log.delete_records(4)
    clock.advance(log.config.file_delete_delay_ms)
    first = removal(log)
    next(first)()
    run(removal(log))
    for step in first:
        step()
    assert not log.discarded
    assert names(files) == {"log"}


def test_a_segment_that_is_cleaned_again_keeps_its_files_for_the_whole_delay(
    open_log: OpenLog, files: MemoryFiles, clock: Clock
) -> None:
    log = open_log(cleanup_policy="compact", file_delete_delay_ms=60_000)

    def clean() -> None:
        log.append(keyed({b"key": b"once"}))
        log.roll()
        log.append(keyed({b"key": b"again"}))
        log.roll()
        assert run(compaction(log, force=True))

    clean()
    clock.advance(59_000)
    clean()
    clock.advance(1_000)
    run(removal(log))
    assert files.exists(DIRECTORY / ("0" * 20 + ".log.deleted"))
    clock.advance(59_000)
    run(removal(log))
    assert names(files) == {"log"}


def test_a_failed_step_raises_where_it_was_yielded() -> None:
    def work() -> BackgroundWork[str]:
        try:
            yield lambda: 1 / 0
        except ZeroDivisionError:
            yield lambda: None
            return "mended"
        return "fine"

    assert run(work()) == "mended"


def test_expired_segments_are_out_of_the_log_before_their_files_are_gone(
    open_log: OpenLog, files: MemoryFiles, clock: Clock
) -> None:
    log = open_log(retention_ms=1000, segment_bytes=200)
    for value in VALUES:
        log.append(keyed({b"key": value}))
        log.roll()
    clock.advance(5000)
    work = retention(log)
    next(work)
    assert log.log_start_offset == len(VALUES)
    assert records(log) == []
    assert "log.deleted" in names(files)
    work.close()
    assert open_log(clean=False, retention_ms=1000, segment_bytes=200).log_start_offset == len(VALUES)
    assert names(files) == {"log"}
