"""Opening a partition after a clean stop, a crash, and with damaged files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, batch, records, values
from tests.log.conftest import DIRECTORY

from kafkawire.log.storage.files import read_file

if TYPE_CHECKING:
    from tests.log.conftest import OpenLog

    from kafkawire.log import AbortedTransaction, MemoryFiles, Partition

pytestmark = pytest.mark.twin

SETTINGS = {"segment_bytes": 600, "index_interval_bytes": 100}


def fill(log: Partition) -> None:
    """Plain, idempotent and transactional batches over several segments; producer 2 aborts, 3 stays open."""
    for number in range(12):
        log.append(batch(b"p%d" % number, timestamp=NOW + number), leader_epoch=number // 6)
        log.append(batch(b"i%d" % number, producer=(1, 0, number), timestamp=NOW + number), leader_epoch=number // 6)
        log.append(batch(b"t%d" % number, producer=(2, 0, number), transactional=True), leader_epoch=number // 6)
        log.append_marker(2, 0, 0, commit=number % 3 == 0, leader_epoch=number // 6)
    log.append(batch(b"open", producer=(3, 0, 0), transactional=True), leader_epoch=1)


def known(log: Partition) -> dict[str, object]:
    """Everything a partition can be asked."""
    aborted: list[AbortedTransaction] = log.aborted_transactions(0, log.end_offset)
    return {
        "records": [(r.offset, r.timestamp, r.key, r.value) for r in records(log, control=True)],
        "end": log.end_offset,
        "stable": log.last_stable_offset,
        "aborted": aborted,
        "epochs": log.epochs.entries,
        "producers": {
            p.producer_id: (p.epoch, p.last_sequence, p.transaction_start) for p in log.producers.entries.values()
        },
        "times": [log.offset_for_timestamp(NOW + n) for n in range(13)],
        "segments": [(segment.base_offset, segment.size) for segment in log.segments],
    }


@pytest.fixture
def filled(open_log: OpenLog) -> Partition:
    log = open_log(**SETTINGS)
    fill(log)
    return log


def test_a_clean_stop_loses_nothing_and_reads_next_to_nothing(
    open_log: OpenLog, filled: Partition, files: MemoryFiles
) -> None:
    before = known(filled)
    filled.close()
    again = open_log(**SETTINGS)
    assert known(again) == before
    assert again.recovery_point == again.end_offset


def test_a_killed_process_loses_nothing_it_wrote(open_log: OpenLog, filled: Partition) -> None:
    before = known(filled)
    again = open_log(clean=False, **SETTINGS)
    assert known(again) == before
    assert again.cut_bytes == 0
    assert again.append(batch(b"i11", producer=(1, 0, 11))).duplicate


def test_recovery_starts_at_the_recovery_points_segment(
    open_log: OpenLog, filled: Partition, files: MemoryFiles
) -> None:
    filled.flush()
    files.open(next(iter(filled.segments)).path).write(70, [b"\xff"])
    assert open_log(clean=False, recovery_point=filled.checkpoint_offset, **SETTINGS).end_offset == filled.end_offset
    assert open_log(clean=False, **SETTINGS).end_offset == 0


@pytest.mark.parametrize("cut", range(1, 79, 7))
def test_a_torn_last_batch_is_cut_off_and_nothing_else(
    open_log: OpenLog, filled: Partition, files: MemoryFiles, cut: int
) -> None:
    whole = known(filled)["records"]
    last = filled.segments.active
    files.open(last.path).truncate(last.size - cut)
    again = open_log(clean=False, **SETTINGS)
    assert again.cut_bytes > 0
    assert known(again)["records"] == whole[:-1]  # type: ignore[index]  # a list
    assert again.end_offset == filled.end_offset - 1
    assert again.last_stable_offset == again.end_offset


@pytest.mark.parametrize("tail", [bytes(4096), b"\xff" * 100, b"garbage"])
def test_bytes_behind_the_last_batch_are_cut_off(
    open_log: OpenLog, filled: Partition, files: MemoryFiles, tail: bytes
) -> None:
    before = known(filled)
    last = filled.segments.active
    files.open(last.path).write(last.size, [tail])
    for clean in (True, False):
        again = open_log(clean=clean, **SETTINGS)
        assert known(again) == before
        files.open(last.path).write(last.size, [tail])


def test_a_bad_batch_in_the_middle_ends_the_log_there(open_log: OpenLog, filled: Partition, files: MemoryFiles) -> None:
    place = filled.segments.locate(20)
    assert place is not None
    files.open(place.segment.path).write(place.batch.position + 65, [b"\xff"])
    again = open_log(clean=False, **SETTINGS)
    assert again.end_offset == place.batch.base_offset
    assert [record.offset for record in records(again, control=True)] == list(range(again.end_offset))
    assert again.segments.active.base_offset == place.segment.base_offset
    assert all(start < again.end_offset for _, start in again.epochs.entries)


def test_offsets_that_do_not_rise_end_the_log(open_log: OpenLog, filled: Partition, files: MemoryFiles) -> None:
    last = filled.segments.active
    first_batch = next(last.batches())
    copy = last.file.read(0, first_batch.size)
    last.file.write(last.size, [copy])
    assert open_log(clean=False, **SETTINGS).end_offset == filled.end_offset


DAMAGE = {
    "missing": None,
    "empty": b"",
    "short": b"\0\0\0",
    "zeros": bytes(240),
    "noise": bytes(range(256)),
}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", ".tmp", ".deleted"])
def test_damaged_helpers_are_rebuilt(
    open_log: OpenLog, filled: Partition, files: MemoryFiles, suffix: str, damage: str, clean: bool
) -> None:
    before = known(filled)
    filled.close()
    content = DAMAGE[damage]
    if suffix in (".tmp", ".deleted"):
        files.open(DIRECTORY / ("00000000000000000000.log" + suffix), create=True).write(0, [content or b"x"])
    for entry in files.list(DIRECTORY):
        if entry.name.endswith(suffix):
            files.remove(DIRECTORY / entry.name)
            if content is not None:
                files.open(DIRECTORY / entry.name, create=True).write(0, [content])
    again = open_log(clean=clean, **SETTINGS)
    assert known(again) == before
    assert not [entry.name for entry in files.list(DIRECTORY) if entry.name.endswith((".tmp", ".deleted"))]


@pytest.mark.parametrize("damage", ["short", "noise"])
def test_a_damaged_list_of_aborted_transactions_is_rebuilt(
    open_log: OpenLog, filled: Partition, files: MemoryFiles, damage: str
) -> None:
    before = known(filled)
    filled.close()
    for entry in files.list(DIRECTORY):
        if entry.name.endswith(".txnindex"):
            files.remove(DIRECTORY / entry.name)
            files.open(DIRECTORY / entry.name, create=True).write(0, [DAMAGE[damage] or b""])
    assert known(open_log(**SETTINGS)) == before


def test_a_wrong_index_entry_is_noticed_when_it_is_used(
    open_log: OpenLog, filled: Partition, files: MemoryFiles
) -> None:
    filled.close()
    path = next(iter(filled.segments)).path.with_suffix(".index")
    content = read_file(files, path)
    files.open(path).write(4, [(int.from_bytes(content[4:8], "big") + 3).to_bytes(4, "big")])
    again = open_log(**SETTINGS)
    assert [record.offset for record in records(again, control=True)] == list(range(again.end_offset))
    assert read_file(files, path) == content


def test_preallocated_indexes_of_a_killed_kafka_are_rebuilt(
    open_log: OpenLog, filled: Partition, files: MemoryFiles
) -> None:
    before = known(filled)
    filled.close()
    stem = filled.segments.active.path
    for suffix in (".index", ".timeindex"):
        files.open(stem.with_suffix(suffix)).truncate(1_048_576 // 12 * 12)
    assert known(open_log(clean=False, **SETTINGS)) == before
    assert len(read_file(files, stem.with_suffix(".index"))) < 1000


def test_indexes_without_a_log_are_removed(open_log: OpenLog, filled: Partition, files: MemoryFiles) -> None:
    filled.close()
    files.open(DIRECTORY / "00000000000000099999.index", create=True)
    again = open_log(**SETTINGS)
    assert not files.exists(DIRECTORY / "00000000000000099999.index")
    assert again.end_offset == filled.end_offset


def test_an_empty_directory_is_an_empty_log(open_log: OpenLog) -> None:
    log = open_log(clean=False, log_start=42)
    assert (log.log_start_offset, log.end_offset, values(log)) == (42, 42, [])
    assert log.append(batch(b"x")).base_offset == 42


def test_a_log_start_inside_a_segment_is_remembered_by_its_owner(open_log: OpenLog, filled: Partition) -> None:
    filled.close()
    again = open_log(log_start=5, **SETTINGS)
    assert records(again)[0].offset == 5
