"""The registry of APIs: one file under `apis`, one function, one decorator.

Rules:
- `@serves("Metadata")` above `handle(node, request, context)` is the only way to serve an API. A new file in `apis` is
  enough; its name gives the API. ApiVersions lists exactly the APIs that have a file.
- A file is imported when its API is first requested, so that a broker starts quickly. `_ops.loading` imports the others
  soon after the start.
- `handle` returns the response, or None if the client expects none. It may be a coroutine. One that does not wait costs
  no task (`dispatcher`).
- A handler that iterates over its request, or over state of the broker, awaits `context.yield_if_due()` between two
  elements, so that no request blocks other connections.
- The cost of a request, and of its response, is linear in its size. A repeated name is answered once, or refused as in
  Kafka.
- The permissions that an API needs are in the table `_acls.needs`. An API without a row there cannot be served. The
  guard enforces the table; a handler asks `context.may` for what the table leaves to it.
- All versions of the schema are served, unless FEWER_VERSIONS has the API.
- An exception becomes the API's error response. `refuse(request, refusal, context)` builds it if it is given. Otherwise
  the top-level error code of the response is set. An API that has neither closes the connection, as in Kafka.
- A `KafkaError` has its own code (`raise error_for(...)` or one of its classes). Any other exception is
  UNKNOWN_SERVER_ERROR. CloseConnectionError closes the connection, which is the only answer to a failed acks=0.
- Records that a handler appended may be held in memory. The handler then returns a HeldResponse. The only way to get a
  message from it is to write the records, so a response cannot leave before its records are written.
- Stored records are not read to be sent: a `FileRange` is the `records` field of a response, and leaves by `sendfile`.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._acls.needs import ERRORS, NEEDS
from kafkawire.broker._dispatch.turns import TURN_SECONDS
from kafkawire.broker._security.peer import Peer
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Api, api
from kafkawire.messages.errors import ErrorCode, KafkaError, ThrottlingQuotaExceededError, code_for, error_for
from kafkawire.messages.schema import Versions, camel_case
from kafkawire.wire.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Mapping

    from kafkawire.broker._acls.access import Access
    from kafkawire.broker._dispatch.turns import Turns
    from kafkawire.broker._dispatch.write_group import WriteGroup
    from kafkawire.broker._node import Node
    from kafkawire.broker._quotas.service import ClientQuotas
    from kafkawire.broker._security.peer import Principal
    from kafkawire.messages import Message

    Response: TypeAlias = "Message | HeldResponse | None"
    Handle = Callable[[Node, Any, "RequestContext"], Response | Awaitable[Response]]
    Refuse = Callable[[Any, "Refusal", "RequestContext"], Message]

H = TypeVar("H", bound="Callable[..., Any]")
K = TypeVar("K", bound="Hashable")
NOBODY: Final = Peer()
"""The peer of a request that came over no connection, as in tests."""
FEWER_VERSIONS: Final = {
    "InitProducerId": Versions(0, 5),
    "ShareAcknowledge": Versions(1, 2),
    "ShareFetch": Versions(1, 2),
    "ShareGroupDescribe": Versions(1, 1),
    "ShareGroupHeartbeat": Versions(1, 1),
    "WriteTxnMarkers": Versions(1, 2),
}
"""The versions that are served, of APIs with more versions in the schema."""


class _NotDue:
    """Nothing to wait for."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return _NOTHING


_NOTHING: Final = cast("Generator[None, None, None]", iter(()))
NOT_DUE: Final = _NotDue()


@dataclass(slots=True)
class RequestContext:
    """The client of a request, its version, and the turns that it may use."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    peer: Peer = NOBODY
    """The client at the other end of the connection."""
    size: int = 0
    """Bytes of the request's frame."""
    more: bool = False
    """Whether the client's next request has arrived too, at least its first bytes."""
    turns: Turns | None = None
    """The queue for work that takes longer than one turn; None if no other connection waits."""
    turn_ends: float = 0.0
    was_paused: bool = False
    is_large: bool = False
    """Whether the request holds so many elements that it was decoded in a thread."""
    access: Access | None = None
    """The permissions of the client; None if the broker has no authorizer."""
    quota: ClientQuotas | None = None
    """The quotas of the client; None if no quota of clients is set."""
    throttle_ms: int = 0
    """How long the connection is not read after the response, because a quota is exceeded."""

    @property
    def principal(self) -> Principal:
        """The principal of the client: User:ANONYMOUS unless the connection was authenticated."""
        return self.peer.principal

    @property
    def listener(self) -> str:
        """The name of the listener that the client connected to."""
        return self.peer.listener

    @property
    def address(self) -> tuple[str, int]:
        """The client's host and port."""
        return self.peer.address

    def may(self, operation: Operation, resource: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Whether the client may do an operation on a resource."""
        return self.access is None or self.access.may(operation, resource, name)

    def require(self, operation: Operation, resource: ResourceType, name: str = CLUSTER_NAME) -> None:
        """Raise the error of the resource if the client may not do an operation on it."""
        if self.access is not None and not self.access.may(operation, resource, name):
            raise error_for(ERRORS[resource])

    def operations_on(self, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The operations that the client may do on a resource, as the bits of responses."""
        return operations.SUPPORTED[resource] if self.access is None else self.access.operations(resource, name)

    def throttle(self, milliseconds: int) -> None:
        """Throttle the client; the longest of several times counts."""
        self.throttle_ms = max(self.throttle_ms, milliseconds)

    def charge_partitions(self, count: int, *, strict_since: int) -> None:
        """Count partitions that are created or deleted (KIP-599).

        Raises THROTTLING_QUOTA_EXCEEDED if the quota is exceeded, in versions that know it. Others are only throttled.
        """
        if self.quota is not None:
            may, throttle = self.quota.change_partitions(count, strict=self.version >= strict_since)
            self.throttle(throttle)
            if not may:
                raise ThrottlingQuotaExceededError("controller_mutation_rate is exceeded")

    def yield_if_due(self) -> Awaitable[None]:
        """Let other connections be served if this request's turn is over."""
        if self.turns is None or perf_counter() < self.turn_ends:
            return NOT_DUE
        return self._pause(self.turns)

    async def count(self, keys: Iterable[K]) -> Counter[K]:
        """How often each key occurs; long counts take several turns."""
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


class Refusal(NamedTuple):
    """An exception as the client receives it."""

    code: int
    message: str | None

    @classmethod
    def of(cls, error: BaseException) -> Refusal:
        """The code and the message of an exception. The message of an internal error stays in the broker's log."""
        if isinstance(error, KafkaError):
            return cls(error.code, error.message)
        code = code_for(error)
        return cls(code, str(error) or None) if code != ErrorCode.UNKNOWN_SERVER_ERROR else cls(code, None)


class _Functions(NamedTuple):
    """The functions that a file under `apis` registers."""

    handle: Handle
    refuse: Refuse | None


class Handler:
    """A served API: its versions, and the functions that serve it, which are imported when they are first used."""

    def __init__(self, which: Api, module: str) -> None:
        self.api = which
        self._module = module

    @cached_property
    def versions(self) -> Versions:
        return FEWER_VERSIONS.get(self.api.name) or self.api.versions

    @cached_property
    def handle(self) -> Handle:
        return self._functions.handle

    @cached_property
    def refuse(self) -> Refuse | None:
        return self._functions.refuse

    def load(self) -> None:
        """Import the functions, and build the messages."""
        _ = self._functions, self.api.request, self.api.response

    @cached_property
    def _functions(self) -> _Functions:
        import_module(self._module)
        found = _registered.get(self.api.key)
        if found is None:
            raise RegistrationError(f"{self._module} does not serve {self.api.name}")
        return found


class HeldResponse(NamedTuple):
    """A response about records that are held in memory; `write` writes them and returns the message to send."""

    group: WriteGroup
    finish: Callable[[], Message | None]

    def write(self) -> Message | None:
        self.group.write()
        return self.finish()


class CloseConnectionError(KafkaWireError):
    """A request whose only answer is to close its connection."""


class RegistrationError(KafkaWireError):
    """A file under `apis` that does not register exactly one API of its own."""


_registered: dict[int, _Functions] = {}


def serves(name: str, *, refuse: Refuse | None = None) -> Callable[[H], H]:
    """Register the function below as the handler of an API."""
    which = api(name)
    if which.name not in NEEDS:
        raise RegistrationError(
            f"{which.name} has no row in the table of permissions: add one to broker/_acls/needs.py"
        )

    def register(handle: H) -> H:
        if which.key in _registered:
            raise RegistrationError(f"{which.name} is served twice: {handle.__module__} and another file")
        _registered[which.key] = _Functions(handle, refuse)
        return handle

    return register


@cache
def served_apis() -> Mapping[int, Handler]:
    """Every API that has a file, by key."""
    package = import_module("kafkawire.broker.apis")
    files = [module.name for module in pkgutil.iter_modules(package.__path__)]
    if not files:  # pkgutil hides the error of a directory that it cannot list
        raise RegistrationError(f"{package.__name__} has no files that can be listed")
    handlers = [Handler(api(camel_case(name)), f"{package.__name__}.{name}") for name in files]
    return {each.api.key: each for each in sorted(handlers, key=lambda each: each.api.key)}


def error_response(handler: Handler, request: Any, error: BaseException, context: RequestContext) -> Message | None:
    """The response that reports an exception; None if the API has no field for it."""
    refusal = Refusal.of(error)
    if handler.refuse is not None:
        return handler.refuse(request, refusal, context)
    response: Any = handler.api.response()
    if not hasattr(response, "error_code"):
        return None
    response.error_code = refusal.code
    if hasattr(response, "error_message"):
        response.error_message = refusal.message
    return response  # type: ignore[no-any-return]  # an instance of the API's own response class
