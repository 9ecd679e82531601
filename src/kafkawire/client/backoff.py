"""How long to wait before trying again, and for how long to keep trying.

Rules:
- Waits double from the first to the largest, each moved by up to a fifth at random, so that clients that failed
  together do not come back together.
- Only what may succeed later is tried again, and never past the deadline.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client.errors import RequestTimeoutError, is_retriable
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_Result = TypeVar("_Result")
_JITTER = 0.2


def wait_before(attempt: int, first: float, most: float) -> float:
    """Seconds to wait before an attempt, the first retry being 1.

    >>> 0.08 <= wait_before(1, 0.1, 1.0) <= 0.12, 0.8 <= wait_before(50, 0.1, 1.0) <= 1.2
    (True, True)
    """
    grown: float = min(first * 2.0 ** min(attempt - 1, 30), most)
    return grown * random.uniform(1 - _JITTER, 1 + _JITTER)


async def retrying(
    what: str,
    attempt: Callable[[], Awaitable[_Result]],
    *,
    seconds: float,
    first: float,
    most: float,
    recover: Callable[[KafkaWireError], Awaitable[None]] | None = None,
) -> _Result:
    """The result of the first attempt that succeeds; `recover` is called before each further one."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    tries = 0
    last: KafkaWireError | None = None
    try:
        async with asyncio.timeout_at(deadline):
            while True:
                try:
                    return await attempt()
                except KafkaWireError as error:
                    tries += 1
                    pause = wait_before(tries, first, most)
                    if not is_retriable(error):
                        raise
                    last = error
                if loop.time() + pause >= deadline:
                    break
                await asyncio.sleep(pause)
                if recover is not None:
                    await recover(last)
    except TimeoutError as error:
        if isinstance(error, KafkaWireError):
            raise
    reason = "no answer" if last is None else last
    raise RequestTimeoutError(f"{what}: given up after {seconds:g} s and {max(1, tries)} tries: {reason}") from last
