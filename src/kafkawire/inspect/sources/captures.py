"""A capture file as connections whose requests and responses are cut into frames.

Rules:
- The format is told by the first bytes, never by the name.
- Who is the client is told by the SYN; without one, by which side sends requests; else the lower port is the broker.
- A connection is judged by its bytes: kafka, tls, http, or unknown; empty when nothing was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.inspect.sources.files import map_file
from kafkawire.inspect.sources.flows import Flow, find_flows
from kafkawire.inspect.sources.frames import Frames, cut_requests, cut_responses
from kafkawire.inspect.sources.index import CaptureError, PacketIndex
from kafkawire.inspect.sources.packets import ACK, FIN, RST, SYN, Packets, read_packets
from kafkawire.inspect.sources.pcap import index_pcap, is_pcap
from kafkawire.inspect.sources.pcapng import index_pcapng, is_pcapng
from kafkawire.inspect.sources.tcp import Stream, reassemble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from kafkawire.inspect.sources.files import Bytes

_HTTP: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PRI ", b"HTTP")


@dataclass(slots=True)
class Connection:
    """One connection, and what it carried."""

    number: int
    client: str
    broker: str
    kind: str
    opened: int | None
    first: int
    last: int
    round_trip: int | None
    closed_by: str | None
    close_kind: str | None
    closed: int | None
    zero_windows: int
    requests: Frames
    responses: Frames


@dataclass(slots=True)
class Capture:
    """The packets of one capture file, ready to be cut connection by connection."""

    path: str
    data: Bytes
    packets: Packets
    flows: list[Flow]
    faults: list[str]

    def connections(self, numbers: Collection[int] | None = None) -> Iterator[Connection]:
        """The connections, in the order in which they appear; only some, if numbers say which."""
        for number, flow in enumerate(self.flows):
            if numbers is None or number in numbers:
                yield connection_of(self.data, self.packets, flow, number)


def open_capture(
    path: str | Path, *, ports: Collection[int] | None = None, mapped: Callable[[str], Bytes] = map_file
) -> Capture:
    """Index a capture file, which `mapped` gives the bytes of; with `ports`, only connections that use one of them."""
    data = mapped(str(path))
    try:
        index = index_capture(data)
    except CaptureError as error:
        raise CaptureError(f"{path}: {error}") from None
    packets = read_packets(data, index)
    flows = list(find_flows(packets))
    if ports is not None:
        flows = [flow for flow in flows if flow.first & 0xFFFF in ports or flow.second & 0xFFFF in ports]
    return Capture(str(path), data, packets, flows, index.faults)


def index_capture(data: Bytes) -> PacketIndex:
    """Where the packets of a capture of either format are."""
    if is_pcapng(data):
        return index_pcapng(data)
    if is_pcap(data):
        return index_pcap(data)
    raise CaptureError(f"not a capture: it starts with {data[:4].tobytes().hex()}, expected pcap or pcapng")


def connection_of(data: Bytes, packets: Packets, flow: Flow, number: int) -> Connection:
    """The packets of a connection, reassembled and cut into frames."""
    rows = flow.rows
    from_first = packets.source[rows] == flow.first
    streams = {
        flow.first: reassemble(data, packets, rows[from_first]),
        flow.second: reassemble(data, packets, rows[~from_first]),
    }
    client, requests = _client(flow, streams)
    broker = flow.second if client == flow.first else flow.first
    responses = cut_responses(streams[broker], requests)
    flags, times = packets.flags[rows], packets.time[rows]
    opened, round_trip = _handshake(flags, times)
    ending = np.flatnonzero(flags & (FIN | RST))
    place = int(ending[0]) if len(ending) else None
    return Connection(
        number=number,
        client=packets.endpoint(client),
        broker=packets.endpoint(broker),
        kind=_kind(streams[client], streams[broker], requests),
        opened=opened,
        first=int(times[0]),
        last=int(times[-1]),
        round_trip=round_trip,
        closed_by=None if place is None else ("client" if packets.source[rows[place]] == client else "broker"),
        close_kind=None if place is None else ("rst" if flags[place] & RST else "fin"),
        closed=None if place is None else int(times[place]),
        zero_windows=int(((packets.window[rows] == 0) & (flags & RST == 0)).sum()),
        requests=requests,
        responses=responses,
    )


def _client(flow: Flow, streams: dict[int, Stream]) -> tuple[int, Frames]:
    if flow.opener is not None:
        return flow.opener, cut_requests(streams[flow.opener])
    likely, other = sorted((flow.first, flow.second), key=lambda end: -(end & 0xFFFF))
    requests = cut_requests(streams[likely])
    if len(requests):
        return likely, requests
    swapped = cut_requests(streams[other])
    return (other, swapped) if len(swapped) else (likely, requests)


def _handshake(flags: NDArray[np.uint8], times: NDArray[np.int64]) -> tuple[int | None, int | None]:
    """When the connection was opened, and how long from the SYN to the packet that ends the handshake."""
    opening = np.flatnonzero(flags & (SYN | ACK) == SYN)
    if not len(opening):
        return None, None
    opened = int(times[opening[0]])
    answer = np.flatnonzero(flags & (SYN | ACK) == SYN | ACK)
    if not len(answer):
        return opened, None
    settled = np.flatnonzero((flags & (SYN | ACK) == ACK) & (np.arange(len(flags)) > answer[0]))
    if not len(settled):
        return opened, None
    begun = opening[opening < answer[0]]
    return opened, int(times[settled[0]]) - int(times[begun[-1] if len(begun) else opening[0]])


def _kind(up: Stream, down: Stream, requests: Frames) -> str:
    if len(requests):
        return "kafka"
    if not len(up.starts) and not len(down.starts):
        return "empty"
    for stream in (up, down):
        if not len(stream.starts):
            continue
        start = bytes(stream.read(int(stream.starts[0]), min(4, int(stream.sizes[0]))))
        if start[:2] in (b"\x16\x03", b"\x15\x03", b"\x17\x03") and start[2:3] <= b"\x04":
            return "tls"
        if start in _HTTP:
            return "http"
    return "unknown"
