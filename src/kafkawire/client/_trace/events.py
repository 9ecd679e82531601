"""The events of a trace, and the part of it that belongs to one connection.

Rules:
- A connection without a trace has no `ConnectionTrace` and does no work for it.
- Events are made when a request was encoded, when its answer was decoded, and when a connection ends.
- A message of an API that carries credentials is never part of an event. Fields with secrets are left out by `forms`.
- A sink that raises ends the trace of its connection, with a log entry. The client continues.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire._codec.plan import Shape
    from kafkawire.client._cluster.connection import PendingRequest
    from kafkawire.messages import Message

_log = logging.getLogger("kafkawire.client")
_CREDENTIALS: Final = frozenset({"SaslAuthenticate"})
_MOST_ERRORS: Final = 1000
_ONLY_A_CODE: Final = (True, ())
_numbers = count(1)
Kind = Literal["request", "response", "closed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """One request, one answer, or the end of a connection.

    `connection` numbers the connections of the process. `size` counts the whole frame. `seconds` is the time from the
    request to its answer. `error` is the first error of an answer with its place in the message, or the reason of an
    end. `message` and the bytes of the frame are None for credentials. A sink must not keep the bytes.
    """

    kind: Kind
    time: float
    connection: int
    place: str
    client_id: str
    api: str | None = None
    version: int | None = None
    correlation_id: int | None = None
    size: int | None = None
    seconds: float | None = None
    error: str | None = None
    message: Message | None = None
    parts: Sequence[bytes | memoryview] | None = None

    @property
    def frame(self) -> bytes | None:
        """The frame, with its size."""
        return None if self.parts is None else b"".join(self.parts)


Sink = Callable[[TraceEvent], None]


class ConnectionTrace:
    """Makes the events of one connection."""

    def __init__(self, sink: Sink, place: str, client_id: str) -> None:
        self._sink: Sink | None = sink
        self._place, self._client_id = place, client_id
        self._number = next(_numbers)
        self._is_ended = False

    def sent(self, message: Message, pending: PendingRequest, parts: Sequence[bytes | memoryview]) -> None:
        """A request was encoded and is about to be written."""
        pending.sent_at = time.monotonic()
        self._emit("request", **_identity(pending, message, parts), size=sum(map(len, parts)))

    def answered(self, pending: PendingRequest, message: Message, frame: bytes | memoryview) -> None:
        """An answer was decoded."""
        self._emit(
            "response",
            **_identity(pending, message, (frame,)),
            size=len(frame),
            seconds=time.monotonic() - pending.sent_at,
            error=first_error(message),
        )

    def ended(self, reason: BaseException | None, waiting: int) -> None:
        """The connection ended, while this number of requests waited for answers."""
        if not self._is_ended:
            self._is_ended = True
            unanswered = f"; requests without an answer: {waiting}" if waiting else ""
            self._emit("closed", error=f"{_words(reason, self._place)}{unanswered}")

    def failed(self, reason: BaseException) -> None:
        """No connection could be opened."""
        self._emit("failed", error=_words(reason, self._place))

    def _emit(self, kind: Kind, **known: Any) -> None:
        if self._sink is None:
            return
        try:
            self._sink(
                TraceEvent(
                    kind=kind,
                    time=time.time(),
                    connection=self._number,
                    place=self._place,
                    client_id=self._client_id,
                    **known,
                )
            )
        except Exception:
            self._sink = None
            _log.exception("%s: the trace of this connection ends, because its sink failed", self._place)


def first_error(message: Message) -> str | None:
    """The first error code of an answer that is not 0, where it is, and how many more there are.

    >>> from kafkawire.messages import DeleteTopicsResponse
    >>> topic = DeleteTopicsResponse.DeletableTopicResult
    >>> first_error(DeleteTopicsResponse(responses=[topic(), topic(error_code=3)]))
    'UNKNOWN_TOPIC_OR_PARTITION (3) at responses[1]'
    """
    errors = _errors(message, message.__shape__, "")
    first = next(errors, None)
    if first is None:
        return None
    code, place = first
    more = sum(1 for _, _ in zip(errors, range(_MOST_ERRORS), strict=False))
    several = f", and {more if more < _MOST_ERRORS else f'{more} or more'} more" if more else ""
    return f"{ErrorCode(code).name} ({code}){f' at {place}' if place else ''}{several}"


def _errors(value: Any, shape: Shape, place: str) -> Iterator[tuple[int, str]]:
    has_code, within = _paths(shape)
    if has_code and value.error_code:
        yield value.error_code, place
    for attribute, inner in within:
        held = getattr(value, attribute)
        if not held:
            continue
        path = f"{place}.{attribute}" if place else attribute
        if not isinstance(held, list):
            yield from _errors(held, inner, path)
        elif _paths(inner) == _ONLY_A_CODE:  # the partitions of many topics, most of the time
            for number, element in enumerate(held):
                if element.error_code:
                    yield element.error_code, f"{path}[{number}]"
        else:
            for number, element in enumerate(held):
                yield from _errors(element, inner, f"{path}[{number}]")


@cache
def _paths(shape: Shape) -> tuple[bool, tuple[tuple[str, Shape], ...]]:
    """Whether a struct has an error code, and its attributes whose structs have one, or lead to one."""
    within = [(slot.attribute, slot.shape) for slot in shape.slots if slot.shape is not None]
    leading = tuple((attribute, inner) for attribute, inner in within if any(_paths(inner)))
    return any(slot.attribute == "error_code" for slot in shape.slots), leading


def _identity(pending: PendingRequest, message: Message, parts: Sequence[bytes | memoryview]) -> dict[str, Any]:
    reader = pending.reader
    is_shown = reader.name not in _CREDENTIALS
    return {
        "api": reader.name,
        "version": reader.version,
        "correlation_id": pending.correlation_id,
        "message": message if is_shown else None,
        "parts": parts if is_shown else None,
    }


def _words(reason: BaseException | None, place: str) -> str:
    return "closed by this client" if reason is None else str(reason).removeprefix(f"{place}: ")
