"""The whole batches in a damaged log file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.batches import batch

from kafkawire.log._repair.salvage import keep_copy, salvage, write_parts
from kafkawire.log.storage.memory import MemoryFiles


def log_of(*values: bytes, base: int = 0) -> tuple[bytes, list[int]]:
    """A log file of one batch per value, and where each batch starts."""
    data, starts = b"", []
    for number, value in enumerate(values):
        starts.append(len(data))
        data += (base + number).to_bytes(8, "big") + batch(value)[8:]
    return data, starts


@pytest.mark.parametrize("base", [0, 5, 2**32 - 2, 2**40])
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_one_flipped_byte_costs_one_batch(base: int, flip: int) -> None:
    data, starts = log_of(b"one", b"two", b"three", b"four", base=base)
    for position in range(starts[1], starts[2]):
        damaged = bytearray(data)
        damaged[position] ^= flip
        found = salvage(bytes(damaged), base)
        if position - starts[1] < 8 or 12 <= position - starts[1] < 16:
            assert len(found.batches) == 4, "the checksum covers neither the base offset nor the leader epoch"
            continue
        assert [each.position for each in found.batches] == [starts[0], starts[2], starts[3]], position
        assert [(each.position, each.end, each.is_tail) for each in found.damage] == [(starts[1], starts[2], False)]
        assert [each.base_offset for each in found.behind(starts[1])] == [base + 2, base + 3]


@pytest.mark.parametrize("size", [1, 11, 12, 17, 60, 61, 70])
def test_a_batch_that_is_cut_is_a_torn_tail(size: int) -> None:
    data, starts = log_of(b"one", b"two")
    found = salvage(data[: starts[1] + size], 0)
    assert [each.position for each in found.batches] == [0]
    assert [(each.position, each.end, each.is_tail) for each in found.damage] == [(starts[1], starts[1] + size, True)]


def test_zeros_and_other_bytes_are_skipped() -> None:
    data, starts = log_of(b"one", b"two", b"three")
    found = salvage(data[: starts[1]] + bytes(1000) + b"\x02" * 1000 + data[starts[2] :] + bytes(50), 0)
    assert [each.base_offset for each in found.batches] == [0, 2]
    assert [each.is_tail for each in found.damage] == [False, True]


def test_several_damages_are_reported_one_by_one() -> None:
    data, starts = log_of(b"a", b"b", b"c", b"d", b"e")
    damaged = bytearray(data)
    for number in (0, 2, 3):
        damaged[starts[number] + 65] ^= 0xFF
    found = salvage(bytes(damaged), 0)
    assert [each.base_offset for each in found.batches] == [1, 4]
    assert [(each.position, each.end) for each in found.damage] == [(0, starts[1]), (starts[2], starts[4])]


def test_a_batch_inside_a_damaged_record_is_not_taken_for_one_of_the_log() -> None:
    inner, _ = log_of(b"inner", base=3)
    data, starts = log_of(b"one", inner, b"three")
    damaged = bytearray(data)
    damaged[starts[1] + 17] ^= 0xFF
    assert [each.base_offset for each in salvage(bytes(damaged), 0).batches] == [0, 2]
    assert [each.base_offset for each in salvage(bytes(damaged[: starts[2]]), 0).batches] == [0]


def test_a_whole_log_has_no_damage() -> None:
    data, starts = log_of(b"one", b"two")
    assert salvage(b"", 7) == salvage(b"", 0)
    assert [each.position for each in salvage(data, 0).batches] == starts
    assert salvage(data, 0).damage == []


def test_copies_take_the_next_free_name() -> None:
    files, path = MemoryFiles(), Path("/a.log")
    write_parts(files, path, [b"one", b"two"])
    assert [keep_copy(files, path).name for _ in range(2)] == ["a.log.damaged-1", "a.log.damaged-2"]
    assert {bytes(file.data) for file in files.names.values()} == {b"onetwo"}
