"""What a test does to requests: watch them, fail them, hold them up.

Rules:
- Orders are kept per API and used up one request at a time, oldest first.
- Every request is written down before anything is done to it, also one that fails.
- Tests give orders from their own thread; requests come on the broker's. A lock is between them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker.serving import CloseConnectionError
from kafkawire.messages import Message, api
from kafkawire.messages.errors import error, error_for

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker.serving import RequestContext

REMEMBERED: Final = 100_000


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What a client sent."""

    api: str
    version: int
    client_id: str | None
    message: Message


@dataclass(frozen=True, slots=True)
class Order:
    """What to do to one request."""

    error: int = 0
    seconds: float = 0.0
    closes: bool = False


class Faults:
    """The orders that are still to be carried out, and the requests that came."""

    def __init__(self) -> None:
        self.requests: deque[RecordedRequest] = deque(maxlen=REMEMBERED)
        self._orders: defaultdict[str, deque[Order]] = defaultdict(deque)
        self._lock = Lock()

    def fail(self, which: str, wanted: int | str, times: int) -> None:
        """Let the next requests of an API fail with an error."""
        self._order(which, Order(error=int(error(wanted))), times)

    def delay(self, which: str, seconds: float, times: int) -> None:
        """Let the next requests of an API wait before they are served."""
        self._order(which, Order(seconds=seconds), times)

    def close(self, which: str, times: int) -> None:
        """Let the next requests of an API be answered by closing their connection."""
        self._order(which, Order(closes=True), times)

    def _order(self, which: str, order: Order, times: int) -> None:
        with self._lock:
            self._orders[api(which).name].extend([order] * times)

    def intercept(self, context: RequestContext, request: Any) -> Awaitable[None] | None:
        """Called by the broker with every request."""
        name = context.api.name
        self.requests.append(RecordedRequest(name, context.version, context.client_id, request))
        with self._lock:
            orders = self._orders.get(name)
            order = orders.popleft() if orders else None
        if order is None:
            return None
        if order.closes:
            raise CloseConnectionError("a test asked for it")
        if order.error:
            raise error_for(order.error, "a test asked for it")
        return asyncio.sleep(order.seconds)
