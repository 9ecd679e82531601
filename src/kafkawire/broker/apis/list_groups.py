"""ListGroups: v0-5. Every group of this broker.

Rules:
- v4+: only groups in one of the states asked for; v5: and of one of the types. Names count in any case, an empty list
  is no filter, and a name that does not exist fits nothing.
- All groups are of the type "classic".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import ListGroupsResponse

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import ListGroupsRequest

CLASSIC = "classic"


@serves("ListGroups")
async def handle(node: Node, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states = await _names(request.states_filter, context)
    types = await _names(request.types_filter, context)
    response = ListGroupsResponse()
    for group in list(node.groups):
        state = group.state.value
        if (not states or state.lower() in states) and (not types or CLASSIC in types):
            response.groups.append(
                ListGroupsResponse.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=state,
                    group_type=CLASSIC,
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
