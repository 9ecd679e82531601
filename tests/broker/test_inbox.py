"""Frames out of a stream, however it is cut."""

from __future__ import annotations

from random import Random

import pytest

from kafkawire.broker.inbox import SCRATCH, Inbox
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
        while inbox.is_full and (frame := inbox.take()) is not None:
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
