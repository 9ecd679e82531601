"""The log: append, recovery, header hop and opening, on files in a temporary directory.

Rules:
- Rates are of bytes stored, in one thread, with everything in the page cache.
- Pages are made warm first, by files that are written and removed: a page that this machine never touched costs several
  times what the log does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.report import Row
from kafkawire.log import DiskFiles, LogConfig, LogDirectory, Partition
from kafkawire.log.directory import wall_clock
from kafkawire.log.storage.files import map_file
from kafkawire.records import BatchBuilder, batches_to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GIB = 1 << 30
PARTITIONS = 1000
ROUNDS = 12
CONFIG = LogConfig(segment_bytes=2**31 - 1)


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-log-"))
    try:
        warm(root / "warm", GIB + GIB // 4)
        yield from _append_and_recover(root / "append-0")
        yield from _header_hop(root / "hop-0")
        yield from _open_many(root / "many")
    finally:
        shutil.rmtree(root)


def _batch(records: int, size: int) -> bytes:
    """A batch of about `size` bytes; what is in the values does not matter, nothing is compressed."""
    overhead = len(_build(records, 0))
    return _build(records, max(0, (size - overhead) // records - 1))


def _build(records: int, value_size: int) -> bytes:
    builder = BatchBuilder(producer_id=-1)
    for number in range(records):
        builder.append(b"key-%04d" % number, b"v" * value_size, timestamp=wall_clock())
    return builder.build()


def warm(path: Path, size: int) -> None:
    """Have the machine give us memory that files of some size need."""
    with path.open("wb") as file:
        block = bytes(1 << 20)
        for _ in range(size >> 20):
            file.write(block)
    path.unlink()


def _append_and_recover(directory: Path) -> Iterator[Row]:
    data = _batch(100, 16384)
    directory.mkdir()
    log = Partition(DiskFiles(), directory, CONFIG, wall_clock)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(_seconds_each(lambda: log.append(data), GIB // ROUNDS // len(data)))
        bare.append(_seconds_each_bare(directory.with_name("bare"), data, GIB // ROUNDS // len(data)))
    note = f"{min(ours) * 1e6:.1f} us each, a bare pwrite {min(bare) * 1e6:.1f} us"
    yield Row("append 16 KB batches of 100 records, CRC checked", "GB/s", len(data) / min(ours) / 1e9, 0.8, note=note)
    stored = log.segments.size
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        again = Partition(DiskFiles(), directory, CONFIG, wall_clock, clean=False)
        best = min(best, perf_counter() - start)
    assert again.end_offset == log.end_offset
    yield Row("recovery scan of a 1 GiB unclean segment", "GB/s", stored / best / 1e9, 0.7, note=f"{best:.2f} s")
    start = perf_counter()
    reads = 2000
    for number in range(reads):
        log.read(number * 37 % log.end_offset, 1 << 20)
    yield Row("find 1 MB by offset, as a range to send", "us", (perf_counter() - start) / reads * 1e6)


def _seconds_each(work: Callable[[], object], count: int) -> float:
    start = perf_counter()
    for _ in range(count):
        work()
    return (perf_counter() - start) / count


def _seconds_each_bare(path: Path, data: bytes, count: int) -> float:
    positions = iter(range(0, count * len(data), len(data)))
    with path.open("wb") as file:
        descriptor = file.fileno()
        seconds = _seconds_each(lambda: os.pwrite(descriptor, data, next(positions)), count)
    path.unlink()
    return seconds


def _header_hop(directory: Path) -> Iterator[Row]:
    data = _batch(10, 1024)
    directory.mkdir()
    path = directory / "00000000000000000000.log"
    with path.open("wb") as file:
        for _ in range((GIB // 4) // (len(data) * 100)):
            file.write(data * 100)
    view = map_file(path)
    for verify, floor, note in ((False, 1.0, "headers alone"), (True, None, "every CRC checked")):
        best = float("inf")
        for _ in range(3):
            start = perf_counter()
            batches_to_arrow(view, verify=verify)
            best = min(best, perf_counter() - start)
        rate = len(view) / best / 1e9
        yield Row("header hop over a segment of 1 KB batches, to Arrow", "GB/s", rate, floor, note=note)


def _open_many(root: Path) -> Iterator[Row]:
    logs = LogDirectory(root, files=DiskFiles())
    logs.create("topic", 0).append(_batch(10, 1024))
    logs.close()
    for number in range(1, PARTITIONS):
        shutil.copytree(root / "topic-0", root / f"topic-{number}")
    del logs
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        logs = LogDirectory(root, files=DiskFiles())
        best = min(best, perf_counter() - start)
        assert logs.was_clean
        assert len(logs.partitions) == PARTITIONS
        del logs
        (root / ".kafka_cleanshutdown").write_bytes(b"")
    yield Row(
        f"open {PARTITIONS} cleanly closed partitions", "s", best, 1.0, at_most=True, note=f"{os.cpu_count()} cores"
    )
