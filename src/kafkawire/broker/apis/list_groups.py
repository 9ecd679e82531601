"""ListGroups: v0-5. Lists the groups of this broker.

Rules:
- v4+ filters by state, v5 also by type. Names are case-insensitive. An empty list does not filter. An unknown name
  matches nothing.
- Types are "classic" and "consumer".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import ListGroupsResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ListGroupsRequest


@serves("ListGroups")
async def handle(node: Node, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states = await _names(request.states_filter, context)
    types = await _names(request.types_filter, context)
    response = ListGroupsResponse()
    for group in list(node.groups):
        state = group.state.value
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
