"""GetTelemetrySubscriptions: v0. Answers which metrics a client shall push, and how often (KIP-714).

Rules:
- The zero id asks for an id. Any other one is the client's own, from an earlier answer.
- A client that asks again within its interval gets THROTTLING_QUOTA_EXCEEDED, unless the subscriptions have changed.
- No permission is needed, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._telemetry.service import codecs
from kafkawire.messages import GetTelemetrySubscriptionsResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import GetTelemetrySubscriptionsRequest


@serves("GetTelemetrySubscriptions")
async def handle(
    node: Node, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> GetTelemetrySubscriptionsResponse:
    instance = await node.telemetry.ask(request.client_instance_id, context)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance.id,
        subscription_id=instance.wanted.id,
        accepted_compression_types=codecs(),
        push_interval_ms=instance.wanted.interval_ms,
        telemetry_max_bytes=node.telemetry.max_bytes,
        delta_temporality=True,
        requested_metrics=[*instance.wanted.metrics],
    )
