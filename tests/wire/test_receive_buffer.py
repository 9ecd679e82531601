"""Frames out of a stream, however it is cut."""

from __future__ import annotations

from random import Random

import pytest

from kafkawire.broker._net.connection import FIRST_ROOM, READ_SIZE, SCRATCH
from kafkawire.wire import FrameError, ReceiveBuffer
from kafkawire.wire import receive_buffer as memory
from kafkawire.wire.receive_buffer import ORDINARY, SMALL

SIZES = (0, 1, 100, 4000, SCRATCH // 2 - 4, SCRATCH // 2 + 1, SCRATCH, 3 * SCRATCH + 17)


def broker_buffer(scratch: memoryview | None = None, max_size: int = 10**9) -> ReceiveBuffer:
    """A buffer as the broker makes it."""
    memory = memoryview(bytearray(SCRATCH)) if scratch is None else scratch
    return ReceiveBuffer(max_size, memory, first_room=FIRST_ROOM, read_size=READ_SIZE, maps_memory=True)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("seed", range(8))
def test_frames_come_out_as_they_went_in(seed: int) -> None:
    dice = Random(seed)
    sent = [framed(dice.randbytes(dice.choice(SIZES))) for _ in range(12)]
    stream = b"".join(sent)
    buffer = broker_buffer()
    other = broker_buffer(buffer._scratch)
    found = []
    position = 0
    while position < len(stream):
        room = buffer.buffer()
        piece = stream[position : position + dice.choice((1, 3, 1000, 70_000, len(room)))][: len(room)]
        room[: len(piece)] = piece
        buffer.add(len(piece))
        position += len(piece)
        while dice.random() < 0.9 and (frame := buffer.take()) is not None:
            found.append(bytes(frame))
        if buffer.wants_room:
            buffer.grow()
        while buffer.is_full() and (frame := buffer.take()) is not None:
            found.append(bytes(frame))
        other.buffer()[:10] = b"0123456789"
    while (frame := buffer.take()) is not None:
        found.append(bytes(frame))
    assert found == sent
    assert buffer.held == 0


def test_memory_grows_with_what_arrives() -> None:
    buffer = broker_buffer()
    buffer.buffer()[:4] = (50_000_000).to_bytes(4, "big")
    buffer.add(4)
    assert buffer.take() is None
    assert buffer.held <= SCRATCH


def test_a_size_that_cannot_be_is_refused_at_once() -> None:
    buffer = broker_buffer(max_size=100)
    buffer.buffer()[:4] = (101).to_bytes(4, "big")
    buffer.add(4)
    with pytest.raises(FrameError, match="a frame of 101 bytes at stream offset 0: expected 0 to 100"):
        buffer.take()


def feed(
    buffer: ReceiveBuffer, stream: bytes, memories: list[object] | None = None, *, tight: bool = False
) -> memoryview | bytes | None:
    """Let bytes arrive, with memory granted whenever it is asked for; the first whole frame.

    `memories` collects the memory that a large frame had.
    """
    position = 0
    while position < len(stream):
        room = buffer.buffer(tight=tight)
        if memories is not None and buffer._large is not None and all(each is not buffer._large for each in memories):
            memories.append(buffer._large)
        piece = stream[position : position + len(room)]
        room[: len(piece)] = piece
        buffer.add(len(piece))
        position += len(piece)
        if (frame := buffer.take(tight=tight)) is not None:
            return frame
        if buffer.wants_room:
            buffer.grow()
    return None


@pytest.mark.parametrize("size", [ORDINARY - 4, ORDINARY + 1, 40_000_000])
def test_a_large_frame_is_moved_once_however_often_it_grows(size: int) -> None:
    buffer = broker_buffer()
    memories: list[object] = []
    body = Random(size).randbytes(1000) * (size // 1000) + bytes(size % 1000)
    frame = feed(buffer, framed(body), memories)
    assert frame == framed(body)
    assert len(memories) == 1
    assert len(memories[0]) == size + 4  # type: ignore[arg-type]  # memory has a length


def test_a_huge_frame_counts_as_it_arrives_and_outlives_its_buffer() -> None:
    buffer = broker_buffer()
    stream = framed(b"a" * 30_000_000)
    assert feed(buffer, stream[:1_000_000]) is None
    assert buffer.held <= 2 * 1_000_000
    frame = feed(buffer, stream[1_000_000:])
    buffer.clear()
    del buffer
    assert frame is not None
    view = memoryview(frame)[15_000_000:15_000_010]
    del frame
    assert bytes(view) == b"a" * 10


def test_the_rest_of_a_read_keeps_no_frames_that_were_taken() -> None:
    buffer = broker_buffer()
    data = framed(b"a" * 1000) * 200 + b"\0"
    buffer.buffer()[: len(data)] = data
    buffer.add(len(data))
    while buffer.take() is not None:
        assert buffer.held == len(data)
    assert buffer.held == len(buffer._left) == 1


def test_while_memory_is_tight_a_read_is_small_and_a_frame_asks_for_its_room() -> None:
    buffer = broker_buffer()
    assert len(buffer.buffer(tight=True)) == SMALL
    stream = framed(b"a" * 100_000)
    buffer.buffer(tight=True)[:SMALL] = stream[:SMALL]
    buffer.add(SMALL)
    assert buffer.take(tight=True) is None
    assert (buffer.wants_room, buffer.held, buffer.wanted) == (True, SMALL, len(stream) - SMALL)
    buffer.grow()
    assert feed(buffer, stream[SMALL:], tight=True) == stream


def test_small_frames_need_no_room_while_memory_is_tight() -> None:
    buffer = broker_buffer()
    stream = framed(b"a" * (SMALL - 5))
    assert feed(buffer, stream[:100], tight=True) is None
    assert not buffer.wants_room
    assert feed(buffer, stream[100:], tight=True) == stream


def test_a_frame_that_was_begun_in_plenty_asks_when_memory_is_tight() -> None:
    buffer = broker_buffer()
    stream = framed(b"a" * (SCRATCH // 2 - 100))
    assert feed(buffer, stream[:60_000]) is None
    assert not buffer.wants_room
    buffer.buffer(tight=True)[:SMALL] = stream[60_000 : 60_000 + SMALL]
    buffer.add(SMALL)
    assert buffer.take(tight=True) is None
    assert (buffer.wants_room, buffer.held) == (True, 60_000 + SMALL)
    assert buffer.held < FIRST_ROOM
    buffer.grow()
    assert feed(buffer, stream[60_000 + SMALL :], tight=True) == stream


def test_a_system_without_memory_is_an_error_that_names_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("kafkawire._platforms.mmap.mmap", fail)
    buffer = broker_buffer()
    with pytest.raises(memory.NoMemoryError, match="a frame of 50000004 bytes: the system has no memory"):
        feed(buffer, framed(bytes(50_000_000)))
