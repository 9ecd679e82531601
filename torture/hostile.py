"""Hostile frames, by the million, beside a neighbour that measures how it is served.

Rules:
- A burst is a row of frames sent together on one connection; frames that end a conversation stand last in it. The
  broker shows which ones do: the first frame without an answer is the one that ended it.
- Frames that are costly to serve, or whose answer is large, are sent one time in ten, so that the others are many.
- One connection sends its bursts byte by byte.
- The broker answers or closes. It does not die, logs no fault of its own, keeps its memory bounded and serves the
  neighbour.
"""

from __future__ import annotations

import selectors
import socket
import struct
from contextlib import suppress
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Final

from kafkawire.messages import api
from torture.frames import Frame, pool
from torture.neighbour import Neighbour
from torture.peer import Peer, check, create, metadata
from torture.scenario import BrokenPromiseError
from torture.victim import Victim

if TYPE_CHECKING:
    from torture.scenario import Budget, Figures, Stage

CONNECTIONS: Final = 16
BURST: Final = 60
PATIENCE: Final = 0.15
EACH: Final = 6
SLICE: Final = 1.0
LARGE: Final = 600
COSTLY: Final = {api(name).key for name in ("CreateTopics", "DeleteTopics", "CreatePartitions", "DeleteRecords")}
POOL_SECONDS: Final = 20.0
MOST_RESIDENT_MB: Final = 700.0
LONGEST_STALL_MS: Final = 100.0
IDLE_SECONDS: Final = 1.0
_SIZE: Final = struct.Struct(">i")


class Attacker:
    """One connection, and the burst that is under way on it."""

    def __init__(self, port: int, *, slow: bool) -> None:
        self.port = port
        self.slow = slow
        self.socket: socket.socket | None = None
        self.frames: list[Frame] = []
        self.unsent = memoryview(b"")
        self.answered = 0
        self.rest = b""
        self.since = 0.0
        self.large: list[Frame] = []

    def connect(self) -> socket.socket:
        self.socket = socket.create_connection(("127.0.0.1", self.port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.rest = b""
        return self.socket

    def begin(self, frames: list[Frame]) -> None:
        self.frames, self.answered = frames, 0
        self.unsent = memoryview(b"".join([frame.content for frame in frames]))
        self.since = monotonic()

    def send(self) -> None:
        assert self.socket is not None
        if self.unsent:
            with suppress(BlockingIOError):
                piece = self.unsent[:1] if self.slow else self.unsent
                self.unsent = self.unsent[self.socket.send(piece) :]

    def receive(self) -> bool:
        """Count answers; whether the broker closed the connection."""
        assert self.socket is not None
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        if not data:
            return True
        self.since = monotonic()
        data = self.rest + data
        at, end = 0, len(data)
        while end - at >= 4 and end - at >= (size := 4 + _SIZE.unpack_from(data, at)[0]):
            at += size
            if size > LARGE and self.answered < len(self.frames):
                self.large.append(self.frames[self.answered])
            self.answered += 1
        self.rest = data[at:]
        return False


class Attack:
    """All connections, and the frames they choose from."""

    def __init__(self, port: int, dice: Random, figures: Figures) -> None:
        self._dice, self._figures = dice, figures
        self._selector = selectors.DefaultSelector()
        self._attackers = [Attacker(port, slow=number == 0) for number in range(CONNECTIONS)]
        self._ends: set[Frame] = set()
        self._large: set[Frame] = set()
        self._draw()

    def close(self) -> None:
        for attacker in self._attackers:
            if attacker.socket is not None:
                attacker.socket.close()
        self._selector.close()

    def run(self, seconds: float) -> None:
        """Send bursts for so long."""
        end = monotonic() + seconds
        for attacker in self._attackers:
            if attacker.socket is None:
                self._connect(attacker)
        while (now := monotonic()) < end:
            if now > self._drawn + POOL_SECONDS:
                self._draw()
            for key, events in self._selector.select(0.05):
                ready: Attacker = key.data
                try:
                    closed = bool(events & selectors.EVENT_READ) and ready.receive()
                    ready.send()
                except OSError:
                    closed = True
                self._go_on(ready, closed)
            for attacker in self._attackers:
                if now - attacker.since > PATIENCE and not attacker.unsent:
                    self._end(attacker, closed=False)

    def _draw(self) -> None:
        frames = pool(self._dice, EACH)
        self._valid = [frame for frame in frames if frame.is_valid]
        self._wounded = [frame for frame in frames if not frame.is_valid]
        self._ends.clear()
        self._large = {frame for frame in self._valid if int.from_bytes(frame.content[4:6], "big") in COSTLY}
        self._drawn = monotonic()

    def _go_on(self, attacker: Attacker, closed: bool) -> None:
        if closed:
            self._end(attacker, closed=True)
        elif attacker.answered >= len(attacker.frames):
            self._count(attacker)
            self._begin(attacker)
        else:
            self._watch(attacker)

    def _end(self, attacker: Attacker, *, closed: bool) -> None:
        """A conversation is over: the frame after the last answer ended it, or is waited for."""
        if attacker.answered < len(attacker.frames):
            self._ends.add(attacker.frames[attacker.answered])
        self._count(attacker)
        if closed:
            self._figures.add("hostile connections closed")
        assert attacker.socket is not None
        self._selector.unregister(attacker.socket)
        attacker.socket.close()
        self._connect(attacker)

    def _count(self, attacker: Attacker) -> None:
        self._figures.add("hostile frames sent", len(attacker.frames))
        self._figures.add("hostile frames answered", min(attacker.answered, len(attacker.frames)))
        attacker.frames = []
        self._large.update(attacker.large)
        attacker.large.clear()

    def _connect(self, attacker: Attacker) -> None:
        try:
            self._selector.register(attacker.connect(), selectors.EVENT_READ, attacker)
        except OSError as error:
            raise BrokenPromiseError("hostile frames never end a broker", f"connecting failed: {error}") from error
        self._begin(attacker)

    def _begin(self, attacker: Attacker) -> None:
        dice = self._dice
        drawn = [
            frame for frame in dice.choices(self._valid, k=3 if attacker.slow else BURST) if frame not in self._ends
        ]
        burst = [frame for frame in drawn if frame not in self._large or dice.random() < 0.1]
        burst.append(dice.choice(self._wounded))
        attacker.begin(burst)
        with suppress(OSError):
            attacker.send()
        self._watch(attacker)

    def _watch(self, attacker: Attacker) -> None:
        assert attacker.socket is not None
        writes = selectors.EVENT_WRITE if attacker.unsent else 0
        self._selector.modify(attacker.socket, selectors.EVENT_READ | writes, attacker)


class Hostile:
    """One broker under fire."""

    name = "hostile"
    promises = (
        "a broker answers any frame or closes its connection, and never dies",
        "no frame makes it log a fault of its own",
        "its memory stays bounded",
        "a neighbour waits for no answer longer than the limit",
    )

    def __init__(self, *, stall_ms: float = LONGEST_STALL_MS) -> None:
        self._stall_ms = stall_ms

    def run(self, budget: Budget, stage: Stage) -> None:
        work = stage.work / "hostile"
        with Victim(work, memory=True) as victim:
            victim.start()
            with Peer(victim.port) as peer:
                for name in ("topic-1", "a", "neighbour"):
                    check(peer.ask(create(name, 2)).topics[0].error_code, f"creating {name}")
            with Neighbour(victim.port, metadata("neighbour").frame(), work) as neighbour:
                idle = monotonic() + min(IDLE_SECONDS, budget.left / 5)
                while monotonic() < idle:
                    neighbour_pause(idle)
                neighbour.report().note(stage.figures, "idle neighbour")
                self._attack(victim, neighbour, budget, stage)

    def _attack(self, victim: Victim, neighbour: Neighbour, budget: Budget, stage: Stage) -> None:
        figures = stage.figures
        attack = Attack(victim.port, Random(stage.dice.getrandbits(32)), figures)
        try:
            while budget.take():
                before, start = figures.get("hostile frames sent"), monotonic()
                attack.run(min(SLICE, max(0.1, budget.left)))
                rate = (figures.get("hostile frames sent") - before) / (monotonic() - start)
                figures.add("hostile frames per second", rate)
                seen = neighbour.report()
                seen.note(figures)
                check_health(victim, figures)
                stage.tell(f"{figures.get('hostile frames sent'):,.0f} frames, {rate:,.0f}/s, max {seen.most:.0f} ms")
                if seen.most > self._stall_ms:
                    raise BrokenPromiseError(f"{self.promises[3]} of {self._stall_ms:g} ms", f"{seen.most:.0f} ms")
        finally:
            attack.close()


def neighbour_pause(until: float) -> None:
    """Let the neighbour measure by itself."""
    selectors.DefaultSelector().select(max(0.0, until - monotonic()))


def check_health(victim: Victim, figures: Figures) -> None:
    """Note what a broker takes, and refuse a dead one, a faulty one and a huge one."""
    if not victim.is_alive:
        raise BrokenPromiseError("a broker never dies of what clients send", "it is gone")
    resident = victim.resident_mb()
    figures.add("resident memory max", resident)
    figures.add("descriptors max", victim.descriptors())
    figures.add("longest step on the loop", victim.longest_step_ms())
    if victim.faults:
        raise BrokenPromiseError("a broker logs no fault of its own", victim.faults[0])
    if resident > MOST_RESIDENT_MB:
        raise BrokenPromiseError(f"memory stays below {MOST_RESIDENT_MB:.0f} MB", f"{resident:.0f} MB")
