"""What a range of a file gives: sound stretches, faults, and tails that are none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.spark.logs import batch, batches, damage, write_segment

from kafkawire.spark.listing import OpenFile
from kafkawire.spark.walk import Fault, Stretch, walk_range

if TYPE_CHECKING:
    from pathlib import Path


def walked(path: Path, data: bytes, *, piece: int = 1000, verify: bool = True) -> tuple[list[int], list[Fault]]:
    """The base offsets of the sound batches, and the faults."""
    file = write_segment(path / "orders-0", data)
    offsets: list[int] = []
    faults: list[Fault] = []
    with OpenFile(file.name) as opened:
        for part in walk_range(opened, 0, file.size, file_size=file.size, piece=piece, verify=verify):
            if isinstance(part, Stretch):
                offsets += part.scan.base_offset
            else:
                faults.append(part)
    return offsets, faults


@pytest.mark.parametrize("piece", [61, 300, 1000, 10**6])
def test_every_batch_is_found_whatever_is_read_at_a_time(tmp_path: Path, piece: int) -> None:
    assert walked(tmp_path, b"".join(batches(20)), piece=piece) == (list(range(0, 200, 10)), [])


@pytest.mark.parametrize("cut", [1, 11, 12, 16, 17, 60, 61, 200])
def test_a_batch_cut_by_the_end_of_the_file_is_no_fault(tmp_path: Path, cut: int) -> None:
    whole = batches(3)
    assert walked(tmp_path, whole[0] + whole[1] + whole[2][:cut]) == ([0, 10], [])


@pytest.mark.parametrize("zeros", [5, 17, 100, 5000])
def test_zeros_up_to_the_end_of_the_file_are_no_fault(tmp_path: Path, zeros: int) -> None:
    assert walked(tmp_path, b"".join(batches(2)) + bytes(zeros)) == ([0, 10], [])


def test_zeros_with_batches_behind_them_are_a_fault(tmp_path: Path) -> None:
    first, second = batches(2)
    assert walked(tmp_path, first + bytes(500) + second) == (
        [0, 10],
        [Fault(len(first), 500, "size field 0, expected at least 14")],
    )


def test_after_a_wrong_crc_reading_goes_on_behind_the_batch(tmp_path: Path) -> None:
    first, second, third = batches(3)
    offsets, [fault] = walked(tmp_path, first + damage(second, 100) + third)
    assert offsets == [0, 20]
    assert (fault.position, fault.size) == (len(first), len(second))
    assert fault.problem.startswith("stated CRC 0x")


def test_without_verification_a_wrong_crc_is_not_seen(tmp_path: Path) -> None:
    first, second, third = batches(3)
    assert walked(tmp_path, first + damage(second, 100) + third, verify=False) == ([0, 10, 20], [])


@pytest.mark.parametrize("at", [8, 9, 11])
def test_a_wrong_size_field_loses_one_batch_and_no_more(tmp_path: Path, at: int) -> None:
    data = batches(6)
    offsets, [fault] = walked(tmp_path, b"".join([*data[:2], damage(data[2], at), *data[3:]]))
    assert offsets == [0, 10, 30, 40, 50]
    assert (fault.position, fault.size) == (len(data[0]) * 2, len(data[2]))


def test_a_size_that_points_behind_the_file_is_a_fault_if_batches_follow(tmp_path: Path) -> None:
    first, second, third = batches(3)
    huge = second[:8] + (10**6).to_bytes(4, "big") + second[12:]
    offsets, [fault] = walked(tmp_path, first + huge + third)
    assert offsets == [0, 20]
    assert fault == Fault(len(first), len(second), f"size 1000012 with {len(second) + len(third)} bytes left")


def test_garbage_between_batches_is_one_fault(tmp_path: Path) -> None:
    first, second = batches(2)
    garbage = random.Random(1).randbytes(3000)
    offsets, faults = walked(tmp_path, first + garbage + second)
    assert offsets == [0, 10]
    assert [(fault.position, fault.size) for fault in faults] == [(len(first), 3000)]


def test_a_file_of_garbage_is_one_fault(tmp_path: Path) -> None:
    offsets, [fault] = walked(tmp_path, b"\xff" * 5000)
    assert offsets == []
    assert (fault.position, fault.size) == (0, 5000)


def test_a_batch_inside_a_damaged_value_is_not_taken_for_one_of_the_log(tmp_path: Path) -> None:
    first, third = batch(100), batch(120)
    carrier = batch(110, value=batch(5))
    offsets, [fault] = walked(tmp_path, first + damage(carrier, 25) + third)
    assert offsets == [100, 120]
    assert fault.size == len(carrier)


def test_a_file_made_to_look_like_headers_everywhere_is_given_up_in_time(tmp_path: Path) -> None:
    header = bytes(8) + (50_000).to_bytes(4, "big") + bytes(4) + b"\x02"
    offsets, faults = walked(tmp_path, header * 10_000)
    assert offsets == []
    assert sum(fault.size for fault in faults) == len(header) * 10_000


def test_formats_may_follow_each_other(tmp_path: Path) -> None:
    data = b"".join(batch(index * 3, 3, magic=magic) for index, magic in enumerate((0, 1, 2)))
    assert walked(tmp_path, data) == ([0, 1, 2, 3, 4, 5, 6], [])


def test_a_range_that_does_not_end_at_a_batch_has_a_fault_at_its_end(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "orders-0", batches(3))
    size = file.size // 3
    with OpenFile(file.name) as opened:
        parts = list(walk_range(opened, 0, size + 100, file_size=file.size))
    assert [type(part) for part in parts] == [Stretch, Fault]
    assert parts[1] == Fault(size, 100, f"size {size} with 100 bytes left")
