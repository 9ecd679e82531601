"""The file system that a log needs: a small protocol, and its implementation on disk.

Rules:
- Every read and write has its position, so that one file may be read while it grows.
- A write is complete or raises OSError. After an OSError the bytes past the old end are unspecified.
- A name is durable only after `sync_directory`, contents only after `File.sync`.
- Open descriptors are bounded: the least recently used is closed, and reopened when needed. If the process or the
  system has none left, more are closed before an operation fails.
- Files may be opened, renamed and removed from any thread. Two threads must not write one file at a time. An entry that
  is removed while its directory is listed is left out.
- An open `File` stays readable after it is renamed or removed.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from stat import S_ISDIR
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from kafkawire import _platforms as platforms
from kafkawire._codec.parts import ExternalBytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

T = TypeVar("T")
Bytes = bytes | bytearray | memoryview
GATHER = platforms.GATHER
RESERVED_FOR_OTHERS = 64
LET_GO = 16
"""The number of descriptors that are closed at a time when there are none left."""


class File(Protocol):
    """One open file."""

    def fileno(self) -> int:
        """The descriptor, for sendfile; -1 if there is none."""
        ...

    def size(self) -> int: ...

    def read(self, position: int, size: int) -> bytes:
        """The bytes at the position; fewer at the end of the file."""
        ...

    def write(self, position: int, parts: Sequence[Bytes]) -> None: ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None: ...


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    size: int
    modified_ms: int
    is_directory: bool


class FileSystem(Protocol):
    """The operations that a log needs."""

    def open(self, path: Path, *, create: bool = False) -> File: ...

    def list(self, path: Path) -> list[Entry]: ...

    def exists(self, path: Path) -> bool: ...

    def make_directory(self, path: Path) -> None: ...

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file or directory; a file of that name is replaced."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        ...

    def remove_directory(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None: ...

    def whole_sync(self, path: Path) -> Callable[[], None] | None:
        """A call that makes all contents and names of the file system durable; None if there is none, or it is slow.

        It raises OSError if anything written since `whole_sync` returned was lost.
        """
        ...

    def lock(self, path: Path) -> DirectoryLock: ...


@dataclass(frozen=True, slots=True)
class FileRange(ExternalBytes):
    """Bytes of a log file, ready for `sendfile`, and accepted as the records of a message.

    It stays valid as long as it is held, even if the file is renamed or removed.
    """

    file: File
    path: Path
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def fileno(self) -> int:
        """The descriptor to send from; -1 if there is none, and `read` must be used."""
        return self.file.fileno()

    def read(self) -> memoryview:
        """The bytes themselves."""
        return memoryview(self.file.read(self.position, self.length))


class DirectoryLock(Protocol):
    """Sole ownership of a directory, until released."""

    def release(self) -> None: ...


def read_file(files: FileSystem, path: Path) -> bytes:
    """The whole content of a file."""
    file = files.open(path)
    return file.read(0, file.size())


def replace_file(files: FileSystem, path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file so that a reader, or a restart, sees the old content or the new one, never a mix."""
    temporary = path.with_name(path.name + ".tmp")
    files.remove(temporary)
    file = files.open(temporary, create=True)
    file.write(0, [content])
    if durable:
        file.sync()
    files.rename(temporary, path)
    if durable:
        files.sync_directory(path.parent)


class DiskFile:
    """A descriptor that closes when its last user drops it."""

    __slots__ = ("__weakref__", "_descriptor")

    def __init__(self, path: Path, flags: int) -> None:
        self._descriptor = -1
        self._descriptor = platforms.open_file(path, flags)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, position: int, size: int) -> bytes:
        data = platforms.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        while data and (size := size - len(data)):
            position += len(data)
            data = platforms.pread(self._descriptor, size, position)
            parts.append(data)
        return b"".join(parts)

    def write(self, position: int, parts: Sequence[Bytes]) -> None:
        total = 0
        for part in parts:
            total += len(part)
        if len(parts) <= GATHER and (written := platforms.pwritev(self._descriptor, parts, position)) == total:
            return
        self._write_rest(position, [memoryview(part) for part in parts], written if len(parts) <= GATHER else 0)

    def _write_rest(self, position: int, parts: list[memoryview], written: int) -> None:
        start = 0
        while True:
            position += written
            while start < len(parts) and written >= len(parts[start]):
                written -= len(parts[start])
                start += 1
            if start == len(parts):
                return
            parts[start] = parts[start][written:]
            written = platforms.pwritev(self._descriptor, parts[start : start + GATHER], position)
            if not written:
                raise OSError(errno.EIO, "the disk took no bytes")

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        platforms.datasync(self._descriptor)


class DiskFiles:
    """The real file system, with at most `limit` descriptors kept open for reuse."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit or max(16, platforms.descriptor_limit() - RESERVED_FOR_OTHERS) // 2
        self._open: OrderedDict[str, DiskFile] = OrderedDict()  # a Path computes its hash from its parts
        self._guard = Lock()

    @property
    def open_count(self) -> int:
        return len(self._open)

    def open(self, path: Path, *, create: bool = False) -> DiskFile:
        name = str(path)
        with self._guard:
            file = self._open.get(name)
            if file is not None:
                self._open.move_to_end(name)
                return file
        file = self._with_descriptor(lambda: _opened(path, create=create))
        with self._guard:
            self._open[name] = file
            if len(self._open) > self._limit:
                self._open.popitem(last=False)
        return file

    def list(self, path: Path) -> list[Entry]:
        found = []
        with self._with_descriptor(lambda: os.scandir(path)) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    stat = entry.stat()
                    found.append(Entry(entry.name, stat.st_size, stat.st_mtime_ns // 1_000_000, S_ISDIR(stat.st_mode)))
        return found

    def exists(self, path: Path) -> bool:
        return path.exists()

    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def rename(self, source: Path, target: Path) -> None:
        # Listed before the rename: another thread may remove the directory under its new name.
        inside = self._with_descriptor(lambda: os.listdir(source)) if source.is_dir() else []  # noqa: PTH208  # names
        stale = [source, target, *(source / name for name in inside)]
        self._forget(stale)  # Windows does not rename a directory that holds open files
        os.replace(source, target)  # noqa: PTH105  # Path.replace builds a Path that is not used
        self._forget(stale)

    def remove(self, path: Path) -> None:
        with self._guard:
            self._open.pop(str(path), None)
        path.unlink(missing_ok=True)

    def remove_directory(self, path: Path) -> None:
        path.rmdir()

    def sync_directory(self, path: Path) -> None:
        self._with_descriptor(lambda: platforms.sync_directory(path))

    def whole_sync(self, path: Path) -> Callable[[], None] | None:
        return self._with_descriptor(lambda: platforms.file_system_sync(path))

    def lock(self, path: Path) -> DiskLock:
        return self._with_descriptor(lambda: DiskLock(path))

    def _with_descriptor(self, take: Callable[[], T]) -> T:
        """Call a function that opens a descriptor; while there is none left, close some that are kept for reuse."""
        while True:
            try:
                return take()
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._let_go():
                    raise

    def _forget(self, paths: Sequence[Path]) -> None:
        with self._guard:
            for path in paths:
                self._open.pop(str(path), None)

    def _let_go(self) -> bool:
        with self._guard:
            oldest = [self._open.popitem(last=False) for _ in range(min(LET_GO, len(self._open)))]
        return bool(oldest)


def _opened(path: Path, *, create: bool) -> DiskFile:
    if create:
        return DiskFile(path, os.O_RDWR | os.O_CREAT)
    try:
        return DiskFile(path, os.O_RDWR)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
        return DiskFile(path, os.O_RDONLY)


class DiskLock:
    """An exclusive lock on a file, as Apache Kafka takes on `.lock`; the system releases it when the process ends."""

    def __init__(self, path: Path) -> None:
        self._file: DiskFile | None = DiskFile(path, os.O_RDWR | os.O_CREAT)
        try:
            platforms.lock_file(self._file.fileno())
        except OSError as error:
            words = f"another broker uses it ({path.name} is locked): stop that one, or choose another directory"
            raise BlockingIOError(errno.EAGAIN, words, str(path)) from error

    def release(self) -> None:
        self._file = None


def map_file(path: Path) -> memoryview:
    """A read-only view of a whole file, without reading it into memory; nothing may truncate the file meanwhile.

    >>> from pathlib import Path
    >>> len(map_file(Path(__file__))) == Path(__file__).stat().st_size
    True
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
