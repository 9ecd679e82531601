"""The sparse indexes and the list of aborted transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkawire.log import AbortedTransaction
from kafkawire.log._position_index import SPILL, OffsetEntry, OffsetIndex, TimeEntry, TimeIndex
from kafkawire.log._txn_index import AbortedIndex, decode_aborted, encode_aborted
from kafkawire.log.storage.files import read_file
from kafkawire.testing.faulty_files import Fault, FaultyFiles

ROOT = Path("/logs")
BASE = 1000


@pytest.fixture
def files() -> FaultyFiles:
    files = FaultyFiles()
    files.make_directory(ROOT)
    return files


@pytest.fixture
def offsets(files: FaultyFiles) -> OffsetIndex:
    index = OffsetIndex(files, ROOT / "x.index", BASE, 1024)
    for offset, position in ((1010, 5000), (1020, 10000), (1030, 15000)):
        index.append(offset, position)
    return index


@pytest.fixture
def times(files: FaultyFiles) -> TimeIndex:
    index = TimeIndex(files, ROOT / "x.timeindex", BASE, 1024)
    for timestamp, offset in ((50, 1010), (60, 1020), (70, 1030)):
        index.append(timestamp, offset)
    return index


def test_entries_are_stored_relative_and_big_endian(files: FaultyFiles, offsets: OffsetIndex) -> None:
    offsets.spill()
    assert read_file(files, offsets.path).hex() == "0000000a0000138800000014000027100000001e00003a98"


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize(
    ("offset", "entry"),
    [(1000, (BASE, 0)), (1009, (BASE, 0)), (1010, (1010, 5000)), (1029, (1020, 10000)), (9999, (1030, 15000))],
)
def test_lookup_finds_the_last_entry_at_or_before(
    offsets: OffsetIndex, offset: int, entry: tuple[int, int], spilled: bool
) -> None:
    if spilled:
        offsets.spill()
    assert offsets.lookup(offset) == OffsetEntry(*entry)


def test_lookup_by_time_finds_the_last_entry_before(times: TimeIndex) -> None:
    assert times.lookup(50) == TimeEntry(-1, BASE)
    assert times.lookup(51) == TimeEntry(50, 1010)
    assert times.lookup(1000) == TimeEntry(70, 1030)


def test_a_time_that_is_not_later_is_not_added(times: TimeIndex) -> None:
    times.append(70, 1040)
    assert len(times) == 3


def test_a_full_index_takes_only_the_closing_entry(files: FaultyFiles) -> None:
    index = TimeIndex(files, ROOT / "y.timeindex", BASE, 12)
    index.append(1, 1001)
    index.append(2, 1002)
    assert (index.is_full, len(index)) == (True, 1)
    index.append(3, 1003, closing=True)
    assert index.last == TimeEntry(3, 1003)


@pytest.mark.parametrize("spilled", [False, True])
def test_truncation_forgets_what_lies_behind(offsets: OffsetIndex, times: TimeIndex, spilled: bool) -> None:
    if spilled:
        offsets.spill()
        times.spill()
    offsets.truncate(10000)
    times.truncate(1020)
    assert [offsets.entry(n) for n in range(len(offsets))] == [(1010, 5000)]
    assert times.last == TimeEntry(50, 1010)
    offsets.append(1021, 10001)
    assert offsets.lookup(2000) == OffsetEntry(1021, 10001)


def test_a_disk_that_refuses_entries_gets_them_later(files: FaultyFiles) -> None:
    index = OffsetIndex(files, ROOT / "z.index", 0, 10 * SPILL)
    files.arm(Fault("write", sticky=True))
    for number in range(1, SPILL // 8 + 10):
        index.append(number, number * 100)
    assert index.lookup(5) == OffsetEntry(5, 500)
    files.faults.clear()
    index.spill()
    assert len(read_file(files, index.path)) == 8 * (SPILL // 8 + 9)


@pytest.mark.parametrize(
    ("content", "sound"),
    [(b"", True), (bytes(80), False), ((5).to_bytes(4, "big") + (300).to_bytes(4, "big"), False), (b"\xff" * 8, False)],
)
def test_an_index_that_cannot_be_the_logs_is_not_sound(files: FaultyFiles, content: bytes, sound: bool) -> None:
    path = ROOT / "w.index"
    files.open(path, create=True).write(0, [content])
    assert OffsetIndex(files, path, BASE, 1024, len(content)).is_sound(200) is sound


def test_aborted_transactions_have_kafkas_layout(files: FaultyFiles) -> None:
    index = AbortedIndex(files, ROOT / "x.txnindex", exists=False)
    index.append(AbortedTransaction(7, 10, 20, 15))
    assert read_file(files, index.path).hex() == (
        "00000000000000000007000000000000000a0000000000000014000000000000000f"
    )
    again = AbortedIndex(files, index.path, exists=True)
    again.append(AbortedTransaction(8, 21, 22, 23))
    again.truncate(22)
    assert AbortedIndex(files, index.path, exists=True).entries == [AbortedTransaction(7, 10, 20, 15)]


def test_no_aborts_no_file(files: FaultyFiles) -> None:
    index = AbortedIndex(files, ROOT / "x.txnindex", exists=False)
    index.append(AbortedTransaction(7, 10, 20, 15))
    index.truncate(20)
    assert not files.exists(index.path)


@pytest.mark.parametrize(
    "entries",
    [
        [AbortedTransaction(1, 5, 4, 0)],
        [AbortedTransaction(1, 0, 9, 0), AbortedTransaction(2, 0, 9, 0)],
        [AbortedTransaction(1, -1, 9, 0)],
    ],
)
def test_impossible_entries_are_damage(entries: list[AbortedTransaction]) -> None:
    assert decode_aborted(encode_aborted(entries)) is None
    assert decode_aborted(encode_aborted([])[:0] + bytes(33)) is None
    assert decode_aborted(bytes([0, 1]) + bytes(32)) is None
