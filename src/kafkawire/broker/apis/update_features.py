"""UpdateFeatures: v0-2. Finalizes levels of features (`_metadata.features`).

Rules:
- All updates are valid and done, or none is: INVALID_UPDATE_VERSION. Of a repeated feature the last update counts.
- v0 has no upgrade type. Its AllowDowngrade is ignored, as in Kafka, so that v0 only upgrades.
- v1+: ValidateOnly checks and changes nothing.
- v0 and v1 list one result per update if all succeeded; v2 has no results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.features import FeatureUpdate
from kafkawire.messages import UpdateFeaturesResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import UpdateFeaturesRequest


@serves("UpdateFeatures")
async def handle(node: Node, request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    updates = {}
    results = []
    for each in request.feature_updates:
        updates[each.feature] = FeatureUpdate(each.max_version_level, each.upgrade_type)
        if context.version < 2:
            results.append(UpdateFeaturesResponse.UpdatableFeatureResult(feature=each.feature, error_message="NONE"))
        await context.yield_if_due()
    await node.changes.run(node.changes.feature_levels(updates, validate_only=request.validate_only))
    return UpdateFeaturesResponse(error_message=None, results=results)
