"""The table of needs, enforced: a request reaches its handler with the rows that its client may have.

Rules:
- A denial of the whole request is raised, and becomes the API's error response.
- Denied rows are refused by the API's own `refuse`, and join the response to the others. A request of denied rows
  alone does not reach its handler.
- The request that arrived is not changed, because an error of the handler is answered for all of its rows.
- Rows of large requests are checked in turns, and refused in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkawire.broker._dispatch.registry import HeldResponse, Refusal
from kafkawire.messages.errors import error_for
from kafkawire.wire.acls import ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._acls.access import Access
    from kafkawire.broker._acls.needs import Need, Row
    from kafkawire.broker._dispatch.registry import Handler, RequestContext, Response
    from kafkawire.broker._node import Node
    from kafkawire.messages import Message

_NAMES = ("name", "topic_name", "topic", "group_id")


class DeniedRows(NamedTuple):
    """The rows of a request that its client may not have, as a request of their own."""

    request: Any
    need: Need


async def serve(node: Node, handler: Handler, row: Row, request: Any, context: RequestContext) -> Response:
    """Serve a request as far as its client may have it."""
    access = context.access
    assert access is not None
    denied: DeniedRows | None = None
    for need in row.needs:
        if need.in_handler or not await _applies(need, request, context):
            continue
        if need.or_cluster is not None and access.may(need.or_cluster, ResourceType.CLUSTER):
            continue
        rows = await _denied(node, access, need, request, context)
        if not rows:
            continue
        if not need.into:
            raise error_for(need.error)
        refused = set(map(id, rows))
        permitted = [each for each in getattr(request, need.of) if id(each) not in refused]
        denied = DeniedRows(_with(request, need, rows), need)
        if not permitted:
            return await _refuse(handler, denied, context)
        request = _with(request, need, permitted)
    response = handler.handle(node, request, context)
    if isinstance(response, Awaitable):
        response = await response
    if denied is None:
        return response
    if isinstance(response, HeldResponse):
        return HeldResponse(response.group, partial(_finish, response, handler, denied, context))
    _join(response, await _refuse(handler, denied, context), denied.need)
    return response


async def _applies(need: Need, request: Any, context: RequestContext) -> bool:
    if need.when is None or not context.is_large:
        return need.when is None or need.when(request)
    return await asyncio.get_running_loop().run_in_executor(None, need.when, request)


async def _denied(node: Node, access: Access, need: Need, request: Any, context: RequestContext) -> list[Any]:
    """The rows of a request, or the one name that it has, that are denied."""
    if not need.of:
        return [] if access.may(need.operation, need.resource) else [request]
    found = getattr(request, need.of)
    if found is None:
        return []
    if isinstance(found, str):
        return [] if access.may(need.operation, need.resource, found) else [found]
    rows = []
    for each in found:
        name = _name(node, each)
        if name is not None and not access.may(need.operation, need.resource, name):
            rows.append(each)
        await context.yield_if_due()
    return rows


def _name(node: Node, row: Any) -> str | None:
    """The name of a row's resource; None if it has an id that no topic has."""
    if isinstance(row, str):
        return row
    name: str = next((getattr(row, each) for each in _NAMES if hasattr(row, each)), "")
    if name or not hasattr(row, "topic_id"):
        return name
    topic = node.topics.find_id(row.topic_id)
    return None if topic is None else topic.name


def _with(request: Any, need: Need, rows: list[Any]) -> Any:
    """A request like another one, with fewer rows."""
    other = copy(request)
    setattr(other, need.of, rows)
    return other


async def _refuse(handler: Handler, denied: DeniedRows, context: RequestContext) -> Message:
    if context.is_large:
        return await asyncio.get_running_loop().run_in_executor(None, _refusal, handler, denied, context)
    return _refusal(handler, denied, context)


def _refusal(handler: Handler, denied: DeniedRows, context: RequestContext) -> Message:
    assert handler.refuse is not None, f"{handler.api.name} has rows to refuse, and no function that does it"
    return handler.refuse(denied.request, Refusal.of(error_for(denied.need.error)), context)


def _finish(held: HeldResponse, handler: Handler, denied: DeniedRows, context: RequestContext) -> Message | None:
    response = held.finish()
    _join(response, _refusal(handler, denied, context), denied.need)
    return response


def _join(response: Message | None, refusal: Message, need: Need) -> None:
    """Add the refused rows to the response, unless the client expects none."""
    if response is not None:
        getattr(response, need.into).extend(getattr(refusal, need.into))
