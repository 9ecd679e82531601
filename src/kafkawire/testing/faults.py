"""What a test does to requests: watch them, fail them, hold them up.

Rules:
- Every request is written down before anything is done to it, also one that fails. The latest are remembered: so many,
  and so many bytes of them.
- Orders are kept per API and used up one request at a time, oldest first. One for a topic waits for the next request
  that asks for it, and leaves the other topics of that request alone.
- An error is answered where Kafka puts it: of a Fetch in its partitions, unless the session is refused; of a Metadata
  request in its topics, so it waits for one that names some.
- Tests give orders from their own thread; requests come on the broker's. A lock is between them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.broker.serving import CloseConnectionError, served_apis
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api
from kafkawire.messages.errors import ErrorCode, error, error_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkawire.broker.dispatch import Serve
    from kafkawire.broker.serving import Answer, RequestContext

REMEMBERED: Final = 100_000
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
PARTITIONED: Final = frozenset(
    {"DeleteRecords", "DescribeProducers", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Produce"}
)
METADATA: Final = "Metadata"
_OF_SESSIONS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class ImpossibleOrderError(KafkaWireError):
    """A test asked for what would never happen."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What a client sent."""

    api: str
    version: int
    client_id: str | None
    message: Message
    size: int
    """Bytes of the whole request."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to do to one request, or to what it asks of one topic."""

    error: int = 0
    seconds: float = 0.0
    closes: bool = False
    topic: str | None = None
    partition: int | None = None
    waits: bool = False
    """Whether it is for the next request that asks for the topic, or for any, whichever comes before."""

    def concerns(self, topic: str, partition: int) -> bool:
        return self.topic in (None, topic) and self.partition in (None, partition)


class _Serving(NamedTuple):
    """The request that is being served, and what was done to it."""

    api: str
    carried_out: list[Order]


_serving: ContextVar[_Serving | None] = ContextVar("the request that is being served", default=None)


async def _continue(serving: _Serving, answer: Awaitable[Answer]) -> Answer:
    """Continue a request in a task of its own, which has a context of its own."""
    _serving.set(serving)
    return await answer


class Faults:
    """The orders that are still to be carried out, and the requests that came."""

    def __init__(self, most_bytes: int = REMEMBERED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._requests: deque[RecordedRequest] = deque()
        self._bytes = 0
        self._orders: defaultdict[str, deque[Order]] = defaultdict(deque)
        self._lock = Lock()

    @property
    def requests(self) -> list[RecordedRequest]:
        """What clients have sent, oldest first, as far as it is remembered."""
        with self._lock:
            return list(self._requests)

    def fail(self, which: str, wanted: int | str, times: int, topic: str | None, partition: int | None) -> None:
        """Let the next requests of an API fail with an error."""
        name, code = api(which).name, int(error(wanted))
        if partition is not None and (topic is None or name == METADATA):
            raise ImpossibleOrderError(f"{name} for partition {partition}: expected a topic, and an API of partitions")
        able = PARTITIONED | {METADATA}
        if topic is not None and name not in able:
            raise ImpossibleOrderError(f"{name} cannot fail for one topic, only {', '.join(sorted(able))} can")
        waits = topic is not None or name == METADATA
        self._order(name, Order(error=code, topic=topic, partition=partition, waits=waits), times)

    def delay(self, which: str, seconds: float, times: int) -> None:
        """Let the next requests of an API wait before they are served."""
        self._order(api(which).name, Order(seconds=seconds), times)

    def close(self, which: str, times: int) -> None:
        """Let the next requests of an API be answered by closing their connection."""
        self._order(api(which).name, Order(closes=True), times)

    def intercept(self, context: RequestContext, request: Any, serve: Serve) -> Answer | Awaitable[Answer]:
        """Called by the broker with every request."""
        name = context.api.name
        with self._lock:
            self._remember(RecordedRequest(name, context.version, context.client_id, request, context.size))
            order = self._take(name, lambda each: not each.waits)
        if order is None:
            return self._serve(name, serve)
        if order.closes:
            raise CloseConnectionError("a test asked for it")
        if name == "Fetch" and order.error and order.error not in _OF_SESSIONS:
            return self._serve(name, serve, order)
        if order.error:
            raise error_for(order.error, "a test asked for it")
        return self._serve_later(context, serve, order.seconds)

    def guard(self, topic: str, partition: int) -> None:
        """Called by the broker with every partition that is read or written, and every topic that is described."""
        serving = _serving.get()
        if serving is None:
            return
        order = next((each for each in serving.carried_out if each.concerns(topic, partition)), None)
        if order is None:
            with self._lock:
                order = self._take(serving.api, lambda each: each.waits and each.concerns(topic, partition))
            if order is None:
                return
            serving.carried_out.append(order)
        raise error_for(order.error, "a test asked for it")

    def _serve(self, name: str, serve: Serve, *carried_out: Order) -> Answer | Awaitable[Answer]:
        serving = _Serving(name, list(carried_out))
        token = _serving.set(serving)
        try:
            answer = serve()
        finally:
            _serving.reset(token)
        return _continue(serving, answer) if isawaitable(answer) else answer

    async def _serve_later(self, context: RequestContext, serve: Serve, seconds: float) -> Answer:
        await asyncio.sleep(seconds)
        context.more = False  # what came with it has had its turn
        answer = self._serve(context.api.name, serve)
        return await answer if isawaitable(answer) else answer

    def _order(self, name: str, order: Order, times: int) -> None:
        if api(name).key not in served_apis():
            raise ImpossibleOrderError(f"{name} is not served by this broker")
        with self._lock:
            self._orders[name].extend([order] * times)

    def _take(self, name: str, fits: Callable[[Order], bool]) -> Order | None:
        orders = self._orders.get(name)
        found = next((each for each in orders if fits(each)), None) if orders else None
        if found is not None:
            self._orders[name].remove(found)
        return found

    def _remember(self, request: RecordedRequest) -> None:
        self._requests.append(request)
        self._bytes += request.size
        while len(self._requests) > REMEMBERED or (self._bytes > self._most_bytes and len(self._requests) > 1):
            self._bytes -= self._requests.popleft().size
