"""SyncGroup: v0-5. A member gets its assignment; the response is sent when the leader has provided all.

Rules:
- v3+: static members by group.instance.id. v5+: protocol type and name must be given, and be those of the group.
- The assignment is in the log before any member gets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.groups.protocol import Sync
from kafkawire.messages import SyncGroupResponse
from kafkawire.messages.errors import InconsistentGroupProtocolError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import SyncGroupRequest


@serves("SyncGroup")
async def handle(node: Node, request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    if context.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        raise InconsistentGroupProtocolError("no protocol type or name, which v5 asks for")
    assignments: dict[str, bytes] = {}
    for each in request.assignments:
        assignments[each.member_id] = bytes(each.assignment)
        await context.yield_if_due()
    sync = Sync(
        group_id=request.group_id,
        member_id=request.member_id,
        generation=request.generation_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=assignments,
    )
    result = await node.groups.sync(sync)
    return SyncGroupResponse(
        error_code=result.error,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )
