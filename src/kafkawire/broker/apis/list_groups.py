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
def handle(node: Node, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states, types = ({name.lower() for name in names} for names in (request.states_filter, request.types_filter))
    return ListGroupsResponse(
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=CLASSIC,
            )
            for group in node.groups
            if (not states or group.state.value.lower() in states) and (not types or CLASSIC in types)
        ]
    )
