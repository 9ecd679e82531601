"""ShareGroupHeartbeat: v1. A member of a share group joins, reports, leaves, and gets its assignment.

Rules:
- share.version 0: UNSUPPORTED_VERSION. A member id that is empty or longer than 36 characters: INVALID_REQUEST.
- Partitions are assigned when their first state is stored. So the answer to the first member of a group has none.
- The records of the heartbeat are in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.features import SHARE_VERSION
from kafkawire.broker.groups.share.heartbeat import ShareBeat, check_request
from kafkawire.broker.share.sessions import SessionKey
from kafkawire.messages import ShareGroupHeartbeatResponse
from kafkawire.messages.errors import InvalidRequestError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ShareAcknowledgeRequest, ShareFetchRequest, ShareGroupHeartbeatRequest

_LONGEST_MEMBER_ID: Final = 36


def check_share_protocol(node: Node) -> None:
    """Refuse the share protocol if it is turned off."""
    if node.features.level(SHARE_VERSION) < 1:
        raise UnsupportedVersionError("the share group protocol is turned off")


def check_member_id(member_id: str | None) -> None:
    """Refuse what cannot be the id of a member of a share group."""
    if not member_id or len(member_id) > _LONGEST_MEMBER_ID:
        raise InvalidRequestError("Invalid member id in the request.")


def session_key(node: Node, request: ShareFetchRequest | ShareAcknowledgeRequest) -> SessionKey:
    """The share session of a request, by its group and member."""
    check_share_protocol(node)
    if request.group_id is None:
        raise InvalidRequestError("Invalid group id in the request.")
    check_member_id(request.member_id)
    assert request.member_id is not None
    return SessionKey(request.group_id, request.member_id)


@serves("ShareGroupHeartbeat")
async def handle(
    node: Node, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> ShareGroupHeartbeatResponse:
    check_share_protocol(node)
    check_member_id(request.member_id)
    beat = ShareBeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.address[0]}",
        rack=request.rack_id,
        topics=None if request.subscribed_topic_names is None else frozenset(request.subscribed_topic_names),
    )
    check_request(beat)
    result = await node.groups.share_heartbeat(beat, context)
    await node.groups.durable([request.group_id], context)
    response = ShareGroupHeartbeatResponse(
        member_id=result.member_id, member_epoch=result.epoch, heartbeat_interval_ms=result.interval
    )
    if result.assignment is not None:
        response.assignment = ShareGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ShareGroupHeartbeatResponse.TopicPartitions(topic_id=topic, partitions=sorted(partitions))
                for topic, partitions in result.assignment.items()
            ]
        )
    return response
