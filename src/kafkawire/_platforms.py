"""Calls that differ between operating systems, each with one fallback.

Rules:
- A call is chosen by the functions that the interpreter has, not by the name of the system, so that tests can remove
  one.
- A fallback may be slower or use more memory. It has the guarantees of the call that it replaces.
- No other module imports `fcntl`, `resource`, `msvcrt`, or an `os` or `socket` name that some system lacks.
- `open_file` lets other handles rename and remove an open file, also on Windows, because segments are removed while
  clients read them.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    Bytes = bytes | bytearray | memoryview


def _module(name: str) -> Any:
    """A module that only some systems have, or None."""
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl: Final = _module("fcntl")
resource: Final = _module("resource")
termios: Final = _module("termios")
HAS_DIRECTORY_LOCKS: Final = fcntl is not None
SENDS_FILES: Final = hasattr(os, "sendfile") and hasattr(socket.socket, "sendmsg")
"""Whether a socket takes parts in memory and ranges of files without a copy."""
HOLDS_PORTS: Final = sys.platform == "linux"
"""Whether a port can be bound twice while no socket listens, so that one of the two reserves it for the other."""
SOCKETS_ARE_FILES: Final = resource is not None
"""Whether a socket uses one of the limited descriptors, with the lowest free number."""
MSG_MORE: Final = getattr(socket, "MSG_MORE", 0)
GATHER: Final = min(1024, os.sysconf("SC_IOV_MAX")) if hasattr(os, "sysconf") else 1024
"""The most parts that `pwritev` accepts at once."""
_O_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
_FEW_DESCRIPTORS: Final = 2048
_MOST_ON_MACOS: Final = 10240  # OPEN_MAX: setrlimit refuses more there, whatever the hard limit is
_WHOLE_FILE: Final = ("hhqqi4x", os.SEEK_SET, 0, 0, 0)
_PRIVATE: Final[dict[str, Any]] = (
    {"flags": mmap.MAP_PRIVATE | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)}
    if hasattr(mmap, "MAP_PRIVATE")
    else {}
)
_COUNT: Final = struct.Struct("i")
_SYNCS_REPORT_ERRORS: Final = (5, 8)
"""The release of Linux since which `syncfs` fails if bytes were lost."""
_SYNCED_AS_A_WHOLE: Final = {"ext2", "ext3", "ext4", "f2fs", "xfs"}
"""Local file systems that `syncfs` syncs. Others do not pass it on, or not its errors: overlays, FUSE, NFS."""
_MOST_DIRTY_KB: Final = 256 * 1024
_SO_NWRITE: Final = 0x1024  # of sys/socket.h on macOS
_AT_FDCWD: Final = -100
_EXCHANGE: Final = 2
"""The flag of `renameat2` on Linux and of `renamex_np` on macOS."""
_positions = Lock()


if sys.platform == "win32":
    import _winapi
    import msvcrt

    _SHARE_ALL: Final = 0x7  # FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_SHARE_DELETE
    _OPEN_ALWAYS: Final = 4

    def open_file(path: Path, flags: int) -> int:
        """Open a file, as `os.open` does; it may be renamed and removed while it is open."""
        access = _winapi.GENERIC_READ | (_winapi.GENERIC_WRITE if flags & os.O_RDWR else 0)
        how = _OPEN_ALWAYS if flags & os.O_CREAT else _winapi.OPEN_EXISTING
        try:
            handle = _winapi.CreateFile(str(path), access, _SHARE_ALL, _winapi.NULL, how, 0, _winapi.NULL)
        except OSError as error:
            error.filename = str(path)
            raise
        return msvcrt.open_osfhandle(handle, flags & os.O_RDWR | os.O_BINARY | os.O_NOINHERIT)

else:

    def open_file(path: Path, flags: int) -> int:
        """Open a file, as `os.open` does; it may be renamed and removed while it is open."""
        return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644)


def _pread(descriptor: int, size: int, position: int, /) -> bytes:
    with _positions:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.read(descriptor, size)


def _pwritev(descriptor: int, parts: Sequence[Bytes], position: int, /) -> int:
    with _positions:
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.write(descriptor, b"".join(parts))


def _datasync(descriptor: int, /) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync on macOS leaves the bytes in the drive's own cache
            return
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):  # file systems that do not support it
                raise
    os.fsync(descriptor)


pread: Final[Callable[[int, int, int], bytes]] = getattr(os, "pread", _pread)
"""Read so many bytes at a position; fewer at the end of the file."""
pwritev: Final[Callable[[int, Sequence[Bytes], int], int]] = getattr(os, "pwritev", _pwritev)
"""Write parts at a position; the number of bytes written."""
datasync: Final[Callable[[int], None]] = getattr(os, "fdatasync", _datasync)
"""Return when the contents of a file survive a power cut."""


def sync_directory(path: Path) -> None:
    """Return when the names in a directory survive a power cut; Windows offers no such call."""
    if not _O_DIRECTORY:
        return
    descriptor = open_file(path, os.O_RDONLY | _O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> None:
    """Exchange two names of one file system at once; OSError if the system or the file system has no such call.

    There is no fallback, because each of several calls would leave a moment at which a name is missing.
    """
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform, "")
    try:
        from ctypes import CDLL, get_errno  # slow to import, and rarely needed

        call = getattr(CDLL(None, use_errno=True), name)
    except (ImportError, AttributeError, TypeError) as error:
        raise OSError(errno.ENOTSUP, "the system cannot exchange two directories", str(one)) from error
    if sys.platform == "linux":
        failed = call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE)
    else:
        failed = call(os.fsencode(one), os.fsencode(other), _EXCHANGE)
    if failed:
        number = get_errno()
        raise OSError(number, os.strerror(number), str(one))


def file_system_sync(path: Path) -> Callable[[], None] | None:
    """A call that syncs the whole file system of a directory, if that is safe and costs little.

    It also writes what other programs left unsynced, so it is not offered while the system has much of that.
    """
    if sys.platform != "linux" or _release() < _SYNCS_REPORT_ERRORS:
        return None
    try:
        from ctypes import CDLL, get_errno  # slow to import, and rarely needed

        if _file_system(path) not in _SYNCED_AS_A_WHOLE or _dirty_kb() > _MOST_DIRTY_KB:
            return None
        syncfs = CDLL(None, use_errno=True).syncfs
        descriptor = open_file(path, os.O_RDONLY | _O_DIRECTORY)  # errors from now on are reported
    except (ImportError, AttributeError, OSError, ValueError):
        return None

    def sync() -> None:
        try:
            if syncfs(descriptor):
                number = get_errno()
                raise OSError(number, os.strerror(number), str(path))
        finally:
            os.close(descriptor)

    return sync


def _release() -> tuple[int, ...]:
    """The version of the kernel."""
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def _file_system(path: Path) -> str:
    """The type of the file system of a path; empty if the system does not list it."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split(" ", 3)[2] == number:
            return source.split(" ", 1)[0]
    return ""


def _dirty_kb() -> int:
    """The memory of the system that waits to be written."""
    numbers = re.findall(r"^(?:Dirty|Writeback):\s+(\d+)", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    return sum(map(int, numbers))


def lock_file(descriptor: int) -> None:
    """Lock a file exclusively until its descriptor is closed; OSError if another process has it."""
    if fcntl is None:
        windows = import_module("msvcrt")
        os.lseek(descriptor, 0, os.SEEK_SET)
        windows.locking(descriptor, windows.LK_NBLCK, 1)
    elif sys.platform == "linux" and hasattr(fcntl, "F_OFD_SETLK"):
        # Plain record locks end when any descriptor of the file is closed; these do not, and exclude those.
        form, *rest = _WHOLE_FILE
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(form, fcntl.F_WRLCK, *rest))
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # excludes record locks too, on macOS and the BSDs


def lock_directory(descriptor: int) -> None:
    """Lock a directory until its descriptor is closed; OSError if another has it. Windows offers no such call."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def descriptor_limit() -> int:
    """The number of descriptors that this process may have open."""
    if resource is None:
        return _FEW_DESCRIPTORS
    soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def most_descriptors() -> int:
    """The highest limit that `raise_descriptor_limit` can set."""
    if resource is None:
        return _FEW_DESCRIPTORS
    hard: int = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def raise_descriptor_limit() -> None:
    """Raise the limit of open files of this process as far as the system allows."""
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for soft in (most, _MOST_ON_MACOS):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
            return


def untouched_memory(size: int) -> mmap.mmap:
    """Memory of that size; the system allocates only the pages that are read or written."""
    return mmap.mmap(-1, size, **_PRIVATE)


def claim_address(opened: socket.socket) -> None:
    """Allow a socket to bind an address that a closed one had, and no other socket to share it."""
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)  # Windows, whose SO_REUSEADDR shares an address
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if exclusive is None else exclusive, 1)


def unread_bytes(wire: socket.socket) -> int:
    """Bytes that the system has received for a socket and that are unread; 0 if the system does not report it."""
    return _queued(wire, "FIONREAD") or 0


def unsent_bytes(wire: socket.socket) -> int | None:
    """Bytes that were written to a socket and not acknowledged; None if the system does not report it."""
    if sys.platform == "darwin":
        with suppress(OSError):
            return wire.getsockopt(socket.SOL_SOCKET, _SO_NWRITE)
        return None
    return _queued(wire, "TIOCOUTQ")


def _queued(wire: socket.socket, name: str) -> int | None:
    what = getattr(termios, name, None)
    if fcntl is None or what is None:
        return None
    with suppress(OSError, ValueError):
        return int(_COUNT.unpack(fcntl.ioctl(wire.fileno(), what, bytes(_COUNT.size)))[0])
    return None


def call_at_fork(**hooks: Callable[[], Any]) -> None:
    """Register hooks as `os.register_at_fork` does, if the system can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)


def stop_reading(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    """Remove a descriptor from an event loop that polls descriptors; the loop of Windows polls operations instead."""
    try:
        loop.remove_reader(descriptor)
    except NotImplementedError:
        return


def call_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
    """Call a function on the loop at SIGINT and SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
