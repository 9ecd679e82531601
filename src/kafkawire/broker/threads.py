"""Lengthy work on logs, done from the broker's loop.

Rules:
- The steps of `log.lengthy` run in a thread, one after the other; what is between them runs on the loop.
- Work is closed, and leaves the log as it was, if it may not go on after a step.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.log.lengthy import Lengthy

T = TypeVar("T")


async def run(work: Lengthy[T], may_go_on: Callable[[], bool] | None = None) -> T | None:
    """The result of lengthy work; None if it might not go on."""
    loop = asyncio.get_running_loop()
    try:
        step = next(work)
        while may_go_on is None or may_go_on():
            try:
                await loop.run_in_executor(None, step)
            except Exception as error:
                step = work.throw(error)
            else:
                step = next(work)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the generator returned
    finally:
        work.close()
    return None
