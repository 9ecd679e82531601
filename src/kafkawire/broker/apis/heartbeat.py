"""Heartbeat: v0-4. A member says that it is alive, and is told whether to join again.

Rules:
- v3+: static members by group.instance.id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.exchanges import MemberKey
from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import HeartbeatResponse

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import HeartbeatRequest


@serves("Heartbeat")
def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    key = MemberKey(request.member_id, request.generation_id, request.group_instance_id)
    return HeartbeatResponse(error_code=node.groups.heartbeat(request.group_id, key))
