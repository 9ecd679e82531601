"""How long a broker takes until it answers: as a command, in a test process, and with many partitions.

Rules:
- Each start is a process of its own. The best of several counts, because anything else on the machine adds time.
- The note has the processor time, and the floor: the same with an interpreter that only imports asyncio and uvloop.
- Cost is linear if ten times the partitions take ten times the processor time, beyond a start without any.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.broker import MOST_GROWTH, broker, call, server
from benchmarks.report import Row
from kafkawire.messages import CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 3
STARTS = 10
FEW, MORE, PARTITIONS = 50, 500, 5_000
BARE = "import asyncio, socket, uvloop"
IN_A_TEST = """
from time import perf_counter, process_time
began = perf_counter()
from kafkawire.testing import RunningBroker
with RunningBroker() as broker:
    print(perf_counter() - began, process_time())
"""


class Many(NamedTuple):
    """The seconds, and the seconds of processor time, that partitions took to create and to open."""

    created: float
    creating: float
    opened: float
    opening: float

    def least(self, other: Many) -> Many:
        return Many(*map(min, self, other))


def start_rows() -> Iterator[Row]:
    started, used, memory = [], [], 0.0
    for _ in range(STARTS):
        with server(*broker("--memory")) as running:
            started.append(running.seconds)
            used.append(running.processor_seconds())
            memory = running.memory()
    note = f"processor time {min(used) * 1000:.0f} ms; an interpreter with uvloop {bare_start() * 1000:.0f} ms"
    yield Row("process start to first ApiVersions answer", "ms", min(started) * 1000, 150, at_most=True, note=note)
    yield Row("resident after the first answer", "MB", memory, 80, at_most=True)


def bare_start() -> float:
    """The seconds of a process that imports what every broker needs."""
    taken = []
    for _ in range(STARTS):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", BARE], check=True)
        taken.append(perf_counter() - start)
    return min(taken)


def test_rows() -> Iterator[Row]:
    printed = [subprocess.run([sys.executable, "-c", IN_A_TEST], capture_output=True, text=True, check=True).stdout]
    printed += (
        subprocess.run([sys.executable, "-c", IN_A_TEST], capture_output=True, text=True, check=True).stdout
        for _ in range(STARTS)
    )
    taken, used = zip(*(map(float, each.split()) for each in printed), strict=True)
    note = f"processor time of the process {min(used) * 1000:.0f} ms"
    yield Row("first broker of a test process", "ms", min(taken) * 1000, 300, at_most=True, note=note)


def many(directory: Path, count: int) -> Many:
    """Create a topic by one request and start again; a start without any partition is taken off."""
    topic = CreateTopicsRequest.CreatableTopic(name="many", num_partitions=count, replication_factor=1)
    data = str(directory / f"{count}-{perf_counter()}")
    with server(*broker("--data", data)) as running:
        bare, bare_used = running.seconds, running.processor_seconds()
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            start = perf_counter()
            call(connection, CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 4)
            created = perf_counter() - start
            creating = running.processor_seconds() - bare_used
    assert sum(1 for _ in Path(data).glob("many-*")) == count
    with server(*broker("--data", data)) as running:
        return Many(created, creating, running.seconds - bare, running.processor_seconds() - bare_used)


def partition_rows(directory: Path) -> Iterator[Row]:
    """The time that partitions take to create, by one request, and to open, beside a start without any."""
    found = {}
    for count in (FEW, MORE, PARTITIONS):
        found[count] = many(directory, count)
        for _ in range(ROUNDS - 1):
            found[count] = found[count].least(many(directory, count))
    most, ten, hundred = found[PARTITIONS], found[MORE], found[FEW]
    note = f"processor time {most.creating:.2f} s"
    yield Row(f"creation of {PARTITIONS:,} partitions", "s", most.created, 2, at_most=True, note=note)
    note = f"processor time {most.opening:.2f} s"
    yield Row(f"start with {PARTITIONS:,} partitions, beside one without", "s", most.opened, 1, at_most=True, note=note)
    for work, times in (
        ("creation", (hundred.creating, ten.creating, most.creating)),
        ("start", (hundred.opening, ten.opening, most.opening)),
    ):
        note = ", ".join(f"{n:,}: {t * 1000:.0f} ms" for n, t in zip(found, times, strict=True))
        growth = times[2] / times[1] / (PARTITIONS / MORE)
        name = f"{work} with ten times the partitions"
        yield Row(name, "x linear", growth, MOST_GROWTH, at_most=True, note=note)


def rows() -> Iterator[Row]:
    yield from start_rows()
    yield from test_rows()
    with tempfile.TemporaryDirectory() as directory:
        yield from partition_rows(Path(directory))
