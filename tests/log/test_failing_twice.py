"""A failed write of held batches, and a disk that goes on failing: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.batches import Clock, batch, records

from kafkawire.log import LogConfig, LogDirectory, Partition
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing.faulty_files import Fault, FaultyFiles

ROOT = Path("/data")
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=1)
KINDS = ("write", "truncate", "create", "rename", "sync", "sync_directory", "remove", "read")


class FailingTwice(FaultyFiles):
    """A disk on which other faults wait for the first one to strike."""

    def __init__(self, then: list[Fault]) -> None:
        super().__init__()
        self.then = then

    def due(self, kind: str) -> Fault | None:
        struck = super().due(kind)
        if struck is not None:
            self.faults += self.then
            self.then = []
        return struck


class Client:
    """An idempotent producer of one partition: it resends what was not acknowledged, in order."""

    def __init__(self, log: Partition, producer: int) -> None:
        self.log = log
        self.producer = producer
        self.sent: list[bytes] = []
        self.acknowledged = 0

    def data(self, number: int) -> bytes:
        return batch(self.sent[number], producer=(self.producer, 0, number))

    def hold(self, count: int, leader_epoch: int = 0) -> None:
        """Send batches that the log may hold; settle, and take note of what was acknowledged."""
        start = len(self.sent)
        self.sent += [b"%d of %d" % (number, self.producer) for number in range(start, start + count)]
        answered = start
        try:
            for number in range(start, start + count):
                self.log.append(self.data(number), hold=True, leader_epoch=leader_epoch)
                answered = number + 1
        except KafkaStorageError:
            pass
        try:
            self.log.write_held()
        except KafkaStorageError:
            return
        self.acknowledged = max(self.acknowledged, answered)

    def resend(self, leader_epoch: int) -> None:
        for number in range(self.acknowledged, len(self.sent)):
            self.log.append(self.data(number), leader_epoch=leader_epoch)
        self.acknowledged = len(self.sent)


def found(log: Partition) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in records(log)]


def run(disk: FailingTwice, write: int, keep: int) -> None:
    logs = LogDirectory(ROOT, files=disk, clock=Clock(), config=CONFIG)
    clients = [Client(logs.create("t", number), number) for number in range(2)]
    for client in clients:
        client.hold(2)
        assert client.acknowledged == 2
    disk.arm(Fault("write", after=write, keep=keep))
    for client in clients:
        client.hold(5, leader_epoch=1)
    disk.faults.clear()
    disk.then = []
    for client in clients:
        log = client.log
        before = found(log)
        assert [offset for offset, _ in before] == list(range(log.end_offset))
        assert [value for _, value in before] == client.sent[: len(before)]
        assert len(before) >= client.acknowledged
        again = LogDirectory(ROOT, files=disk.killed(), clock=Clock(), config=CONFIG)
        stored = found(again.partitions["t", client.producer])
        assert stored[: len(before)] == before
        assert [value for _, value in stored] == client.sent[: len(stored)]
        client.resend(leader_epoch=1)
        client.hold(3, leader_epoch=2)
        assert client.acknowledged == len(client.sent)
    expected = [list(enumerate(client.sent)) for client in clients]
    assert [found(client.log) for client in clients] == expected
    killed = LogDirectory(ROOT, files=disk.killed(), clock=Clock(), config=CONFIG)
    assert [found(killed.partitions["t", number]) for number in range(2)] == expected
    for client in clients:
        assert [log.epochs.entries for log in (client.log, killed.partitions["t", client.producer])] == [
            client.log.epochs.entries
        ] * 2
        for number in range(len(client.sent) - 5, len(client.sent)):
            assert client.log.append(client.data(number)).duplicate
    logs.close()
    clean = LogDirectory(ROOT, files=disk.unplugged(), clock=Clock(), config=CONFIG)
    assert clean.was_clean
    for number in range(2):
        log = clean.partitions["t", number]
        assert (found(log), log.findings) == (expected[number], [])
        for offset in range(log.end_offset):
            assert records(log, start=offset)[0].offset == offset


@pytest.mark.parametrize("keep", [0, 40, 100])
@pytest.mark.parametrize("write", range(8))
def test_one_failure(write: int, keep: int) -> None:
    disk = FailingTwice([])
    run(disk, write, keep)


@pytest.mark.parametrize("after", [*range(5), -1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", range(8))
def test_another_failure_after_the_first(write: int, kind: str, after: int) -> None:
    """Once, after some operations of its kind, or each time until the disk heals."""
    run(FailingTwice([Fault(kind, after=max(0, after), sticky=after < 0)]), write, 40)


@pytest.mark.parametrize("keep", [0, 40, 100])
@pytest.mark.parametrize("write", range(8))
def test_everything_fails_until_the_disk_heals(write: int, keep: int) -> None:
    run(FailingTwice([Fault(kind, sticky=True) for kind in KINDS]), write, keep)
