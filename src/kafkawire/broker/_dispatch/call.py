"""Calls: the requests that are being served."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker._dispatch.registry import HeldResponse
from kafkawire.broker._net.listeners import Endpoint
from kafkawire.broker._ops.event_log import log_event
from kafkawire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from kafkawire._codec.parts import Part
    from kafkawire.broker._dispatch.registry import RequestContext, Response
    from kafkawire.broker._dispatch.route import Route

    EncodedResponse = tuple[Sequence[Part], int, Mapping[int, int]]
    """The parts of a response's frame, the size of all, and how often each error code occurs in it."""

_READY: Final = (Message, HeldResponse)


class Call:
    """A request that is being served."""

    __slots__ = ("busy", "context", "encoded", "frame", "metered", "request", "response", "route", "size", "started")

    def __init__(self, route: Route, context: RequestContext, size: int, started: float) -> None:
        self.route = route
        self.request: Any = None
        self.context = context
        self.size = size
        self.started = started
        self.busy: float | None = None
        """The seconds that it worked so far, if its response is awaited."""
        self.metered: float | None = None
        """Until when its time is recorded for the quota of its client; None before that."""
        self.response: Response | Awaitable[Response] = None
        self.encoded: EncodedResponse | None = None
        """The response's bytes, if a thread has encoded them."""
        self.frame: tuple[Sequence[Part], int] | None = None
        """The parts of the response's frame and the size of all, once the call is finished."""

    @property
    def is_waiting(self) -> bool:
        """Whether the response has to be awaited."""
        response = self.response
        return response is not None and not isinstance(response, _READY)


def log_request(call: Call, size: int, seconds: float) -> None:
    """Log a request that was served."""
    context = call.context
    log_event(
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
