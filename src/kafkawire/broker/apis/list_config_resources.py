"""ListConfigResources: v0-1. Lists the resources that have settings.

Rules:
- v0 lists subscriptions to client metrics. v1 lists by type, all if none is named: topics (2), this broker (4),
  subscriptions (16) and groups (32) with own settings. There are no loggers (8).
- A type that does not exist: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.settings import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, TOPIC_RESOURCE
from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import ListConfigResourcesResponse
from kafkawire.messages.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ListConfigResourcesRequest

TYPES: Final = frozenset({2, 4, 8, 16, 32})


@serves("ListConfigResources")
async def handle(
    node: Node, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    wanted = set(request.resource_types) or TYPES
    if context.version == 0:
        wanted = {CLIENT_METRICS_RESOURCE}
    if not wanted <= TYPES:
        raise UnsupportedVersionError(f"resource types {sorted(wanted - TYPES)}, expected some of {sorted(TYPES)}")
    found = [(topic.name, TOPIC_RESOURCE) for topic in node.topics] if TOPIC_RESOURCE in wanted else []
    if BROKER_RESOURCE in wanted:
        found.append((str(node.id), BROKER_RESOURCE))
    for kind, configs in node.own_settings.items():
        if kind in wanted:
            found += ((name, kind) for name in configs.own)
    response = ListConfigResourcesResponse()
    for name, kind in found:
        response.config_resources.append(
            ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
        )
        await context.yield_if_due()
    return response
