"""ListGroups: v0-5. Lists the groups of this broker.

Rules:
- v4+ filters by state, v5 also by type. Names are case-insensitive. An empty list does not filter. An unknown name
  matches nothing.
- A client that may not describe the cluster sees the groups that it may describe.
- Types are "classic", "consumer" and "streams".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import ListGroupsResponse
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ListGroupsRequest


@serves("ListGroups")
async def handle(node: Node, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states = await _names(request.states_filter, context)
    types = await _names(request.types_filter, context)
    response = ListGroupsResponse()
    sees_all = context.may(Operation.DESCRIBE, ResourceType.CLUSTER)
    for group in list(node.groups):
        state = group.state.value
        if not (sees_all or context.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id)):
            await context.yield_if_due()
            continue
        if (not states or state.lower() in states) and (not types or group.kind in types):
            response.groups.append(
                ListGroupsResponse.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=state,
                    group_type=group.kind,
                )
            )
        await context.yield_if_due()
    return response


async def _names(filters: list[str], context: RequestContext) -> set[str]:
    names = set()
    for name in filters:
        names.add(name.lower())
        await context.yield_if_due()
    return names
