"""Recording of connections as a pcapng file.

Rules:
- The link type is raw IP. TCP headers are synthetic, but sequence numbers and ports are consistent.
- Each connection starts at a different sequence number, so that two connections of the same port are distinct.
- The next packet of the other side acknowledges bytes. Segments have at most 60 000 bytes.
- Addresses of different IP versions are both written as IPv6.
- Every packet is flushed as a whole block, so that a file is readable while it grows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import BinaryIO, Final

_RAW: Final = 101
_SEGMENT: Final = 60_000
_FIN, _SYN, _RST, _PSH, _ACK = 1, 2, 4, 8, 16
_NANOSECONDS: Final = 9
_APART: Final = 1_000_003
Endpoint = tuple[str, int]


@dataclass(slots=True)
class RecordedConnection:
    """One connection in a recording."""

    recording: Recording
    client: Endpoint
    broker: Endpoint
    start: int
    _next: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._next = [self.start, self.start]

    def open(self, now: int) -> None:
        """Write the handshake; `now` is in nanoseconds since 1970."""
        self._packet(now, 0, _SYN, b"")
        self._next[0] = self._next[0] + 1 & 0xFFFFFFFF
        self._packet(now, 1, _SYN | _ACK, b"")
        self._next[1] = self._next[1] + 1 & 0xFFFFFFFF
        self._packet(now, 0, _ACK, b"")

    def sent(self, data: bytes, now: int, *, from_client: bool) -> None:
        """Write bytes that one side sent."""
        side = 0 if from_client else 1
        for start in range(0, len(data), _SEGMENT):
            part = data[start : start + _SEGMENT]
            self._packet(now, side, _ACK | _PSH, part)
            self._next[side] = self._next[side] + len(part) & 0xFFFFFFFF

    def close(self, now: int, *, by_client: bool, reset: bool = False) -> None:
        """Write the end of the connection, which one side caused."""
        side = 0 if by_client else 1
        self._packet(now, side, (_RST if reset else _FIN) | _ACK, b"")
        self._next[side] = self._next[side] + 1 & 0xFFFFFFFF

    def _packet(self, now: int, side: int, flags: int, payload: bytes) -> None:
        ends = (self.client, self.broker)
        acknowledged = self._next[1 - side] if flags & _ACK else 0
        self.recording.write(now, _datagram(ends[side], ends[1 - side], self._next[side], acknowledged, flags, payload))


class Recording:
    """A pcapng file that is being written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._connections = 0
        self._block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        resolution = struct.pack("<HHB3xHH", 9, 1, _NANOSECONDS, 0, 0)
        self._block(1, struct.pack("<HHI", _RAW, 0, 0) + resolution)

    def connection(self, client: Endpoint, broker: Endpoint) -> RecordedConnection:
        """Start a connection between a client and a broker, by the addresses of their sockets."""
        self._connections += 1
        return RecordedConnection(self, client, broker, _APART * self._connections & 0xFFFFFFFF)

    def write(self, now: int, packet: bytes) -> None:
        """Add a packet."""
        head = struct.pack("<IIIII", 0, now >> 32, now & 0xFFFFFFFF, len(packet), len(packet))
        self._block(6, head + packet)

    def _block(self, kind: int, body: bytes) -> None:
        body += bytes(-len(body) % 4)
        total = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + total + body + total)
        self._file.flush()


def _datagram(
    source: Endpoint, target: Endpoint, sequence: int, acknowledged: int, flags: int, payload: bytes
) -> bytes:
    ports = (source[1], target[1])
    segment = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, 65535, 0, 0) + payload
    one, two = _address(source[0]), _address(target[0])
    if isinstance(one, IPv4Address) and isinstance(two, IPv4Address):
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0, one.packed, two.packed)
        return head[:10] + struct.pack(">H", _checksum(head)) + head[12:] + segment
    return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + _six(one) + _six(two) + segment


def _address(text: str) -> IPv4Address | IPv6Address:
    return ip_address(text.partition("%")[0])


def _six(address: IPv4Address | IPv6Address) -> bytes:
    return address.packed if isinstance(address, IPv6Address) else bytes(10) + b"\xff\xff" + address.packed


def _checksum(head: bytes) -> int:
    total: int = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
