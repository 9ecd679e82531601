"""Reading and diagnosing any capture ends with tables and without an exception."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import Conversation, Packet, merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic
from tests.inspect.incidents import INCIDENTS

from kafkawire.inspect import find_incidents
from kafkawire.inspect._tables.read import read_captures
from kafkawire.inspect._tables.schemas import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin


def read_all(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    reading = read_captures([path], values=True)
    for name, table in reading.tables.items():
        assert table.schema == SCHEMAS[name]
        table.validate(full=True)
    find_incidents(reading.tables)


@pytest.mark.parametrize("seed", range(12))
def test_damaged_packets(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    packets = cluster_traffic(4, 8, payload=600, seed=seed).packets
    damaged = [_damaged(packet, chance) for packet in packets]
    read_all(tmp_path / "x.pcap", write_pcap(damaged))


def _damaged(packet: Packet, chance: random.Random) -> Packet:
    kind = chance.randrange(12)
    if kind == 0 and packet.payload:
        data = bytearray(packet.payload)
        for _ in range(4):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return replace(packet, payload=bytes(data))
    if kind == 1:
        return replace(packet, sequence=chance.randrange(1 << 32))
    if kind == 2:
        return replace(packet, payload=packet.payload[: len(packet.payload) // 2])
    if kind == 3:
        return replace(packet, flags=chance.randrange(64))
    return packet


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(write_pcap(merge(INCIDENTS["rebalance storm"].shows())))
    for _ in range(40):
        raw[chance.randrange(24, len(raw))] = chance.randrange(256)
    read_all(tmp_path / "x.pcap", bytes(raw))


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"\0\0\0\x0e\0\x12\0\0", None])
def test_streams_of_anything(tmp_path: Path, filler: bytes | None, synced: bool) -> None:
    chance = random.Random(9)
    data = chance.randbytes(200_000) if filler is None else filler * (200_000 // len(filler))
    talk = Conversation(segment=1400).open()
    talk.send(data).send(data, from_client=False).close()
    read_all(tmp_path / "x.pcap", write_pcap(talk.packets if synced else talk.packets[3:]))
