"""Faults of requests: failed, delayed, cut off, answered by the test, or served and not answered.

Rules:
- Every request is recorded before any fault applies to it. The latest are kept, within a number and a size.
- Faults are kept per API and used up one request at a time, oldest first. A filter selects the requests that a fault
  applies to; `nth` skips the first of them. An error for a topic waits for the next request that names the topic, and
  does not affect the other topics of that request.
- An error appears where Kafka puts it: for a Fetch in its partitions, unless the session is refused; for a Metadata
  request in its topics, so it waits for a request that names some.
- A mistake of the test raises at the call that orders the fault.
- Tests order faults on their own thread, requests arrive on the broker's; a lock protects both.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict, deque
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from threading import Condition
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from kafkawire.broker import CloseConnectionError, served_apis
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for, error, error_for
from kafkawire.testing._requests import RecordedRequest, RequestFilter
from kafkawire.testing._several_brokers import ADAPTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from kafkawire.broker import RequestContext, Response, Serve
    from kafkawire.testing._several_brokers import SeveralBrokers

REMEMBERED: Final = 100_000
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
PARTITIONED: Final = frozenset(
    {"DeleteRecords", "DescribeProducers", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Produce"}
)
METADATA: Final = "Metadata"
_ASKED: Final = "a test asked for it"
_OF_SESSIONS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class ImpossibleOrderError(KafkaWireError):
    """A test ordered a fault that can never occur."""


class UnusedFaultError(KafkaWireError, AssertionError):
    """A test ordered a fault that no request met."""


@dataclass(slots=True, eq=False)
class Order:
    """A fault for one request, or for one topic of it."""

    what: str
    where: RequestFilter = field(default_factory=RequestFilter)
    skip: int = 0
    """The number of requests that the fault leaves alone first."""
    error: int = 0
    seconds: float = 0.0
    closes: bool = False
    loses: bool = False
    answer: Message | Callable[[Any], Message | None] | None = None
    is_used: bool = False
    """Whether a request met it; of a fault for several requests, whether any did."""
    waits: bool = False
    """Whether it applies to the next request that names the topic, or to any, whichever comes first."""

    def concerns(self, topic: str, partition: int) -> bool:
        return self.where.topic in (None, topic) and self.where.partition in (None, partition)


class _CurrentRequest(NamedTuple):
    """The request that is being served, its faults, and those that it passed."""

    request: RecordedRequest
    carried_out: list[Order]
    passed: list[Order]


_serving: ContextVar[_CurrentRequest | None] = ContextVar("the request that is being served", default=None)


async def _continue(serving: _CurrentRequest, answer: Awaitable[Response]) -> Response:
    """Continue a request in a task of its own, which has a context of its own."""
    _serving.set(serving)
    return await answer


class Faults:
    """The faults that still wait for a request, and the recorded requests."""

    def __init__(self, most_bytes: int = REMEMBERED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._requests: deque[RecordedRequest] = deque()
        self._bytes = 0
        self._orders: defaultdict[str, deque[Order]] = defaultdict(deque)
        self.name_of: Callable[[UUID], str | None] = lambda _: None
        """The name of a topic, by its id."""
        self.brokers: SeveralBrokers | None = None
        """The brokers, if the test has several."""
        self.changed = Condition()
        """Notified when a request arrives, and when one was served."""

    @property
    def requests(self) -> list[RecordedRequest]:
        """The recorded requests, oldest first."""
        with self.changed:
            return list(self._requests)

    def unused(self) -> list[str]:
        """The faults that no request met, in words."""
        with self.changed:
            waiting = {id(order): (order, name) for name, orders in self._orders.items() for order in orders}
            return [f"{order.what} ({name})" for order, name in waiting.values() if not order.is_used]

    def clear(self) -> None:
        """Forget the faults that no request met."""
        with self.changed:
            self._orders.clear()

    def fail(
        self, which: str, wanted: int | str | KafkaError | type[KafkaError], times: int, nth: int, where: RequestFilter
    ) -> None:
        """Fail the next requests of an API with an error."""
        name, code = api(which).name, _code(wanted)
        if where.partition is not None and (where.topic is None or name == METADATA):
            raise ImpossibleOrderError(
                f"{name} for partition {where.partition}: expected a topic, and an API of partitions"
            )
        able = PARTITIONED | {METADATA}
        if where.topic is not None and name not in able:
            raise ImpossibleOrderError(f"{name} cannot fail for one topic, only {', '.join(sorted(able))} can")
        waits = where.topic is not None or name == METADATA
        self._order(name, Order(f"fail_next {ErrorCode(code).name}", where, error=code, waits=waits), times, nth)

    def delay(self, which: str, seconds: float, times: int, nth: int, where: RequestFilter) -> None:
        """Delay the next requests of an API."""
        _check_seconds(seconds)
        self._order(api(which).name, Order(f"delay_next {seconds} s", where, seconds=seconds), times, nth)

    def close(self, which: str, times: int, nth: int, where: RequestFilter, *, after_serving: bool = False) -> None:
        """Close the connection at the next requests of an API, before or after they are served."""
        what = "lose_answer_next" if after_serving else "close_next"
        order = Order(what, where, closes=not after_serving, loses=after_serving)
        self._order(api(which).name, order, times, nth)

    def reply(
        self, which: str, answer: Message | Callable[[Any], Message | None], times: int, nth: int, where: RequestFilter
    ) -> None:
        """Answer the next requests of an API with a message, or with the result of a function."""
        name = api(which).name
        if not callable(answer):
            _check_answer(name, answer)
        self._order(name, Order("reply_next", where, answer=answer), times, nth)

    def intercept(self, context: RequestContext, request: Any, serve: Serve) -> Response | Awaitable[Response]:
        """Called by the broker with every request."""
        name, brokers = context.api.name, self.brokers
        broker = 1 if brokers is None else brokers.names[context.listener]
        if brokers is not None:
            if broker in brokers.stopped:
                raise CloseConnectionError(f"a test stopped broker {broker}")
            sent = request if name not in ADAPTED else deepcopy(request)
            brokers.adapt(context, request)
            request, serve = sent, partial(brokers.serve, context, sent, serve)
        recorded = RecordedRequest(name, context.version, context.client_id, request, context.size, broker)
        with self.changed:
            self._remember(recorded)
            order = self._take(name, lambda each: not each.waits and each.where.fits(recorded, self.name_of), [])
            self.changed.notify_all()
        if order is None:
            return self._serve(recorded, serve)
        if order.closes:
            raise CloseConnectionError(_ASKED)
        if order.answer is not None:
            return self._reply(recorded, serve, order.answer)
        if order.loses:
            return self._serve_in_vain(recorded, serve)
        if name == "Fetch" and order.error and order.error not in _OF_SESSIONS:
            return self._serve(recorded, serve, order)
        if order.error:
            raise error_for(order.error, _ASKED)
        return self._serve_later(context, recorded, serve, order.seconds)

    def guard(self, topic: str, partition: int) -> None:
        """Called by the broker with every partition that is read or written, and every topic that is described."""
        serving = _serving.get()
        if serving is None:
            return
        if self.brokers is not None:
            self.brokers.guard(serving.request.api, serving.request.broker, topic, partition)
        order = next((each for each in serving.carried_out if each.concerns(topic, partition)), None)
        if order is None:
            with self.changed:
                order = self._take(
                    serving.request.api,
                    lambda each: (
                        each.waits and each.concerns(topic, partition) and each.where.fits_sender(serving.request)
                    ),
                    serving.passed,
                )
            if order is None:
                return
            serving.carried_out.append(order)
        raise error_for(order.error, _ASKED)

    def _serve(self, request: RecordedRequest, serve: Serve, *carried_out: Order) -> Response | Awaitable[Response]:
        serving = _CurrentRequest(request, list(carried_out), [])
        token = _serving.set(serving)
        try:
            answer = serve()
        finally:
            _serving.reset(token)
        return _continue(serving, answer) if isawaitable(answer) else answer

    async def _serve_later(
        self, context: RequestContext, request: RecordedRequest, serve: Serve, seconds: float
    ) -> Response:
        await asyncio.sleep(seconds)
        context.more = False  # requests that arrived with it have been served meanwhile
        answer = self._serve(request, serve)
        return await answer if isawaitable(answer) else answer

    async def _serve_in_vain(self, request: RecordedRequest, serve: Serve) -> Response:
        answer = self._serve(request, serve)
        served = await answer if isawaitable(answer) else answer
        if served is not None and not isinstance(served, Message):
            served.write()
        raise CloseConnectionError(_ASKED)

    def _reply(
        self, request: RecordedRequest, serve: Serve, answer: Message | Callable[[Any], Message | None]
    ) -> Response | Awaitable[Response]:
        if isinstance(answer, Message):
            return answer
        made = answer(request.message)
        if made is None:
            return self._serve(request, serve)
        return _check_answer(request.api, made)

    def _order(self, name: str, order: Order, times: int, nth: int) -> None:
        for what, count in (("times", times), ("nth", nth)):
            _check_count(what, count)
        if api(name).key not in served_apis():
            raise ImpossibleOrderError(f"{name} is not served by this broker")
        order.skip = nth - 1
        with self.changed:
            self._orders[name].extend([order] * times)

    def _take(self, name: str, fits: Callable[[Order], bool], passed: list[Order]) -> Order | None:
        """Remove the first fault that fits; those that skip the request note it once."""
        orders = self._orders.get(name)
        for each in list(orders or ()):
            if each in passed or not fits(each):
                continue
            if each.skip:
                each.skip -= 1
                passed.append(each)
                continue
            self._orders[name].remove(each)
            each.is_used = True
            return each
        return None

    def _remember(self, request: RecordedRequest) -> None:
        self._requests.append(request)
        self._bytes += request.size
        while len(self._requests) > REMEMBERED or (self._bytes > self._most_bytes and len(self._requests) > 1):
            self._bytes -= self._requests.popleft().size


def _code(wanted: int | str | KafkaError | type[KafkaError]) -> int:
    """The code of an error by number, name, exception or class of exceptions."""
    if isinstance(wanted, type) and issubclass(wanted, KafkaError):
        wanted = cast("Callable[[], KafkaError]", wanted)()
    code = int(code_for(wanted)) if isinstance(wanted, KafkaError) else int(error(wanted))
    if code == ErrorCode.NONE:
        raise ImpossibleOrderError(f"the error {wanted!r} means success; leave the fault out, or use reply_next")
    return code


def _check_seconds(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < math.inf:
        raise ImpossibleOrderError(f"a delay of {given!r}: expected seconds, a finite number from 0 on")


def _check_count(what: str, given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ImpossibleOrderError(f"{what}={given!r}: expected a whole number from 1 on")


def _check_answer(name: str, answer: object) -> Message:
    expected = f"{name}Response"
    if not isinstance(answer, Message) or type(answer).__name__ != expected:
        raise ImpossibleOrderError(f"an answer to {name} of type {type(answer).__name__}: expected {expected}")
    return answer
