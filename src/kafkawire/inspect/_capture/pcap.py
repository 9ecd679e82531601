"""Classic pcap files: microseconds or nanoseconds, in either byte order.

Rules:
- Only the chain of record lengths is read packet by packet. The rest is read as columns.
- A record that is larger than the largest possible packet ends the index as corrupt. One that exceeds the file ends it
  as truncated.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire import _native as implementation
from kafkawire.inspect._capture import walk as reference
from kafkawire.inspect._capture.packets import CaptureError, PacketIndex, gather
from kafkawire.inspect._capture.walk import LARGEST_PACKET

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkawire.inspect._capture.files import Bytes

_walk = implementation.load("kafkawire.inspect._capture._walk", reference.__name__)
_HEADER: Final = 24
_RECORD: Final = 16
_FORMS: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}


def is_pcap(data: Bytes) -> bool:
    """Whether the bytes start as a classic pcap file."""
    return data[:4].tobytes() in _FORMS


def index_pcap(data: Bytes) -> PacketIndex:
    """The index of the packets of a pcap file."""
    if len(data) < _HEADER or not is_pcap(data):
        raise CaptureError(f"not a pcap file: it starts with {data[:4].tobytes().hex()} and has {len(data)} bytes")
    order, unit = _FORMS[data[:4].tobytes()]
    link = struct.unpack_from(order + "I", data.data, 20)[0] & 0xFFFF
    records, faults = _records(data, struct.Struct(order + "I"), order == "<")
    head = gather(data, records, np.dtype([(name, order + "u4") for name in ("seconds", "part", "captured", "length")]))
    captured, length = (head[name].astype(np.uint32) for name in ("captured", "length"))
    time = head["seconds"].astype(np.int64)
    time *= 1_000_000_000
    time += head["part"].astype(np.int64) * unit
    records += _RECORD
    return PacketIndex(
        offset=records,
        captured=captured,
        length=np.maximum(length, captured, out=length),
        time=time,
        link=np.broadcast_to(np.int32(link), len(records)),
        faults=faults,
    )


def _records(data: Bytes, size: struct.Struct, little: bool) -> tuple[NDArray[np.int64], list[str]]:
    chained, position = _walk.chain(data, _HEADER, little)
    records = np.frombuffer(chained, np.int64)
    if position == len(data):
        return records, []
    captured = size.unpack_from(data.data, position + 8)[0] if position + _RECORD <= len(data) else 0
    if captured > LARGEST_PACKET:
        return records, [
            f"byte {position}: a packet of {captured} bytes, expected at most {LARGEST_PACKET}; the rest is not read"
        ]
    return records, [f"byte {position}: the file ends within packet {len(records) + 1}"]
