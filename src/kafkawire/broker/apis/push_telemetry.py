"""PushTelemetry: v0. Takes the metrics of a client (KIP-714).

Rules:
- The checks are Kafka's, in its order: the id (INVALID_REQUEST), an instance that has ended (INVALID_REQUEST), the
  interval (THROTTLING_QUOTA_EXCEEDED), the subscription (UNKNOWN_SUBSCRIPTION_ID), the codec
  (UNSUPPORTED_COMPRESSION_TYPE), the size (TELEMETRY_TOO_LARGE), the metrics (INVALID_RECORD).
- No permission is needed, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import PushTelemetryResponse
from kafkawire.messages.errors import InvalidRequestError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import PushTelemetryRequest

RESERVED: Final = (UUID(int=0), UUID(int=1))


@serves("PushTelemetry")
async def handle(node: Node, request: PushTelemetryRequest, context: RequestContext) -> PushTelemetryResponse:
    instance_id = request.client_instance_id
    if instance_id in RESERVED:
        raise InvalidRequestError(f"client instance id {instance_id}: no client has this one")
    await node.telemetry.push(
        instance_id,
        request.subscription_id,
        request.compression_type,
        request.metrics,
        context,
        is_last=request.terminating,
    )
    return PushTelemetryResponse()
