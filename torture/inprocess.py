"""A broker in a thread, on a disk and a clock of the harness's choice.

Rules:
- `start` returns when clients can connect, and raises what the start raised.
- `stop` ends it cleanly. `abandon` ends it as kill -9 does: nothing that it does from then on reaches the disk.
- What the broker logs as a fault of its own, with a traceback, is kept in `faults`.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Self

from kafkawire.broker.broker import Broker
from kafkawire.broker.loops import new_loop
from kafkawire.log.faults import FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from kafkawire.broker.clock import Clock

DATA = Path("/data")


class BrokerThread:
    """A broker that runs beside the harness."""

    def __init__(self, files: FaultyFiles, config: Mapping[str, str], clock: Clock | None = None) -> None:
        self.files = files
        self._config = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2", **config}
        self._clock = clock
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self.port = 0
        self.failure: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def start(self) -> None:
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(started,), name="tortured broker", daemon=True)
        self._thread.start()
        started.result()

    def stop(self) -> None:
        """Stop it cleanly; what its stop raised is raised here."""
        self._end()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def abandon(self) -> None:
        """Let nothing more reach its disk, and end it."""
        self.files.freeze()
        self._end()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def call(self, work: Callable[[], None]) -> None:
        """Run a function on the broker's loop."""
        assert self._loop is not None
        done: Future[None] = Future()

        def run() -> None:
            try:
                work()
            except BaseException as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._loop.call_soon_threadsafe(run)
        done.result()

    def _end(self) -> None:
        if self._thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            self.broker = Broker(DATA, port=0, config=self._config, clock=self._clock, files=self.files)
            await self.broker.start()
            self.port = self.broker.port
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._stopping.wait()
        try:
            await self.broker.stop()
        except Exception as error:
            self.failure = error


def empty_disk(dice: Random) -> FaultyFiles:
    """A disk with an empty data directory whose name is durable."""
    disk = FaultyFiles(dice=dice)
    disk.make_directory(DATA)
    disk.sync_directory(DATA.parent)
    return disk


class FaultLog(logging.Handler):
    """Collects what brokers of this process log as faults of their own: lines with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.faults: list[str] = []
        self._loggers = [logging.getLogger(name) for name in ("kafkawire", "asyncio")]
        self._format = logging.Formatter("%(levelname)s %(name)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.faults.append(self._format.format(record))

    def __enter__(self) -> Self:
        self._before = [(each.propagate, each.level) for each in self._loggers]
        for each in self._loggers:
            each.addHandler(self)
            each.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        for each, (propagate, _level) in zip(self._loggers, self._before, strict=True):
            each.removeHandler(self)
            each.propagate = propagate
