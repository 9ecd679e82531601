"""ApiVersions: v0-5. The APIs and versions of this broker.

Rules:
- The list has one entry per file of this package. The APIs of telemetry are listed while there is a subscription.
- A version that is not served is answered by the dispatcher, without a handler.
- From v3 on the client's software name and version must be letters, digits, '-' and '.' that begin and end with a
  letter or digit; else INVALID_REQUEST.
- v5 has the cluster and the node that the client expects here, both or neither (else INVALID_REQUEST). Any other broker
  answers REBOOTSTRAP_REQUIRED, and the client starts again from its bootstrap servers (KIP-1242).
- The lists are kept and shared by responses, so nothing may change them.
- v3+ lists the features of `_metadata.features`. Clients of v3 refuse a supported range that begins at 0, so it is left
  out below v4 (KAFKA-17011).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, served_apis, serves
from kafkawire.messages import ApiVersionsResponse
from kafkawire.messages.errors import InvalidRequestError, RebootstrapRequiredError
from kafkawire.wire import answer_supported

if TYPE_CHECKING:
    from kafkawire.broker._metadata.features import Feature
    from kafkawire.broker._node import Node
    from kafkawire.messages import ApiVersionsRequest

UNKNOWN_NODE: Final = -1
MOST_KEPT: Final = 64
"""The lists of features that are kept between requests."""
TELEMETRY: Final = ("GetTelemetrySubscriptions", "PushTelemetry")
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@serves("ApiVersions")
def handle(node: Node, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    if context.version >= 5:
        _check_destination(node, request)
    if context.version >= 3:
        for value in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE.fullmatch(value):
                raise InvalidRequestError(f"client software {value!r}: expected letters, digits, '-' and '.'")
        context.peer.software = request.client_software_name, request.client_software_version
    if context.peer.session is not None:
        context.peer.session.versions_answered()
    return ApiVersionsResponse(
        api_keys=_listed(with_telemetry=node.telemetry.is_on).api_keys,
        supported_features=_supported(tuple(node.features.supported.values()), with_zero=context.version >= 4),
        finalized_features_epoch=node.features.epoch,
        finalized_features=_finalized(tuple(node.features.finalized.items())),
    )


def _check_destination(node: Node, request: ApiVersionsRequest) -> None:
    if (request.cluster_id is None) != (request.node_id == UNKNOWN_NODE):
        words = f"cluster id {request.cluster_id!r} and node id {request.node_id}: expected both or neither"
        raise InvalidRequestError(words)
    if request.cluster_id is not None and (request.cluster_id, request.node_id) != (node.cluster_id, node.id):
        words = f"node {request.node_id} of cluster {request.cluster_id!r} is expected here"
        raise RebootstrapRequiredError(f"{words}, this is node {node.id} of {node.cluster_id!r}")


@lru_cache(MOST_KEPT)
def _supported(features: tuple[Feature, ...], *, with_zero: bool) -> list[ApiVersionsResponse.SupportedFeatureKey]:
    return [
        ApiVersionsResponse.SupportedFeatureKey(
            name=feature.name, min_version=feature.lowest, max_version=feature.highest
        )
        for feature in features
        if feature.lowest > 0 or with_zero
    ]


@lru_cache(MOST_KEPT)
def _finalized(levels: tuple[tuple[str, int], ...]) -> list[ApiVersionsResponse.FinalizedFeatureKey]:
    return [
        ApiVersionsResponse.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
        for name, level in levels
    ]


@cache
def _listed(*, with_telemetry: bool) -> ApiVersionsResponse:
    return answer_supported(
        (key, served.versions)
        for key, served in served_apis().items()
        if with_telemetry or served.api.name not in TELEMETRY
    )
