"""The states that the simulated disk may leave after a power cut: any part of what was not synced, and all that was."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from kafkawire.log.storage.files import read_file
from kafkawire.testing.faulty_files import Fault, FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path("/d")
CUTS = 300


@pytest.fixture
def disk() -> FaultyFiles:
    disk = FaultyFiles()
    disk.make_directory(ROOT)
    disk.sync_directory(Path("/"))
    return disk


def contents(disk: FaultyFiles, path: Path) -> set[bytes | None]:
    """Every content of a file that many cuts leave; None where its name is missing."""
    cuts = [disk.unplugged(Random(seed)) for seed in range(CUTS)]
    return {read_file(cut, path) if cut.exists(path) else None for cut in cuts}


def names(disk: FaultyFiles, folder: Path = ROOT) -> set[frozenset[str]]:
    cuts = [disk.unplugged(Random(seed)) for seed in range(CUTS)]
    return {frozenset(entry.name for entry in cut.list(folder)) if cut.exists(folder) else frozenset() for cut in cuts}


def synced(disk: FaultyFiles, name: str, content: bytes) -> None:
    file = disk.open(ROOT / name, create=True)
    file.write(0, [content])
    file.sync()
    disk.sync_directory(ROOT)


def test_synced_records_survive_every_cut(disk: FaultyFiles) -> None:
    synced(disk, "a", b"durable")
    disk.open(ROOT / "b", create=True).write(0, [b"not"])
    assert contents(disk, ROOT / "a") == {b"durable"}


def test_writes_are_dropped_torn_and_reordered(disk: FaultyFiles) -> None:
    synced(disk, "a", b"--")
    file = disk.open(ROOT / "a")
    file.write(2, [b"ab"])
    file.write(4, [b"cd"])
    found = contents(disk, ROOT / "a")
    assert {b"--", b"--a", b"--ab", b"--abcd", b"--\0\0cd", b"--\0\0", b"--\0\0\0\0", b"--abc"} <= found
    assert all(left is not None and left.startswith(b"--") for left in found)


def test_sectors_of_one_write_are_kept_or_lost_apart(disk: FaultyFiles) -> None:
    synced(disk, "a", b"")
    disk.open(ROOT / "a").write(0, [b"x" * 512 + b"y" * 512 + b"z" * 100])
    found = contents(disk, ROOT / "a")
    assert bytes(512) + b"y" * 512 in found
    assert b"x" * 512 + bytes(512) + b"z" * 100 in found


def test_a_truncation_is_there_or_not(disk: FaultyFiles) -> None:
    synced(disk, "a", b"long")
    disk.open(ROOT / "a").truncate(1)
    assert contents(disk, ROOT / "a") == {b"l", b"long"}


def test_names_change_in_their_order_and_a_rename_is_whole(disk: FaultyFiles) -> None:
    synced(disk, "old", b"1")
    disk.open(ROOT / "new.tmp", create=True)
    disk.rename(ROOT / "new.tmp", ROOT / "new")
    disk.remove(ROOT / "old")
    sets = [{"old"}, {"old", "new.tmp"}, {"old", "new"}, {"new"}]
    assert names(disk) == {frozenset(each) for each in sets}


def test_a_replaced_name_is_the_old_file_or_the_new_one(disk: FaultyFiles) -> None:
    synced(disk, "a", b"old")
    file = disk.open(ROOT / "a.tmp", create=True)
    file.write(0, [b"new"])
    file.sync()
    disk.rename(ROOT / "a.tmp", ROOT / "a")
    assert contents(disk, ROOT / "a") == {b"old", b"new"}


def test_a_directory_that_was_not_synced_goes_with_all_that_is_in_it(disk: FaultyFiles) -> None:
    inside = ROOT / "t-0"
    disk.make_directory(inside)
    disk.open(inside / "a", create=True).sync()
    disk.sync_directory(inside)
    assert contents(disk, inside / "a") == {None, b""}
    disk.sync_directory(ROOT)
    assert contents(disk, inside / "a") == {b""}


def test_files_move_with_their_directory(disk: FaultyFiles) -> None:
    inside = ROOT / "t-0"
    disk.make_directory(inside)
    disk.open(inside / "a", create=True).sync()
    disk.sync_directory(inside)
    disk.sync_directory(ROOT)
    disk.rename(inside, ROOT / "t-0.delete")
    assert names(disk) == {frozenset({"t-0"}), frozenset({"t-0.delete"})}
    cut = disk.unplugged(Random(1))
    (entry,) = cut.list(ROOT)
    assert cut.exists(ROOT / entry.name / "a")


def test_cuts_do_not_change_the_disk_that_is_cut(disk: FaultyFiles) -> None:
    disk.make_directory(ROOT / "t-0")
    disk.open(ROOT / "t-0" / "a", create=True).write(0, [b"x"])
    before = names(disk), contents(disk, ROOT / "t-0" / "a")
    assert (names(disk), contents(disk, ROOT / "t-0" / "a")) == before


def test_with_dice_bytes_of_a_failed_sync_may_have_reached_the_disk() -> None:
    found = set()
    for seed in range(CUTS):
        disk = FaultyFiles(dice=Random(seed))
        disk.make_directory(ROOT)
        synced(disk, "a", b"")
        file = disk.open(ROOT / "a")
        file.write(0, [b"lost"])
        disk.arm(Fault("sync"))
        with pytest.raises(OSError, match="injected"):
            file.sync()
        found.add(read_file(disk.unplugged(), ROOT / "a"))
    assert {b"", b"lost", b"lo"} <= found


def test_the_power_goes_with_the_nth_change_and_stays_away(disk: FaultyFiles) -> None:
    synced(disk, "a", b"")
    file = disk.open(ROOT / "a")
    disk.cut_after(1)
    file.write(0, [b"one"])
    with pytest.raises(OSError, match="no power"):
        file.write(3, [b"two"])
    assert disk.power_gone.is_set()
    for late in (
        file.sync,
        lambda: file.truncate(0),
        lambda: disk.sync_directory(ROOT),
        lambda: disk.remove(ROOT / "a"),
    ):
        with pytest.raises(OSError, match="no power"):
            late()
    found = contents(disk, ROOT / "a")
    assert {b"", b"one", b"onetwo", b"\0\0\0two"} <= found


@pytest.mark.parametrize("kind", ["open", "list", "remove", "make_directory", "remove_directory"])
def test_every_kind_of_operation_can_fail(disk: FaultyFiles, kind: str) -> None:
    disk.open(ROOT / "a", create=True)
    disk.make_directory(ROOT / "empty")
    operations: dict[str, Callable[[], object]] = {
        "open": lambda: disk.open(ROOT / "a"),
        "list": lambda: disk.list(ROOT),
        "remove": lambda: disk.remove(ROOT / "a"),
        "make_directory": lambda: disk.make_directory(ROOT / "more"),
        "remove_directory": lambda: disk.remove_directory(ROOT / "empty"),
    }
    disk.arm(Fault(kind, error=errno.ENOSPC))
    before = sorted(disk.folders[ROOT])
    with pytest.raises(OSError, match="injected") as refused:
        operations[kind]()
    assert refused.value.errno == errno.ENOSPC
    assert sorted(disk.folders[ROOT]) == before
