"""StreamsGroupTopologyDescriptionUpdate: v0. A member describes the topology of its application, for tools.

Rules:
- streams.version 0, or a list of protocols without "streams": UNSUPPORTED_VERSION. An empty name of the group or of the
  member: INVALID_REQUEST.
- A member that the group does not have, or a group that does not exist: UNKNOWN_MEMBER_ID, so that the client joins
  again. A group of another kind: GROUP_ID_NOT_FOUND. Another epoch than that of the topology: INVALID_REQUEST.
- The description replaces the one before. It is kept in memory until the group ends or the broker stops.
- No released broker serves this API. The errors follow the definition of the message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.apis.streams_group_heartbeat import check_protocol
from kafkawire.broker.groups.streams.description import Description, describe
from kafkawire.messages import StreamsGroupTopologyDescriptionUpdateResponse
from kafkawire.messages.errors import InvalidRequestError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import StreamsGroupTopologyDescriptionUpdateRequest


@serves("StreamsGroupTopologyDescriptionUpdate")
def handle(
    node: Node, request: StreamsGroupTopologyDescriptionUpdateRequest, context: RequestContext
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    check_protocol(node)
    for name, value in (("GroupId", request.group_id), ("MemberId", request.member_id)):
        if not value.strip():
            raise InvalidRequestError(f"{name} can't be empty.")
    description = Description(request.topology_epoch, request.topology_description)
    describe(node.groups.find(request.group_id), request.member_id, description, context.size)
    return StreamsGroupTopologyDescriptionUpdateResponse()
