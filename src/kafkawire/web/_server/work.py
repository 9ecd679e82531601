"""Long work in a thread, whose events a stream sends while it goes on.

Rules:
- The work is a generator that looks at its `Event` and returns when it is set. A closed tab sets it.
- At most WAITING events wait for the reader, so a slow reader slows the work down.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from starlette.requests import Request

WAITING: Final = 16
LOOK_SECONDS: Final = 0.25
_END: Final[dict[str, Any]] = {}


async def events_of(
    request: Request, work: Callable[[threading.Event], Iterator[dict[str, Any]]]
) -> AsyncGenerator[dict[str, Any], None]:
    """The events of work in a thread, until it ends or the reader is gone."""
    loop = asyncio.get_running_loop()
    stop, room = threading.Event(), threading.Semaphore(WAITING)
    queue: asyncio.Queue[dict[str, Any] | BaseException] = asyncio.Queue()

    def put(event: dict[str, Any] | BaseException) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, event)

    def run() -> None:
        try:
            for event in work(stop):
                while not room.acquire(timeout=LOOK_SECONDS):
                    if stop.is_set():
                        return
                if stop.is_set():
                    return
                put(event)
            put(_END)
        except BaseException as error:  # it is raised where the stream is sent
            put(error)

    thread = threading.Thread(target=run, name="work of the page", daemon=True)
    thread.start()
    try:
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), LOOK_SECONDS)
            except TimeoutError:
                if await request.is_disconnected() or request.app.state.server.is_ending:
                    return
                continue
            if event is _END:
                return
            if isinstance(event, BaseException):
                raise event
            room.release()
            yield event
    finally:
        stop.set()
