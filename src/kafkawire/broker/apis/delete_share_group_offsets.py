"""DeleteShareGroupOffsets: v0. Deletes the offsets of topics of a share group that has no members.

Rules:
- share.version 0: UNSUPPORTED_VERSION. The empty name: INVALID_GROUP_ID. A group that does not exist, or is of another
  kind: GROUP_ID_NOT_FOUND. A group with members: NON_EMPTY_GROUP. These are errors of the whole request.
- An unknown topic, or one that the group has no offsets of: UNKNOWN_TOPIC_OR_PARTITION. A topic that the client may not
  read: TOPIC_AUTHORIZATION_FAILED. The others are deleted.
- If no topic of a request may be read, the group is not looked at.
- A topic that occurs more than once is answered once.
- The deletion is in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.broker.apis.share_group_heartbeat import check_share_protocol
from kafkawire.messages import DeleteShareGroupOffsetsResponse
from kafkawire.messages.errors import ErrorCode, InvalidGroupIdError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages import DeleteShareGroupOffsetsRequest

    Answer = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic

_NOTHING: Final = "There is no offset information to delete."


@serves("DeleteShareGroupOffsets")
async def handle(
    node: Node, request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> DeleteShareGroupOffsetsResponse:
    check_share_protocol(node)
    if not request.group_id:
        raise InvalidGroupIdError("The group id is invalid.")
    readable: dict[str, Topic | None] = {}
    hidden: dict[str, None] = {}
    for asked in request.topics:
        name = asked.topic_name
        if context.may(Operation.READ, ResourceType.TOPIC, name):
            readable[name] = node.topics.find(name)
        else:
            hidden[name] = None
        await context.yield_if_due()
    gone: Collection[UUID] = ()
    if readable or not hidden:
        topics = [topic.id for topic in readable.values() if topic is not None]
        gone = await node.groups.shares.delete(request.group_id, topics, context)
    response = DeleteShareGroupOffsetsResponse()
    for name in hidden:
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        response.responses.append(_answer(name, NO_ID, code, code.meaning))
        await context.yield_if_due()
    for name, topic in readable.items():
        response.responses.append(_outcome(name, topic, gone))
        await context.yield_if_due()
    return response


def _outcome(name: str, topic: Topic | None, gone: Collection[UUID]) -> Answer:
    if topic is not None and topic.id in gone:
        return _answer(name, topic.id)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _answer(name, NO_ID, code, code.meaning if topic is None else _NOTHING)


def _answer(name: str, topic_id: UUID, code: int = ErrorCode.NONE, message: str | None = None) -> Answer:
    return DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic_id, error_code=code, error_message=message
    )
