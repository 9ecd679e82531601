"""DeleteGroups: v0-2. Groups are forgotten, with all they have committed.

Rules:
- A group with members: NON_EMPTY_GROUP. One that is not there: GROUP_ID_NOT_FOUND.
- That a group is gone is in the log, as firmly as the broker promises, before it is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DeleteGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker.node import Node
    from kafkawire.messages import DeleteGroupsRequest


def refuse(request: DeleteGroupsRequest, error: ErrorAnswer, context: RequestContext) -> DeleteGroupsResponse:
    return _respond(dict.fromkeys(request.groups_names, error.code))


@serves("DeleteGroups", refuse=refuse)
def handle(
    node: Node, request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
    names = list(dict.fromkeys(request.groups_names))
    errors: dict[str, int] = {name: node.groups.delete(name) for name in names}
    return node.groups.when_settled(names, _respond(errors))


def _respond(errors: dict[str, int]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=error) for name, error in errors.items()
        ]
    )
