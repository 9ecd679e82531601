"""How an API is served: one file under `apis`, one function, one decorator.

Rules:
- `@serves("Metadata")` above `handle(node, request, context)` is the only way to serve an API; `apis` is listed, so a
  new file is enough, and ApiVersions answers with exactly what was found.
- `handle` returns the response, or None where the client expects none. It may be a coroutine: one that does not wait
  costs no task (`turns.start`).
- A handler that walks over elements of its request, or of the broker's state, awaits `context.yield_if_due()` for each,
  so that no request keeps other connections waiting.
- The cost of a request is linear in its size, and so is its answer: a repeated name is answered once, or refused as
  Kafka does.
- All versions of the schema are served unless the decorator names fewer.
- An exception becomes the API's error response: `refuse(request, error, context)` where it is given, else the
  top-level error code of the response. An API that has neither closes the connection, as Kafka does.
- Codes: a `KafkaError` gives its own (`raise error_for(...)` or one of its classes), anything else is
  UNKNOWN_SERVER_ERROR. CloseConnectionError closes the connection: the only answer to a failed acks=0.
- Records that a handler appended may be held in memory. Its answer is then Unwritten, which becomes a message only by
  writing them: an answer cannot be sent before the records are written.
- Stored records are not read to be answered: a Streamed response has holes of the right size where the bytes of files
  go, and `contents` in their order.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from kafkawire.broker.turns import TURN_SECONDS
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Api, api
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Mapping, Sequence

    from kafkawire.broker.held import WriteGroup
    from kafkawire.broker.node import Node
    from kafkawire.broker.turns import Turns
    from kafkawire.log.segment import FileRange
    from kafkawire.messages import Message
    from kafkawire.messages.schema import Versions

    Answer: TypeAlias = "Message | Streamed | Unwritten | None"
    Handler = Callable[[Node, Any, "RequestContext"], Answer | Awaitable[Answer]]
    Refusal = Callable[[Any, "ErrorAnswer", "RequestContext"], Message]

H = TypeVar("H", bound="Callable[..., Any]")
K = TypeVar("K", bound="Hashable")
ANONYMOUS = "User:ANONYMOUS"


class _NotDue:
    """Nothing to wait for."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return _NOTHING


_NOTHING: Final = cast("Generator[None, None, None]", iter(()))
NOT_DUE: Final = _NotDue()


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
    turns: Turns | None = None
    """The queue for work that takes longer than one turn; None where nobody else waits."""
    turn_ends: float = 0.0
    was_paused: bool = False
    is_large: bool = False
    """Whether the request holds so many elements that it was decoded in a thread."""

    def yield_if_due(self) -> Awaitable[None]:
        """Let other connections be served if this request's turn is over."""
        if self.turns is None or perf_counter() < self.turn_ends:
            return NOT_DUE
        return self._pause(self.turns)

    async def count(self, keys: Iterable[K]) -> Counter[K]:
        """How often each key occurs, counted in turns."""
        times: Counter[K] = Counter()
        for key in keys:
            times[key] += 1
            await self.yield_if_due()
        return times

    def begin_turn(self) -> None:
        self.turn_ends = perf_counter() + TURN_SECONDS

    async def _pause(self, turns: Turns) -> None:
        self.was_paused = True
        self.more = False  # the requests that came with this one are not served in the same turn
        self.turn_ends = await turns.next()


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


class Unwritten(NamedTuple):
    """An answer about records that are held in memory; `write` writes them and returns what to send."""

    group: WriteGroup
    finish: Callable[[], Message | None]

    def write(self) -> Message | None:
        self.group.write()
        return self.finish()


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
