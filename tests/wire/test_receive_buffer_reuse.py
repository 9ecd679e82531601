"""Frames out of what a socket brings, in any pieces, and memory that is used again."""

from __future__ import annotations

import random

import pytest

from kafkawire.wire import ReceiveBuffer
from kafkawire.wire.frames import SIZE

LARGE = 200_000


def frame(size: int, fill: int) -> bytes:
    return SIZE.pack(size) + bytes([fill]) * size


def feed(buffer: ReceiveBuffer, data: bytes, most: int = 2**31) -> list[bytes | memoryview]:
    frames: list[bytes | memoryview] = []
    while data:
        room = buffer.room()
        count = min(len(room), len(data), most)
        room[:count] = data[:count]
        frames += buffer.received(count)
        data = data[count:]
    return frames


@pytest.mark.parametrize("seed", range(5))
def test_frames_of_all_sizes_come_out_whole_however_they_arrive(seed: int) -> None:
    dice = random.Random(seed)
    sent = [frame(dice.choice([0, 1, 500, 65_532, 65_533, 70_000, LARGE]), number % 256) for number in range(40)]
    assert [bytes(each) for each in feed(ReceiveBuffer(), b"".join(sent), dice.choice([999, 70_001, LARGE]))] == sent


def test_memory_that_is_given_back_serves_the_next_large_frame_that_fits() -> None:
    buffer = ReceiveBuffer()
    (first,) = feed(buffer, frame(LARGE, 1))
    assert isinstance(first, memoryview)
    buffer.reuse(first[10:20])
    (second,) = feed(buffer, frame(LARGE - 100, 2))
    assert isinstance(second, memoryview)
    assert second.obj is first.obj
    assert bytes(second) == frame(LARGE - 100, 2)
    buffer.reuse(second)
    (third,) = feed(buffer, frame(LARGE + 1, 3))
    assert isinstance(third, memoryview)
    assert third.obj is not first.obj
    assert bytes(third) == frame(LARGE + 1, 3)


def test_memory_that_is_not_given_back_stays_as_it_is() -> None:
    buffer = ReceiveBuffer()
    kept = [*feed(buffer, frame(LARGE, 1)), *feed(buffer, frame(LARGE, 2))]
    buffer.reuse(memoryview(b"a small frame is nobody's memory"))
    kept += feed(buffer, frame(LARGE, 3))
    assert [bytes(each) for each in kept] == [frame(LARGE, number) for number in (1, 2, 3)]
