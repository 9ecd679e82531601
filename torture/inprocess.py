"""A broker in a thread, on a disk and a clock of the harness's choice.

Rules:
- `abandon` ends a broker as kill -9 does: nothing that it does from then on reaches the disk.
- Faults of its own that the broker logs, with a traceback, are kept in `faults`.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kafkawire.testing import RunningBroker
from kafkawire.testing.faulty_files import FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from kafkawire.broker._clock import Clock

DATA = Path("/data")


class BrokerThread(RunningBroker):
    """A broker that runs beside the harness."""

    def __init__(self, files: FaultyFiles, config: Mapping[str, str], clock: Clock | None = None) -> None:
        super().__init__(DATA, config={"offsets.topic.num.partitions": "2", **config}, files=files, clock=clock)
        self.files = files

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def start(self) -> None:
        super().start()
        self.call(self._serve_plainly)

    def abandon(self) -> None:
        """Freeze its disk, and end it."""
        self.files.freeze()
        with suppress(Exception):
            self.stop()

    @property
    def port(self) -> int:
        return self.broker.port

    @property
    def bootstrap(self) -> str:
        return self.bootstrap_servers

    def _serve_plainly(self) -> None:
        """Serve as `kafkawire serve` does: a test's broker records requests."""
        self.broker.dispatcher.interceptor = None
        self.broker.node.guard = None


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
