"""Packets of a capture file as columns: where they are, and their link, IP and TCP headers.

Rules:
- A `PacketIndex` has one item per packet, in the order of the file. `offset` and `captured` are within the file;
  `length` is the size on the wire. Times are nanoseconds since 1970, or -1 if the format has none.
- A truncated or corrupt file gives the packets before the fault, and a description of the fault.
- Packets are not read one by one. Each stage reads its fields at many places at once, and drops packets without TCP.
- The IP header gives the size of a payload, not the record, because short Ethernet frames are padded. If the IP length
  is zero (segmentation offload, jumbograms), the length on the wire is used.
- `kept` is the part of the payload that the capture has. A snap length may have cut the rest.
- An endpoint is one number: the address (IPv4 itself; IPv6 by its place in `addresses6`, above 2**32) and the port.
- Columns have the smallest types that hold every value, because a capture has millions of packets. Arithmetic on them
  is in 64 bits.
- IP fragments are counted, not reassembled.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.files import Bytes

FIN, SYN, RST, ACK = 1, 2, 4, 16
_LINKS: Final = {  # link type: place of the protocol number (None: always IP), size of the header
    0: (None, 4),  # BSD loopback
    1: (12, 14),  # Ethernet
    12: (None, 0),  # raw IP, as some systems number it
    14: (None, 0),
    101: (None, 0),  # raw IP
    108: (None, 4),  # OpenBSD loopback
    113: (14, 16),  # Linux cooked
    228: (None, 0),  # raw IPv4
    229: (None, 0),  # raw IPv6
    276: (0, 20),  # Linux cooked v2
}
_VLANS: Final = (0x8100, 0x88A8, 0x9100)
_IP: Final = (0x0800, 0x86DD)
_TCP: Final = 6
_EXTENSIONS: Final = (0, 43, 60)
_FRAGMENT: Final = 44
_MOST_TAGS: Final = 4
_MOST_EXTENSIONS: Final = 8
_BLOCK: Final = 1 << 15
_TYPES: Final[dict[str, Any]] = {
    "number": np.uint32,
    "time": np.int64,
    "source": np.int64,
    "target": np.int64,
    "sequence": np.uint32,
    "flags": np.uint8,
    "window": np.uint16,
    "identity": np.uint16,
    "at": np.int64,
    "size": np.uint32,
    "kept": np.uint32,
}
PACKET_COLUMNS: Final = tuple(_TYPES)

_U1: Final = np.dtype("u1")
_U2: Final = np.dtype(">u2")
_IPV4: Final = np.dtype("u1, u1, >u2, >u2, >u2, u1, u1, u2, >u4, >u4")
_IPV4.names = ("form", "service", "length", "identity", "fragment", "hops", "protocol", "sum", "source", "target")
_IPV6: Final = np.dtype("u4, >u2, u1, u1, V16, V16")
_IPV6.names = ("form", "length", "next", "hops", "source", "target")
_SEGMENT: Final = np.dtype(">u2, >u2, >u4, u4, u1, u1, >u2, u4")
_SEGMENT.names = ("source", "target", "sequence", "acknowledged", "offset", "flags", "window", "sum")


class CaptureError(KafkaWireError):
    """A file that is not a readable capture, with the reason."""


@dataclass(slots=True)
class PacketIndex:
    """The places of the packets in one file."""

    offset: NDArray[np.int64]
    captured: NDArray[np.integer[Any]]
    length: NDArray[np.integer[Any]]
    time: NDArray[np.int64]
    link: NDArray[np.int32]
    faults: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class Packets:
    """The TCP packets of a capture, in its order."""

    number: NDArray[np.uint32]
    time: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    sequence: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    window: NDArray[np.uint16]
    identity: NDArray[np.uint16]
    at: NDArray[np.int64]
    size: NDArray[np.uint32]
    kept: NDArray[np.uint32]
    addresses6: list[bytes] = field(default_factory=list)
    others: int = 0
    fragments: int = 0

    def __len__(self) -> int:
        return len(self.number)

    def endpoint(self, which: int) -> str:
        """An endpoint as address:port."""
        address, port = which >> 16, which & 0xFFFF
        if address < 1 << 32:
            return f"{ipaddress.IPv4Address(address)}:{port}"
        return f"[{ipaddress.IPv6Address(self.addresses6[address - (1 << 32)])}]:{port}"


def gather(data: Bytes, at: NDArray[np.int64], fields: np.dtype[Any]) -> NDArray[Any]:
    """The fields at each place. All of them must be within the data.

    >>> data = np.frombuffer(bytes.fromhex("0001 0002 0003"), np.uint8)
    >>> gather(data, np.array([0, 4]), np.dtype([("n", ">u2")]))["n"].tolist()
    [1, 3]
    """
    if not len(at):
        return np.empty(0, fields)
    rows = sliding_window_view(data, fields.itemsize)[at]
    return rows.view(fields)[:, 0]


def read_packets(data: Bytes, index: PacketIndex) -> Packets:
    """The TCP headers of the packets of a capture."""
    addresses: dict[bytes, int] = {}
    columns = {name: np.empty(len(index), kind) for name, kind in _TYPES.items()}
    count = others = fragments = 0
    for number, block in enumerate(_blocks(index)):
        part = _read_block(data, block, addresses)
        part.number += np.uint32(number * _BLOCK)
        for name, column in columns.items():
            column[count : count + len(part)] = getattr(part, name)
        count, others, fragments = count + len(part), others + part.others, fragments + part.fragments
    for column in columns.values():
        column.resize(count, refcheck=False)
    return Packets(**columns, addresses6=list(addresses), others=others, fragments=fragments)


def _blocks(index: PacketIndex) -> Iterator[PacketIndex]:
    """Runs of packets that fit the processor's cache, because each run is read several times."""
    for start in range(0, max(len(index), 1), _BLOCK):
        part = slice(start, start + _BLOCK)
        captured, length = (column[part].astype(np.int64) for column in (index.captured, index.length))
        yield PacketIndex(index.offset[part], captured, length, index.time[part], index.link[part])


def _read_block(data: Bytes, index: PacketIndex, addresses: dict[bytes, int]) -> Packets:
    rows, network = _network(data, index)
    ends = index.offset + index.captured
    rows, network = _fitting(rows, network, ends, 20)
    version = gather(data, network, _U1) >> 4
    four, six = version == 4, version == 6
    if four.all():
        found = _ipv4(data, rows, network)
    else:
        old = _ipv4(data, rows[four], network[four])
        new = _ipv6(data, *_fitting(rows[six], network[six], ends, 40), ends, addresses)
        order = np.argsort(np.concatenate([old.rows, new.rows]), kind="stable")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(old, name), getattr(new, name)])[order] for name in _Datagrams.COLUMNS
        }
        found = _Datagrams(**joined, fragments=old.fragments + new.fragments)
    packets = _segments(data, index, ends, {name: getattr(found, name) for name in _Datagrams.COLUMNS})
    packets.fragments = found.fragments
    packets.others = len(index) - len(packets) - packets.fragments
    return packets


@dataclass(slots=True)
class _Datagrams:
    """IP packets that carry TCP: where their transport header is, and where their IP length ends (0: no length)."""

    COLUMNS = ("rows", "transport", "finish", "source", "target", "identity")

    rows: NDArray[np.int64]
    transport: NDArray[np.int64]
    finish: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    identity: NDArray[np.uint16]
    fragments: int = 0


def _network(data: Bytes, index: PacketIndex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The packets of known link types that carry IP, and where IP begins."""
    found_rows, found_places = [], []
    ends = index.offset + index.captured
    for link in np.unique(index.link).tolist():
        if link not in _LINKS:
            continue
        protocol_at, header = _LINKS[link]
        rows = np.flatnonzero(index.link == link)
        network = index.offset[rows] + header
        rows, network = _fitting(rows, network, ends, 4)
        if protocol_at is not None:
            rows, network = _untagged(data, rows, network, protocol_at - header, ends)
        found_rows.append(rows)
        found_places.append(network)
    if not found_rows:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows, network = np.concatenate(found_rows), np.concatenate(found_places)
    order = np.argsort(rows, kind="stable") if len(found_rows) > 1 else slice(None)
    return rows[order], network[order]


def _untagged(
    data: Bytes, rows: NDArray[np.int64], network: NDArray[np.int64], protocol_at: int, ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Skip VLAN tags, then keep the packets that carry IP."""
    protocol = gather(data, network + protocol_at, _U2)
    for _ in range(_MOST_TAGS):
        tagged = np.isin(protocol, _VLANS) & (network + 8 <= ends[rows])
        if not tagged.any():
            break
        network = np.where(tagged, network + 4, network)
        protocol = np.where(tagged, gather(data, network - 2, _U2), protocol)
    carries_ip = np.isin(protocol, _IP)
    return rows[carries_ip], network[carries_ip]


def _fitting(
    rows: NDArray[np.int64], at: NDArray[np.int64], ends: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    fits = at + size <= ends[rows]
    return (rows, at) if fits.all() else (rows[fits], at[fits])


def _ipv4(data: Bytes, rows: NDArray[np.int64], network: NDArray[np.int64]) -> _Datagrams:
    head = gather(data, network, _IPV4)
    header = (head["form"] & 15).astype(np.int64) * 4
    tcp = (head["protocol"] == _TCP) & (header >= 20)
    whole = head["fragment"] & 0x3FFF == 0
    keep = tcp & whole
    length = head["length"].astype(np.int64)[keep]
    return _Datagrams(
        rows=rows[keep],
        transport=(network + header)[keep],
        finish=np.where(length > 0, network[keep] + length, 0),
        source=head["source"].astype(np.int64)[keep],
        target=head["target"].astype(np.int64)[keep],
        identity=head["identity"].astype(np.uint16)[keep],
        fragments=int((tcp & ~whole).sum()),
    )


def _ipv6(
    data: Bytes,
    rows: NDArray[np.int64],
    network: NDArray[np.int64],
    ends: NDArray[np.int64],
    addresses: dict[bytes, int],
) -> _Datagrams:
    head = gather(data, network, _IPV6)
    following = head["next"].astype(np.int64)
    transport = network + 40
    for _ in range(_MOST_EXTENSIONS):
        extended = np.isin(following, _EXTENSIONS) & (transport + 8 <= ends[rows])
        if not extended.any():
            break
        places = np.where(extended, transport, network)
        size = (gather(data, places + 1, _U1).astype(np.int64) + 1) * 8
        following = np.where(extended, gather(data, places, _U1), following)
        transport = np.where(extended, transport + size, transport)
    keep = following == _TCP
    ours, length = head[keep], head["length"].astype(np.int64)[keep]
    both = np.concatenate([ours["source"], ours["target"]])
    distinct, places = np.unique(both, return_inverse=True)
    numbers = [addresses.setdefault(bytes(address), len(addresses)) for address in distinct]
    codes = np.array(numbers, np.int64)[places.reshape(-1)] + (1 << 32)
    return _Datagrams(
        rows=rows[keep],
        transport=transport[keep],
        finish=np.where(length > 0, network[keep] + 40 + length, 0),
        source=codes[: len(ours)],
        target=codes[len(ours) :],
        identity=np.zeros(len(ours), np.uint16),
        fragments=int((following == _FRAGMENT).sum()),
    )


def _segments(data: Bytes, index: PacketIndex, ends: NDArray[np.int64], columns: dict[str, NDArray[Any]]) -> Packets:
    fits = columns["transport"] + 20 <= ends[columns["rows"]]
    if not fits.all():
        columns = {name: column[fits] for name, column in columns.items()}
    rows, transport = columns["rows"], columns["transport"]
    head = gather(data, transport, _SEGMENT)
    at = transport + (head["offset"] >> 4).astype(np.int64) * 4
    on_wire = index.offset[rows] + index.length[rows]
    finish = np.where(columns["finish"] > 0, np.minimum(columns["finish"], on_wire), on_wire)
    return Packets(
        number=(rows + 1).astype(np.uint32),
        time=index.time[rows],
        source=columns["source"] << 16 | head["source"],
        target=columns["target"] << 16 | head["target"],
        sequence=head["sequence"].astype(np.uint32),
        flags=head["flags"],
        window=head["window"].astype(np.uint16),
        identity=columns["identity"],
        at=at,
        size=np.maximum(finish - at, 0).astype(np.uint32),
        kept=np.maximum(np.minimum(finish, ends[rows]) - at, 0).astype(np.uint32),
    )
