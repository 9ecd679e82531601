"""JoinGroup: v0-9. A member joins its group; the response is sent when the rebalance ends.

Rules:
- v0 has one timeout for both. v4+: a new dynamic member first gets its id with MEMBER_ID_REQUIRED. v5+: static members
  by group.instance.id. v9: a static leader that rejoins skips the assignment.
- A member may support MOST_PROTOCOLS; with more it gets INCONSISTENT_GROUP_PROTOCOL. Apache Kafka has no limit, but
  the protocols of all members are compared with every join.
- Only the leader gets the list of members. The protocol's name is null on errors from v7 on, empty before.
- The reason that v8+ may give is ignored; it is for people who read traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.groups.protocol import Join, Protocol
from kafkawire.messages import JoinGroupResponse
from kafkawire.messages.errors import InconsistentGroupProtocolError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import JoinGroupRequest

MOST_PROTOCOLS: Final = 100


def refuse(request: JoinGroupRequest, error: Refusal, context: RequestContext) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error.code, member_id=request.member_id, protocol_name=_protocol_name(None, context)
    )


@serves("JoinGroup", refuse=refuse)
async def handle(node: Node, request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse:
    version = context.version
    if len(request.protocols) > MOST_PROTOCOLS:
        raise InconsistentGroupProtocolError(
            f"{len(request.protocols)} protocols of one member, expected at most {MOST_PROTOCOLS}"
        )
    join = Join(
        group_id=request.group_id,
        member_id=request.member_id,
        client_id=context.client_id or "",
        client_host=f"/{context.address[0]}",
        session_timeout=request.session_timeout_ms,
        rebalance_timeout=request.session_timeout_ms if version == 0 else request.rebalance_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(Protocol(each.name, bytes(each.metadata)) for each in request.protocols),
        instance_id=request.group_instance_id,
        needs_known_id=version >= 4,
        can_skip_assignment=version >= 9,
    )
    result = await node.groups.join(join)
    response = JoinGroupResponse(
        error_code=result.error,
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=_protocol_name(result.protocol_name, context),
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
    )
    context.begin_turn()
    for each in result.members:
        response.members.append(
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=each.member_id, group_instance_id=each.instance_id, metadata=each.metadata
            )
        )
        await context.yield_if_due()
    return response


def _protocol_name(name: str | None, context: RequestContext) -> str | None:
    return "" if name is None and context.version < 7 else name
