"""The bytes of a capture file as one array, without reading it into memory.

Rules:
- A plain file is memory-mapped. A remote file is first copied, in pieces, to an anonymous temporary file.
- A file compressed with gzip, zstd, xz, bzip2 or lz4 is recognised by its first bytes. It is decompressed in pieces
  into an anonymous temporary file, which is then mapped. Other archives are refused with what to do.
- Decompression stops at `limit` bytes, because a small file must not fill the disk.
"""

from __future__ import annotations

import gzip
import mmap
import tempfile
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

import numpy as np

from kafkawire import _native as implementation
from kafkawire.inspect._capture import cut_files as reference
from kafkawire.inspect._capture.packets import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
XZ: Final = b"\xfd7zX"
BZIP2: Final = b"BZh"
LZ4: Final = b"\x04\x22\x4d\x18"
_ARCHIVES: Final = {b"PK\x03\x04": "unzip", b"7z\xbc\xaf": "7z x", b"\x1f\x9d": "uncompress", b"\x1f\xa0": "uncompress"}
UNPACKED_LIMIT: Final = 64 << 30
_PIECE: Final = 1 << 20
_cut_files = implementation.load("kafkawire.inspect._capture._cut_files", reference.__name__)


def outlive_cuts() -> bool:
    """From now on, parts of mapped files that others cut off read as zeros; returns whether this form can do that."""
    return bool(_cut_files.outlive_cuts())


def map_file(path: str | Path, *, limit: int = UNPACKED_LIMIT) -> Bytes:
    """The bytes of a file, decompressed if it is compressed."""
    with Path(path).open("rb") as file:
        start = file.read(4)
        file.seek(0)
        return _copy(path, _unpacked(path, start, file), limit) if is_packed(start) else _map(path, file)


def map_stream(name: str, start: bytes, file: IO[bytes], *, limit: int = UNPACKED_LIMIT) -> Bytes:
    """The bytes of a remote file, whose first four are known, decompressed if it is compressed."""
    return _copy(name, _unpacked(name, start, file), limit)


def is_packed(start: bytes) -> bool:
    """Whether the first four bytes are those of a compressed file."""
    return start.startswith((GZIP, BZIP2)) or start in (ZSTD, XZ, LZ4) or _archive(start) is not None


def _archive(start: bytes) -> str | None:
    """The command that unpacks an archive that is not read; None for other files."""
    return next((command for magic, command in _ARCHIVES.items() if start.startswith(magic)), None)


def map_open_file(file: IO[bytes]) -> Bytes:
    """The bytes of an open file that is not empty."""
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _map(path: str | Path, file: IO[bytes]) -> Bytes:
    try:
        return map_open_file(file)
    except ValueError:
        raise CaptureError(f"{path}: the file is empty") from None


def _zstd_reader(path: str | Path) -> Callable[[IO[bytes]], IO[bytes]]:
    try:
        import zstandard
    except ImportError:
        raise CaptureError(f"{path}: compressed with zstd; install kafkawire[codecs] to read it") from None
    return lambda file: cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))


def _unpacked(path: str | Path, start: bytes, file: IO[bytes]) -> IO[bytes]:
    command = _archive(start)
    if command is not None:
        raise CaptureError(f"{path}: an archive; unpack it with `{command}`, and give the capture inside")
    if start.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if start == ZSTD:
        return _zstd_reader(path)(file)
    if start == XZ or start.startswith(BZIP2):
        return _standard_reader(path, start)(file)
    return _lz4_reader(path)(file) if start == LZ4 else file


def _standard_reader(path: str | Path, start: bytes) -> Callable[[IO[bytes]], IO[bytes]]:
    """A reader of Python's own modules, which some builds of Python leave out."""
    name, command = ("lzma", "xz -d") if start == XZ else ("bz2", "bzip2 -d")
    try:
        module = import_module(name)
    except ImportError:
        raise CaptureError(f"{path}: this Python has no module {name}; unpack the file with `{command}`") from None
    return cast("Callable[[IO[bytes]], IO[bytes]]", module.open)


def _lz4_reader(path: str | Path) -> Callable[[IO[bytes]], IO[bytes]]:
    try:
        frame = import_module("lz4.frame")
    except ImportError:
        raise CaptureError(f"{path}: compressed with lz4; install kafkawire[codecs] to read it") from None
    return cast("Callable[[IO[bytes]], IO[bytes]]", frame.open)


def _copy(path: str | Path, packed: IO[bytes], limit: int) -> Bytes:
    with tempfile.TemporaryFile() as plain:
        total = 0
        try:
            while piece := packed.read(_PIECE):
                total += len(piece)
                if total > limit:
                    raise CaptureError(f"{path}: decompresses to more than {limit} bytes")
                plain.write(piece)
        except CaptureError:
            raise
        except Exception as error:  # each codec has its own exceptions
            raise CaptureError(f"{path}: reading stopped after {total} bytes: {error}") from error
        plain.flush()
        return _map(path, plain)
