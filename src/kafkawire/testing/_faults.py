"""Faults of requests: failed, delayed, cut off, answered by the test, or served and not answered.

Rules:
- Every request is recorded before any fault applies to it. The latest are kept, within a number and a size.
- Faults are kept per API and used up one request at a time, oldest first. A filter selects the requests that a fault
  applies to; `nth` skips the first of them. An error for a topic waits for the next request that names the topic, and
  does not affect the other topics of that request.
- An error appears where Kafka puts it: for a Fetch in its partitions, unless the session is refused; for a Metadata
  request in its topics, so it waits for a request that names some.
- A mistake of the test raises at the call that orders the fault (`_orders`).
- The error of a function that answers for the test is kept for the test, because the client sees UNKNOWN_SERVER_ERROR.
- Tests order faults on their own thread, requests arrive on the broker's; a lock protects both.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from inspect import isawaitable
from threading import Condition
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.broker import CloseConnectionError
from kafkawire.messages import Message, api
from kafkawire.messages.errors import ErrorCode, error_for
from kafkawire.testing._orders import (
    METADATA,
    Order,
    UnusedFaultError,
    check_answer,
    check_count,
    check_failure,
    check_filter,
    check_seconds,
    check_served,
    code_of,
)
from kafkawire.testing._requests import RecordedRequest, RequestFilter
from kafkawire.testing._several_brokers import ADAPTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from kafkawire.broker import RequestContext, Response, Serve
    from kafkawire.testing._several_brokers import SeveralBrokers

REMEMBERED: Final = 100_000
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
_ASKED: Final = "a test asked for it"
_OF_SESSIONS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


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
        self.failures: list[Exception] = []
        """The errors of functions of the test that answered requests."""

    @property
    def broker_ids(self) -> range:
        """The ids of the brokers: 1, unless the test has several."""
        return range(1, 2) if self.brokers is None else self.brokers.ids

    @property
    def requests(self) -> list[RecordedRequest]:
        """The recorded requests, oldest first."""
        with self.changed:
            return list(self._requests)

    def unused(self) -> list[str]:
        """The faults that no request met, in words."""
        with self.changed:
            waiting = [(order, name) for name, orders in self._orders.items() for order in orders]
            return [f"{order.what} ({name})" for order, name in waiting if not order.is_used]

    def clear(self) -> None:
        """Forget the faults that no request met."""
        with self.changed:
            self._orders.clear()

    def clear_requests(self) -> None:
        """Forget the recorded requests."""
        with self.changed:
            self._requests.clear()
            self._bytes = 0

    def check(self) -> None:
        """Raise what a function of the test raised, or an error for the faults that no request met; forgets both."""
        unused, failures = self.unused(), self.failures
        self.failures = []
        self.clear()
        if failures:
            raise failures[0]
        if unused:
            raise UnusedFaultError(
                f"no request met {', '.join(unused)}; expected one before the broker is left."
                " clear_faults() forgets faults, RunningBroker(allow_unused_faults=True) allows them"
            )

    def fail(self, which: str, wanted: object, times: int, nth: int, where: RequestFilter) -> None:
        """Fail the next requests of an API with an error."""
        name, code = api(which).name, code_of(wanted)
        check_failure(name, where)
        waits = where.topic is not None or name == METADATA
        self._order(name, Order(f"fail_next {ErrorCode(code).name}", where, error=code, waits=waits), times, nth)

    def delay(self, which: str, seconds: float, times: int, nth: int, where: RequestFilter) -> None:
        """Delay the next requests of an API."""
        check_seconds(seconds)
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
        if isinstance(answer, type) or not callable(answer):
            check_answer(name, answer)
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
        try:
            made = answer if isinstance(answer, Message) else answer(request.message)
            if made is not None:
                check_answer(request.api, made).encode(request.version)
        except Exception as error:
            error.add_note(f"while reply_next answered {request.api} v{request.version}")
            self.failures.append(error)
            raise
        return self._serve(request, serve) if made is None else made

    def _order(self, name: str, order: Order, times: int, nth: int) -> None:
        for what, count in (("times", times), ("nth", nth)):
            check_count(what, count)
        check_served(name)
        check_filter(name, order.where, self.broker_ids)
        order.skip, order.left = nth - 1, times
        with self.changed:
            self._orders[name].append(order)

    def _take(self, name: str, fits: Callable[[Order], bool], passed: list[Order]) -> Order | None:
        """The first fault that fits, which waits for one request less; those that skip the request note it once."""
        orders = self._orders.get(name)
        for each in list(orders or ()):
            if each in passed or not fits(each):
                continue
            if each.skip:
                each.skip -= 1
                passed.append(each)
                continue
            each.left -= 1
            if not each.left:
                self._orders[name].remove(each)
            each.is_used = True
            return each
        return None

    def _remember(self, request: RecordedRequest) -> None:
        self._requests.append(request)
        self._bytes += request.size
        while len(self._requests) > REMEMBERED or (self._bytes > self._most_bytes and len(self._requests) > 1):
            self._bytes -= self._requests.popleft().size
