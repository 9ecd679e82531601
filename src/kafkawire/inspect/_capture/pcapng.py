"""pcapng files: sections of either byte order, several interfaces each with its own link type and clock.

Rules:
- Blocks of unknown type are skipped by their length. An impossible length ends the index as corrupt.
- Interface numbers restart in each section. A packet of an undescribed interface is dropped, with a fault.
- if_tsresol is a power of ten, or of two if its highest bit is set. if_tsoffset is added in seconds.
- A simple packet block has no time (-1) and belongs to interface 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkawire.inspect._capture.packets import CaptureError, PacketIndex, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkawire.inspect._capture.files import Bytes

SECTION: Final = 0x0A0D0D0A
INTERFACE, OBSOLETE, SIMPLE, ENHANCED = 1, 2, 3, 6
_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_RESOLUTION, _OFFSET = 9, 14
_SMALLEST: Final = {SECTION: 28, INTERFACE: 20, OBSOLETE: 32, SIMPLE: 16, ENHANCED: 32}


@dataclass(slots=True)
class _Interface:
    link: int
    snaplen: int
    per_second: int = 1_000_000
    offset_seconds: int = 0


@dataclass(slots=True)
class _Section:
    order: str
    interfaces: list[_Interface] = field(default_factory=list)
    blocks: dict[int, list[int]] = field(default_factory=lambda: {ENHANCED: [], OBSOLETE: [], SIMPLE: []})


def is_pcapng(data: Bytes) -> bool:
    """Whether the bytes start as a pcapng file."""
    return data[:4].tobytes() == b"\x0a\x0d\x0d\x0a" and data[8:12].tobytes() in _ORDERS


def index_pcapng(data: Bytes) -> PacketIndex:
    """The index of the packets of a pcapng file."""
    if not is_pcapng(data):
        raise CaptureError(f"not a pcapng file: it starts with {data[:12].tobytes().hex()}")
    sections, faults = _walk(data)
    parts = [part for section in sections for part in _packets(data, section, faults)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.empty(0, np.int64)] * 5
    place = np.argsort(columns[0], kind="stable")
    offset, captured, length, time, link = (column[place] for column in columns)
    fits = (captured >= 0) & (offset + captured <= len(data))
    if not fits.all():
        faults.append(f"{int((~fits).sum())} packets claim more bytes than their blocks have; left out")
    return PacketIndex(
        offset[fits],
        captured[fits],
        np.maximum(length, captured)[fits],
        time[fits],
        link[fits].astype(np.int32),
        faults,
    )


def _walk(data: Bytes) -> tuple[list[_Section], list[str]]:
    view, end, position = data.data, len(data), 0
    sections: list[_Section] = []
    head = struct.Struct("<II")
    blocks: dict[int, list[int]] = {}
    while position + 12 <= end:
        kind, total = head.unpack_from(view, position)
        if kind == SECTION:
            order = _ORDERS.get(bytes(view[position + 8 : position + 12]))
            if order is None:
                return sections, [f"byte {position}: a section without a byte order; the rest is not read"]
            sections.append(_Section(order))
            blocks, head = sections[-1].blocks, struct.Struct(order + "II")
            total = head.unpack_from(view, position)[1]
        if total < _SMALLEST.get(kind, 12) or total % 4:
            return sections, [f"byte {position}: a block of {total} bytes; the rest is not read"]
        if position + total > end:
            return sections, [f"byte {position}: the file ends within a block of {total} bytes"]
        if kind in blocks:
            blocks[kind].append(position)
        elif kind == INTERFACE:
            sections[-1].interfaces.append(_interface(view[position : position + total], sections[-1].order))
        position += total
    return sections, [] if position == end else [f"byte {position}: the file ends within a block"]


def _interface(block: memoryview, order: str) -> _Interface:
    link, snaplen = struct.unpack_from(order + "H2xI", block, 8)
    found = _Interface(link, snaplen or 0xFFFFFFFF)
    position, end = 16, len(block) - 4
    while position + 4 <= end:
        code, size = struct.unpack_from(order + "HH", block, position)
        value = block[position + 4 : min(position + 4 + size, end)]
        if code == 0:
            break
        if code == _RESOLUTION and len(value) == 1:
            power = value[0] & 0x7F
            found.per_second = 2 ** min(power, 63) if value[0] & 0x80 else 10 ** min(power, 18)
        elif code == _OFFSET and len(value) == 8:
            found.offset_seconds = struct.unpack(order + "q", value)[0]
        position += 4 + (size + 3) // 4 * 4
    return found


def _packets(data: Bytes, section: _Section, faults: list[str]) -> list[tuple[NDArray[Any], ...]]:
    parts = []
    for kind, positions in section.blocks.items():
        at = np.array(positions, np.int64)
        if not positions:
            continue
        if kind == SIMPLE:
            parts.extend(_simple(data, at, section))
            continue
        number = "u4" if kind == ENHANCED else "u2"
        fields = [("total", "u4", 4), ("interface", number, 8), ("high", "u4", 12), ("low", "u4", 16)]
        fields += [("captured", "u4", 20), ("length", "u4", 24)]
        head = gather(data, at, _structure(section.order, fields, 28))
        for index, interface in enumerate(section.interfaces):
            mine = head["interface"] == index
            ours = head[mine]
            captured = ours["captured"].astype(np.int64)
            fits = captured <= ours["total"].astype(np.int64) - 32
            ticks = ours["high"].astype(np.uint64) << np.uint64(32) | ours["low"].astype(np.uint64)
            columns = (at[mine] + 28, np.where(fits, captured, -1), ours["length"].astype(np.int64))
            parts.append((*columns, _nanoseconds(ticks, interface), np.full(len(ours), interface.link, np.int64)))
        unknown = int((head["interface"] >= len(section.interfaces)).sum())
        if unknown:
            faults.append(f"{unknown} packets of interfaces that the file does not describe; left out")
    return parts


def _simple(data: Bytes, at: NDArray[np.int64], section: _Section) -> list[tuple[NDArray[Any], ...]]:
    if not section.interfaces:
        return []
    head = gather(data, at, _structure(section.order, [("total", "u4", 4), ("length", "u4", 8)], 12))
    length = head["length"].astype(np.int64)
    captured = np.minimum(np.minimum(length, section.interfaces[0].snaplen), head["total"].astype(np.int64) - 16)
    link = np.full(len(at), section.interfaces[0].link, np.int64)
    return [(at + 12, captured, length, np.full(len(at), -1, np.int64), link)]


def _structure(order: str, fields: list[tuple[str, str, int]], size: int) -> np.dtype[Any]:
    names, kinds, offsets = zip(*fields, strict=True)
    formats = [order + kind for kind in kinds]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _nanoseconds(ticks: NDArray[np.uint64], interface: _Interface) -> NDArray[np.int64]:
    whole, part = np.divmod(ticks, np.uint64(interface.per_second))
    if interface.per_second > 1_000_000_000:  # the part times 10**9 may not fit 64 bits
        fraction = (part.astype(np.float64) * (1e9 / interface.per_second)).astype(np.int64)
    else:
        fraction = (part * np.uint64(1_000_000_000) // np.uint64(interface.per_second)).astype(np.int64)
    seconds = whole.astype(np.int64) + np.int64(interface.offset_seconds)
    return seconds * np.int64(1_000_000_000) + fraction
