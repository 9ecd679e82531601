"""From a request's frame to the parts of its answer.

Rules:
- A header that cannot be read, an API or version that is not served, a body that does not parse: RefusedRequestError,
  and the connection is closed without an answer. Only ApiVersions answers an unknown version.
- Bytes after a well-formed body are ignored, as Kafka does.
- An exception of a handler becomes the API's error response; one that is not Kafka's own is logged with its traceback.
- Records that Produce appends may be held in memory, to be written with those of the next requests. `finish` writes
  them before it makes an answer about them; `begin` writes them before any other API is served.
- A request with more than AT_ONCE elements is decoded in a thread, one at a time, and does not wait for records. One
  with more than MOST_ELEMENTS is refused.
- The answer of a request that needed several turns is encoded in a thread, and the refusal of a large one is made in
  one: `refuse` sees the request and nothing of the node. The collector rests while a large one is served (`collector`).
- An interceptor serves in the handler's place, and may let it: tests use it to watch, to delay and to fail requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Final

from kafkawire.broker.collector import resting_collector
from kafkawire.broker.events import tell, tells_all
from kafkawire.broker.listeners import Endpoint
from kafkawire.broker.refusals import free
from kafkawire.broker.routes import NO_ERRORS, Route
from kafkawire.broker.serving import (
    ANONYMOUS,
    CloseConnectionError,
    RequestContext,
    Streamed,
    Unwritten,
    error_response,
    served_apis,
)
from kafkawire.broker.turns import TURN_SECONDS, Turns, start
from kafkawire.broker.watchdog import NOTABLE_SECONDS, Watchdog
from kafkawire.codec import CodecError, ElementLimitError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message
from kafkawire.messages.errors import ErrorCode, code_for
from kafkawire.wire import answer_unsupported, decode_request_header
from kafkawire.wire.frames import SIZE
from kafkawire.wire.headers import API_VERSIONS, KEY_AND_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kafkawire.broker.metrics import Metrics
    from kafkawire.broker.node import Node
    from kafkawire.broker.outbox import Part
    from kafkawire.broker.routes import Written
    from kafkawire.broker.serving import Answer

    Serve = Callable[[], Answer | Awaitable[Answer]]
    Interceptor = Callable[[RequestContext, Any, Serve], Answer | Awaitable[Answer]]

_log = logging.getLogger("kafkawire.broker")
PRODUCE: Final = 0
AT_ONCE: Final = 10_000
MOST_ELEMENTS: Final = 250_000
_READY: Final = (Message, Streamed, Unwritten)
_NAMED = SIZE.size + KEY_AND_VERSION.size


class RefusedRequestError(KafkaWireError):
    """A request that is answered by closing its connection; the message is for the log."""


class Call:
    """A request that is being served."""

    __slots__ = ("answer", "context", "request", "route", "size", "started", "written")

    def __init__(self, route: Route, context: RequestContext, size: int, started: float) -> None:
        self.route = route
        self.request: Any = None
        self.context = context
        self.size = size
        self.started = started
        self.answer: Answer | Awaitable[Answer] = None
        self.written: Written | None = None
        """The answer's bytes, where a thread has made them."""

    @property
    def is_waiting(self) -> bool:
        """Whether the answer has to be awaited."""
        answer = self.answer
        return answer is not None and not isinstance(answer, _READY)

    @property
    def is_unwritten(self) -> bool:
        """Whether the answer is about records that are held in memory."""
        return isinstance(self.answer, Unwritten)


class Dispatcher:
    """Every served API, at the service of connections."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self.node = node
        self.metrics = metrics
        self.interceptor: Interceptor | None = None
        self._tells_all = tells_all()
        self.turns = Turns()
        self.watchdog = Watchdog()
        self._apis = served_apis()
        self._routes: dict[tuple[int, ...], Route] = {}
        self._large = asyncio.Lock()

    def begin(
        self, frame: bytes | memoryview, address: tuple[str, int], listener: str, *, more: bool = False
    ) -> Call | bytes:
        """Read a request and let it be served; bytes are the answer to an ApiVersions of unknown version.

        With `more` of them at hand, records may be held in memory until `finish`.
        """
        route = self._routes.get(KEY_AND_VERSION.unpack_from(frame, SIZE.size)) if len(frame) >= _NAMED else None
        if route is None:
            found = self._find_route(frame)
            if isinstance(found, bytes):
                return found
            route = found
        began = perf_counter()
        header, offset = route.read_header(frame)
        size = len(frame)
        context = RequestContext(
            route.api,
            route.version,
            header.correlation_id,
            header.client_id,
            ANONYMOUS,
            listener,
            address,
            size,
            more,
            self.turns,
            began + TURN_SECONDS,
        )
        call = Call(route, context, size, began)
        if route.api.key != PRODUCE:
            self.node.write_held()
        try:
            call.request = route.read_body(frame, offset, AT_ONCE)
        except ElementLimitError:
            call.answer = self._serve_large(call, frame, offset)
            return call
        try:
            call.answer = self._serve(call)
        except Exception as error:
            call.answer = self._explain(call, error)
        if perf_counter() - began > NOTABLE_SECONDS:
            self.watchdog.check(began, route.api.name)
        return call

    async def wait(self, call: Call) -> None:
        """Wait for the answer of a call that has none yet."""
        try:
            assert isinstance(call.answer, Awaitable)
            call.answer = await call.answer
        except RefusedRequestError:
            raise
        except Exception as error:
            call.answer = self._explain(call, error)
        if call.context.was_paused and isinstance(call.answer, Message | Streamed):
            call.written = await asyncio.get_running_loop().run_in_executor(None, self._write_and_free, call)

    def finish(self, call: Call) -> tuple[Sequence[Part], int]:
        """The parts of the answer's frame and the size of all; none where the client expects nothing.

        An answer about records that are held in memory is made by writing them.
        """
        began = perf_counter()
        parts, size, errors = call.written or self._write(call)
        metrics = call.route.metrics
        for code, times in errors.items():
            metrics.count_error(code, times)
        now = perf_counter()
        seconds = now - call.started
        metrics.add(call.size, size, seconds)
        if now - began > NOTABLE_SECONDS:
            self.watchdog.check(began, call.route.api.name)
        if self._tells_all:
            _tell(call, size, seconds)
        return parts, size

    def _write(self, call: Call) -> Written:
        """The answer as bytes; any thread may call it, unless records are to be written for it."""
        answer = call.answer
        if isinstance(answer, Unwritten):
            try:
                answer = answer.write()
            except Exception as error:
                answer = self._explain(call, error)
        if answer is None:
            return (), 0, NO_ERRORS
        message, contents = answer if isinstance(answer, Streamed) else (answer, ())
        assert isinstance(message, Message)
        parts, size, errors = call.route.write(message, call.context.correlation_id)
        if contents:
            following = iter(contents)
            parts = [next(following) if isinstance(part, memoryview) else part for part in parts]
        return parts, size, errors

    def _write_and_free(self, call: Call) -> Written:
        """The answer as bytes; what it was made of is freed here, because freeing much at once takes long."""
        written = self._write(call)
        answer, call.answer = call.answer, None
        if answer is not None:
            free(answer.message if isinstance(answer, Streamed) else answer)
        if call.context.is_large and self.interceptor is None:
            request, call.request = call.request, None
            free(request)
        return written

    def _serve(self, call: Call) -> Answer | Awaitable[Answer]:
        if self.interceptor is None:
            return self._handle(call)
        return self.interceptor(call.context, call.request, partial(self._handle, call))

    def _handle(self, call: Call) -> Answer | Awaitable[Answer]:
        answer = call.route.served.handle(self.node, call.request, call.context)
        return start(answer, self.watchdog, call.route.api.name) if isinstance(answer, CoroutineType) else answer

    async def _serve_large(self, call: Call, frame: bytes | memoryview, offset: int) -> Answer:
        """Serve a request that takes too long to decode at once; its answer is written here, and then dropped."""
        context, run = call.context, partial(asyncio.get_running_loop().run_in_executor, None)
        context.is_large = context.was_paused = True
        context.more = False
        async with self._large:
            with resting_collector():
                try:
                    call.request = await run(call.route.read_body, frame, offset, MOST_ELEMENTS)
                except CodecError as error:
                    raise RefusedRequestError(str(error)) from error
                context.begin_turn()
                began = perf_counter()
                answer: Answer | Awaitable[Answer] = None
                try:
                    answer = self._serve(call)
                    self.watchdog.check(began, call.route.api.name)
                    call.answer = await answer if isinstance(answer, Awaitable) else answer
                except Exception as error:
                    call.answer = await run(self._explain, call, error)
                if isinstance(call.answer, Unwritten):
                    return call.answer
                del answer
                call.written = await run(self._write_and_free, call)
        return None

    def _explain(self, call: Call, error: Exception) -> Answer:
        context = call.context
        name = f"{context.api.name} v{context.version}"
        if isinstance(error, CloseConnectionError):
            raise RefusedRequestError(f"{name}: {error}") from error
        if code_for(error) == ErrorCode.UNKNOWN_SERVER_ERROR:
            fields = {"api": context.api.name, "version": context.version, "client_id": context.client_id}
            _log.error("%s from %r failed", name, context.client_id, exc_info=error, extra={"fields": fields})
        answer = error_response(call.route.served, call.request, error, context)
        if answer is None:
            raise RefusedRequestError(f"{name}: {error}") from error
        return answer

    def _find_route(self, frame: bytes | memoryview) -> Route | bytes:
        header = decode_request_header(frame)[0]
        key, version = header.request_api_key, header.request_api_version
        served = self._apis.get(key)
        if served is not None and version in served.versions:
            route = self._routes[key, version] = Route(served, version, self.metrics.of(served.api.name))
            return route
        if served is None:
            raise RefusedRequestError(f"API key {key} version {version} is not served")
        if key == API_VERSIONS:
            return answer_unsupported(header, served.versions)
        raise RefusedRequestError(f"{served.api.name} version {version}: expected one of {served.versions}")


def _tell(call: Call, size: int, seconds: float) -> None:
    context = call.context
    tell(
        "request",
        level=logging.DEBUG,
        api=context.api.name,
        version=context.version,
        client_id=context.client_id,
        client=str(Endpoint(*context.address)),
        bytes_in=call.size,
        bytes_out=size,
        ms=round(seconds * 1000, 3),
    )
