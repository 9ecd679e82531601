"""The bytes of a capture file as one array, without reading it into memory.

Rules:
- A plain file is mapped; nothing is read before it is touched. One that is elsewhere is first copied, in pieces, into
  an anonymous temporary file.
- A file packed with gzip or zstd, told by its first bytes and not by its name, is unpacked in pieces into an
  anonymous temporary file, which is then mapped.
- Unpacking stops at `limit` bytes: a small file must not fill the disk.
"""

from __future__ import annotations

import gzip
import mmap
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

import numpy as np

from kafkawire.inspect.sources.index import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
UNPACKED_LIMIT: Final = 64 << 30
_PIECE: Final = 1 << 20


def map_file(path: str | Path, *, limit: int = UNPACKED_LIMIT) -> Bytes:
    """A file's bytes, unpacked where it is packed."""
    with Path(path).open("rb") as file:
        start = file.read(4)
        file.seek(0)
        return _copy(path, _unpacked(path, start, file), limit) if is_packed(start) else _map(path, file)


def map_stream(name: str, start: bytes, file: IO[bytes], *, limit: int = UNPACKED_LIMIT) -> Bytes:
    """The bytes of a file that is elsewhere, of which the first four are known, unpacked where it is packed."""
    return _copy(name, _unpacked(name, start, file), limit)


def is_packed(start: bytes) -> bool:
    """Whether the first four bytes are those of a packed file."""
    return start.startswith(GZIP) or start == ZSTD


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
        raise CaptureError(f"{path}: packed with zstd; install kafkawire[codecs] to read it") from None
    return lambda file: cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))


def _unpacked(path: str | Path, start: bytes, file: IO[bytes]) -> IO[bytes]:
    if start.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return _zstd_reader(path)(file) if start == ZSTD else file


def _copy(path: str | Path, packed: IO[bytes], limit: int) -> Bytes:
    with tempfile.TemporaryFile() as plain:
        total = 0
        try:
            while piece := packed.read(_PIECE):
                total += len(piece)
                if total > limit:
                    raise CaptureError(f"{path}: unpacks to more than {limit} bytes")
                plain.write(piece)
        except CaptureError:
            raise
        except Exception as error:  # each codec has its own exceptions
            raise CaptureError(f"{path}: reading stopped after {total} bytes: {error}") from error
        plain.flush()
        return _map(path, plain)
