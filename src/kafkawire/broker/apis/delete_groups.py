"""DeleteGroups: v0-2. Groups are forgotten, with all they have committed.

Rules:
- A group with members: NON_EMPTY_GROUP. One that is not there: GROUP_ID_NOT_FOUND.
- A name that occurs more than once is answered once.
- That a group is gone is in the log, as firmly as the broker promises, before it is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DeleteGroupsResponse

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import DeleteGroupsRequest


def refuse(request: DeleteGroupsRequest, error: ErrorAnswer, context: RequestContext) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[_result(name, error.code) for name in dict.fromkeys(request.groups_names)])


@serves("DeleteGroups", refuse=refuse)
async def handle(node: Node, request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    errors: dict[str, int] = {}
    for name in request.groups_names:
        if name not in errors:
            errors[name] = await node.groups.delete(name, context)
        await context.yield_if_due()
    await node.groups.settle((name for name, error in errors.items() if not error), context)
    response = DeleteGroupsResponse()
    for name, error in errors.items():
        response.results.append(_result(name, error))
        await context.yield_if_due()
    return response


def _result(name: str, error: int) -> DeleteGroupsResponse.DeletableGroupResult:
    return DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=error)
