"""Frames out of a stream, however it is cut."""

from __future__ import annotations

from random import Random

import pytest

from kafkawire.broker import inbox as memory
from kafkawire.broker.inbox import FIRST_ROOM, ORDINARY, SCRATCH, SMALL, Inbox
from kafkawire.wire import FrameError

SIZES = (0, 1, 100, 4000, SCRATCH // 2 - 4, SCRATCH // 2 + 1, SCRATCH, 3 * SCRATCH + 17)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("seed", range(8))
def test_frames_come_out_as_they_went_in(seed: int) -> None:
    dice = Random(seed)
    sent = [framed(dice.randbytes(dice.choice(SIZES))) for _ in range(12)]
    stream = b"".join(sent)
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    other = Inbox(inbox._scratch)
    found = []
    position = 0
    while position < len(stream):
        room = inbox.buffer()
        piece = stream[position : position + dice.choice((1, 3, 1000, 70_000, len(room)))][: len(room)]
        room[: len(piece)] = piece
        inbox.received(len(piece))
        position += len(piece)
        while dice.random() < 0.9 and (frame := inbox.take()) is not None:
            found.append(bytes(frame))
        if inbox.wants_room:
            inbox.grow()
        while inbox.is_full() and (frame := inbox.take()) is not None:
            found.append(bytes(frame))
        other.buffer()[:10] = b"0123456789"
    while (frame := inbox.take()) is not None:
        found.append(bytes(frame))
    assert found == sent
    assert inbox.held == 0


def test_memory_grows_with_what_arrives() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    inbox.buffer()[:4] = (50_000_000).to_bytes(4, "big")
    inbox.received(4)
    assert inbox.take() is None
    assert inbox.held <= SCRATCH


def test_a_size_that_cannot_be_is_refused_at_once() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)), max_size=100)
    inbox.buffer()[:4] = (101).to_bytes(4, "big")
    inbox.received(4)
    with pytest.raises(FrameError, match="a frame of 101 bytes at stream offset 0: expected 0 to 100"):
        inbox.take()


def feed(inbox: Inbox, stream: bytes, *, tight: bool = False) -> memoryview | bytes | None:
    """Let bytes arrive, with memory granted whenever it is asked for; the first whole frame."""
    position = 0
    while position < len(stream):
        room = inbox.buffer(tight=tight)
        piece = stream[position : position + len(room)]
        room[: len(piece)] = piece
        inbox.received(len(piece))
        position += len(piece)
        if (frame := inbox.take(tight=tight)) is not None:
            return frame
        if inbox.wants_room:
            inbox.grow()
    return None


@pytest.mark.parametrize("size", [ORDINARY - 4, ORDINARY + 1, 40_000_000])
def test_a_large_frame_is_moved_once_however_often_it_grows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    allocate = memory._allocate

    def note(size: int) -> object:
        sizes.append(size)
        return allocate(size)

    monkeypatch.setattr(memory, "_allocate", note)
    body = Random(size).randbytes(1000) * (size // 1000) + bytes(size % 1000)
    frame = feed(Inbox(memoryview(bytearray(SCRATCH))), framed(body))
    assert frame == framed(body)
    assert sizes == [size + 4]


def test_a_huge_frame_counts_as_it_arrives_and_outlives_its_inbox() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    stream = framed(b"a" * 30_000_000)
    assert feed(inbox, stream[:1_000_000]) is None
    assert inbox.held <= 2 * 1_000_000
    frame = feed(inbox, stream[1_000_000:])
    inbox.clear()
    del inbox
    assert frame is not None
    view = memoryview(frame)[15_000_000:15_000_010]
    del frame
    assert bytes(view) == b"a" * 10


def test_the_rest_of_a_read_keeps_no_frames_that_were_taken() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    data = framed(b"a" * 1000) * 200 + b"\0"
    inbox.buffer()[: len(data)] = data
    inbox.received(len(data))
    while inbox.take() is not None:
        assert inbox.held == len(data)
    assert inbox.held == len(inbox._left) == 1


def test_while_memory_is_tight_a_read_is_small_and_a_frame_asks_for_its_room() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    assert len(inbox.buffer(tight=True)) == SMALL
    stream = framed(b"a" * 100_000)
    inbox.buffer(tight=True)[:SMALL] = stream[:SMALL]
    inbox.received(SMALL)
    assert inbox.take(tight=True) is None
    assert (inbox.wants_room, inbox.held, inbox.wanted) == (True, SMALL, len(stream) - SMALL)
    inbox.grow()
    assert feed(inbox, stream[SMALL:], tight=True) == stream


def test_small_frames_need_no_room_while_memory_is_tight() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    stream = framed(b"a" * (SMALL - 5))
    assert feed(inbox, stream[:100], tight=True) is None
    assert not inbox.wants_room
    assert feed(inbox, stream[100:], tight=True) == stream


def test_a_frame_that_was_begun_in_plenty_asks_when_memory_is_tight() -> None:
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    stream = framed(b"a" * (SCRATCH // 2 - 100))
    assert feed(inbox, stream[:60_000]) is None
    assert not inbox.wants_room
    inbox.buffer(tight=True)[:SMALL] = stream[60_000 : 60_000 + SMALL]
    inbox.received(SMALL)
    assert inbox.take(tight=True) is None
    assert (inbox.wants_room, inbox.held) == (True, 60_000 + SMALL)
    assert inbox.held < FIRST_ROOM
    inbox.grow()
    assert feed(inbox, stream[60_000 + SMALL :], tight=True) == stream


def test_a_system_without_memory_is_an_error_that_names_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("kafkawire.platforms.mmap.mmap", fail)
    inbox = Inbox(memoryview(bytearray(SCRATCH)))
    with pytest.raises(memory.NoMemoryError, match="a frame of 50000004 bytes: the system has no memory"):
        feed(inbox, framed(bytes(50_000_000)))
