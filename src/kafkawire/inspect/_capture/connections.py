"""The connections of capture files, cut into frames, each with its exchanges matched.

Rules:
- The first bytes give the format of a file, never its name.
- The SYN gives the client. Without one, the side that sends requests is the client, else the one with the higher port.
- The bytes give the kind of a connection: kafka, tls, http or unknown. It is empty if nothing was sent.
- Connections are in the order of their numbers: by file, then by their first packets.
- Files of a rotated capture are one capture. A connection that continues in another file is read as one.
- One file is in memory at a time, beside the connections that continue, until their last file is read. Several files
  are opened twice, because the continuations are known only when all files were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkawire.inspect._capture.files import map_file
from kafkawire.inspect._capture.frames import cut_requests, cut_responses
from kafkawire.inspect._capture.packets import (
    ACK,
    FIN,
    RST,
    SYN,
    CaptureError,
    PacketIndex,
    Packets,
    read_packets,
)
from kafkawire.inspect._capture.pcap import index_pcap, is_pcap
from kafkawire.inspect._capture.pcapng import index_pcapng, is_pcapng
from kafkawire.inspect._capture.rotation import edges_of, find_continuations, join, take_part
from kafkawire.inspect._capture.tcp import ConnectionPart, Flow, Origin, PartId, Stream, find_flows, reassemble
from kafkawire.inspect._tables.exchanges import Conversation, converse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.files import Bytes
    from kafkawire.inspect._capture.frames import Frames

_HTTP: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PRI ", b"HTTP")


@dataclass(slots=True)
class Connection:
    """One connection, and its frames."""

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
    """The packets of one capture file."""

    path: str
    data: Bytes
    packets: Packets
    flows: list[Flow]
    faults: list[str]

    def connections(self, numbers: Collection[int] | None = None) -> Iterator[Connection]:
        """The connections in the order of their first packets; with `numbers`, only these."""
        for number, flow in enumerate(self.flows):
            if numbers is None or number in numbers:
                yield connection_of(self.data, self.packets, flow, number)


class FileFacts(NamedTuple):
    """A capture file before its connections are read; `size` is that of its unpacked bytes."""

    path: str
    size: int
    packets: int
    connections: int
    faults: list[str]


class CapturedConnection(NamedTuple):
    """A connection, and where the bytes of its streams come from."""

    talk: Conversation
    origin: Origin


@dataclass(slots=True)
class CaptureSet:
    """The connections and the files of a run."""

    found: list[CapturedConnection] = field(default_factory=list)
    files: list[FileFacts] = field(default_factory=list)


def open_capture(
    path: str | Path, *, ports: Collection[int] | None = None, mapped: Callable[[str], Bytes] = map_file
) -> Capture:
    """Index a capture file, whose bytes `mapped` returns; with `ports`, only connections that use one of them."""
    data = mapped(str(path))
    try:
        index = index_capture(data)
    except CaptureError as error:
        raise CaptureError(f"{path}: {error}") from None
    packets, faults = read_packets(data, index), index.faults
    del index  # it is large, and the next step takes memory too
    flows = list(find_flows(packets))
    if ports is not None:
        flows = [flow for flow in flows if flow.first & 0xFFFF in ports or flow.second & 0xFFFF in ports]
    return Capture(str(path), data, packets, flows, faults)


def index_capture(data: Bytes) -> PacketIndex:
    """The index of the packets of a capture, in either format."""
    if is_pcapng(data):
        return index_pcapng(data)
    if is_pcap(data):
        return index_pcap(data)
    raise CaptureError(f"not a capture: it starts with {data[:4].tobytes().hex()}, expected pcap or pcapng")


def read_connections(paths: Sequence[str], opened: Callable[[str], Capture]) -> CaptureSet:
    """The connections of captures, which `opened` opens one at a time."""
    edges = [edges_of(opened(path)) for path in paths] if len(paths) > 1 else []
    chains = find_continuations(edges) if edges else {}
    first_ids = list(accumulate(map(len, edges), initial=0))
    waiting: dict[PartId, list[ConnectionPart]] = {}
    captures = CaptureSet()
    for file, path in enumerate(paths):
        capture = opened(path)
        facts = FileFacts(path, len(capture.data), len(capture.packets), len(capture.flows), capture.faults)
        captures.files.append(facts)
        for start, part in _complete(capture, file, chains, waiting):
            connection = connection_of(part.data, part.packets, part.flow, start.number)
            talk = converse(connection, file=paths[start.file], first_id=first_ids[start.file])
            captures.found.append(CapturedConnection(talk, part.origin))
    captures.found.sort(key=lambda found: found.talk.conn_id)
    return captures


def _complete(
    capture: Capture,
    file: int,
    chains: Mapping[PartId, Sequence[PartId]],
    waiting: dict[PartId, list[ConnectionPart]],
) -> Iterator[tuple[PartId, ConnectionPart]]:
    """The connections whose last part is in a file: where each begins, and all of its packets."""
    starts = {place: start for start, places in chains.items() for place in (start, *places) if place.file == file}
    for number, flow in enumerate(capture.flows):
        here = PartId(file, number)
        start = starts.get(here)
        if start is None:
            yield here, ConnectionPart(capture.data, capture.packets, flow, Origin(file))
            continue
        parts = waiting.setdefault(start, [])
        parts.append(take_part(capture, number, file))
        if len(parts) == 1 + len(chains[start]):
            yield start, join(waiting.pop(start))


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
    """The time of the SYN, and the time from it to the packet that ends the handshake."""
    opening = np.flatnonzero(flags & (SYN | ACK) == SYN)
    if not len(opening):
        return None, None
    opened = int(times[opening[0]])
    answer = np.flatnonzero(flags & (SYN | ACK) == SYN | ACK)
    if not len(answer):
        return opened, None
    ended = np.flatnonzero((flags & (SYN | ACK) == ACK) & (np.arange(len(flags)) > answer[0]))
    if not len(ended):
        return opened, None
    begun = opening[opening < answer[0]]
    return opened, int(times[ended[0]]) - int(times[begun[-1] if len(begun) else opening[0]])


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
