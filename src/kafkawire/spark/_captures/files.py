"""List the capture files of paths, and read their bytes.

Rules:
- A path is a file, a directory or a pattern of either. A directory is searched recursively for the suffixes of captures
  (`.pcap`, `.pcapng`, `.cap`, compressed or not). A file that is named directly may have any name.
- Paths may be in all file systems of segments.
- The driver memory-maps whole files to plan; a remote file is first copied to a temporary file. A task reads ranges. A
  compressed file has no ranges, so a worker decompresses it to a temporary file, which it keeps for its next task.
- In a remote file, reading a hole costs less than a second request.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
from pyarrow import fs

from kafkawire.inspect import CaptureError, is_packed, map_file, map_stream, open_capture
from kafkawire.spark._segments.files import OpenFile, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.inspect import Capture, Ranges
    from kafkawire.inspect import CaptureBytes as Bytes

_NAME: Final = re.compile(r".+\.(?:pcap|pcapng|cap)(?:\d+)?(?:\.gz|\.zst|\.xz|\.bz2|\.lz4)?", re.IGNORECASE)
_NEAR: Final = 16 << 10
_FAR: Final = 1 << 20
_EMPTY: Final = np.frombuffer(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), np.uint8)


class CaptureFile(NamedTuple):
    """A capture file."""

    name: str
    size: int


def list_captures(paths: Iterable[str]) -> list[CaptureFile]:
    """The capture files of paths and patterns, each once, sorted by name."""
    return sorted({file for path in paths for file in _listed(path)})


def open_whole(name: str) -> Capture:
    """Open a capture for planning."""
    return open_capture(name, mapped=_map)


class CaptureOpener:
    """Opens captures of which some may be unreadable: such a capture has no packets, and a fault with the reason.

    It raises if no capture can be read.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._unreadable: set[str] = set()

    def __call__(self, name: str) -> Capture:
        try:
            return open_whole(name)
        except (CaptureError, OSError) as error:
            self._unreadable.add(name)
            if len(self._unreadable) == self._count:
                raise
            empty = open_capture(name, mapped=lambda _: _EMPTY)
            empty.faults.append(str(error).removeprefix(f"{name}: "))
            return empty


def open_ranges(name: str) -> Ranges:
    """The bytes of a capture by position and size."""
    file = OpenFile(name)
    if is_packed(bytes(file.read(0, 4))):
        _, (info,), _ = matches(name)
        view = _unpacked(name, info.size or 0, info.mtime_ns or 0).data
        return lambda position, size: view[position : position + size]
    return file.read


def hole_of(names: Iterable[str]) -> int:
    """The largest gap between two needed ranges that is read with them."""
    return _NEAR if all(map(_is_local, names)) else _FAR


def _listed(path: str) -> Iterator[CaptureFile]:
    system, matched, prefix = matches(path)
    for info in matched:
        if info.type == fs.FileType.Directory:
            for below in system.get_file_info(fs.FileSelector(info.path, recursive=True)):
                if below.is_file and _NAME.fullmatch(below.base_name):
                    yield CaptureFile(prefix + below.path, below.size or 0)
        else:
            yield CaptureFile(prefix + info.path, info.size or 0)


class _FromStart:
    """A file read from its start on."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._position = file, 0

    def read(self, size: int) -> bytes:
        piece = bytes(self._file.read(self._position, size))
        self._position += len(piece)
        return piece


def _map(name: str) -> Bytes:
    if _is_local(name):
        return map_file(name)
    with OpenFile(name) as file:
        return map_stream(name, bytes(file.read(0, 4)), cast("IO[bytes]", _FromStart(file)))


def _is_local(name: str) -> bool:
    return "://" not in name


@lru_cache(1)
def _unpacked(name: str, size: int, changed: int) -> Bytes:
    """The content of a compressed file, cached until the file changes."""
    return _map(name)
