"""Rotated captures: what goes on in the next file is one connection, what only looks alike is not."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.captures import MILLISECOND, Conversation, Packet, merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced
from tests.inspect.test_plan import agree

from kafkawire.inspect._tables.read import read_captures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

LOCAL = ("conn_id", "file", "req_packet", "resp_packet", "location")  # what says in which file, under which number


def write(folder: Path, *files: Sequence[Packet]) -> list[Path]:
    paths = [folder / f"{number}.pcap" for number in range(len(files))]
    for path, packets in zip(paths, files, strict=True):
        path.write_bytes(write_pcap(packets, nanoseconds=True))
    return paths


def rotated(folder: Path, packets: Sequence[Packet], *cuts: int) -> list[Path]:
    bounds = [0, *cuts, len(packets)]
    return write(folder, *[packets[begin:end] for begin, end in pairwise(bounds)])


def rows(tables: Mapping[str, pa.Table], name: str) -> list[str]:
    kept = [column for column in tables[name].schema.names if column not in LOCAL]
    return sorted(map(repr, tables[name].select(kept).to_pylist()))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=["in order", "in any order"])
def test_rotated_files_are_read_as_the_capture_that_they_were(tmp_path: Path, order: tuple[int, ...]) -> None:
    packets = cluster_traffic(12, 12, payload=4000).packets
    (whole,) = write(tmp_path, packets)
    expected = read_captures([whole])
    paths = rotated(tmp_path, packets, len(packets) // 3 + 1, len(packets) // 2)
    found = read_captures([paths[number] for number in order])
    assert (found.packets, found.files) == (expected.packets, 3)
    for name in expected.tables:
        assert rows(found.tables, name) == rows(expected.tables, name)
    assert found.tables["gaps"].num_rows == 0


@pytest.mark.parametrize("part_bytes", [3000, 1 << 30])
def test_workers_read_rotated_files_as_one_reader_does(tmp_path: Path, part_bytes: int) -> None:
    packets = cluster_traffic(12, 12, payload=4000).packets
    agree(rotated(tmp_path, packets, 200, 201, len(packets) // 2), part_bytes=part_bytes, load_bytes=10_000)


def test_a_frame_may_lie_in_two_files_and_be_large(tmp_path: Path) -> None:
    one = Conversation(client=("fd00::7", 40_000), broker=("fd00::9", 9092)).open()
    other = Conversation(client=("fd00::5", 40_000), broker=("fd00::9", 9092), now=one.now + 60_000).open()
    one.exchange(produce(batch(bytes(3_000_000))), produced(1), 9)
    packets = merge([other, one])
    reading = read_captures(rotated(tmp_path, packets, 900))
    assert reading.tables["exchanges"]["state"].to_pylist() == ["matched"]
    assert reading.tables["batches"]["crc_ok"].to_pylist() == [True]
    connections = reading.tables["connections"].to_pylist()
    assert {row["client"] for row in connections} == {"[fd00::7]:40000", "[fd00::5]:40000"}


def test_a_handshake_may_lie_in_two_files(tmp_path: Path) -> None:
    one = Conversation().open().exchange(produce(batch(b"a")), produced(1), 9)
    (row,) = read_captures(rotated(tmp_path, one.packets, 1)).tables["connections"].to_pylist()
    assert (row["client"], row["gaps"], row["rtt_us"]) == (one.name, 0, 200)


def test_fetch_sessions_go_on_in_the_next_file(tmp_path: Path) -> None:
    one = Conversation().open().exchange(fetch(0, 0, (0, 10)), fetched(9), 11)
    before = len(one.packets)
    one.exchange(fetch(9, 1), fetched(9, (0, 11, b"")), 11)
    found = read_captures(rotated(tmp_path, one.packets, before)).tables["exchange_partitions"].to_pylist()
    assert [row["fetch_offset"] for row in found] == [10, 10]


def talk(**more: Any) -> Conversation:
    return Conversation(**more).open().exchange(produce(batch(b"a")), produced(1), 9)


@pytest.mark.parametrize("kind", ["the same file twice", "ports reused", "another time and other sequence numbers"])
def test_similar_connections_stay_apart(tmp_path: Path, kind: str) -> None:
    first = talk()
    later = first.now + 1000 * MILLISECOND
    second = {
        "the same file twice": first.packets,
        "ports reused": talk(now=later).packets,
        "another time and other sequence numbers": talk(now=later, first_sequences=(1 << 31, 1 << 30)).packets[3:],
    }[kind]
    reading = read_captures(write(tmp_path, first.packets, second))
    assert reading.tables["connections"]["conn_id"].to_pylist() == [0, 1]
    assert reading.tables["exchanges"]["state"].to_pylist() == ["matched", "matched"]
