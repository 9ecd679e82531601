"""The batches in a range of a file: sound stretches, faults, and tails that are none."""

from __future__ import annotations

import random

import pytest
from tests.spark.segment_files import batch, batches, damage

from kafkawire.records.walk import BytesAt, Damage, Stretch, walk


def walked(data: bytes, *, piece: int = 1000, verify: bool = True) -> tuple[list[int], list[Damage]]:
    """The base offsets of the sound batches, and the faults."""
    size = len(data)
    offsets: list[int] = []
    faults: list[Damage] = []
    for part in walk(BytesAt(data), 0, size, file_size=size, piece=piece, verify=verify):
        if isinstance(part, Stretch):
            offsets += part.scan.base_offset
        elif not part.is_unfinished:
            faults.append(part)
    return offsets, faults


@pytest.mark.parametrize("piece", [61, 300, 1000, 10**6])
def test_every_batch_is_found_whatever_is_read_at_a_time(piece: int) -> None:
    assert walked(b"".join(batches(20)), piece=piece) == (list(range(0, 200, 10)), [])


@pytest.mark.parametrize("cut", [1, 11, 12, 16, 17, 60, 61, 200])
def test_a_batch_cut_by_the_end_of_the_file_is_not_a_fault(cut: int) -> None:
    whole = batches(3)
    assert walked(whole[0] + whole[1] + whole[2][:cut]) == ([0, 10], [])


@pytest.mark.parametrize("zeros", [5, 17, 100, 5000])
def test_zeros_up_to_the_end_of_the_file_are_not_a_fault(zeros: int) -> None:
    assert walked(b"".join(batches(2)) + bytes(zeros)) == ([0, 10], [])


def test_zeros_with_batches_behind_them_are_a_fault() -> None:
    first, second = batches(2)
    assert walked(first + bytes(500) + second) == (
        [0, 10],
        [Damage(len(first), 500, "size field 0, expected at least 14")],
    )


def test_after_a_wrong_crc_reading_goes_on_behind_the_batch() -> None:
    first, second, third = batches(3)
    offsets, [fault] = walked(first + damage(second, 100) + third)
    assert offsets == [0, 20]
    assert (fault.position, fault.size) == (len(first), len(second))
    assert fault.problem.startswith("stated CRC 0x")


def test_without_verification_a_wrong_crc_is_not_seen() -> None:
    first, second, third = batches(3)
    assert walked(first + damage(second, 100) + third, verify=False) == ([0, 10, 20], [])


@pytest.mark.parametrize("at", [8, 9, 11])
def test_a_wrong_size_field_loses_one_batch_and_no_more(at: int) -> None:
    data = batches(6)
    offsets, [fault] = walked(b"".join([*data[:2], damage(data[2], at), *data[3:]]))
    assert offsets == [0, 10, 30, 40, 50]
    assert (fault.position, fault.size) == (len(data[0]) * 2, len(data[2]))


def test_a_size_that_points_behind_the_file_is_a_fault_if_batches_follow() -> None:
    first, second, third = batches(3)
    huge = second[:8] + (10**6).to_bytes(4, "big") + second[12:]
    offsets, [fault] = walked(first + huge + third)
    assert offsets == [0, 20]
    assert fault == Damage(len(first), len(second), f"size 1000012 with {len(second) + len(third)} bytes left")


def test_garbage_between_batches_is_one_fault() -> None:
    first, second = batches(2)
    garbage = random.Random(1).randbytes(3000)
    offsets, faults = walked(first + garbage + second)
    assert offsets == [0, 10]
    assert [(fault.position, fault.size) for fault in faults] == [(len(first), 3000)]


def test_a_file_of_garbage_is_one_fault() -> None:
    offsets, [fault] = walked(b"\xff" * 5000)
    assert offsets == []
    assert (fault.position, fault.size) == (0, 5000)


def test_a_batch_inside_a_damaged_value_is_not_taken_for_one_of_the_log() -> None:
    first, third = batch(100), batch(120)
    carrier = batch(110, value=batch(5))
    offsets, [fault] = walked(first + damage(carrier, 25) + third)
    assert offsets == [100, 120]
    assert fault.size == len(carrier)


def test_a_file_made_to_look_like_headers_everywhere_is_given_up_in_time() -> None:
    header = bytes(8) + (50_000).to_bytes(4, "big") + bytes(4) + b"\x02"
    offsets, faults = walked(header * 10_000)
    assert offsets == []
    assert sum(fault.size for fault in faults) == len(header) * 10_000


def test_formats_may_follow_each_other() -> None:
    data = b"".join(batch(index * 3, 3, magic=magic) for index, magic in enumerate((0, 1, 2)))
    assert walked(data) == ([0, 1, 2, 3, 4, 5, 6], [])


def test_a_range_that_does_not_end_at_a_batch_has_a_fault_at_its_end() -> None:
    data = b"".join(batches(3))
    size = len(data) // 3
    parts = list(walk(BytesAt(data), 0, size + 100, file_size=len(data)))
    assert [type(part) for part in parts] == [Stretch, Damage]
    assert parts[1] == Damage(size, 100, f"size {size} with 100 bytes left", is_tail=True)
