"""Frames out of a stream of chunks."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.wire import FrameError, FrameReader


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(0, 300), max_size=20))
def test_frames_come_whole_and_in_order_whatever_the_chunks(payloads: list[bytes], cuts: list[int]) -> None:
    frames = [len(payload).to_bytes(4) + payload for payload in payloads]
    stream = b"".join(frames) + b"\x00\x00"
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    reader = FrameReader(max_size=100)
    found = [frame for start, end in pairwise(places) for frame in reader.feed(stream[start:end])]
    assert found == frames
    assert reader.pending == 2


@pytest.mark.parametrize(
    ("beginning", "problem"),
    [
        (b"\xff\xff\xff\xff", r"a negative frame size \(-1\) at stream offset 6: expected 0 to 100"),
        (b"\x7f\xff\xff\xff", "a frame of 2147483647 bytes at stream offset 6: expected 0 to 100"),
        (b"\x00\x00\x00\x65", "a frame of 101 bytes"),
        (b"\x16\x03\x01\x02\x00", "this looks like TLS"),
        (b"GET / HTTP/1.1", "this looks like HTTP"),
    ],
)
def test_a_size_that_cannot_be_is_refused_and_says_what_it_looks_like(beginning: bytes, problem: str) -> None:
    reader = FrameReader(max_size=100)
    assert len(reader.feed(b"\x00\x00\x00\x02ok")) == 1
    with pytest.raises(FrameError, match=problem):
        reader.feed(beginning)


def test_room_grows_with_what_arrives_not_with_what_is_promised() -> None:
    tracemalloc.start()
    try:
        reader = FrameReader(max_size=1 << 30)
        reader.feed((1 << 30).to_bytes(4) + b"only this")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
