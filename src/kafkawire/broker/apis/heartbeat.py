"""Heartbeat: v0-4. A member reports that it is alive, and learns whether to rejoin.

Rules:
- v3+: static members by group.instance.id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.messages import HeartbeatResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import HeartbeatRequest


@serves("Heartbeat")
def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    key = MemberKey(request.member_id, request.generation_id, request.group_instance_id)
    return HeartbeatResponse(error_code=node.groups.heartbeat(request.group_id, key))
