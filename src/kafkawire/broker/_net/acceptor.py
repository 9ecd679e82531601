"""Listening sockets, and new connections, also when descriptors run out.

Rules:
- The broker accepts connections itself, because loops differ when no descriptor is left: uvloop closes the new
  connection, asyncio logs a traceback for each attempt.
- Some descriptors stay free for log files and for others. While only those are left, new connections wait in the
  system's queue (socket.listen.backlog.size), and open connections are served as before.
- AT_ONCE connections are accepted in one pass of the loop, because all of them may begin with a long request.
- Above the rate of the broker, connections are accepted later. One above the rate of its address is not read, and
  closed later (`_quotas.connections`).
- The system gives out the lowest free descriptor, so its number says whether only the last ones are left.
- While connections wait for descriptors, one line per QUIET_SECONDS says how many are in use, and what to do.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire import _platforms as platforms
from kafkawire.broker._ops.event_log import log_event

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkawire.broker._quotas.connections import ConnectionRates

    Connect = Callable[[socket.socket], Coroutine[None, None, None]]
    """Turns an accepted socket into a connection, or closes it."""

MOST_SPARE: Final = 64
LEAST_SPARE: Final = 8
ADVISED: Final = 1024
RETRY_SECONDS: Final = 0.25
QUIET_SECONDS: Final = 10.0
AT_ONCE: Final = 8
_SHORT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_UNAVAILABLE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Acceptor:
    """The listening sockets of a broker."""

    def __init__(self, loop: asyncio.AbstractEventLoop, rates: ConnectionRates | None = None) -> None:
        self.is_accepting = False
        self._loop = loop
        self._rates = rates
        self._unwanted: dict[socket.socket, asyncio.TimerHandle] = {}  # too many of an address; closed soon
        self._listening: list[tuple[socket.socket, Connect]] = []
        self._arriving: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._quiet_until = 0.0
        self._paced_until = 0.0
        self._accepting: list[asyncio.Task[None]] = []  # where the loop watches no descriptors
        self._limit = platforms.descriptor_limit()
        self._usable = self._limit - min(MOST_SPARE, max(LEAST_SPARE, self._limit // 8))
        if not platforms.SOCKETS_ARE_FILES:
            self._usable = sys.maxsize

    async def listen(self, host: str | None, port: int, backlog: int, connected: Connect) -> list[int]:
        """Listen on every address of a host; connections are accepted from `start` on. The ports, each once."""
        flags = socket.AI_PASSIVE
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
        opened: list[socket.socket] = []
        failed: list[OSError] = []
        try:
            for family, kind, protocol, _, address in dict.fromkeys(found):
                try:
                    opened.append(_open(family, kind, protocol, address, backlog))
                except OSError as error:
                    if error.errno not in _UNAVAILABLE:
                        raise
                    failed.append(error)
            if not opened:
                raise failed[0] if failed else OSError(errno.EADDRNOTAVAIL, f"{host!r} has no address")
        except BaseException:
            for each in opened:
                each.close()
            raise
        self._listening += ((each, connected) for each in opened)
        return list(dict.fromkeys(int(each.getsockname()[1]) for each in opened))

    def sockets(self) -> list[socket.socket]:
        """The sockets that listen."""
        return [each for each, _ in self._listening]

    def forget(self, port: int) -> None:
        """Listen on a port no more."""
        for each, _ in self._listening:
            if each.getsockname()[1] == port:
                each.close()
        self._listening = [pair for pair in self._listening if pair[0].fileno() >= 0]

    def start(self) -> None:
        """Accept connections."""
        if self._limit < ADVISED:
            words = f"a broker needs one for each connection, and more for logs: allow at least {ADVISED} (ulimit -n)"
            log_event("few descriptors", level=logging.WARNING, limit=self._limit, advice=words)
        self._accept_again()

    async def close(self) -> None:
        """Accept nothing more; connections that were accepted are made when this returns."""
        self._stop()
        if self._timer is not None:
            self._timer.cancel()
        for each, _ in self._listening:
            each.close()
        self._listening.clear()
        for accepted in list(self._unwanted):
            self._close_unwanted(accepted)
        while self._arriving:
            await asyncio.wait(self._arriving)

    def released(self) -> None:
        """A connection was closed: its descriptor is free soon."""
        if self._timer is not None and self._timer.when() > self._loop.time() + RETRY_SECONDS / 10:
            self._timer.cancel()
            self._timer = self._loop.call_later(RETRY_SECONDS / 10, self._accept_again)

    def _accept_again(self) -> None:
        self._timer = None
        if not self._listening:
            return
        if self._loop.time() < self._paced_until:
            self._timer = self._loop.call_at(self._paced_until, self._accept_again)
            return
        if not self._has_room():
            self._pause()
            return
        self.is_accepting = True
        for each, connected in self._listening:
            try:
                self._loop.add_reader(each.fileno(), self._accept, each, connected)
            except NotImplementedError:
                self._accepting.append(self._loop.create_task(self._accept_in_turn(each, connected)))

    def _stop(self) -> None:
        if self.is_accepting:
            self.is_accepting = False
            for each, _ in self._listening:
                platforms.stop_reading(self._loop, each.fileno())
            for task in self._accepting:
                task.cancel()
            self._accepting.clear()

    def _pause(self) -> None:
        self._stop()
        if self._timer is None:
            self._timer = self._loop.call_later(RETRY_SECONDS, self._accept_again)
        now = self._loop.time()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            words = "new connections wait until descriptors are free: close connections, or allow more (ulimit -n)"
            log_event("descriptors taken", level=logging.WARNING, used=_used(), limit=self._limit, advice=words)

    def _has_room(self) -> bool:
        if not platforms.SOCKETS_ARE_FILES:
            return True
        try:
            probe = os.dup(self._listening[0][0].fileno())
        except OSError:
            return False
        os.close(probe)
        return probe < self._usable

    def _accept(self, listening: socket.socket, connected: Connect) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue
            except OSError as error:
                if error.errno not in _SHORT:
                    raise
                self._pause()
                return
            self._arrive(accepted, connected)
            if accepted.fileno() >= self._usable:
                self._pause()
                return
            if self._is_too_fast():
                return

    def _refuses(self, accepted: socket.socket) -> bool:
        """Whether there are too many new connections of this one's address; it is then closed later."""
        if self._rates is None or not self._rates.limits_addresses:
            return False
        try:
            host = str(accepted.getpeername()[0])
        except OSError:
            return False
        wait = self._rates.of_address(host, self._loop.time() * 1000)
        if wait:
            self._unwanted[accepted] = self._loop.call_later(wait / 1000, self._close_unwanted, accepted)
        return wait > 0

    def _close_unwanted(self, accepted: socket.socket) -> None:
        self._unwanted.pop(accepted).cancel()
        accepted.close()
        self.released()

    def _is_too_fast(self) -> bool:
        """Count a connection, and accept no other one for a while if there are too many."""
        wait = 0 if self._rates is None else self._rates.of_broker(self._loop.time() * 1000)
        if wait:
            self._stop()
            self._paced_until = self._loop.time() + wait / 1000
            if self._timer is None:
                self._timer = self._loop.call_at(self._paced_until, self._accept_again)
        return wait > 0

    async def _accept_in_turn(self, listening: socket.socket, connected: Connect) -> None:
        """Accept connections on a loop that watches operations, as that of Windows does."""
        while True:
            try:
                self._arrive((await self._loop.sock_accept(listening))[0], connected)
            except ConnectionError:
                continue
            except OSError as error:
                if error.errno in _SHORT:
                    self._pause()
                return

    def _arrive(self, accepted: socket.socket, connected: Connect) -> None:
        accepted.setblocking(False)
        if self._refuses(accepted):
            return
        task = self._loop.create_task(connected(accepted))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)


def _open(family: int, kind: int, protocol: int, address: tuple[object, ...], backlog: int) -> socket.socket:
    opened = socket.socket(family, kind, protocol)
    try:
        platforms.claim_address(opened)
        if family == socket.AF_INET6:
            with suppress(OSError):
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        opened.listen(backlog)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened


def _used() -> int:
    """How many descriptors the process has open; -1 where the system does not say."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir()) - 1
    except OSError:
        return -1
