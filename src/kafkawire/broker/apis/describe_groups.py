"""DescribeGroups: v0-6. Describes groups and their members.

Rules:
- A group that does not exist, or is not of the classic protocol, is Dead. From v6 on the error is GROUP_ID_NOT_FOUND,
  with a message.
- A group that occurs more than once is answered once. Apache Kafka answers every occurrence, so that a small
  request can have a response of any size.
- The metadata of members and the name of the protocol are returned for stable groups only. They change during a
  rebalance. The last assignment is returned until there is a new one.
- v3+: authorized operations, if requested. v4+: group.instance.id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.messages import DescribeGroupsResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeGroupsRequest


def refuse(request: DescribeGroupsRequest, error: Refusal, context: RequestContext) -> DescribeGroupsResponse:
    message = error.message if context.version >= 6 else None
    return DescribeGroupsResponse(
        groups=[
            DescribeGroupsResponse.DescribedGroup(group_id=each, error_code=error.code, error_message=message)
            for each in dict.fromkeys(request.groups)
        ]
    )


@serves("DescribeGroups", refuse=refuse)
async def handle(node: Node, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    groups: dict[str, DescribeGroupsResponse.DescribedGroup] = {}
    for group_id in request.groups:
        if group_id not in groups:
            group = node.groups.find(group_id)
            if isinstance(group, Group):
                described = await _describe(group, context)
            else:
                reason = "not found" if group is None else "is not a classic group"
                described = _missing(group_id, context.version, reason)
            if not described.error_code:
                asked = request.include_authorized_operations
                described.authorized_operations = (
                    context.operations_on(ResourceType.GROUP, group_id) if asked else operations.NOT_ASKED
                )
            groups[group_id] = described
        await context.yield_if_due()
    return DescribeGroupsResponse(groups=list(groups.values()))


def _missing(group_id: str, version: int, reason: str) -> DescribeGroupsResponse.DescribedGroup:
    described = DescribeGroupsResponse.DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
    if version >= 6:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"Group {group_id} {reason}."
    return described


async def _describe(group: Group, context: RequestContext) -> DescribeGroupsResponse.DescribedGroup:
    protocol = group.protocol_name if group.state is State.STABLE else None
    described = DescribeGroupsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
    )
    for member in list(group.members.values()):
        described.members.append(
            DescribeGroupsResponse.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if protocol is not None else b"",
                member_assignment=member.assignment,
            )
        )
        await context.yield_if_due()
    return described
