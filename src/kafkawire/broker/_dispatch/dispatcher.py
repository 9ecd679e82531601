"""From a request's frame to the parts of its response.

Rules:
- RefusedRequestError closes the connection without a response. It is raised for a header or body that cannot be
  decoded, and an API or version that is not served or cannot be loaded. Only ApiVersions answers an unknown version.
- Bytes after a well-formed body are ignored, as in Kafka.
- An exception of a handler becomes the API's error response. If it is not a Kafka error, its traceback is logged.
- Records that Produce appends may be held in memory, to be written with those of the next requests. `finish` writes
  them before it encodes a response about them. `begin` writes them before it serves any other API.
- A Produce request of the usual kind joins a run (`produce_run`). `begin` writes the run before it serves any other
  request, and the connection takes its responses.
- Markers of transactions whose end was answered are written before the next request is served.
- A request with more than AT_ONCE elements is decoded in a thread, one at a time, and does not wait for records. One
  with more than MOST_ELEMENTS is refused.
- The response of a request that needed several turns is encoded in a thread. So is the refusal of a large request:
  `refuse` reads the request and no state of the node. The collector is disabled while a large request is served.
- With an authorizer, the guard calls the handler (`_acls.guard`). Without one, nothing is checked.
- Quotas are metered before a response is encoded, because it contains the throttle time. Produce is metered by the size
  of its request when it begins. The connection is muted after the response (KIP-219).
- An interceptor is called in place of the handler, and may call it. Tests use it to watch, delay and fail requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from types import CoroutineType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from kafkawire._codec import CodecError, ElementLimitError
from kafkawire.broker._acls import guard
from kafkawire.broker._acls.access import Access
from kafkawire.broker._acls.needs import NEEDS
from kafkawire.broker._dispatch.call import Call, log_request
from kafkawire.broker._dispatch.large_requests import collector_disabled, free
from kafkawire.broker._dispatch.produce_run import ProduceRun
from kafkawire.broker._dispatch.registry import (
    CloseConnectionError,
    HeldResponse,
    RequestContext,
    error_response,
    served_apis,
)
from kafkawire.broker._dispatch.route import PRODUCE, Route
from kafkawire.broker._dispatch.turns import TURN_SECONDS, StartedCoroutine, Turns
from kafkawire.broker._metrics.counters import errors_at
from kafkawire.broker._ops.event_log import debug_enabled
from kafkawire.broker._ops.watchdog import NOTABLE_SECONDS, Watchdog
from kafkawire.broker._quotas.service import is_exempt
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, RequestHeader
from kafkawire.messages.errors import ErrorCode, code_for
from kafkawire.wire import answer_unsupported, decode_request_header
from kafkawire.wire.frames import SIZE
from kafkawire.wire.headers import API_VERSIONS, KEY_AND_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkawire._codec.parts import Part
    from kafkawire.broker._dispatch.call import EncodedResponse
    from kafkawire.broker._dispatch.registry import Response
    from kafkawire.broker._metrics.counters import Metrics
    from kafkawire.broker._node import Node
    from kafkawire.broker._security.peer import Peer

    Serve = Callable[[], Response | Awaitable[Response]]
    Interceptor = Callable[[RequestContext, Any, Serve], Response | Awaitable[Response]]

_log = logging.getLogger("kafkawire.broker")
MOST_THROTTLE_MS: Final = 2**31 - 1
AT_ONCE: Final = 10_000
MOST_ELEMENTS: Final = 250_000
NO_ERRORS: Final[Mapping[int, int]] = MappingProxyType({})
_NAMED: Final = SIZE.size + KEY_AND_VERSION.size


class RefusedRequestError(KafkaWireError):
    """A request that closes its connection without a response; the message is for the log."""


class Dispatcher:
    """Passes requests of connections to the handlers of their APIs."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self.node = node
        self.metrics = metrics
        self.interceptor: Interceptor | None = None
        self._debug_enabled = debug_enabled()
        self.turns = Turns()
        self.run = ProduceRun(node, metrics)
        self.watchdog = Watchdog()
        self._apis = served_apis()
        self._routes: dict[tuple[int, ...], Route] = {}
        self._large = asyncio.Lock()

    @overload
    def begin(
        self, frame: bytes | memoryview, peer: Peer, *, more: bool = ..., may_join: Literal[False] = ...
    ) -> Call | bytes: ...

    @overload
    def begin(self, frame: bytes | memoryview, peer: Peer, *, more: bool, may_join: bool) -> Call | bytes | None: ...

    def begin(
        self, frame: bytes | memoryview, peer: Peer, *, more: bool = False, may_join: bool = False
    ) -> Call | bytes | None:
        """Decode a request and call its handler. Returns bytes for an ApiVersions request of an unknown version.

        None means that the request has joined the run, which only a caller allows that takes its responses. Otherwise
        the run was written, and its responses come first.

        The call has its frame if its response is ready. Else it has to be awaited with `wait`, or its records are held
        in memory until `finish`. Records are held only if `more` requests have arrived.
        """
        route = self._routes.get(KEY_AND_VERSION.unpack_from(frame, SIZE.size)) if len(frame) >= _NAMED else None
        if route is None:
            found = self._find_route(frame)
            if isinstance(found, bytes):
                return found
            route = found
        if self.node.ended:
            self.node.transactions.finish_due()
        began = perf_counter()
        header, offset = RequestHeader.decode_prefix(frame, route.header_version, SIZE.size)
        size = len(frame)
        try:
            request = route.decode_body(frame, offset, AT_ONCE)
        except ElementLimitError:
            request = None
        joins = may_join and route.joins_runs and request is not None and self._has_runs()
        if joins and self.run.join(route, header, request, size, began):
            if perf_counter() - began > NOTABLE_SECONDS:
                self.watchdog.check(began, route.api.name)
            return None
        if self.run.requests:
            self.write_run()
        context = RequestContext(
            route.api,
            route.version,
            header.correlation_id,
            header.client_id,
            peer,
            size,
            more,
            self.turns,
            began + TURN_SECONDS,
        )
        call = Call(route, context, size, began)
        if self.node.quotas.is_metering:
            context.quota = self.node.quotas.of(peer.principal.name, header.client_id)
            if route.api.key == PRODUCE:
                context.throttle(context.quota.produced(size))
        if self.node.held is not None and route.api.key != PRODUCE:
            self.node.write_held()
        if request is None:
            call.response = self._serve_large(call, frame, offset)
            return call
        call.request = request
        try:
            call.response = self._handle(call) if self.interceptor is None else self._serve(call)
        except Exception as error:
            call.response = self._error_response(call, error)
        if call.response is None or isinstance(call.response, Message):
            self._finish(call)
        elif context.quota is not None:
            call.busy = perf_counter() - began
        if perf_counter() - began > NOTABLE_SECONDS:
            self.watchdog.check(began, route.api.name)
        return call

    def write_run(self) -> None:
        """Write the records of the run; its responses are in `run.answers` then."""
        began = perf_counter()
        self.run.write()
        if perf_counter() - began > NOTABLE_SECONDS:
            self.watchdog.check(began, "Produce")

    def _has_runs(self) -> bool:
        """Whether nothing looks at each request: no quota, authorizer, interceptor, guard or log."""
        node = self.node
        return (
            node.authorizer is None
            and self.interceptor is None
            and node.guard is None
            and not node.quotas.is_metering
            and not self._debug_enabled
        )

    async def wait(self, call: Call) -> None:
        """Wait for the response of a call that has none yet."""
        try:
            work = call.response
            assert isinstance(work, Awaitable)
            call.response = await work
            if call.busy is not None and isinstance(work, StartedCoroutine):
                call.busy += work.seconds
        except RefusedRequestError:
            raise
        except Exception as error:
            call.response = self._error_response(call, error)
        if call.context.was_paused and isinstance(call.response, Message):
            self._meter(call)
            call.encoded = await asyncio.get_running_loop().run_in_executor(None, self._encode_and_free, call)

    def finish(self, call: Call) -> tuple[Sequence[Part], int]:
        """The parts of the response's frame and the size of all; none if the client expects no response.

        Held records are written first.
        """
        if call.frame is not None:
            return call.frame
        began = perf_counter()
        frame = self._finish(call)
        if perf_counter() - began > NOTABLE_SECONDS:
            self.watchdog.check(began, call.route.api.name)
        return frame

    def _meter(self, call: Call) -> None:
        """Record the time of a request for the quota of its client."""
        quota = call.context.quota
        if quota is None or call.metered is not None:
            return
        call.metered = perf_counter()
        if quota.meters_time and not is_exempt(call.route.api.key, call.route.version, call.request):
            busy = call.metered - call.started if call.busy is None else call.busy
            call.context.throttle(quota.worked(busy))

    def _finish(self, call: Call) -> tuple[Sequence[Part], int]:
        if call.context.quota is not None:
            self._meter(call)
        is_encoded = call.encoded is not None
        parts, size, errors = call.encoded or self._encode(call)
        call.frame = parts, size
        metrics = call.route.metrics
        for code, times in errors.items():
            metrics.count_error(code, times)
        now = perf_counter()
        if call.metered is not None and not is_encoded:
            self._meter_encoding(call, now - call.metered)
        seconds = now - call.started
        metrics.add(call.size, size, seconds)
        self.metrics.clients.add(call.context.client_id, call.size, size)
        if self._debug_enabled:
            log_request(call, size, seconds)
        return call.frame

    def _meter_encoding(self, call: Call, seconds: float) -> None:
        """Record the time since a request was metered. Its response exists already, so the next one is throttled."""
        quota, route = call.context.quota, call.route
        if quota is not None and quota.meters_time and not is_exempt(route.api.key, route.version, call.request):
            quota.encoded(seconds)

    def _encode(self, call: Call) -> EncodedResponse:
        """The response as bytes; any thread may call it, unless records are to be written for it."""
        response = call.response
        if isinstance(response, HeldResponse):
            try:
                response = response.write()
            except Exception as error:
                response = self._error_response(call, error)
        if response is None:
            return (), 0, NO_ERRORS
        assert isinstance(response, Message)
        if call.context.throttle_ms:
            set_throttle_time(response, call.context.throttle_ms)
        errors = errors_at(call.route.error_paths, response)
        parts, size = call.route.writer.write(response, call.context.correlation_id)
        return parts, size, Counter(errors) if errors else NO_ERRORS

    def _encode_and_free(self, call: Call) -> EncodedResponse:
        """The response as bytes; the messages are freed here, because freeing many objects at once takes long."""
        encoded = self._encode(call)
        response, call.response = call.response, None
        if response is not None:
            free(response)
        if call.context.is_large and self.interceptor is None:
            request, call.request = call.request, None
            free(request)
        return encoded

    def _serve(self, call: Call) -> Response | Awaitable[Response]:
        if self.interceptor is None:
            return self._handle(call)
        return self.interceptor(call.context, call.request, partial(self._handle, call))

    def _handle(self, call: Call) -> Response | Awaitable[Response]:
        """Call the handler. A coroutine runs up to its first wait, so that one that does not wait costs no task."""
        route, context, authorizer = call.route, call.context, self.node.authorizer
        if authorizer is None:
            work = route.handle(self.node, call.request, context)
        else:
            context.access = Access(authorizer, row := NEEDS[route.api.name], context.peer)
            work = guard.serve(self.node, route.handler, row, call.request, context)
        if not isinstance(work, CoroutineType):
            return work
        try:
            waits_for = work.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the coroutine's result
        return StartedCoroutine(work, waits_for, self.watchdog, route.api.name)

    async def _serve_large(self, call: Call, frame: bytes | memoryview, offset: int) -> Response:
        """Serve a request that takes too long to decode at once; its response is encoded here, and then dropped."""
        context, run = call.context, partial(asyncio.get_running_loop().run_in_executor, None)
        context.is_large = context.was_paused = True
        context.more = False
        async with self._large:
            with collector_disabled():
                try:
                    call.request = await run(call.route.decode_body, frame, offset, MOST_ELEMENTS)
                except CodecError as error:
                    raise RefusedRequestError(str(error)) from error
                context.begin_turn()
                began = perf_counter()
                response: Response | Awaitable[Response] = None
                try:
                    response = self._serve(call)
                    self.watchdog.check(began, call.route.api.name)
                    call.response = await response if isinstance(response, Awaitable) else response
                except Exception as error:
                    call.response = await run(self._error_response, call, error)
                if isinstance(call.response, HeldResponse):
                    return call.response
                del response
                self._meter(call)
                call.encoded = await run(self._encode_and_free, call)
        return None

    def _error_response(self, call: Call, error: Exception) -> Response:
        context = call.context
        name = f"{context.api.name} v{context.version}"
        if isinstance(error, CloseConnectionError):
            raise RefusedRequestError(f"{name}: {error}") from error
        if code_for(error) == ErrorCode.UNKNOWN_SERVER_ERROR:
            fields = {"api": context.api.name, "version": context.version, "client_id": context.client_id}
            _log.error("%s from %r failed", name, context.client_id, exc_info=error, extra={"fields": fields})
        response = error_response(call.route.handler, call.request, error, context)
        if response is None:
            raise RefusedRequestError(f"{name}: {error}") from error
        return response

    def refuse(self, frame: bytes | memoryview, peer: Peer, error: Exception) -> tuple[Sequence[Part], int]:
        """The response of a request that may not be served, without a call of its handler."""
        found = self._find_route(frame)
        if isinstance(found, bytes):
            return [found], len(found)
        header, offset = RequestHeader.decode_prefix(frame, found.header_version, SIZE.size)
        context = RequestContext(found.api, found.version, header.correlation_id, header.client_id, peer, len(frame))
        call = Call(found, context, len(frame), perf_counter())
        call.request = found.decode_body(frame, offset, AT_ONCE)
        call.response = self._error_response(call, error)
        return self.finish(call)

    def _find_route(self, frame: bytes | memoryview) -> Route | bytes:
        header = decode_request_header(frame)[0]
        key, version = header.request_api_key, header.request_api_version
        handler = self._apis.get(key)
        if handler is not None and version in handler.versions:
            try:
                route = self._routes[key, version] = Route(handler, version, self.metrics.of(handler.api.name))
                return route
            except OSError as error:
                raise RefusedRequestError(f"{handler.api.name} cannot be loaded: {error}") from error
        if handler is None:
            raise RefusedRequestError(f"API key {key} version {version} is not served")
        if key == API_VERSIONS:
            return answer_unsupported(header, handler.versions)
        raise RefusedRequestError(f"{handler.api.name} version {version}: expected one of {handler.versions}")


def set_throttle_time(response: Any, milliseconds: int) -> None:
    """Put a throttle time into a response that has a field for it; versions without it leave the field out."""
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = min(milliseconds, MOST_THROTTLE_MS)
