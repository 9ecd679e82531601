"""The event loop that brokers run on: uvloop's where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from importlib import import_module


def new_loop() -> asyncio.AbstractEventLoop:
    """A fresh loop, for `asyncio.Runner(loop_factory=new_loop)`."""
    try:
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    except ImportError:
        return asyncio.new_event_loop()
    return loop
