"""The two chains that are read item by item: records of a pcap file, and frames of a stream.

`_walk.pyx` is the compiled twin. Rules of `chain`:
- A record has a header of 16 bytes, whose third word is the number of bytes that follow.
- It stops at the end of the file, at a truncated record, and at a record of more than `LARGEST_PACKET` bytes.

Rules of `walk`:
- A walk stays within a run of pieces without gaps, from `position` to `end`, and reads at most `limit` frames.
- It reads only length prefixes and headers. A row has eight numbers: place, size with the prefix, first and last
  piece, API key, version, correlation id, client (its number in `clients`, -1 for null). A response has only a
  correlation id; the other numbers are -1.
- It returns where it stopped, and why: END for the end of the run or the limit; CUT for a truncated frame; IMPLAUSIBLE
  if no frame can begin there; SASL after a SaslHandshake v0, which raw tokens follow.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

END, CUT, IMPLAUSIBLE, SASL = 0, 1, 2, 3
COLUMNS: Final = 8
LARGEST_REQUEST: Final = 104_857_600
LARGEST_RESPONSE: Final = 0x7FFFFFFF
LARGEST_PACKET: Final = 1 << 18
MOST_APIS: Final = 1024
MOST_VERSIONS: Final = 256


def chain(data: NDArray[np.uint8], position: int, little: bool) -> tuple[array[int], int]:
    """The positions of the records of a pcap file from a position on, and where the chain stopped."""
    records = array("q")
    view, end = data.data, len(data)
    read = struct.Struct("<I" if little else ">I").unpack_from
    while position + 16 <= end:
        captured = read(view, position + 8)[0]
        if captured > LARGEST_PACKET or position + 16 + captured > end:
            break
        records.append(position)
        position += 16 + captured
    return records, position


def walk(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    piece: int,
    position: int,
    end: int,
    limit: int,
    requests: bool,
    clients: dict[bytes, int],
) -> tuple[array[int], int, int]:
    """The rows of the frames from a position on, where the walk stopped, and why."""
    rows = array("q")
    view = data.data
    smallest, largest = (8, LARGEST_REQUEST) if requests else (4, LARGEST_RESPONSE)

    def read(at: int, size: int) -> bytes:
        index, taken = piece, b""
        while starts[index] + sizes[index] <= at:
            index += 1
        while len(taken) < size:
            within = at + len(taken) - int(starts[index])
            here = int(offsets[index]) + within
            taken += view[here : here + min(int(sizes[index]) - within, size - len(taken))]
            index += 1
        return taken

    while limit > 0 and position < end:
        if end - position < 4:
            return rows, position, CUT
        while starts[piece] + sizes[piece] <= position:
            piece += 1
        size = int.from_bytes(read(position, 4), "big", signed=True)
        if not smallest <= size <= largest:
            return rows, position, IMPLAUSIBLE
        if position + 4 + size > end:
            return rows, position, CUT
        key = version = client = -1
        if requests:
            head = read(position + 4, min(size, 10))
            key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:4], "big")
            correlation = int.from_bytes(head[4:8], "big", signed=True)
            if key >= MOST_APIS or version >= MOST_VERSIONS:
                return rows, position, IMPLAUSIBLE
            if key != 7 or version != 0:  # a ControlledShutdown v0 has no client id
                length = int.from_bytes(head[8:10], "big", signed=True)
                if len(head) < 10 or length < -1 or 10 + length > size:
                    return rows, position, IMPLAUSIBLE
                if length >= 0:
                    client = clients.setdefault(read(position + 14, length), len(clients))
        else:
            correlation = int.from_bytes(read(position + 4, 4), "big", signed=True)
        last, after = piece, position + 4 + size
        while starts[last] + sizes[last] < after:
            last += 1
        rows.extend((position, 4 + size, piece, last, key, version, correlation, client))
        piece, position, limit = last, after, limit - 1
        if key == 17 and version == 0:
            return rows, position, SASL
    return rows, position, END
