"""ShareAcknowledge: v1-2. Acknowledges records that a member of a share group has acquired.

Rules:
- The checks, the session and the acknowledgements are those of ShareFetch. A session does not begin here: epoch 0 is
  INVALID_SHARE_SESSION_EPOCH.
- v2 adds renewals of locks, and the response has the time that locks last.
- The last request of a session (-1) releases what the member holds after its acknowledgements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.share_group_heartbeat import session_key
from kafkawire.broker.share.acknowledging import acknowledge
from kafkawire.broker.share.sessions import FINAL, INITIAL
from kafkawire.messages import ShareAcknowledgeResponse
from kafkawire.messages.errors import InvalidShareSessionEpochError

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.messages import ShareAcknowledgeRequest


def refuse(request: ShareAcknowledgeRequest, refusal: Refusal, context: RequestContext) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=refusal.code)


@serves("ShareAcknowledge", refuse=refuse)
async def handle(node: Node, request: ShareAcknowledgeRequest, context: RequestContext) -> ShareAcknowledgeResponse:
    key = session_key(node, request)
    if request.share_session_epoch == INITIAL:
        raise InvalidShareSessionEpochError("epoch 0 begins a share session, which only ShareFetch does")
    node.shares.sessions.proceed(key, request.share_session_epoch)
    renews = context.version >= 2 and request.is_renew_ack
    outcomes = await acknowledge(node, key, request.topics, context, renews=renews)
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=node.shares.lock_duration(key.group_id))
    topics: dict[UUID, ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = {}
    for (topic_id, index), (code, message) in outcomes.items():
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse(topic_id=topic_id)
            response.responses.append(topic)
        topic.partitions.append(
            ShareAcknowledgeResponse.PartitionData(partition_index=index, error_code=code, error_message=message)
        )
        await context.yield_if_due()
    if request.share_session_epoch == FINAL:
        node.shares.end_session(key)
    return response
