"""The memory that requests and responses of all connections share.

Rules:
- Memory is counted for incomplete frames, for requests that wait, for requests under way and for responses in memory
  that a peer has not taken. `limit` is queued.max.request.bytes. Three quarters of it are shared by all.
- Memory is tight while the shared part is used up. A connection then receives SMALL bytes at a time, and every frame
  above SMALL asks before it takes more (`wire.receive_buffer`). Smaller requests are served as usual.
- The last quarter is lent to ordinary frames of fast connections, for as long as such a frame needs: a quarter of a
  second at most. A connection is proven if its last large frames were fast. A new one is fast if its bytes fill the
  system's buffer at once. New ones get a quarter of this part at most, so they cannot keep it from the proven ones.
- A frame that gets no memory waits: behind proven connections, then behind fast ones. Of each the oldest and the
  newest take turns, so that a crowd delays neither a frame that waits for long nor a new one.
- Frames that are not proven get AT_ONCE bytes per check, so that a crowd does not keep the loop from the others.
- One frame at a time may exceed the limit, so that something always ends, however small the limit is.
- A peer is slow if it moves less than MIN_RATE, or less than MIN_RATE for each MiB that it holds. This doubles for
  every second that a frame has waited, so that no connection holds memory for long while others wait.
- Slow peers are closed only while memory is tight: the largest first, until the frames that wait have room. A peer
  whose requests wait behind its own long poll is closed after those. A peer with an overdue loan is closed while
  frames wait that could have it. The loan is renewed if half of what lacked has come.
- So all memory is at most the limit, one frame, and SMALL for each connection.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.wire.receive_buffer import ORDINARY, SMALL

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

    from kafkawire.broker._net.connection import Connection

MIN_RATE: Final = 16 * 1024
SHORTEST_LOAN: Final = 0.05
LONGEST_LOAN: Final = 0.25
PROOF_SECONDS: Final = 0.005
CHECK_SECONDS: Final = 0.025
MOST_DOUBLINGS: Final = 12
AT_ONCE: Final = 4 * 1024 * 1024
MOST_CLOSED: Final = 32
UNLIMITED: Final = 2**63
_MIB: Final = 1024 * 1024
_SHARE_OF_CHECKS: Final = 10  # looking for slow peers takes a tenth of the time at most


class Ask(NamedTuple):
    """Memory that a frame waits for."""

    size: int
    frame: int
    since: float
    speed: float


class Loan(NamedTuple):
    """Memory that a frame has for some time, and the bytes that it lacked then."""

    due: float
    lacking: int
    is_proven: bool


class Queue:
    """Frames that wait for memory, in order, and how much memory may be in use after one of them has some."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.asks: dict[Connection, Ask] = {}


class Budget:
    """The memory in use, the frames that wait for some, and the peers that must free it."""

    def __init__(self, loop: AbstractEventLoop, limit: int) -> None:
        self.limit = limit if limit >= 0 else UNLIMITED
        self.shared = self.limit - self.limit // 4
        self.held = 0
        self.is_tight = False
        self._loop = loop
        self._holders: set[Connection] = set()
        self._leaving: dict[Connection, int] = {}
        self._leaving_bytes = 0
        self._loans: dict[Connection, Loan] = {}
        self._proven = Queue(self.limit)
        self._fast = Queue(self.shared + self.limit // 16)
        self._others = Queue(self.shared)
        self._queues = (self._proven, self._fast, self._others)
        self._new: list[Connection] = []
        self._allowance = AT_ONCE
        self._newest_first = False
        self._wanted = 0
        self._favoured: Connection | None = None
        self._slow: deque[Connection] = deque()
        self._next_search = 0.0
        self._timer: TimerHandle | None = None
        self._proof_timer: TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many frames wait for memory."""
        return sum(len(queue.asks) for queue in self._queues)

    def close(self) -> None:
        """Stop all timers."""
        for timer in (self._timer, self._proof_timer):
            if timer is not None:
                timer.cancel()

    def reserve(self, connection: Connection, more: int, frame: int) -> bool:
        """Whether a frame of some size may take more memory now; if not, `grant` is called when it may."""
        if self._counted + more <= self.shared or self._favoured is connection:
            return True
        ask = Ask(more, frame, self._loop.time(), connection.speed)
        is_proven = _is_fast(ask)
        self._check_later()
        if is_proven and self._counted + more <= self._proven.limit:
            self._lend(connection, ask)
            return True
        if self._favoured is None:
            self._favour(connection)
            return True
        if is_proven:
            self._proven.asks[connection] = ask
        else:
            self._others.asks[connection] = ask
            self._new.append(connection)
            if self._proof_timer is None:
                self._proof_timer = self._loop.call_later(PROOF_SECONDS, self._prove)
        self._wanted += more
        return False

    def account(self, change: int, connection: Connection) -> None:
        """Count memory that a connection took or gave back; `accounted` says what it holds now."""
        self.held += change
        if connection.accounted > SMALL:
            self._holders.add(connection)
        else:
            self._holders.discard(connection)
        self.is_tight = self._counted >= self.shared
        if change < 0:
            self._grant()
        elif self.is_tight:
            self._check_later()

    def repay(self, connection: Connection) -> None:
        """End the loan of a frame that is complete, or its right to exceed the limit."""
        connection.owes = False
        self._loans.pop(connection, None)
        if connection is self._favoured:
            self._favoured = None

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection with all its memory."""
        for queue in self._queues:
            if connection in queue.asks:
                self._wanted -= queue.asks.pop(connection).size
        self._leaving_bytes -= self._leaving.pop(connection, 0)
        if connection.owes:
            self.repay(connection)
        freed, connection.accounted = connection.accounted, 0
        self.account(-freed, connection)

    @property
    def _counted(self) -> int:
        """The memory that limits hold for: all but that of the frame which may exceed them."""
        return self.held if self._favoured is None else self.held - self._favoured.accounted

    def _lend(self, connection: Connection, ask: Ask) -> None:
        connection.owes = True
        is_proven = connection.speed > 0
        seconds = LONGEST_LOAN if is_proven else max(SHORTEST_LOAN, ask.frame / ask.speed)
        self._loans[connection] = Loan(self._loop.time() + seconds, ask.frame, is_proven)

    def _favour(self, connection: Connection) -> None:
        connection.owes = True
        self._favoured = connection

    def _grant(self) -> None:
        """Give memory that is free to frames that wait."""
        while (found := self._next()) is not None:
            queue, connection = found
            size = queue.asks.pop(connection).size
            self._wanted -= size
            if queue is not self._proven:
                self._allowance -= size
                self._newest_first = not self._newest_first
            connection.grant()

    def _next(self) -> tuple[Queue, Connection] | None:
        """The frame that can have its memory now and comes first."""
        rest: list[tuple[float, int, Queue, Connection]] = []
        for queue in self._queues if self._allowance > 0 else (self._proven,):
            if queue.asks:
                newest = self._newest_first and queue is not self._proven
                connection = next(reversed(queue.asks) if newest else iter(queue.asks))
                ask = queue.asks[connection]
                needed = self._counted + ask.size
                if needed <= queue.limit:
                    if needed > self.shared:
                        self._lend(connection, ask)
                    return queue, connection
                rest.append((ask.since, id(connection), queue, connection))
        if not rest or self._favoured is not None:
            return None
        _, _, queue, connection = min(rest)
        self._favour(connection)
        return queue, connection

    def _prove(self) -> None:
        """Find the new connections whose bytes came at once."""
        self._proof_timer = None
        now = self._loop.time()
        new, self._new = self._new, []
        for connection in new:
            ask = self._others.asks.get(connection)
            if ask is not None:
                arrived = connection.accounted + connection.unread
                ask = ask._replace(speed=arrived / max(now - ask.since, PROOF_SECONDS))
                if _is_fast(ask):
                    del self._others.asks[connection]
                    self._fast.asks[connection] = ask
        self._grant()

    def _check_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        self._timer = None
        self._allowance = AT_ONCE
        if self.is_tight or self.waiting:
            self._check_later()
            self._relieve()
            if self.waiting:
                self._call_in()
                self._grant()

    def _relieve(self) -> None:
        """Close slow peers, until the frames that wait have room for their next bytes."""
        lacking = self._counted + min(self._wanted, AT_ONCE) - self.shared - self._leaving_bytes
        if lacking <= 0:
            return
        closed = len(self._leaving)
        now = self._loop.time()
        factor = self._factor(now)
        if not self._slow and now >= self._next_search:
            self._search(now, factor)
        while self._slow and lacking > 0 and len(self._leaving) < closed + MOST_CLOSED:
            connection = self._slow.popleft()
            if connection in self._holders and connection not in self._leaving:
                lacking -= self._close_slow(connection, now, factor)

    def _factor(self, now: float) -> float:
        """How much faster than usual a peer has to be, because a frame has waited for long."""
        since = min((next(iter(queue.asks.values())).since for queue in self._queues if queue.asks), default=now)
        return float(2 ** min(int(now - since), MOST_DOUBLINGS))

    def _search(self, now: float, factor: float) -> None:
        """Find the slow peers, by size; those with a long poll come last."""
        began = perf_counter()
        found = []
        for connection in self._holders:
            rate = connection.pace(now)
            if rate is not None and rate < _expected(connection, factor):
                found.append(connection)
        found.sort(key=lambda connection: (connection.is_parked, -connection.accounted))
        self._slow.extend(found)
        self._next_search = now + max(CHECK_SECONDS, _SHARE_OF_CHECKS * (perf_counter() - began))

    def _close_slow(self, connection: Connection, now: float, factor: float) -> int:
        """Close a peer that is slow even with its bytes that were not read yet; the memory that this frees."""
        rate, expected = connection.pace(now, connection.unread), _expected(connection, factor)
        if rate is None or rate >= expected:
            return 0
        words = f"{connection.accounted} bytes of memory held at {rate:.0f} bytes per second, expected {expected:.0f}"
        return self._close_for_memory(connection, words)

    def _call_in(self) -> None:
        """Close the peers with overdue loans; renew those that made half of their way."""
        now = self._loop.time()
        closed = len(self._leaving)
        for connection, loan in list(self._loans.items()):
            if len(self._leaving) >= closed + MOST_CLOSED:
                return
            if loan.due > now or connection in self._leaving or not connection.is_sending:
                continue
            if loan.is_proven and not self._proven.asks:
                continue
            lacking = max(0, connection.lacking - connection.unread)
            if lacking <= loan.lacking // 2:
                self._loans[connection] = Loan(now + SHORTEST_LOAN, lacking, loan.is_proven)
            else:
                words = f"{connection.accounted} bytes of memory were lent, {lacking} of them are overdue"
                self._close_for_memory(connection, words)

    def _close_for_memory(self, connection: Connection, words: str) -> int:
        freed = self._leaving[connection] = connection.accounted
        self._leaving_bytes += freed
        full = f"{self.waiting} requests wait for memory, queued.max.request.bytes is {self.limit}"
        connection.refuse("slow", f"{words}: {full}")
        return freed


def _is_fast(ask: Ask) -> bool:
    return ask.frame <= min(ORDINARY, ask.speed * LONGEST_LOAN)


def _expected(connection: Connection, factor: float) -> float:
    return MIN_RATE * max(1.0, connection.accounted / _MIB) * factor
