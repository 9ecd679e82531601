"""The event loop that brokers run on, uvloop's where it is installed, and the settings of a process of their own."""

from __future__ import annotations

import asyncio
import gc
import sys
from importlib import import_module
from typing import Final

SWITCH_SECONDS: Final = 0.0005
COLLECTIONS: Final = (5_000, 10, 10_000)


def own_process() -> None:
    """Tune an interpreter that runs nothing but a broker.

    Threads give the loop back within SWITCH_SECONDS. A garbage collection stops every thread, for a tenth of a second
    if it visits 400 000 objects. So a young collection visits 50 000 at most. A full one visits every log and topic,
    and waits until the process has grown a great deal.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTIONS)


def new_loop() -> asyncio.AbstractEventLoop:
    """A new loop, for `asyncio.Runner(loop_factory=new_loop)`."""
    try:
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return loop
