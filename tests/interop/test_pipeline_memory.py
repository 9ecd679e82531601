"""A source much larger than the memory there is: 4 GB of one partition, with 1 GB for Spark."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkawire.records import from_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1500)]
SEGMENTS, SEGMENT, VALUE = 4, 1_000_000_000, 1000
LARGEST_WORKER = 400 * 2**20
LARGEST_JVM = 2560 * 2**20  # a heap of 1 GB, as much of buffers outside of it, and the JVM itself


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Path]:
    """Segments without an index, of values that are all different, removed again because of their size."""
    directory = tmp_path / "logs" / "large-0"
    directory.mkdir(parents=True)
    chance, offset = random.Random(1), 0
    for _ in range(SEGMENTS):
        with (directory / f"{offset:020}.log").open("wb") as file:
            while file.tell() < SEGMENT:
                noise = chance.randbytes(VALUE * 16_000)
                values = [noise[at : at + VALUE] for at in range(0, len(noise), VALUE)]
                times = pa.array(range(offset, offset + len(values)))
                block = pa.table({"timestamp": times, "key": pa.nulls(len(values), pa.binary()), "value": values})
                file.write(from_arrow(block, base_offset=offset, batch_bytes=16_384))
                offset += len(values)
    (tmp_path / "count").write_text(str(offset))
    yield directory
    for file_left in directory.iterdir():
        file_left.unlink()


def test_a_source_larger_than_memory_becomes_tables(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "kafkawire", "pipeline", "run", "--source", "segments", str(logs)]
    options = ["--out", str(out), "--json", "--master", "local[2]", "--conf", "spark.driver.memory=1g"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        peaks = watch(process)
        printed, _ = process.communicate()
    for file in (out / "records").rglob("*.parquet"):
        file.unlink()
    summary = json.loads(printed)
    sizes = {name: round(size / 2**20) for name, size in peaks.items()}
    with capsys.disabled():
        sys.stdout.write(f"\n{summary['bytes']} bytes in {summary['seconds']} s; largest processes, MiB: {sizes}\n")
    assert summary["records"] == int((tmp_path / "count").read_text())
    assert summary["bytes"] > 4_000_000_000
    assert peaks["worker"] < LARGEST_WORKER
    assert peaks["java"] < LARGEST_JVM


def watch(process: subprocess.Popen[str]) -> dict[str, int]:
    """The largest resident size of any process of a kind, as long as the process runs; filled in the background."""
    peaks: dict[str, int] = defaultdict(int)

    def look() -> None:
        while process.poll() is None:
            for kind, size in sizes_below(process.pid):
                peaks[kind] = max(peaks[kind], size)
            threading.Event().wait(0.2)

    threading.Thread(target=look, daemon=True).start()
    return peaks


def sizes_below(root: int) -> Iterator[tuple[str, int]]:
    """The processes below one, and their resident sizes."""
    parents: dict[int, int] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(directory.name)] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    for number in parents:
        above = number
        while above in parents and above != root:
            above = parents[above]
        if above != root:
            continue
        try:
            command = Path(f"/proc/{number}/cmdline").read_bytes()
            pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
        except OSError:
            continue
        kind = "java" if b"java\0" in command else "worker" if b"pyspark" in command else "driver"
        yield kind, pages * 4096
