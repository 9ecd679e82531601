"""Walking the batches of a log file without holding it in memory.

Rules:
- A walk ends at the first bytes that are no whole batch; it never raises for them, and a sweep says what they were.
- `headers` hops from header to header and reads little; `sweep` reads everything, in pieces, to check every CRC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records import HEADER_SIZE, BatchHeader, CorruptRecordError, parse_header, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.log.files import File
    from kafkawire.records import BatchScan

HOP = 16 * 1024
PIECE = 4 * 1024 * 1024
SMALLEST_HEADER = 17


def headers(file: File, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of whole batches between two positions; each one's `position` is that in the file."""
    origin, piece = start, b""
    position = start
    while end - position >= SMALLEST_HEADER:
        if position - origin + HEADER_SIZE > len(piece):
            origin, piece = position, file.read(position, min(HOP, end - position))
        try:
            header = parse_header(piece, position - origin)
        except CorruptRecordError:
            return
        if header.size > end - position:
            return
        header.position = position
        yield header
        position += header.size


def sweep(file: File, start: int, end: int) -> Iterator[tuple[int, bytes, BatchScan]]:
    """Pieces of a file with the scan of each, every CRC checked; the last one tells where and why it ended early."""
    position = start
    while position < end:
        piece = file.read(position, min(PIECE, end - position))
        scan = scan_batches(piece)
        if not scan.count and scan.error is None and position + len(piece) < end:
            piece = file.read(position, min(_size_of_first(piece), end - position))
            scan = scan_batches(piece)
        yield position, piece, scan
        if not scan.count or scan.error is not None:
            return
        position += scan.end


def _size_of_first(piece: bytes) -> int:
    return 12 + int.from_bytes(piece[8:12], "big")
