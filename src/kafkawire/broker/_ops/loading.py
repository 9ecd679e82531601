"""The import of modules that no request has needed yet, soon after the start.

Rules:
- A broker listens before the handlers of its APIs are imported, because this takes longer than everything else that it
  does at its start. The first request of an API imports its handler, which takes a few milliseconds.
  The first request that needs the coordinator of groups takes about 50.
- From DELAY_SECONDS after the start on, the remaining modules are imported in turns with requests. Later requests then
  do not wait for an import, and need no descriptor for it.
- A failure, such as a lack of descriptors, is logged. The request that needs the module tries again.
"""

from __future__ import annotations

import asyncio
import logging
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import served_apis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker._dispatch.turns import Turns

DELAY_SECONDS: Final = 0.25
COORDINATING: Final = ("groups", "share", "transactions")
"""The packages of the coordinators."""
_log = logging.getLogger("kafkawire.broker")


def load_everything() -> Iterator[None]:
    """Import the handlers of all APIs and the coordinators, one module per step."""
    for handler in served_apis().values():
        handler.load()
        yield
    for room in COORDINATING:
        package = import_module(f"kafkawire.broker.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
            yield


class Loading:
    """The timer of one broker's loading."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        """Load the modules after a while, on the running loop."""
        self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._turns.run, self._steps())

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _steps(self) -> Iterator[None]:
        steps = load_everything()
        while not self._is_stopped:
            try:
                next(steps)
            except StopIteration:
                return
            except Exception:
                _log.exception("a module was not loaded")
                return
            yield
