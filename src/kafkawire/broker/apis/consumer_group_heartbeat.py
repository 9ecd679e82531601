"""ConsumerGroupHeartbeat: v0-1. A member of the consumer protocol joins, reports, leaves, and gets its assignment.

Rules:
- v0: the broker names a member that joins without a name. v1: members name themselves; a regular expression may be part
  of the subscription.
- group.version 0, or a list of protocols without "consumer": UNSUPPORTED_VERSION.
- A join with names that no topic can have is taken in, as in Apache Kafka; such topics never exist.
- A regular expression matches only topics that the client may describe.
- The records of the heartbeat are in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.features import GROUP_VERSION
from kafkawire.broker.groups.consumer.heartbeat import Beat, check_request
from kafkawire.messages import ConsumerGroupHeartbeatResponse
from kafkawire.messages.errors import UnsupportedVersionError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.messages import ConsumerGroupHeartbeatRequest


def check_protocol(node: Node) -> None:
    """Refuse the consumer protocol if it is turned off."""
    protocols = {each.strip() for each in node.config.text("group.coordinator.rebalance.protocols").split(",")}
    if node.features.level(GROUP_VERSION) < 1 or "consumer" not in protocols:
        raise UnsupportedVersionError("the consumer group protocol is turned off")


@serves("ConsumerGroupHeartbeat")
async def handle(
    node: Node, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse:
    check_protocol(node)
    beat = Beat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.address[0]}",
        instance_id=request.instance_id,
        rack=request.rack_id,
        rebalance_timeout=request.rebalance_timeout_ms,
        topics=None if request.subscribed_topic_names is None else frozenset(request.subscribed_topic_names),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=await _owned(request, context),
        sees=None if context.access is None else partial(context.may, Operation.DESCRIBE, ResourceType.TOPIC),
    )
    check_request(beat, context.version, node.groups.assignors)
    result = await node.groups.consumer_heartbeat(beat)
    await node.groups.durable([request.group_id], context)
    response = ConsumerGroupHeartbeatResponse(
        member_id=result.member_id, member_epoch=result.epoch, heartbeat_interval_ms=result.interval
    )
    if result.assignment is not None:
        response.assignment = ConsumerGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=topic, partitions=sorted(partitions))
                for topic, partitions in result.assignment.items()
            ]
        )
    return response


async def _owned(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> dict[UUID, set[int]] | None:
    if request.topic_partitions is None:
        return None
    owned: dict[UUID, set[int]] = {}
    for each in request.topic_partitions:
        owned.setdefault(each.topic_id, set()).update(each.partitions)
        await context.yield_if_due()
    return owned
