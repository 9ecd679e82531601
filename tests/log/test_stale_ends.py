"""Bytes that a recovery cut off stay away, also if the power fails again before the log is flushed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.log.batches import Clock, batch, values

from kafkawire.log import LogConfig, LogDirectory
from kafkawire.testing.faulty_files import FaultyFile, FaultyFiles

ROOT = Path("/data")
CUTS = 400
LOG = ROOT / "t-0" / f"{0:020d}.log"


def open_logs(disk: FaultyFiles, segment_bytes: int) -> LogDirectory:
    return LogDirectory(ROOT, files=disk, clock=Clock(), config=LogConfig(segment_bytes=segment_bytes))


def old_disk(count: int, segment_bytes: int, damaged: int) -> FaultyFiles:
    """A disk with batches of equal size, all durable but for a byte of one of them, as an unclean stop leaves it."""
    disk = FaultyFiles()
    logs = open_logs(disk, segment_bytes)
    log = logs.create("t", 0)
    for number in range(count):
        log.append(batch(b"old%d" % number))
    logs.flush()
    after = disk.unplugged()
    after.remove(ROOT / "recovery-point-offset-checkpoint")
    file = after.open(LOG)
    assert isinstance(file, FaultyFile)
    for content in (file.data, file.durable):
        content[len(batch(b"old0")) * damaged + 70] ^= 1
    for folder in (ROOT / "t-0", ROOT, ROOT.parent):
        after.sync_directory(folder)
    return after


def ends(disk: FaultyFiles, segment_bytes: int) -> set[tuple[bytes | None, ...]]:
    """The values in the log after many cuts of the power at the same moment."""
    logs = (open_logs(disk.unplugged(Random(seed)), segment_bytes) for seed in range(CUTS))
    return {tuple(values(each.partitions["t", 0])) for each in logs}


def test_batches_behind_a_torn_one_do_not_come_back_behind_new_ones() -> None:
    disk = old_disk(4, 1 << 20, damaged=1)
    log = open_logs(disk, 1 << 20).partitions["t", 0]
    assert values(log) == [b"old0"]
    log.append(batch(b"new1"))
    log.append(batch(b"new2"))
    assert ends(disk, 1 << 20) == {(b"old0",), (b"old0", b"new1"), (b"old0", b"new1", b"new2")}


def test_segments_behind_a_torn_one_do_not_come_back_behind_new_batches() -> None:
    two = 2 * len(batch(b"old0"))
    disk = old_disk(4, two, damaged=1)
    assert disk.exists(LOG.with_name(f"{2:020d}.log"))
    log = open_logs(disk, two).partitions["t", 0]
    assert values(log) == [b"old0"]
    log.append(batch(b"new1"))
    assert ends(disk, two) == {(b"old0",), (b"old0", b"new1")}
