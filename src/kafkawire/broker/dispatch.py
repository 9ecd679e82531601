"""From a request's frame to the parts of its answer.

Rules:
- A header that cannot be read, an API or version that is not served, a body that does not parse: RefusedRequestError,
  and the connection is closed without an answer. Only ApiVersions answers an unknown version.
- Bytes after a well-formed body are ignored, as Kafka does.
- An exception of a handler becomes the API's error response; one that is not Kafka's own is logged with its traceback.
- What Produce writes may be held back, to be written with what the next requests write: `settle` comes before answers
  leave, and before any other API is served.
- An interceptor serves in the handler's place, and may let it: tests use it to watch, to delay and to fail requests.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from kafkawire.broker.events import tell, tells_all
from kafkawire.broker.listeners import Endpoint
from kafkawire.broker.routes import Route
from kafkawire.broker.serving import (
    ANONYMOUS,
    CloseConnectionError,
    RequestContext,
    Streamed,
    error_response,
    served_apis,
)
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
    from kafkawire.broker.serving import Answer

    Serve = Callable[[], Answer | Awaitable[Answer]]
    Interceptor = Callable[[RequestContext, Any, Serve], Answer | Awaitable[Answer]]

_log = logging.getLogger("kafkawire.broker")
PRODUCE = 0
_AT_ONCE = (Message, Streamed)
_NAMED = SIZE.size + KEY_AND_VERSION.size


class RefusedRequestError(KafkaWireError):
    """A request that is answered by closing its connection; the message is for the log."""


class Call:
    """A request that is being served."""

    __slots__ = ("answer", "context", "request", "route", "size", "started")

    def __init__(self, route: Route, request: Any, context: RequestContext, size: int) -> None:
        self.route = route
        self.request = request
        self.context = context
        self.size = size
        self.started = perf_counter()
        self.answer: Answer | Awaitable[Answer] = None

    @property
    def is_waiting(self) -> bool:
        """Whether the answer has to be awaited."""
        answer = self.answer
        return answer is not None and not isinstance(answer, _AT_ONCE)


class Dispatcher:
    """Every served API, at the service of connections."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self.node = node
        self.metrics = metrics
        self.interceptor: Interceptor | None = None
        self._tells_all = tells_all()
        self._apis = served_apis()
        self._routes: dict[tuple[int, ...], Route] = {}

    def begin(
        self, frame: bytes | memoryview, address: tuple[str, int], listener: str, *, more: bool = False
    ) -> Call | bytes:
        """Read a request and let it be served; bytes are the answer to an ApiVersions of unknown version.

        With `more` of them at hand, what is written may be held back until `settle`.
        """
        route = self._routes.get(KEY_AND_VERSION.unpack_from(frame, SIZE.size)) if len(frame) >= _NAMED else None
        if route is None:
            found = self._find_route(frame)
            if isinstance(found, bytes):
                return found
            route = found
        header, request = route.read(frame)
        size = len(frame)
        context = RequestContext(
            route.api, route.version, header.correlation_id, header.client_id, ANONYMOUS, listener, address, size, more
        )
        if route.api.key != PRODUCE:
            self.node.settle_held()
        call = Call(route, request, context, size)
        try:
            if self.interceptor is None:
                call.answer = route.served.handle(self.node, request, context)
            else:
                serve = partial(route.served.handle, self.node, request, context)
                call.answer = self.interceptor(context, request, serve)
        except Exception as error:
            call.answer = self._explain(call, error)
        return call

    def settle(self) -> None:
        """Have everything written that was held back; a KafkaStorageError if it could not be, and was undone."""
        self.node.settle_held()

    async def wait(self, call: Call) -> None:
        """Wait for the answer of a call that has none yet."""
        try:
            assert isinstance(call.answer, Awaitable)
            call.answer = await call.answer
        except Exception as error:
            call.answer = self._explain(call, error)

    def finish(self, call: Call) -> tuple[Sequence[Part], int]:
        """The parts of the answer's frame and the size of all; none where the client expects nothing."""
        answer, route = call.answer, call.route
        parts: Sequence[Part] = ()
        size = 0
        if answer is not None:
            message, contents = answer if isinstance(answer, Streamed) else (answer, ())
            assert isinstance(message, Message)
            parts, size = route.write(message, call.context.correlation_id)
            if contents:
                following = iter(contents)
                parts = [next(following) if isinstance(part, memoryview) else part for part in parts]
        seconds = perf_counter() - call.started
        route.metrics.add(call.size, size, seconds)
        if self._tells_all:
            _tell(call, size, seconds)
        return parts, size

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
