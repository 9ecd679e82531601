"""Finding what is wrong in the files of a log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.log.batches import NOW, Clock, batch

from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.log._offline.findings import verify_paths

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin
CONFIG = LogConfig(segment_bytes=3000, index_interval_bytes=500)
FIRST = "orders-0/00000000000000000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two partitions of several segments, with transactions, stopped cleanly."""
    clock = Clock()
    logs = LogDirectory(tmp_path / "data", files=DiskFiles(), clock=clock, config=CONFIG)
    for number in range(2):
        log = logs.create("orders", number, topic_id=UUID(int=7))
        for turn in range(40):
            log.append(batch(b"x" * 100, b"y" * 100, timestamp=NOW + turn, producer=(1, 0, 2 * turn)))
            log.append(batch(b"z", producer=(2, 0, turn), transactional=True, timestamp=NOW + turn))
            log.append_marker(2, 0, 0, commit=turn % 2 == 0)
    logs.close()
    return tmp_path / "data"


def faults(root: Path) -> list[str]:
    return [f"{finding.path.relative_to(root)}: {finding.message}" for finding in verify_paths([root], interval=500)]


def test_a_sound_directory_has_no_fault(root: Path) -> None:
    assert list(verify_paths([root])) == []
    assert list(verify_paths([root / "orders-0"])) == []
    assert list(verify_paths([root / f"{FIRST}.log", root / f"{FIRST}.index", root / f"{FIRST}.txnindex"])) == []


def overwrite(position: int, content: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        at = position if position >= 0 else len(data) + position
        data[at : at + len(content)] = content
        path.write_bytes(data)

    return damage


def truncate(count: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-count])

    return damage


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        (f"{FIRST}.log", overwrite(100, b"\xff"), "stated CRC"),
        (f"{FIRST}.log", overwrite(2000, b"\xff"), "bytes are not readable"),
        (f"{FIRST}.log", truncate(3), "trailing bytes are not a whole batch"),
        (f"{FIRST}.log", overwrite(7, b"\x09"), "expected 11 or later"),
        (f"{FIRST}.index", truncate(1), "expected a multiple of 8"),
        (f"{FIRST}.index", overwrite(0, bytes(3) + b"\x7f"), "the batch at position"),
        (f"{FIRST}.index", overwrite(-4, b"\x7f\x7f\x7f\x7f"), "the log has"),
        (f"{FIRST}.index", overwrite(7, b"\x01"), "no batch starts at position"),
        (f"{FIRST}.index", lambda path: path.write_bytes(b""), "one was due at"),
        (f"{FIRST}.index", Path.unlink, "missing"),
        (f"{FIRST}.timeindex", truncate(5), "expected a multiple of 12"),
        (f"{FIRST}.timeindex", overwrite(-5, b"\xff"), "the batch that ends at offset"),
        (f"{FIRST}.timeindex", overwrite(-1, b"\xff"), "no batch ends at offset"),
        (f"{FIRST}.txnindex", overwrite(9, b"\x07"), "no marker of producer 7"),
        (f"{FIRST}.txnindex", truncate(1), "not a list of aborted transactions"),
        ("orders-0/leader-epoch-checkpoint", lambda path: path.write_bytes(b"0\n1\n5 0\n"), "epoch 0 is not listed"),
        ("orders-0/leader-epoch-checkpoint", lambda path: path.write_bytes(b"junk"), "expected a version of 0"),
        ("orders-0/leader-epoch-checkpoint", lambda path: path.write_bytes(b"0\n1\na b\n"), "expected a version of 0"),
        ("orders-0/partition.metadata", lambda path: path.write_bytes(b"junk"), "topic id"),
        ("recovery-point-offset-checkpoint", lambda path: path.write_bytes(b"0\n1\norders 0 999\n"), "its log ends at"),
        ("recovery-point-offset-checkpoint", lambda path: path.write_bytes(b"0\n7\n"), "a count"),
    ],
)
def test_every_kind_of_damage_is_named(root: Path, name: str, damage: Callable[[Path], None], message: str) -> None:
    damage(root / name)
    found = faults(root)
    assert any(fault.startswith(name) and message in fault for fault in found), found


def test_a_damaged_snapshot_is_named(root: Path) -> None:
    path = sorted((root / "orders-0").glob("*.snapshot"))[0]
    overwrite(8, b"\xff")(path)
    assert any("CRC" in fault and path.name in fault for fault in faults(root))
    assert list(verify_paths([path])) != []


def test_segments_that_overlap_are_named(root: Path) -> None:
    logs = sorted((root / "orders-0").glob("*.log"))
    shutil.copy(logs[0], logs[0].with_name(f"{3:020d}.log"))
    assert any("the next segment starts at 3" in fault for fault in faults(root))


def test_indexes_without_a_log_are_named(root: Path) -> None:
    (root / "orders-0" / f"{999:020d}.index").touch()
    assert any("there is no log of this name" in fault for fault in faults(root))


def test_partitions_that_disagree_on_the_topic_are_named(root: Path) -> None:
    (root / "orders-1" / "partition.metadata").write_bytes(b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert any("orders-1" in fault and "orders-0 has" in fault for fault in faults(root))
