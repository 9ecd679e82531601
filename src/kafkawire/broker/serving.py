"""How an API is served: one file under `apis`, one function, one decorator.

Rules:
- `@serves("Metadata")` above `handle(node, request, context)` is the only way to serve an API; `apis` is listed, so a
  new file is enough, and ApiVersions answers with exactly what was found.
- `handle` returns the response, or None where the client expects none, or something to await for either. What can be
  answered at once should be: it costs no task.
- All versions of the schema are served unless the decorator names fewer.
- An exception becomes the API's error response: `refuse(request, error, context)` where it is given, else the
  top-level error code of the response. An API that has neither closes the connection, as Kafka does.
- Codes: a `KafkaError` gives its own (`raise error_for(...)` or one of its classes), anything else is
  UNKNOWN_SERVER_ERROR. CloseConnectionError closes the connection: the only answer to a failed acks=0.
- What a handler wrote may be held back until `Dispatcher.settle`, which comes before answers leave and before any
  other API is served.
- Stored records are not read to be answered: a Streamed response has holes of the right size where the bytes of files
  go, and `contents` in their order.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Api, api
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kafkawire.broker.node import Node
    from kafkawire.log.segment import FileRange
    from kafkawire.messages import Message
    from kafkawire.messages.schema import Versions

    Answer: TypeAlias = "Message | Streamed | None"
    Handler = Callable[[Node, Any, "RequestContext"], Answer | Awaitable[Answer]]
    Refusal = Callable[[Any, "ErrorAnswer", "RequestContext"], Message]

H = TypeVar("H", bound="Callable[..., Any]")
ANONYMOUS = "User:ANONYMOUS"


@dataclass(slots=True)
class RequestContext:
    """Who asked, how, and over which connection."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    principal: str = ANONYMOUS
    listener: str = "PLAINTEXT"
    address: tuple[str, int] = ("", 0)
    size: int = 0
    """Bytes of the request's frame."""
    more: bool = False
    """Whether the client's next request has come too, at least its beginning."""


class ErrorAnswer(NamedTuple):
    """What a client is told of an exception."""

    code: int
    message: str | None

    @classmethod
    def of(cls, error: BaseException) -> ErrorAnswer:
        """The code and the words of an exception; the words of a fault of ours stay in the broker's log."""
        if isinstance(error, KafkaError):
            return cls(error.code, error.message)
        code = code_for(error)
        return cls(code, str(error) or None) if code != ErrorCode.UNKNOWN_SERVER_ERROR else cls(code, None)


class Served(NamedTuple):
    """An API that has a file."""

    api: Api
    versions: Versions
    handle: Handler
    refuse: Refusal | None


class Streamed(NamedTuple):
    """A response whose records are still in files; where they are not, the bytes stand in their place."""

    message: Message
    contents: Sequence[FileRange | memoryview]


class CloseConnectionError(KafkaWireError):
    """A request that is answered by closing its connection."""


class RegistrationError(KafkaWireError):
    """A file under `apis` that does not register exactly one API of its own."""


_registered: dict[int, Served] = {}


def serves(name: str, *, versions: Versions | None = None, refuse: Refusal | None = None) -> Callable[[H], H]:
    """Register a function as the one that serves an API."""
    which = api(name)

    def register(handle: H) -> H:
        if which.key in _registered:
            raise RegistrationError(f"{which.name} is served twice: {handle.__module__} and another file")
        _registered[which.key] = Served(which, versions or which.versions, handle, refuse)
        return handle

    return register


@cache
def served_apis() -> Mapping[int, Served]:
    """Every API that has a file, by key."""
    package = import_module("kafkawire.broker.apis")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_registered.items()))


def error_response(served: Served, request: Any, error: BaseException, context: RequestContext) -> Message | None:
    """The response that tells a client of an exception; None where the API has no place for one."""
    answer = ErrorAnswer.of(error)
    if served.refuse is not None:
        return served.refuse(request, answer, context)
    response: Any = served.api.response()
    if not hasattr(response, "error_code"):
        return None
    response.error_code = answer.code
    if hasattr(response, "error_message"):
        response.error_message = answer.message
    return response  # type: ignore[no-any-return]  # an instance of the API's own response class
