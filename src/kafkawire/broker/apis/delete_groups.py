"""DeleteGroups: v0-3. Deletes groups and their committed offsets.

Rules:
- A group with members: NON_EMPTY_GROUP. A group that does not exist: GROUP_ID_NOT_FOUND. v3+ explains the error.
- A name that occurs more than once is answered once.
- The deletion is in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import DeleteGroupsResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DeleteGroupsRequest


_MESSAGES: Final[dict[int, str]] = {
    ErrorCode.NON_EMPTY_GROUP: "the group has members; stop them first",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group",
}


def refuse(request: DeleteGroupsRequest, error: Refusal, context: RequestContext) -> DeleteGroupsResponse:
    code, message = error
    return DeleteGroupsResponse(results=[_result(name, code, message) for name in dict.fromkeys(request.groups_names)])


@serves("DeleteGroups", refuse=refuse)
async def handle(node: Node, request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    errors: dict[str, int] = {}
    for name in request.groups_names:
        if name not in errors:
            errors[name] = await node.groups.delete(name, context)
        await context.yield_if_due()
    await node.groups.durable((name for name, error in errors.items() if not error), context)
    response = DeleteGroupsResponse()
    for name, error in errors.items():
        response.results.append(_result(name, error))
        await context.yield_if_due()
    return response


def _result(name: str, error: int, message: str | None = None) -> DeleteGroupsResponse.DeletableGroupResult:
    if error and message is None:
        message = _MESSAGES.get(error, ErrorCode(error).meaning)
    return DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=error, error_message=message)
