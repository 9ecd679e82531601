"""A client beside the trouble: it sends the same request at an even pace and measures how long each answer takes.

It is a process of its own, so that the load generator's interpreter does not distort its measurements. It imports
nothing of the broker. `python -m torture.neighbour PORT INTERVAL_MS FILE` sends the frame in a file.
Rules:
- One request is under way at a time; one that is late is sent at once, and its time counts from then.
- A connection that the broker closes is opened again, and the time that takes belongs to the request.
- A line on standard input asks for a report, one line of JSON. A request that waits counts with its wait so far.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from torture.scenario import Figures

RECONNECT = 0.01


class Latency(NamedTuple):
    """The latency that a neighbour saw since its last report; in milliseconds."""

    requests: int
    p50: float
    p99: float
    most: float
    reconnects: int

    def note(self, figures: Figures, prefix: str = "neighbour") -> None:
        figures.add(f"{prefix} p50", self.p50)
        figures.add(f"{prefix} p99", self.p99)
        figures.add(f"{prefix} max", self.most)
        if prefix == "neighbour":
            figures.add("neighbour requests", self.requests)


class Neighbour:
    """The harness's handle on such a process."""

    def __init__(self, port: int, frame: bytes, work: Path, *, interval_ms: float = 5.0) -> None:
        work.mkdir(parents=True, exist_ok=True)
        file = work / f"neighbour-{len(frame)}.frame"
        file.write_bytes(frame)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torture.neighbour", str(port), str(interval_ms), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        self.report()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def report(self) -> Latency:
        """The latency since the last report."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("report\n")
        self._process.stdin.flush()
        return Latency(*json.loads(self._process.stdout.readline()))


class _Measuring:
    def __init__(self, port: int, interval: float, frame: bytes) -> None:
        self._port, self._interval, self._frame = port, interval, frame
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ)
        self._connection: socket.socket | None = None
        self._times: list[float] = []
        self._reconnects = 0
        self._unsent = memoryview(b"")
        self._left = -4
        self._head = b""

    def run(self) -> None:
        due = perf_counter()
        while True:
            self._ask(due)
            self._times.append(perf_counter() - due)
            due = max(due + self._interval, perf_counter())
            while (rest := due - perf_counter()) > 0:
                try:
                    self._wait(rest, due)
                except (OSError, EOFError):
                    self._drop()

    def _ask(self, due: float) -> None:
        while True:
            try:
                if self._connection is None:
                    self._connect()
                self._unsent, self._left, self._head = memoryview(self._frame), -1, b""
                self._watch(selectors.EVENT_READ | selectors.EVENT_WRITE)
                while self._left:
                    self._wait(1.0, due)
            except (OSError, EOFError):
                self._drop()
                sleep(RECONNECT)
                self._wait(0, due)
            else:
                return

    def _wait(self, seconds: float, due: float) -> None:
        for key, events in self._selector.select(max(0, seconds)):
            if key.fd == 0:
                if not os.read(0, 4096):
                    sys.exit(0)
                self._report(due)
            else:
                self._move(events)

    def _move(self, events: int) -> None:
        assert self._connection is not None
        if events & selectors.EVENT_WRITE and self._unsent:
            self._unsent = self._unsent[self._connection.send(self._unsent) :]
            if not self._unsent:
                self._watch(selectors.EVENT_READ)
        if events & selectors.EVENT_READ:
            data = self._connection.recv(1 << 20)
            if not data:
                raise EOFError
            if self._left < 0:
                self._head += data
                if len(self._head) < 4:
                    return
                self._left, data = int.from_bytes(self._head[:4], "big"), self._head[4:]
            self._left -= len(data)

    def _connect(self) -> None:
        self._connection = socket.create_connection(("127.0.0.1", self._port), 10)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.setblocking(False)
        self._selector.register(self._connection, selectors.EVENT_READ)

    def _watch(self, events: int) -> None:
        assert self._connection is not None
        self._selector.modify(self._connection, events)

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(KeyError):
                self._selector.unregister(self._connection)
            self._connection.close()
            self._connection = None
            self._reconnects += 1

    def _report(self, due: float) -> None:
        waiting = max(0.0, perf_counter() - due) if self._left else 0.0
        times = sorted([*self._times, waiting] if waiting or not self._times else self._times)
        self._times = []
        at = [times[int(len(times) * share)] * 1000 for share in (0.5, 0.99)]
        found = Latency(len(times), at[0], at[1], times[-1] * 1000, self._reconnects)
        self._reconnects = 0
        sys.stdout.write(json.dumps([round(each, 3) for each in found]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _Measuring(int(sys.argv[1]), float(sys.argv[2]) / 1000, Path(sys.argv[3]).read_bytes()).run()
