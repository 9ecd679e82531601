"""Cuts of files, and ranges of tasks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.spark.segment_files import batches, damage, write_index, write_segment

from kafkawire.spark._segments import splits
from kafkawire.spark._segments.splits import plan_tasks, split

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.spark._segments.files import SegmentFile

SIZE = len(batches(1)[0])


@pytest.fixture
def segment(tmp_path: Path) -> SegmentFile:
    return write_segment(tmp_path / "orders-0", batches(100))


@pytest.fixture
def no_walking(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the file was walked")

    monkeypatch.setattr(splits, "_cuts_by_walk", refuse)


def cuts(file: SegmentFile, target: int) -> list[int]:
    """The cuts of a file; the parts must be the whole file."""
    parts = list(split(file, target))
    assert parts[0].start == 0
    assert parts[-1].end == file.size
    assert all(one.end == next_one.start for one, next_one in pairwise(parts))
    return [part.start for part in parts[1:]]


def entries(every: int, up_to: int = 100) -> list[tuple[int, int]]:
    """Index entries for every so many of the batches: last offset and position."""
    return [(number * 10 + 9, number * SIZE) for number in range(every, up_to, every)]


def test_without_an_index_cuts_are_the_first_batch_starts_behind_each_target(segment: SegmentFile) -> None:
    assert cuts(segment, 10 * SIZE - 1) == [number * 10 * SIZE for number in range(1, 10)]


def test_a_file_no_larger_than_the_target_is_not_cut(segment: SegmentFile) -> None:
    assert cuts(segment, segment.size) == []


@pytest.mark.usefixtures("no_walking")
def test_an_index_gives_cuts_without_walking(segment: SegmentFile) -> None:
    write_index(segment, entries(7))
    assert cuts(segment, 20 * SIZE) == [21 * SIZE, 42 * SIZE, 63 * SIZE, 84 * SIZE]


@pytest.mark.usefixtures("no_walking")
def test_the_zeros_of_an_index_allocated_ahead_are_not_entries(segment: SegmentFile) -> None:
    write_index(segment, [*entries(25), *[(0, 0)] * 50])
    assert cuts(segment, 20 * SIZE) == [25 * SIZE, 50 * SIZE, 75 * SIZE]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([(409, 40 * SIZE + 1)], id="not at a batch start"),
        pytest.param([(408, 40 * SIZE)], id="another offset"),
        pytest.param([(409, 10**9)], id="behind the file"),
    ],
)
def test_an_index_that_is_wrong_is_not_used(segment: SegmentFile, wrong: list[tuple[int, int]]) -> None:
    write_index(segment, wrong)
    assert cuts(segment, 30 * SIZE) == [30 * SIZE, 60 * SIZE, 90 * SIZE]


def test_the_rest_of_a_log_is_walked_if_its_index_ends_too_early(segment: SegmentFile) -> None:
    write_index(segment, entries(7, up_to=40))
    assert cuts(segment, 20 * SIZE) == [21 * SIZE, 41 * SIZE, 61 * SIZE, 81 * SIZE]


def test_an_index_that_points_to_a_damaged_batch_is_not_used(tmp_path: Path) -> None:
    data = batches(100)
    data[50] = damage(data[50], 70)
    segment = write_segment(tmp_path / "orders-0", data)
    write_index(segment, entries(10))
    assert cuts(segment, 25 * SIZE) == [25 * SIZE, 50 * SIZE, 75 * SIZE], "walked: the index would give 30, 50, 80"


def test_bytes_behind_a_part_that_cannot_be_walked_stay_in_one_piece(tmp_path: Path) -> None:
    data = batches(100)
    segment = write_segment(tmp_path / "orders-0", [*data[:50], b"\xff" * 200, *data[50:]])
    assert cuts(segment, 20 * SIZE) == [20 * SIZE, 40 * SIZE]


def test_small_files_are_joined_and_large_ones_cut(tmp_path: Path) -> None:
    files = [write_segment(tmp_path / f"orders-{number}", batches(10)) for number in range(6)]
    files.append(write_segment(tmp_path / "orders-9", batches(100)))
    tasks = plan_tasks(files, max_bytes=30 * SIZE)
    assert [[part.size // SIZE for part in task] for task in tasks] == [[10] * 3, [10] * 3, [30], [30], [30], [10]]


def test_work_is_shared_among_the_tasks_wanted_but_not_into_crumbs(
    segment: SegmentFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(plan_tasks([segment], min_tasks=4)) == 1
    monkeypatch.setattr(splits, "SMALLEST_TASK", 10 * SIZE)
    assert [task[0].size // SIZE for task in plan_tasks([segment], min_tasks=4)] == [25] * 4


def test_empty_files_give_no_tasks(tmp_path: Path) -> None:
    assert plan_tasks([write_segment(tmp_path / "orders-0", b"")]) == []
