"""Packets in hex dumps: the link, IP and TCP headers before the payload, as tcpdump and tshark print them.

Rules:
- A packet is recognised by an IP header with the protocol TCP, a length that fits, and a TCP header that fits. Before
  it may be the header of a link: Ethernet, Linux cooked (any), BSD loopback, or none.
- A dump is one of packets if its first packet and at least half of its parts are. The other parts (reassembled or
  decrypted data, which tshark prints too) are left out.
- The packets become a capture without link headers, in the order of the dump, one microsecond apart. So the code for
  captures reassembles, cuts and matches them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_RAW: Final = 101
_TCP: Final = 6
_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"
_LINKS: Final = ((0, None), (14, 12), (16, 14), (20, 0), (18, 16), (4, None))
"""The lengths of link headers, and where each has the type of its payload."""
_SMALLEST_FRAME: Final = 60
_LARGEST: Final = 1 << 18


def packets_to_pcap(parts: Sequence[bytes]) -> bytes | None:
    """A capture of the packets in the parts of a dump; None if they are not packets."""
    found = [_ip_packet(part) for part in parts]
    kept = [packet for packet in found if packet is not None]
    if not kept or found[0] is None or 2 * len(kept) < len(parts):
        return None
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _LARGEST, _RAW)]
    for number, packet in enumerate(kept):
        out.append(struct.pack("<IIII", number // 1_000_000, number % 1_000_000, len(packet), len(packet)))
        out.append(packet)
    return b"".join(out)


def _ip_packet(part: bytes) -> bytes | None:
    for size, kind_at in _LINKS:
        kind = None if kind_at is None else part[kind_at : kind_at + 2]
        if kind is not None and kind not in (_IPV4, _IPV6):
            continue
        length = _packet_length(part[size:])
        if length and _fits(length, len(part) - size, size):
            return part[size : size + length]
    return None


def _fits(length: int, present: int, link: int) -> bool:
    """Whether a packet fills its part; short frames of Ethernet are padded."""
    return length == present or (bool(link) and length < present <= _SMALLEST_FRAME)


def _packet_length(data: bytes) -> int:
    """The length of an IP packet with TCP; 0 if the bytes are not one."""
    if len(data) >= 40 and data[0] >> 4 == 4 and data[9] == _TCP:
        header, length = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
    elif len(data) >= 60 and data[0] >> 4 == 6 and data[6] == _TCP:
        header, length = 40, 40 + int.from_bytes(data[4:6], "big")
    else:
        return 0
    if header < 20 or length < header + 20 or len(data) < header + 20:
        return 0
    offset = (data[header + 12] >> 4) * 4
    return length if 20 <= offset <= length - header else 0
