"""SyncGroup: v0-5. A member asks for its part, the leader brings everyone's; answered when the leader has.

Rules:
- v3+: static members by group.instance.id. v5+: protocol type and name, if given, must be those of the group.
- The assignment is in the log before anyone is told of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.exchanges import Sync
from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import SyncGroupResponse

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import SyncGroupRequest


@serves("SyncGroup")
async def handle(node: Node, request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    sync = Sync(
        group_id=request.group_id,
        member_id=request.member_id,
        generation=request.generation_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    result = await node.groups.sync(sync)
    return SyncGroupResponse(
        error_code=result.error,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )
