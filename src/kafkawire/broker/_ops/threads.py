"""Background work on logs, run from the broker's loop.

Rules:
- The steps of `log._cleanup.steps` run in a thread, one after the other. The code between them runs on the loop.
- Work that may not continue after a step is closed, and leaves the log as it was.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.log import BackgroundWork

T = TypeVar("T")


@overload
async def run(work: BackgroundWork[T]) -> T: ...
@overload
async def run(work: BackgroundWork[T], may_go_on: Callable[[], bool]) -> T | None: ...
async def run(work: BackgroundWork[T], may_go_on: Callable[[], bool] | None = None) -> T | None:
    """The result of long work; None if it could not continue."""
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
