"""Reassembly: whatever order and copies packets come in, the stream is what was sent, or says what is missing."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inspect.captures import ACK, MILLISECOND, RST, START, SYN, Conversation, Packet, write_pcap

from kafkawire.inspect._capture.connections import index_capture
from kafkawire.inspect._capture.packets import read_packets
from kafkawire.inspect._capture.tcp import Stream, find_flows, reassemble

if TYPE_CHECKING:
    from collections.abc import Sequence

CLIENT, BROKER = ("10.0.0.1", 50_000), ("10.0.0.9", 9092)
TEXT = random.Random(3).randbytes(5_000)


def streams(packets: Sequence[Packet], snaplen: int = 262_144) -> list[Stream]:
    """The streams from the client, one a connection."""
    data = np.frombuffer(write_pcap(packets, snaplen=snaplen, nanoseconds=True), np.uint8)
    parsed = read_packets(data, index_capture(data))
    found = []
    for flow in find_flows(parsed):
        source = parsed.source[flow.rows]
        found.append(reassemble(data, parsed, flow.rows[source & 0xFFFF == CLIENT[1]]))
    return found


def content(stream: Stream) -> dict[int, bytes]:
    """The bytes of each run without a gap, by its start."""
    return {start: bytes(stream.read(start, end - start)) for _, _, start, end in stream.chunks()}


def piece(start: int, end: int, *, base: int = 1_001, time: int = 0, text: bytes = TEXT, flags: int = ACK) -> Packet:
    sequence = base + start & 0xFFFFFFFF
    return Packet(START + time * MILLISECOND, CLIENT, BROKER, sequence, flags, text[start:end], identity=time + 1)


def syn(base: int = 1_001, time: int = 0) -> Packet:
    return Packet(START + time * MILLISECOND, CLIENT, BROKER, base - 1 & 0xFFFFFFFF, SYN)


@pytest.mark.parametrize(
    "parts",
    [
        [(0, 100), (100, 250), (250, 400)],
        [(100, 250), (0, 100), (250, 400)],
        [(250, 400), (100, 250), (0, 100)],
        [(0, 100), (100, 250), (0, 100), (100, 250), (250, 400)],
        [(0, 150), (100, 250), (50, 300), (300, 400)],
        [(0, 100), (99, 100), (100, 400)],
        [(200, 300), (100, 400), (0, 250)],
    ],
    ids=["in order", "swapped", "reversed", "repeated", "overlapping", "keep-alive", "nested"],
)
def test_the_stream_is_what_was_sent(parts: list[tuple[int, int]]) -> None:
    packets = [syn()] + [piece(*part, time=index + 1) for index, part in enumerate(parts)]
    (stream,) = streams(packets)
    assert content(stream) == {0: TEXT[:400]}
    assert stream.synced


def test_of_bytes_sent_twice_the_first_capture_counts() -> None:
    other = bytes(len(TEXT))
    (stream,) = streams([syn(), piece(100, 200), piece(0, 300, text=other), piece(150, 400)])
    assert content(stream) == {0: other[:100] + TEXT[100:200] + other[200:300] + TEXT[300:400]}


def test_a_missing_packet_is_a_gap_of_known_size() -> None:
    (stream,) = streams([syn(), piece(0, 100), piece(250, 400)])
    assert content(stream) == {0: TEXT[:100], 250: TEXT[250:400]}


def test_a_snap_length_leaves_gaps_that_a_full_copy_fills() -> None:
    headers = 14 + 20 + 32
    packets = [syn(), piece(0, 100), piece(100, 400), piece(400, 500), piece(150, 250)]
    (stream,) = streams(packets, snaplen=headers + 100)
    assert content(stream) == {0: TEXT[:250], 400: TEXT[400:500]}
    (stream,) = streams([syn(), piece(0, 300)], snaplen=headers + 100)
    assert (content(stream), stream.end) == ({0: TEXT[:100]}, 300)


def test_sequence_numbers_wrap() -> None:
    base = (1 << 32) - 150
    (stream,) = streams([syn(base)] + [piece(at, at + 100, base=base) for at in (0, 200, 100, 300)])
    assert content(stream) == {0: TEXT[:400]}


def test_a_capture_that_starts_late_starts_at_the_lowest_byte() -> None:
    (stream,) = streams([piece(300, 400), piece(200, 300), piece(400, 500)])
    assert content(stream) == {0: TEXT[200:500]}
    assert not stream.synced


def test_a_new_syn_on_the_same_ports_is_a_new_connection() -> None:
    one = [syn(), syn(time=1), piece(0, 100, time=2)]
    two = [syn(9_000, time=5), piece(0, 200, base=9_000, time=6)]
    assert [content(stream) for stream in streams(one + two)] == [{0: TEXT[:100]}, {0: TEXT[:200]}]


def test_a_reset_with_a_strange_sequence_does_no_harm() -> None:
    reset = Packet(START, CLIENT, BROKER, 0xF0000000, RST)
    (stream,) = streams([syn(), piece(0, 100), reset, piece(100, 200)])
    assert content(stream) == {0: TEXT[:200]}


def test_offloaded_segments_of_64_kilobytes_have_no_ip_length() -> None:
    text = random.Random(1).randbytes(130_000)
    (stream,) = streams([syn(), piece(0, 65_100, text=text), piece(65_100, 130_000, text=text)])
    assert content(stream) == {0: text}


def test_copies_are_distinguished_from_retransmissions() -> None:
    first = piece(0, 100, time=1)
    copy = replace(first, time=first.time + 50_000)
    again = replace(first, time=first.time + 250 * MILLISECOND, identity=77)
    keep_alive = piece(99, 100, time=900)
    (stream,) = streams([syn(), first, copy, again, keep_alive])
    assert (stream.duplicates, stream.retransmitted) == (1, 1)


@settings(max_examples=150)
@given(st.data())
def test_any_order_of_any_overlapping_cover_gives_the_stream(data: st.DataObject) -> None:
    base = data.draw(st.integers(0, (1 << 32) - 1))
    cuts = sorted(data.draw(st.sets(st.integers(1, 599), max_size=12)))
    bounds = [0, *cuts, 600]
    parts = list(itertools.pairwise(bounds))
    extra = data.draw(st.lists(st.tuples(st.integers(0, 599), st.integers(1, 200)), max_size=6))
    parts += [(start, min(start + size, 600)) for start, size in extra]
    packets = [piece(*part, base=base) for part in data.draw(st.permutations(parts))]
    (stream,) = streams([syn(base), *packets])
    assert content(stream) == {0: TEXT[:600]}


def test_both_directions_of_a_conversation() -> None:
    talk = Conversation(segment=100).open()
    talk.send(TEXT[:450]).send(TEXT[450:900], from_client=False).send(TEXT[900:950])
    (stream,) = streams(talk.packets)
    assert content(stream) == {0: TEXT[:450] + TEXT[900:950]}
