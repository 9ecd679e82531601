"""Capture files of every form yield the same connections, and bad ones say where they stop."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from typing import TYPE_CHECKING

import lz4.frame
import numpy as np
import pytest
import zstandard
from tests.inspect.captures import START, Conversation, Packet, link_packet, tag, write_pcap, write_pcapng

from kafkawire.inspect._capture import packets
from kafkawire.inspect._capture.connections import Capture, index_capture, open_capture
from kafkawire.inspect._capture.files import map_file
from kafkawire.inspect._capture.packets import CaptureError
from kafkawire.messages import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.twin


def heartbeats(*, six: bool = False, count: int = 3) -> list[Packet]:
    ends = (("fd00::1", 50_000), ("fd00::9", 9092)) if six else (("10.0.0.1", 50_000), ("10.0.0.9", 9092))
    talk = Conversation(*ends).open()
    for _ in range(count):
        talk.exchange(HeartbeatRequest(group_id="g", member_id="m"), HeartbeatResponse(), 4)
    return talk.close().packets


def opened(tmp_path: Path, raw: bytes, name: str = "x.pcap") -> Capture:
    path = tmp_path / name
    path.write_bytes(raw)
    return open_capture(path)


def assert_three_heartbeats(capture: Capture, *, six: bool = False) -> None:
    (connection,) = capture.connections()
    client, broker = ("[fd00::1]:50000", "[fd00::9]:9092") if six else ("10.0.0.1:50000", "10.0.0.9:9092")
    assert (connection.client, connection.broker, connection.kind) == (client, broker, "kafka")
    assert connection.requests.correlation.tolist() == [1, 2, 3]
    assert connection.responses.correlation.tolist() == [1, 2, 3]
    assert connection.requests.clients == ["app"]
    assert connection.requests.skips == connection.responses.skips == []


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_classic_captures_of_both_byte_orders_and_clocks(tmp_path: Path, order: str, nanoseconds: bool) -> None:
    capture = opened(tmp_path, write_pcap(heartbeats(), order=order, nanoseconds=nanoseconds))
    assert_three_heartbeats(capture)
    assert capture.packets.time[0] == START
    assert capture.packets.time[1] == START + 100_000


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("link", [0, 1, 101, 108, 113, 276])
def test_link_types_with_both_versions_of_ip(tmp_path: Path, link: int, six: bool) -> None:
    assert_three_heartbeats(opened(tmp_path, write_pcap(heartbeats(six=six), link=link)), six=six)


def test_vlan_tags_are_stepped_over(tmp_path: Path) -> None:
    packets = heartbeats()
    raw = write_pcap([])
    for packet in packets:
        frame = tag(link_packet(packet, 1))
        raw += struct.pack("<IIII", packet.time // 10**9, 0, len(frame), len(frame)) + frame
    assert_three_heartbeats(opened(tmp_path, raw))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [6, 9, 0x80 | 20, 3])
def test_pcapng_with_several_interfaces_and_clocks(tmp_path: Path, order: str, resolution: int) -> None:
    raw = write_pcapng(heartbeats(), links=(1, 113, 101), order=order, resolution=resolution)
    capture = opened(tmp_path, raw)
    assert_three_heartbeats(capture)
    ticks = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    assert abs(int(capture.packets.time[0]) - START) <= 10**9 / ticks


def test_pcapng_sections_may_differ_in_byte_order(tmp_path: Path) -> None:
    packets = heartbeats()
    raw = write_pcapng(packets[:4], order="<") + write_pcapng(packets[4:], order=">", links=(276,))
    assert_three_heartbeats(opened(tmp_path, raw))


def test_simple_packet_blocks_have_no_time(tmp_path: Path) -> None:
    capture = opened(tmp_path, write_pcapng(heartbeats(), simple=True))
    assert_three_heartbeats(capture)
    assert set(capture.packets.time.tolist()) == {-1}


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        zstandard.compress,
        lambda raw: gzip.compress(raw[:99]) + gzip.compress(raw[99:]),
        lzma.compress,
        bz2.compress,
        lz4.frame.compress,
    ],
)
def test_compressed_captures_are_recognised_by_their_bytes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert_three_heartbeats(opened(tmp_path, pack(write_pcap(heartbeats())), "no-suffix"))


def test_unpacking_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 22)))
    with pytest.raises(CaptureError, match="more than 1000000 bytes"):
        map_file(path, limit=1_000_000)


def test_a_damaged_archive_says_how_far_it_went(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(write_pcap(heartbeats()))[:-20])
    with pytest.raises(CaptureError, match=r"cut.gz: reading stopped after \d+ bytes"):
        map_file(path)


@pytest.mark.parametrize("raw", [b"\0" * 40, b"\xd4\xc3\xb2\xa1", b"hello"])
def test_a_file_that_is_not_a_capture_is_refused(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(CaptureError, match=r"x.pcap: not a (capture|pcap)"):
        opened(tmp_path, raw)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="the file is empty"):
        opened(tmp_path, b"")


@pytest.mark.parametrize("write", [write_pcap, write_pcapng])
def test_a_cut_file_yields_the_packets_before_the_cut(write: Callable[[list[Packet]], bytes]) -> None:
    packets = heartbeats()
    whole = np.frombuffer(write(packets), np.uint8)
    counts = set()
    for end in range(len(write([])), len(whole)):
        index = index_capture(whole[:end])
        counts.add(len(index))
        assert (index.offset + index.captured <= end).all()
        complete = len(write(packets[: len(index)])) == end
        assert complete or "the file ends within" in index.faults[0]
    assert counts == set(range(len(packets)))


def test_an_impossible_packet_length_ends_the_index() -> None:
    raw = bytearray(write_pcap(heartbeats()))
    struct.pack_into("<I", raw, 24 + 8, 0x7FFFFFFF)
    index = index_capture(np.frombuffer(bytes(raw), np.uint8))
    assert len(index) == 0
    assert index.faults == ["byte 24: a packet of 2147483647 bytes, expected at most 262144; the rest is not read"]


def test_random_damage_never_escapes() -> None:
    chance = np.random.default_rng(5)
    for write in (write_pcap, write_pcapng):
        raw = np.frombuffer(write(heartbeats()), np.uint8)
        for _ in range(150):
            damaged = raw.copy()
            damaged[chance.integers(24, len(raw), 8)] = chance.integers(0, 256, 8)
            index = index_capture(damaged)
            assert (index.offset + index.captured <= len(raw)).all()


def test_headers_do_not_depend_on_the_runs_they_are_read_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = [packet for pair in zip(heartbeats(), heartbeats(six=True), strict=True) for packet in pair]
    whole = opened(tmp_path, write_pcap(mixed)).packets
    monkeypatch.setattr(packets, "_BLOCK", 3)
    parts = opened(tmp_path, write_pcap(mixed)).packets
    assert whole.number.tolist() == parts.number.tolist() == list(range(1, len(mixed) + 1))
    assert [parts.endpoint(int(end)) for end in parts.source] == [whole.endpoint(int(end)) for end in whole.source]
    assert {whole.endpoint(int(end)) for end in whole.source} == {
        *("10.0.0.1:50000", "10.0.0.9:9092", "[fd00::1]:50000", "[fd00::9]:9092")
    }


def test_other_traffic_is_counted_and_left_out(tmp_path: Path) -> None:
    packets = heartbeats()
    raw = write_pcap(packets)
    udp = bytearray(link_packet(packets[0], 1))
    udp[14 + 9] = 17
    fragment = bytearray(link_packet(packets[0], 1))
    fragment[14 + 6] = 0x20
    for frame in (udp, fragment, b"\0" * 3):
        raw += struct.pack("<IIII", 1, 0, len(frame), len(frame)) + bytes(frame)
    capture = opened(tmp_path, raw)
    assert (capture.packets.others, capture.packets.fragments) == (2, 1)
    assert_three_heartbeats(capture)


@pytest.mark.parametrize(
    ("start", "command"), [(b"PK\x03\x04", "unzip"), (b"7z\xbc\xaf", "7z x"), (b"\x1f\x9d", "uncompress")]
)
def test_an_archive_is_refused_with_what_to_do(tmp_path: Path, start: bytes, command: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(start + bytes(100))
    with pytest.raises(CaptureError, match=f"an archive; unpack it with `{command}`"):
        map_file(path)


def test_a_truncated_xz_file_says_how_far_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.xz"
    path.write_bytes(lzma.compress(write_pcap(heartbeats()))[:-20])
    with pytest.raises(CaptureError, match="reading stopped after"):
        map_file(path)
