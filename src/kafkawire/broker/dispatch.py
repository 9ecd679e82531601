"""From a request's frame to the parts of its answer.

Rules:
- A header that cannot be read, an API or version that is not served, a body that does not parse: RefusedRequestError,
  and the connection is closed without an answer. Only ApiVersions answers an unknown version.
- Bytes after a well-formed body are ignored, as Kafka does.
- An exception of a handler becomes the API's error response; one that is not Kafka's own is logged with its traceback.
- What an interceptor returns takes the handler's place: tests use it to watch, to delay and to fail requests.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from time import perf_counter
from typing import TYPE_CHECKING

from kafkawire.broker.refusals import error_codes
from kafkawire.broker.serving import CloseConnectionError, RequestContext, Streamed, error_response, served_apis
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message
from kafkawire.messages.errors import ErrorCode, code_for
from kafkawire.wire import answer_unsupported, decode_request_header, encode_response_parts
from kafkawire.wire.headers import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kafkawire.broker.metrics import Metrics
    from kafkawire.broker.node import Node
    from kafkawire.broker.outbox import Part
    from kafkawire.broker.serving import Answer, Served

    Interceptor = Callable[[RequestContext, Any], Awaitable[None] | None]

_log = logging.getLogger("kafkawire.broker")


class RefusedRequestError(KafkaWireError):
    """A request that is answered by closing its connection; the message is for the log."""


class Call:
    """A request that is being served."""

    __slots__ = ("answer", "context", "request", "served", "size", "started")

    def __init__(self, served: Served, request: Any, context: RequestContext, size: int) -> None:
        self.served = served
        self.request = request
        self.context = context
        self.size = size
        self.started = perf_counter()
        self.answer: Answer | Awaitable[Answer] = None

    @property
    def is_waiting(self) -> bool:
        """Whether the answer has to be awaited."""
        answer = self.answer
        return answer is not None and not isinstance(answer, Message | Streamed)


class Dispatcher:
    """Every served API, at the service of connections."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self.node = node
        self.metrics = metrics
        self.interceptor: Interceptor | None = None
        self._apis = served_apis()

    def begin(self, frame: bytes | memoryview, address: tuple[str, int], listener: str) -> Call | bytes:
        """Read a request and let it be served; bytes are the answer to an ApiVersions of unknown version."""
        header, offset = decode_request_header(frame)
        version = header.request_api_version
        served = self._apis.get(header.request_api_key)
        if served is None or version not in served.versions:
            return self._refuse_version(served, header)
        context = RequestContext(
            served.api, version, header.correlation_id, header.client_id, listener=listener, address=address
        )
        request = served.api.request.decode_prefix(frame, version, offset)[0]
        call = Call(served, request, context, len(frame))
        try:
            delayed = self.interceptor(context, request) if self.interceptor is not None else None
            call.answer = (
                served.handle(self.node, request, context) if delayed is None else self._serve_later(call, delayed)
            )
        except Exception as error:
            call.answer = self._explain(call, error)
        return call

    async def wait(self, call: Call) -> None:
        """Wait for the answer of a call that has none yet."""
        try:
            assert isinstance(call.answer, Awaitable)
            call.answer = await call.answer
        except Exception as error:
            call.answer = self._explain(call, error)

    def finish(self, call: Call) -> list[Part]:
        """The parts of the answer's frame; none where the client expects nothing."""
        answer, context = call.answer, call.context
        metrics = self.metrics.of(context.api.name)
        if answer is None:
            metrics.add(call.size, 0, perf_counter() - call.started)
            return []
        message, contents = answer if isinstance(answer, Streamed) else (answer, ())
        assert isinstance(message, Message)
        for code in error_codes(message):
            metrics.count_error(code)
        parts: list[Part] = [
            *encode_response_parts(
                message, api_key=context.api.key, version=context.version, correlation_id=context.correlation_id
            )
        ]
        if contents:
            following = iter(contents)
            parts = [next(following) if isinstance(part, memoryview) else part for part in parts]
        metrics.add(call.size, sum(map(len, parts)), perf_counter() - call.started)
        return parts

    async def _serve_later(self, call: Call, delayed: Awaitable[None]) -> Answer:
        await delayed
        answer = call.served.handle(self.node, call.request, call.context)
        if answer is None or isinstance(answer, Message | Streamed):
            return answer
        return await answer

    def _explain(self, call: Call, error: Exception) -> Answer:
        context = call.context
        name = f"{context.api.name} v{context.version}"
        if isinstance(error, CloseConnectionError):
            raise RefusedRequestError(f"{name}: {error}") from error
        if code_for(error) == ErrorCode.UNKNOWN_SERVER_ERROR:
            _log.error("%s from %s failed", name, context.client_id, exc_info=error)
        answer = error_response(call.served, call.request, error, context)
        if answer is None:
            raise RefusedRequestError(f"{name}: {error}") from error
        return answer

    def _refuse_version(self, served: Served | None, header: Any) -> bytes:
        key, version = header.request_api_key, header.request_api_version
        if served is None:
            raise RefusedRequestError(f"API key {key} version {version} is not served")
        if key == API_VERSIONS:
            return answer_unsupported(header, served.versions)
        raise RefusedRequestError(f"{served.api.name} version {version}: expected one of {served.versions}")
