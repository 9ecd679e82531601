"""The history of leader epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.log.batches import batch
from tests.log.conftest import DIRECTORY

from kafkawire.log import MemoryFiles
from kafkawire.log._leader_epochs import LeaderEpochs
from kafkawire.log.storage.files import read_file
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing.faulty_files import Fault, FaultyFiles

if TYPE_CHECKING:
    from tests.log.conftest import OpenOn

ROOT = Path("/logs")


@pytest.fixture
def files() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(ROOT)
    return files


@pytest.fixture
def epochs(files: MemoryFiles) -> LeaderEpochs:
    epochs = LeaderEpochs(files, ROOT)
    for epoch, start in ((0, 0), (2, 10), (5, 20)):
        epochs.assign(epoch, start)
    return epochs


def test_the_file_is_kafkas(files: MemoryFiles, epochs: LeaderEpochs) -> None:
    assert read_file(files, ROOT / "leader-epoch-checkpoint") == b"0\n3\n0 0\n2 10\n5 20\n"
    assert LeaderEpochs(files, ROOT).entries == epochs.entries


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(0, (0, 10)), (1, (0, 10)), (2, (2, 20)), (4, (2, 20)), (5, (5, 33)), (6, (-1, -1)), (-1, (-1, -1))],
)
def test_an_epoch_ends_where_the_next_one_starts(epochs: LeaderEpochs, asked: int, answer: tuple[int, int]) -> None:
    assert epochs.end_offset(asked, 33) == answer


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(2, (2, 20)), (5, (5, 33)), (6, (5, 33)), (7, (5, 33)), (8, (8, 33)), (9, (-1, -1)), (-1, (-1, -1))],
)
def test_a_leader_that_has_not_written_starts_at_the_end(
    epochs: LeaderEpochs, asked: int, answer: tuple[int, int]
) -> None:
    assert epochs.end_offset(asked, 33, current=8) == answer


def test_without_any_record_every_earlier_epoch_ends_at_the_end(files: MemoryFiles) -> None:
    epochs = LeaderEpochs(files, ROOT)
    assert epochs.end_offset(0, 0, current=1) == (0, 0)
    assert epochs.end_offset(1, 0, current=1) == (1, 0)
    assert epochs.end_offset(0, 0) == (-1, -1)


def test_an_epoch_before_the_first_known_ends_where_that_starts(files: MemoryFiles) -> None:
    epochs = LeaderEpochs(files, ROOT)
    epochs.assign(3, 7)
    assert epochs.end_offset(1, 9) == (1, 7)


def test_the_same_epoch_again_changes_nothing(epochs: LeaderEpochs) -> None:
    epochs.assign(5, 30)
    assert epochs.entries == [(0, 0), (2, 10), (5, 20)]


def test_a_new_epoch_drops_entries_it_contradicts(epochs: LeaderEpochs) -> None:
    epochs.assign(6, 15)
    assert epochs.entries == [(0, 0), (2, 10), (6, 15)]


def test_truncation_at_the_end_and_at_the_start(epochs: LeaderEpochs) -> None:
    epochs.truncate_end(20)
    assert epochs.entries == [(0, 0), (2, 10)]
    epochs.truncate_start(15)
    assert epochs.entries == [(2, 15)]


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (9, 0), (10, 2), (100, 5)])
def test_which_epoch_wrote_an_offset(epochs: LeaderEpochs, offset: int, epoch: int) -> None:
    assert epochs.epoch_at(offset) == epoch


def test_a_new_epoch_is_durable_with_its_records_and_costs_no_sync_before(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk)
    disk.counts.clear()
    log.append(batch(b"a"), leader_epoch=3)
    assert not {"sync", "sync_directory"} & set(disk.counts)
    log.flush()
    again = open_on(disk.unplugged())
    assert (again.end_offset, again.epochs.entries) == (1, [(3, 0)])


@pytest.mark.parametrize("kind", ["create", "write", "rename"])
def test_an_epoch_that_the_disk_refused_is_written_with_the_next_flush(
    disk: FaultyFiles, open_on: OpenOn, kind: str
) -> None:
    log = open_on(disk)
    disk.arm(Fault(kind))
    with pytest.raises(KafkaStorageError):
        log.append(batch(b"a"), leader_epoch=3)
    log.append(batch(b"b"), leader_epoch=3)
    log.flush()
    assert LeaderEpochs(disk.unplugged(), DIRECTORY).entries == [(3, 0)]
