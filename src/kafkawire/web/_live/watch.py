"""The sources of live traffic: the observer of a proxy, and the interceptor of a broker.

Rules:
- The observer of a proxy passes every call on to the one of the command.
- The broker is watched around the faults: an exchange is noted with the answer that the client got, or without one if
  its connection was closed. Its frames are encoded again from the messages.
- An answer may refer to log files, which would stay open with it. The noted answer has their bytes instead.
- An exchange that cannot be noted is logged and left out. The client gets its answer all the same.
"""

from __future__ import annotations

import logging
import time
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from kafkawire.inspect import api_name
from kafkawire.log import FileRange
from kafkawire.messages import Message
from kafkawire.web._live.source import LiveExchange
from kafkawire.wire import decode_response, encode_request, encode_response_parts

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker import Broker, RequestContext, Response, Serve
    from kafkawire.inspect import ProxyExchange, ProxyObserver
    from kafkawire.web._live.source import LiveSource

_log = logging.getLogger("kafkawire.web")


class ProxyWatch:
    """Notes the exchanges of a proxy."""

    def __init__(self, source: LiveSource, upstream: str, other: ProxyObserver) -> None:
        self._source, self._upstream, self._other = source, upstream, other

    def exchange(self, client: tuple[str, int], seen: ProxyExchange) -> None:
        """Note an exchange, and pass it on."""
        asked = seen.asked
        self._source.add(
            LiveExchange(
                client=f"{client[0]}:{client[1]}",
                broker=self._upstream,
                api_key=asked.key,
                api=api_name(asked.key) or None,
                version=asked.version,
                correlation=asked.correlation,
                client_id=asked.client_id,
                request=asked.request,
                response=seen.response,
                asked=asked.frame,
                answered=seen.frame,
                began=asked.at,
                ended=seen.at if seen.size else None,
                has_response=bool(seen.size),
            )
        )
        self._other.exchange(client, seen)

    def complain(self, text: str) -> None:
        """Pass an error on."""
        self._other.complain(text)


class BrokerWatch:
    """Notes what a broker is asked and what it answers, faults included."""

    def __init__(self, source: LiveSource, broker: Broker) -> None:
        """Watch a broker to which the faults are already attached."""
        self._source, self._place = source, broker.bootstrap
        assert broker.dispatcher.interceptor is not None
        self._inner = broker.dispatcher.interceptor
        broker.dispatcher.interceptor = self.intercept

    def intercept(self, context: RequestContext, request: Any, serve: Serve) -> Response | Awaitable[Response]:
        """Called by the broker with every request."""
        began = time.time_ns()
        try:
            answer = self._inner(context, request, serve)
        except BaseException:
            self._note(context, request, None, began)
            raise
        if isawaitable(answer):
            return self._later(context, request, answer, began)
        self._note(context, request, answer, began)
        return answer

    async def _later(self, context: RequestContext, request: Any, answer: Awaitable[Response], began: int) -> Response:
        try:
            made = await answer
        except BaseException:
            self._note(context, request, None, began)
            raise
        self._note(context, request, made, began)
        return made

    def _note(self, context: RequestContext, request: Any, answer: object, began: int) -> None:
        try:
            self._add(context, request, answer if isinstance(answer, Message) else None, began, answer is not None)
        except Exception:
            _log.exception("the page cannot show this %s", context.api.name)

    def _add(
        self, context: RequestContext, request: Any, response: Message | None, began: int, is_served: bool
    ) -> None:
        which, version = context.api, context.version
        asked = encode_request(
            request, version=version, correlation_id=context.correlation_id, client_id=context.client_id
        )
        answered = b""
        if response is not None:
            parts: list[Any] = [
                *encode_response_parts(
                    response, api_key=which.key, version=version, correlation_id=context.correlation_id
                )
            ]
            answered = b"".join(each.read() if isinstance(each, FileRange) else each for each in parts)
            if any(isinstance(each, FileRange) for each in parts):
                response = decode_response(answered, api_key=which.key, version=version)[1]
        self._source.add(
            LiveExchange(
                client=str(context.peer),
                broker=self._place,
                api_key=which.key,
                api=which.name,
                version=version,
                correlation=context.correlation_id,
                client_id=context.client_id,
                request=request,
                response=response,
                asked=bytes(asked),
                answered=answered,
                began=began,
                ended=time.time_ns() if is_served else None,
            )
        )
