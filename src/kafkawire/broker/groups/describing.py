"""The answers about groups of one kind: ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe.

Rules:
- A group that occurs more than once is answered once. Apache Kafka answers every occurrence, so that a small request
  can have a response of any size.
- The empty name: INVALID_GROUP_ID. A group that does not exist, or is of another kind: GROUP_ID_NOT_FOUND.
- A group with a topic that the client may not describe: TOPIC_AUTHORIZATION_FAILED, without anything else.
- An answer is sent when the changes of its groups are durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kafkawire.broker._dispatch.registry import Refusal, RequestContext
    from kafkawire.broker._node import Node

G = TypeVar("G")
D = TypeVar("D", bound=Any)
_HIDDEN: Final = "the group has topics that the client is not authorized to describe"


def find_group(node: Node, group_id: str, kind: type[G], name: str) -> G:
    """The group of a name; GROUP_ID_NOT_FOUND if there is none, or one of another kind."""
    group = node.groups.find(group_id)
    if group is None:
        raise GroupIdNotFoundError(f"Group {group_id} not found.")
    if not isinstance(group, kind):
        raise GroupIdNotFoundError(f"Group {group_id} is not a {name} group.")
    return group


async def describe_groups(
    node: Node,
    request: Any,
    context: RequestContext,
    kind: type[D],
    describe: Callable[[str], Awaitable[D]],
    topics: Callable[[D], Iterable[str]],
) -> list[D]:
    """The answer for each group of a request; `topics` are those that an answer discloses."""
    groups: dict[str, D] = {}
    for group_id in request.group_ids:
        if group_id not in groups:
            groups[group_id] = found = await _described(group_id, context, kind, describe, topics)
            if request.include_authorized_operations and not found.error_code:
                found.authorized_operations = context.operations_on(ResourceType.GROUP, group_id)
        await context.yield_if_due()
    await node.groups.durable(groups, context)
    return list(groups.values())


def refused(request: Any, refusal: Refusal, kind: type[D]) -> list[D]:
    """The answer for each group of a request that is refused as a whole."""
    return [_failed(kind, group_id, refusal.code) for group_id in dict.fromkeys(request.group_ids)]


async def _described(
    group_id: str,
    context: RequestContext,
    kind: type[D],
    describe: Callable[[str], Awaitable[D]],
    topics: Callable[[D], Iterable[str]],
) -> D:
    if not group_id:
        return _failed(kind, group_id, ErrorCode.INVALID_GROUP_ID)
    try:
        found = await describe(group_id)
    except GroupIdNotFoundError as error:
        return _failed(kind, group_id, error.code, error.message)
    if context.access is not None:
        for name in set(topics(found)):
            if not context.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
                return _failed(kind, group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, _HIDDEN)
    return found


def _failed(kind: type[D], group_id: str, code: int, message: str | None = None) -> D:
    failed: D = kind(group_id=group_id, error_code=code, error_message=message)
    return failed
