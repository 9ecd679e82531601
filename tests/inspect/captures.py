"""Captures with known truth: conversations written as packets, impaired on the way if asked.

Rules:
- A Conversation is one TCP connection; it keeps the frames that were really sent.
- Packets are plain values in capture order; impairments are functions from packets to packets.
- A writer puts packets into any capture format on any link type.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.messages import Message, RequestHeader, ResponseHeader, api

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START = 1_700_000_000_000_000_000
MILLISECOND = 1_000_000


class Sent(NamedTuple):
    """A frame of the truth."""

    client: str
    from_client: bool
    size: int
    correlation: int


@dataclass(frozen=True, slots=True)
class Packet:
    """One TCP packet."""

    time: int
    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    flags: int
    payload: bytes = b""
    identity: int = 0
    mark: int = -1


@dataclass
class Conversation:
    """One connection between a client and a broker."""

    client: tuple[str, int] = ("10.0.0.1", 50_000)
    broker: tuple[str, int] = ("10.0.0.9", 9092)
    client_id: str | None = "app"
    now: int = START
    segment: int = 1448
    acknowledges: bool = False  # every other segment, as receivers do
    first_sequences: tuple[int, int] = (1_000, 2_000)
    packets: list[Packet] = field(default_factory=list)
    truth: list[Sent] = field(default_factory=list)
    correlation: int = 0

    def __post_init__(self) -> None:
        self._next = list(self.first_sequences)
        self._identity = 0

    @property
    def name(self) -> str:
        return f"{self.client[0]}:{self.client[1]}"

    def wait(self, milliseconds: float) -> Conversation:
        self.now += int(milliseconds * MILLISECOND)
        return self

    def open(self) -> Conversation:
        self._packet(0, SYN)
        self.wait(0.1)._packet(1, SYN | ACK)
        self._next = [sequence + 1 & 0xFFFFFFFF for sequence in self._next]
        self.wait(0.1)._packet(0, ACK)
        return self

    def close(self, by: str = "client", flag: int = FIN) -> Conversation:
        self._packet(0 if by == "client" else 1, flag | ACK)
        return self

    def send(self, payload: bytes, *, from_client: bool = True) -> Conversation:
        """Raw bytes, in segments."""
        side = 0 if from_client else 1
        for start in range(0, len(payload), self.segment):
            part = payload[start : start + self.segment]
            self._packet(side, ACK | PSH, part)
            self._next[side] = self._next[side] + len(part) & 0xFFFFFFFF
            if self.acknowledges and start // self.segment % 2:
                self._packet(1 - side, ACK)
            self.now += 2_000
        return self

    def request(self, message: Message, version: int, *, client_id: str | None = "") -> int:
        """Send a request; the result is its correlation id."""
        which = api(type(message).__name__.removesuffix("Request"))
        self.correlation += 1
        header = RequestHeader(
            request_api_key=which.key,
            request_api_version=version,
            correlation_id=self.correlation,
            client_id=self.client_id if client_id == "" else client_id,
        ).encode(which.request_header_version(version))
        self._frame(header + message.encode(version), True, self.correlation)
        return self.correlation

    def respond(self, message: Message, version: int, correlation: int | None = None) -> Conversation:
        which = api(type(message).__name__.removesuffix("Response"))
        number = self.correlation if correlation is None else correlation
        header = ResponseHeader(correlation_id=number).encode(which.response_header_version(version))
        self._frame(header + message.encode(version), False, number)
        return self

    def exchange(
        self, request: Message, response: Message, version: int, *, after: float = 1.0, then: float = 1.0
    ) -> Conversation:
        """A request, its response `after` milliseconds, and a pause."""
        self.request(request, version)
        self.wait(after)
        self.respond(response, version)
        return self.wait(then)

    def _frame(self, body: bytes, from_client: bool, correlation: int) -> None:
        self.truth.append(Sent(self.name, from_client, len(body) + 4, correlation))
        self.send(struct.pack(">i", len(body)) + body, from_client=from_client)

    def _packet(self, side: int, flags: int, payload: bytes = b"") -> None:
        ends = (self.client, self.broker)
        self._identity = self._identity % 0xFFFF + 1
        mark = len(self.truth) - 1
        self.packets.append(
            Packet(self.now, ends[side], ends[1 - side], self._next[side], flags, payload, self._identity, mark)
        )


def merge(conversations: Iterable[Conversation]) -> list[Packet]:
    """The packets of several conversations by time."""
    return sorted((packet for each in conversations for packet in each.packets), key=lambda packet: packet.time)


def reorder(packets: Sequence[Packet], share: float, chance: random.Random) -> list[Packet]:
    """Swap neighbours of the same direction: the later packet overtakes."""
    out = list(packets)
    for index in range(len(out) - 1):
        one = out[index]
        if one.payload and chance.random() < share:
            for later in range(index + 1, min(index + 40, len(out))):
                other = out[later]
                if other.source == one.source and other.target == one.target and other.payload:
                    out[index], out[later] = replace(other, time=one.time), replace(one, time=other.time)
                    break
    return out


def retransmit(packets: Sequence[Packet], share: float, chance: random.Random) -> list[Packet]:
    """Send packets again, later, under a new IP identity."""
    out: list[Packet] = []
    for packet in packets:
        out.append(packet)
        if packet.payload and chance.random() < share:
            again = replace(packet, time=packet.time + 250 * MILLISECOND, identity=packet.identity ^ 0x8000)
            out.append(again)
    return sorted(out, key=lambda packet: packet.time)


def write_pcap(
    packets: Iterable[Packet], *, link: int = 1, order: str = "<", nanoseconds: bool = False, snaplen: int = 262_144
) -> bytes:
    """A classic pcap file."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for packet in packets:
        raw = link_packet(packet, link)
        kept = raw[:snaplen]
        seconds, rest = divmod(packet.time, 1_000_000_000)
        part = rest if nanoseconds else rest // 1000
        out += (struct.pack(order + "IIII", seconds, part, len(kept), len(raw)), kept)
    return b"".join(out)


def write_pcapng(
    packets: Sequence[Packet],
    *,
    links: Sequence[int] = (1,),
    order: str = "<",
    resolution: int = 9,
    simple: bool = False,
) -> bytes:
    """A pcapng file of one section; packets go round the interfaces."""
    out = [_block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link in links:
        option = struct.pack(order + "HHB3xHH", 9, 1, resolution, 0, 0)
        out.append(_block(order, 1, struct.pack(order + "HHI", link, 0, 0) + option))
    out.append(_block(order, 0xBAD, b"unknown block"))
    per_second = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    for number, packet in enumerate(packets):
        raw = link_packet(packet, links[0 if simple else number % len(links)])
        if simple:
            out.append(_block(order, 3, struct.pack(order + "I", len(raw)) + raw))
            continue
        ticks = packet.time * per_second // 1_000_000_000
        head = (number % len(links), ticks >> 32, ticks & 0xFFFFFFFF, len(raw), len(raw))
        out.append(_block(order, 6, struct.pack(order + "IIIII", *head) + raw))
    return b"".join(out)


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


def link_packet(packet: Packet, link: int) -> bytes:
    """A packet as it lies in a capture of this link type."""
    body = ip_packet(packet)
    protocol = b"\x08\x00" if body[0] >> 4 == 4 else b"\x86\xdd"
    if link == 1:
        frame = bytes(12) + protocol + body
        return frame + bytes(max(60 - len(frame), 0))
    heads = {
        0: b"\x02\0\0\0" if body[0] >> 4 == 4 else b"\x1e\0\0\0",
        108: b"\0\0\0\x02",
        101: b"",
        113: bytes(14) + protocol,
        276: protocol + bytes(18),
    }
    return heads[link] + body


def tag(frame: bytes) -> bytes:
    """An Ethernet frame with two VLAN tags."""
    return frame[:12] + bytes.fromhex("88a8000581000007") + frame[12:]


def ip_packet(packet: Packet) -> bytes:
    """The IP datagram of a packet; with options in the TCP header, as real ones have."""
    options = b"\x01\x01\x08\x0a" + bytes(8)
    head = struct.pack(
        ">HHIIBBHHH", packet.source[1], packet.target[1], packet.sequence, 0, 8 << 4, packet.flags, 65535, 0, 0
    )
    segment = head + options + packet.payload
    source, target = ip_address(packet.source[0]), ip_address(packet.target[0])
    if source.version == 4:
        length = (20 + len(segment)) if len(segment) < 65_000 else 0
        numbers = (0x45, 0, length, packet.identity, 0x4000, 64, 6, 0)
        return struct.pack(">BBHHHBBH", *numbers) + source.packed + target.packed + segment
    return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + source.packed + target.packed + segment
