"""The findings of a partition when it opens: checkpoints that its log does not confirm, missing segments, cuts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.log.batches import Clock, batch, values

from kafkawire.log import LogConfig, LogDirectory
from kafkawire.log._segment import stem
from kafkawire.log.storage.files import read_file
from kafkawire.testing.faulty_files import FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.log.conftest import OpenLog

    from kafkawire.log import MemoryFiles, Partition
    from kafkawire.log.storage.memory import MemoryFile

ROOT = Path("/data")
CONFIG = LogConfig(segment_bytes=200)
SETTINGS = {"segment_bytes": 200}
STARTS, POINTS = "log-start-offset-checkpoint", "recovery-point-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
WRITTEN = [b"%d" % number for number in range(8)]


def open_logs(disk: FaultyFiles, config: LogConfig = CONFIG) -> LogDirectory:
    return LogDirectory(ROOT, files=disk, clock=Clock(), config=config)


def put(disk: FaultyFiles, path: Path, content: bytes) -> None:
    disk.remove(path)
    disk.open(path, create=True).write(0, [content])


@pytest.fixture
def stopped(request: pytest.FixtureRequest) -> FaultyFiles:
    """A disk with eight records in four segments, after a clean stop or a kill."""
    disk = FaultyFiles()
    logs = open_logs(disk)
    for value in WRITTEN:
        logs.create("t", 0).append(batch(value))
    if request.param == "clean":
        logs.close()
    else:
        logs.flush()
        logs.checkpoint()
    return disk.killed()


both = pytest.mark.parametrize("stopped", ["clean", "killed"], indirect=True)


@both
@pytest.mark.parametrize("name", [STARTS, POINTS, CLEANED])
@pytest.mark.parametrize("offset", [9, 1_000_000, 2**63 - 1])
def test_a_checkpoint_past_the_logs_end_takes_no_records(
    stopped: FaultyFiles, name: str, offset: int, caplog: pytest.LogCaptureFixture
) -> None:
    put(stopped, ROOT / name, f"0\n1\nt 0 {offset}\n".encode())
    log = open_logs(stopped).partitions["t", 0]
    assert (log.log_start_offset, log.end_offset, values(log)) == (0, 8, WRITTEN)
    assert log.recovery_point <= 8
    assert log.cleaned_offset == 0
    (finding,) = log.findings
    assert all(word in finding for word in (str(ROOT / name), "t-0", str(offset), "ends at 8"))
    assert caplog.messages == [finding]
    assert log.append(batch(b"next")).base_offset == 8


@both
def test_the_next_checkpoint_says_what_the_log_confirms(stopped: FaultyFiles) -> None:
    put(stopped, ROOT / STARTS, b"0\n1\nt 0 99\n")
    open_logs(stopped).close()
    assert read_file(stopped, ROOT / STARTS) == b"0\n0\n"
    assert open_logs(stopped).partitions["t", 0].findings == []


@both
@pytest.mark.parametrize("name", [STARTS, POINTS, CLEANED])
@pytest.mark.parametrize("content", [b"", b"noise", b"0\n1\nt 0 -4\n", b"0\n1\nt 0 99999999999999999999\n"])
def test_a_checkpoint_that_cannot_be_read_is_named(stopped: FaultyFiles, name: str, content: bytes) -> None:
    put(stopped, ROOT / name, content)
    logs = open_logs(stopped)
    assert values(logs.partitions["t", 0]) == WRITTEN
    (finding,) = logs.findings
    assert str(ROOT / name) in finding


def test_a_new_directory_has_no_findings() -> None:
    assert open_logs(FaultyFiles()).findings == []


@pytest.mark.parametrize("ends", ["killed", "unplugged", "close"])
def test_records_are_durable_before_they_are_deleted(ends: str) -> None:
    disk = FaultyFiles()
    logs = open_logs(disk)
    log = logs.create("t", 0)
    for value in WRITTEN:
        log.append(batch(value))
    assert logs.delete_records("t", 0, 8) == 8
    if ends == "close":
        logs.close()
    again = open_logs(disk.killed() if ends == "killed" else disk.unplugged()).partitions["t", 0]
    assert (again.log_start_offset, again.end_offset, again.findings) == (8, 8, [])
    assert again.append(batch(b"next")).base_offset == 8


def test_deleting_what_is_durable_costs_no_sync_of_records() -> None:
    disk = FaultyFiles()
    log = open_logs(disk, LogConfig()).create("t", 0)
    for value in WRITTEN:
        log.append(batch(value))
    flush = log.begin_flush()
    flush.run()
    log.finish_flush(flush)
    before = disk.counts["sync"]
    log.delete_records(3)
    assert disk.counts["sync"] == before + 1  # the leader epochs


@pytest.mark.parametrize("gone", ["all", "but the last"])
def test_a_log_of_which_everything_was_deleted_starts_where_it_ended(gone: str) -> None:
    disk = FaultyFiles()
    logs = open_logs(disk)
    log = logs.create("t", 0)
    for value in WRITTEN:
        log.append(batch(value))
    log.roll()
    logs.delete_records("t", 0, 8)
    logs.close()
    if gone == "all":
        for entry in disk.list(ROOT / "t-0"):
            if entry.name.endswith((".log", ".index", ".timeindex")):
                disk.remove(ROOT / "t-0" / entry.name)
    again = open_logs(disk).partitions["t", 0]
    assert (again.log_start_offset, again.end_offset, again.findings) == (8, 8, [])


def test_a_log_that_lost_its_records_starts_where_the_checkpoint_says(open_log: OpenLog) -> None:
    open_log().close()
    again = open_log(log_start=42)
    assert (again.log_start_offset, again.end_offset) == (42, 42)
    (finding,) = again.findings
    assert "42" in finding


def remove_segment(files: MemoryFiles, directory: Path, base: int) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        files.remove(directory / (stem(base) + suffix))


@both
@pytest.mark.parametrize("base", [2, 4])
def test_a_missing_segment_is_reported_with_its_neighbours_and_nothing_else_is_lost(
    stopped: FaultyFiles, base: int
) -> None:
    remove_segment(stopped, ROOT / "t-0", base)
    log = open_logs(stopped).partitions["t", 0]
    assert values(log) == [value for number, value in enumerate(WRITTEN) if number not in (base, base + 1)]
    (finding,) = log.findings
    expected = (str(ROOT / "t-0"), f"offsets {base} to {base + 1} ", stem(base - 2) + ".log", stem(base + 2) + ".log")
    assert all(word in finding for word in expected)


@both
def test_a_missing_last_segment_is_reported(stopped: FaultyFiles) -> None:
    remove_segment(stopped, ROOT / "t-0", 6)
    log = open_logs(stopped).partitions["t", 0]
    (finding,) = log.findings
    assert "t-0 at offset 8, its log ends at 6" in finding


@both
def test_gaps_where_records_were_compacted_away_are_not_reported(stopped: FaultyFiles) -> None:
    remove_segment(stopped, ROOT / "t-0", 2)
    put(stopped, ROOT / CLEANED, b"0\n1\nt 0 6\n")
    assert open_logs(stopped.killed()).partitions["t", 0].findings == []
    put(stopped, ROOT / CLEANED, b"0\n0\n")
    compacted = LogConfig(segment_bytes=200, cleanup_policy="compact")
    assert open_logs(stopped, compacted).partitions["t", 0].findings == []


@both
def test_a_missing_segment_and_a_wrong_recovery_point_take_nothing_else(stopped: FaultyFiles) -> None:
    remove_segment(stopped, ROOT / "t-0", 2)
    put(stopped, ROOT / POINTS, b"0\n1\nt 0 99\n")
    log = open_logs(stopped).partitions["t", 0]
    assert values(log) == [value for number, value in enumerate(WRITTEN) if number not in (2, 3)]
    assert len(log.findings) == 2


def test_a_sealed_segment_with_half_a_batch_is_reported(open_log: OpenLog, filled: Partition) -> None:
    filled.close()
    first = next(iter(filled.segments))
    first.file.truncate(first.size - 10)
    (finding,) = open_log(**SETTINGS).findings
    assert str(first.path) in finding


def test_an_empty_log_is_opened_without_a_look_at_its_segment(
    open_log: OpenLog, files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_log().close()
    opened: list[Path] = []
    plain = files.open

    def open_file(path: Path, *, create: bool = False) -> MemoryFile:
        opened.append(path)
        return plain(path, create=create)

    monkeypatch.setattr(files, "open", open_file)
    assert open_log().findings == []
    assert not [path for path in opened if path.suffix in (".log", ".index", ".timeindex")]


@pytest.fixture
def filled(open_log: OpenLog) -> Partition:
    log = open_log(**SETTINGS)
    for value in WRITTEN:
        log.append(batch(value))
    return log


def crc(log: Partition) -> tuple[int, list[str]]:
    segment = log.segments.starting_at(4)[0]
    segment.file.write(65, [b"\xff\xff"])
    return 4, [f"{segment.path}: cut at byte 0 of {segment.size}: stated CRC"]


def torn(log: Partition) -> tuple[int, list[str]]:
    segment = log.segments.active
    segment.file.truncate(segment.size - 1)
    return 7, [f"{segment.path}: cut at byte 72 of {segment.size - 1}: torn batch"]


def order(log: Partition) -> tuple[int, list[str]]:
    segment = log.segments.active
    segment.file.write(segment.size, [segment.file.read(0, 72)])
    expected = "batch out of order, offset 6, expected 8 or more"
    return 8, [f"{segment.path}: cut at byte {segment.size} of {segment.size + 72}: {expected}"]


def size(log: Partition) -> tuple[int, list[str]]:
    segment = log.segments.active
    segment.file.write(8, [bytes(4)])
    return 6, [f"{segment.path}: cut at byte 0 of {segment.size}: size field 0"]


def lost_end(log: Partition) -> tuple[int, list[str]]:
    segment, following = log.segments.starting_at(4)
    segment.file.truncate(0)
    return 4, [f"{following.path}: removed, {following.size} bytes: offsets 4 to 5 before it were lost"]


@pytest.mark.parametrize("damage", [crc, torn, order, size, lost_end])
def test_a_cut_by_recovery_is_reported_with_its_place_and_the_reason(
    open_log: OpenLog, filled: Partition, damage: Callable[[Partition], tuple[int, list[str]]]
) -> None:
    end, expected = damage(filled)
    later = [segment.path for segment in filled.segments if segment.base_offset > end]
    again = open_log(clean=False, **SETTINGS)
    assert again.end_offset == end
    assert again.findings[0].startswith(expected[0])
    assert all(any(str(path) in finding for finding in again.findings) for path in later)
