"""LeaveGroup: v0-5. Members leave, or an administrator removes them.

Rules:
- v0-2: one member, its error on top. v3+: many, each with its own error; the top-level error is about the group.
- v3+: without a member id, the member that holds the group.instance.id is removed.
- The reason that v5 may give is ignored; it is for people who read traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.groups.protocol import Leaver
from kafkawire.messages import LeaveGroupResponse
from kafkawire.messages.errors import InvalidGroupIdError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import LeaveGroupRequest


@serves("LeaveGroup")
async def handle(node: Node, request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse:
    if not request.group_id:
        raise InvalidGroupIdError("the empty name is not a group that members can leave")
    if context.version < 3:
        (error,) = await node.groups.leave(request.group_id, [Leaver(request.member_id)], context)
        return LeaveGroupResponse(error_code=error)
    leavers = (Leaver(each.member_id, each.group_instance_id) for each in request.members)
    errors = await node.groups.leave(request.group_id, leavers, context)
    response = LeaveGroupResponse()
    for leaver, error in zip(request.members, errors, strict=True):
        response.members.append(
            LeaveGroupResponse.MemberResponse(
                member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=error
            )
        )
        await context.yield_if_due()
    return response
