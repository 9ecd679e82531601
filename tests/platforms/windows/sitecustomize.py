"""Takes away what Windows lacks, before anything else is imported.

Rules:
- A directory with this file on PYTHONPATH is enough: the interpreter imports `sitecustomize` as it starts.
- `msvcrt.locking` is what Windows has instead of `fcntl`; here the real `fcntl` serves it.
"""

from __future__ import annotations

import asyncio.selector_events
import asyncio.unix_events
import fcntl
import mmap
import os
import signal
import socket
import sys
from types import ModuleType
from typing import Any

MODULES = ("fcntl", "resource", "uvloop", "termios", "pwd", "grp")
NAMES = (
    *("fdatasync", "fork", "getpgid", "killpg", "pread", "preadv", "pwrite", "pwritev", "readv", "register_at_fork"),
    *("sendfile", "setsid", "statvfs", "sysconf", "writev", "O_CLOEXEC", "O_DIRECTORY", "O_SYNC", "posix_fadvise"),
)


def _missing(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


def _for_asyncio_alone(serving: Any) -> Any:
    """A method of the loop that only asyncio itself may call, as it does on sockets that connect."""

    def call(*arguments: Any) -> Any:
        if not sys._getframe(1).f_globals["__name__"].startswith("asyncio."):
            raise NotImplementedError
        return serving(*arguments)

    return call


class _Absent:
    def __get__(self, instance: object, owner: object = None) -> Any:
        raise AttributeError("sendmsg")


def _locking(descriptor: int, mode: int, size: int) -> None:
    fcntl.flock(descriptor, mode)  # of one handle, as Windows locks


windows = ModuleType("msvcrt")
windows.locking = _locking  # type: ignore[attr-defined]  # a module made here
windows.LK_NBLCK = fcntl.LOCK_EX | fcntl.LOCK_NB  # type: ignore[attr-defined]  # a module made here
sys.modules["msvcrt"] = windows
for name in MODULES:
    sys.modules[name] = None  # type: ignore[assignment]  # so that importing it fails
for name in NAMES:
    vars(os).pop(name, None)
for name in ("MAP_ANONYMOUS", "MAP_PRIVATE", "MAP_SHARED", "MADV_DONTNEED"):
    vars(mmap).pop(name, None)
for name in ("MSG_MORE", "MSG_DONTWAIT", "SO_REUSEPORT"):
    vars(socket).pop(name, None)
for name in ("SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2", "pthread_sigmask"):
    vars(signal).pop(name, None)


socket.socket.sendmsg = _Absent()  # type: ignore[assignment,method-assign]  # inherited from C, so it cannot be deleted
for method in ("add_reader", "add_writer", "remove_reader", "remove_writer"):
    serving = getattr(asyncio.selector_events.BaseSelectorEventLoop, method)
    setattr(asyncio.selector_events.BaseSelectorEventLoop, method, _for_asyncio_alone(serving))
asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = _missing  # type: ignore[assignment,method-assign]
