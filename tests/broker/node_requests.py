"""Requests to a node, encoded in their version as a connection would receive them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from kafkawire._codec.parts import ExternalBytes
from kafkawire.broker._dispatch.call import Call
from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.broker._security.peer import Peer
from kafkawire.messages import api
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire._codec.parts import Part
    from kafkawire.broker._dispatch.dispatcher import Serve
    from kafkawire.broker._dispatch.registry import RequestContext, Response
    from kafkawire.broker._node import Node
    from kafkawire.messages import Message


def begin(
    node: Node,
    request: Message,
    version: int | None = None,
    client_id: str | None = "test",
    peer: Peer | None = None,
) -> Call:
    """Start serving a request, whose answer may come later."""
    which = api(cast("int", type(request).__schema__.key))
    version = served_apis()[which.key].versions.last if version is None else version
    frame = encode_request(request, version=version, correlation_id=7, client_id=client_id)
    dispatcher = Dispatcher(node, Metrics())
    dispatcher.interceptor = _without_turns
    call = dispatcher.begin(frame, peer or Peer(address=("test", 1)))
    assert isinstance(call, Call)
    return call


def _without_turns(context: RequestContext, request: Message, serve: Serve) -> Response | Awaitable[Response]:
    """Nobody else is served, so a request waits only for what it asks for, however slow the machine is."""
    context.turns = None
    return serve()


def answer(node: Node, call: Call) -> Any:
    """The answer of a call, read back from its bytes; None if there is none."""
    parts, size = Dispatcher(node, Metrics()).finish(call)
    if not parts:
        return None
    frame = b"".join(map(in_memory, parts))
    assert len(frame) == size
    return decode_response(frame, api_key=call.context.api.key, version=call.context.version, correlation_id=7)[1]


def ask(
    node: Node,
    request: Message,
    version: int | None = None,
    client_id: str | None = "test",
    peer: Peer | None = None,
) -> Any:
    """The answer to a request, waited for if need be."""

    async def serve() -> Any:
        call = begin(node, request, version, client_id, peer)
        if call.is_waiting:
            await Dispatcher(node, Metrics()).wait(call)
        return answer(node, call)

    return asyncio.run(serve())


def in_memory(part: Part) -> bytes | memoryview:
    return part.read() if isinstance(part, ExternalBytes) else part


def batch(*values: bytes | None, key: bytes | None = b"k", timestamp: int = 1_000, **settings: Any) -> bytes:
    """One batch of records with these values."""
    builder = BatchBuilder(**settings)
    for value in values:
        builder.append(key, value, timestamp=timestamp)
    return builder.build()


def values(data: bytes | bytearray | memoryview | None) -> list[bytes | None]:
    """The values of all records in some batches."""
    found = (record.value for each in read_batches(data or b"") for record in each.records())
    return [None if value is None else bytes(value) for value in found]
