"""Log files that are not of this machine: found, cut and read through pyarrow's and fsspec's file systems."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.spark.segment_files import batches, write_index, write_segment

from kafkawire.spark._segments.files import OpenFile, list_segments
from kafkawire.spark._segments.source import Options
from kafkawire.spark._segments.splits import plan_tasks, split
from kafkawire.spark._segments.tasks import read_ranges
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkawire.spark._segments.files import SegmentFile

SMALL = batches(2000, 10, value=b"x" * 100)
LARGE = batches(20, 10, value=b"y" * 60_000)


@pytest.fixture
def store() -> Iterator[MemoryFileSystem]:
    system = MemoryFileSystem()
    for name, data in (("orders-0", SMALL), ("orders-1", LARGE), ("audit-0", SMALL[:3])):
        system.pipe(f"/kafka/{name}/{0:020}.log", b"".join(data))
    yield system
    MemoryFileSystem.store.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is read from now on."""
    sizes: list[int] = []
    read = OpenFile.read

    def counted(self: OpenFile, position: int, size: int) -> memoryview:
        data = read(self, position, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(OpenFile, "read", counted)
    return sizes


def one(path: str) -> SegmentFile:
    [file] = list_segments([path])
    return file


@pytest.mark.usefixtures("store")
def test_files_of_fsspec_are_listed_by_directory_and_pattern() -> None:
    names = ["memory:///kafka/audit-0", "memory:///kafka/orders-0", "memory:///kafka/orders-1"]
    assert [file.name.rpartition("/")[0] for file in list_segments(["memory://kafka"])] == names
    assert [file.name.rpartition("/")[0] for file in list_segments(["memory://kafka/*"])] == names
    found = list_segments(["memory://kafka/orders-*"])
    assert [(file.topic, file.partition, file.size) for file in found] == [
        ("orders", 0, sum(map(len, SMALL))),
        ("orders", 1, sum(map(len, LARGE))),
    ]
    with pytest.raises(SourceOptionError, match="memory://absent: no such file or directory"):
        list_segments(["memory://absent"])


@pytest.mark.usefixtures("store")
def test_a_file_without_an_index_is_cut_at_the_starts_where_a_local_one_is(tmp_path: Path, reads: list[int]) -> None:
    for topic, data, most in (("orders-0", SMALL, sum(map(len, SMALL))), ("orders-1", LARGE, 5_000_000)):
        local = write_segment(tmp_path / topic, data)
        target = local.size // 5
        expected = [(part.start, part.end) for part in split(local, target)]
        assert len(expected) >= 4
        reads.clear()
        assert [(part.start, part.end) for part in split(one(f"memory://kafka/{topic}"), target)] == expected
        assert sum(reads) <= most


@pytest.mark.usefixtures("store")
def test_a_file_is_walked_only_where_files_are_fewer_than_tasks(reads: list[int]) -> None:
    file = one("memory://kafka/orders-1")
    assert len(plan_tasks([file], max_bytes=4_000_000, min_tasks=2)) == 3
    reads.clear()
    assert len(plan_tasks([file], max_bytes=4_000_000, min_tasks=1)) == 1
    assert not reads


def test_an_index_beside_a_file_elsewhere_is_used(tmp_path: Path, store: MemoryFileSystem, reads: list[int]) -> None:
    file = write_segment(tmp_path / "orders-0", SMALL)
    size = len(SMALL[0])
    write_index(file, [(number * 10 + 9, number * size) for number in range(100, 2000, 100)])
    store.pipe(f"/kafka/orders-0/{0:020}.index", (tmp_path / "orders-0" / f"{0:020}.index").read_bytes())
    parts = list(split(one("memory://kafka/orders-0"), file.size // 5))
    assert len(parts) >= 4
    assert sum(reads) < file.size // 10


@pytest.mark.usefixtures("store")
def test_rows_of_a_file_elsewhere_are_those_of_a_local_one(tmp_path: Path) -> None:
    local = write_segment(tmp_path / "orders-1", LARGE)
    found = [rows(str(path)) for path in (local.name, "memory://kafka/orders-1")]
    assert found[0] == found[1]
    assert len(found[0]) == 200


def rows(path: str) -> list[dict[str, Any]]:
    options = Options((path,))
    parts = [part for task in plan_tasks(list_segments([path]), max_bytes=3_000_000, min_tasks=9) for part in task]
    columns = ("topic", "partition", "offset", "value", "position")
    return [row for batch in read_ranges(parts, columns, options) for row in batch.to_pylist()]


def test_a_file_system_that_nobody_knows_says_what_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceOptionError, match="no file system for nosuch://"):
        list_segments(["nosuch://bucket/kafka"])
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setattr("kafkawire.spark._segments.files.find_spec", lambda name: None)
    with pytest.raises(SourceOptionError, match="fsspec, which supports more, is not installed"):
        list_segments(["memory://kafka"])
