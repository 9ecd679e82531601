"""kill -9 of a writing process at random moments: what it acknowledged is there, and every batch is whole.

Writers are forked from a process of its own: it has no threads whose locks they would inherit, and little to copy.
"""

from __future__ import annotations

import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from kafkawire.log import Partition

ROUNDS = 200
LONGEST = 0.03
CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
ACKNOWLEDGEMENT = struct.Struct(">q")


def value_of(sequence: int) -> bytes:
    return b"%d " % sequence * (1 + sequence % 40)


def write_forever(root: Path, pipe: int) -> None:
    """Append batch after batch and tell each one's last sequence once it is acknowledged."""
    logs = LogDirectory(root, files=DiskFiles(), config=CONFIG)
    log = logs.create("t", 0)
    producer = log.producers.entries.get(1)
    sequence = producer.last_sequence + 1 if producer else 0
    for turn in range(10**9):
        builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=sequence)
        for _ in range(1 + sequence % 3):
            builder.append(b"%d" % (sequence % 50), value_of(sequence), timestamp=logs.clock())
            sequence += 1
        log.append(builder.build())
        os.write(pipe, ACKNOWLEDGEMENT.pack(sequence - 1))
        if turn % 97 == 0:
            log.flush()
            logs.checkpoint()
        if turn % 101 == 100:
            log.delete_records(log.segments.active.base_offset)
            logs.checkpoint()


def killed_writer(root: Path, after: float, *, writing_first: bool) -> int:
    """The last sequence a writer acknowledged before it was killed, some time after its start or its first; or -1."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            write_forever(root, writing)
        finally:
            os._exit(1)
    os.close(writing)
    if writing_first:
        select.select([reading], [], [])
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    last = -1
    with os.fdopen(reading, "rb") as acknowledged:
        data = acknowledged.read()
    whole = len(data) // ACKNOWLEDGEMENT.size * ACKNOWLEDGEMENT.size
    if whole:
        last = ACKNOWLEDGEMENT.unpack(data[whole - ACKNOWLEDGEMENT.size : whole])[0]
    return last


def check(log: Partition) -> int:
    """Every batch is whole, in order and what was written; the last sequence in the log."""
    expected = None
    for segment in log.segments:
        stored = read_batches(segment.file.read(0, segment.size))
        for batch in stored:
            assert expected in (None, batch.base_sequence)
            for number, record in enumerate(batch.records()):
                assert record.value == value_of(batch.base_sequence + number)
            expected = batch.last_sequence + 1
        assert stored.partial_tail == 0
        assert segment.file.size() == segment.size
    return -1 if expected is None else expected - 1


def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.test_log_kill", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # A write that the kill interrupted leaves part of a batch, and the next start logs that it was cut.
    assert [line for line in done.stderr.splitlines() if not line.endswith(": torn batch")] == []


def kill_again_and_again(root: Path) -> None:
    moments = random.Random(20261115)
    acknowledged, grown = -1, 0
    for number in range(ROUNDS):
        now = killed_writer(root, moments.random() * LONGEST, writing_first=number % 2 == 0)
        grown += now > acknowledged
        acknowledged = max(acknowledged, now)
        found, start, remembered = inspect(root)
        assert found >= acknowledged or start > acknowledged
        assert remembered >= acknowledged
        acknowledged = remembered
    assert grown >= ROUNDS // 2


def inspect(root: Path) -> tuple[int, int, int]:
    """Recover the log: its last sequence, its start, and the last sequence it remembers."""
    logs = LogDirectory(root, files=DiskFiles(), config=CONFIG)
    log = logs.partitions.get(("t", 0))
    if log is None:
        return -1, 0, -1
    producer = log.producers.entries.get(1)
    return check(log), log.log_start_offset, producer.last_sequence if producer else -1


if __name__ == "__main__":
    kill_again_and_again(Path(sys.argv[1]))
