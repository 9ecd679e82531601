"""The files beside the logs: read, compared with the logs, and diagnosed with the indexes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.log.batches import NOW, Clock, batch

from kafkawire.inspect import Finding, find_incidents
from kafkawire.inspect._logdir.tables import read_directories
from kafkawire.log import DiskFiles, LogConfig, LogDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition with transactions, some of them aborted, over several segments and two epochs."""
    logs = LogDirectory(tmp_path, files=DiskFiles(), clock=Clock(), properties={"node.id": "1", "cluster.id": "x"})
    made = logs.create("payments", 0, topic_id=UUID(int=5), config=LogConfig(segment_bytes=20_000))
    for number in range(60):
        data = batch(b"t" * 900, producer=(5, 0, number), transactional=True, timestamp=NOW + number)
        made.append(data, leader_epoch=number // 40)
        made.append_marker(5, 0, 3, commit=number % 3 == 0, leader_epoch=number // 40)
    logs.close()
    return tmp_path / "payments-0"


def tables(folder: Path) -> dict[str, pa.Table]:
    return read_directories([folder])


def findings(folder: Path) -> list[Finding]:
    return find_incidents(tables(folder))


def first(folder: Path, suffix: str) -> Path:
    return next(path for path in sorted(folder.glob(f"*{suffix}")) if path.stat().st_size)


def test_every_file_of_a_sound_partition_is_read(folder: Path) -> None:
    rows = tables(folder)["segment_files"].to_pylist()
    assert {row["state"] for row in rows} == {"ok"}
    assert {row["topic_id"] for row in rows} == {"AAAAAAAAAAAAAAAAAAAABQ"}
    entries: dict[str, int] = {}
    for row in rows:
        entries[row["kind"]] = entries.get(row["kind"], 0) + row["entries"]
    assert (entries["txnindex"], entries["checkpoint"], entries["metadata"]) == (40, 2, 1)
    assert entries["snapshot"] > 0
    assert findings(folder) == []


def _no_marker(folder: Path) -> Path:
    path = first(folder, ".txnindex")
    data = bytearray(path.read_bytes())
    struct.pack_into(">q", data, 2, 6)
    path.write_bytes(data)
    return path


def _cut_list(folder: Path) -> Path:
    path = first(folder, ".txnindex")
    path.write_bytes(path.read_bytes()[:-3])
    return path


def _bad_snapshot(folder: Path) -> Path:
    path = first(folder, ".snapshot")
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    return path


def _text(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


def _index(entry: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = first(folder, ".index")
        path.write_bytes(entry + path.read_bytes()[8:])
        return path

    return write


@pytest.mark.parametrize(
    ("damage", "level", "said"),
    [
        (_no_marker, "error", "no marker of producer 6 at offset"),
        (_cut_list, "error", "not a list of aborted transactions"),
        (_bad_snapshot, "warning", "stated CRC"),
        (_text("leader-epoch-checkpoint", "0\n1\na b\n"), "warning", "expected a version of 0, a count, and as many"),
        (
            _text("leader-epoch-checkpoint", "0\n2\n2 0\n1 80\n"),
            "warning",
            "epoch 1 at offset 80 follows epoch 2 at",
        ),
        (_text("leader-epoch-checkpoint", "0\n1\n1 0\n"), "warning", "epoch 0 is not listed"),
        (_text("partition.metadata", "version: 0\ntopic_id: ??\n"), "error", "expected a version of 0 and a topic id"),
        (_index(struct.pack(">ii", 7, 5)), "warning", "no batch starts at position 5"),
    ],
)
def test_faults_are_reported_with_their_file(
    folder: Path, damage: Callable[[Path], Path], level: str, said: str
) -> None:
    path = damage(folder)
    (finding,) = findings(folder)
    assert (finding.rule, finding.level, finding.entity) == ("wrong-index", level, str(path))
    assert said in finding.text
    (row,) = [row for row in tables(folder)["segment_files"].to_pylist() if row["state"] != "ok"]
    assert (row["file"], row["state"]) == (str(path), "damaged")


def _preallocated(folder: Path) -> Path:
    path = sorted(folder.glob("*.index"))[-1]
    path.write_bytes(bytes(8_000))
    return path


def _absent(folder: Path) -> Path:
    path = folder / "leader-epoch-checkpoint"
    path.unlink()
    return path


def _deleted(folder: Path) -> Path:
    path = folder / f"{0:020d}.log.deleted"
    path.write_bytes(first(folder, ".log").read_bytes() * 2)
    return path


@pytest.mark.parametrize(
    "nearly", [_preallocated, _absent, _deleted, _text("leader-epoch-checkpoint", "0\n3\n0 0\n1 80\n2 120\n")]
)
def test_files_that_brokers_leave_behind_are_not_faults(folder: Path, nearly: Callable[[Path], Path]) -> None:
    before = tables(folder)["batches"].num_rows
    nearly(folder)
    assert findings(folder) == []
    assert tables(folder)["batches"].num_rows == before
