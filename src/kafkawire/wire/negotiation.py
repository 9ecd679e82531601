"""The choice of API versions between two peers (KIP-35), also if ApiVersions itself has an unknown version (KIP-511).

Rules:
- A peer uses the highest version in both ranges. If there is none, the error names both ranges.
- A broker answers an ApiVersions request of any version. For an unknown version the response has version 0, error 35,
  and the range of ApiVersions itself.
- A client that gets this response asks again with the highest version of that range that it supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import Api, ApiVersionsRequest, ApiVersionsResponse, api
from kafkawire.messages.schema import Versions
from kafkawire.wire.errors import NegotiationError
from kafkawire.wire.headers import API_VERSIONS, encode_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.messages import RequestHeader

UNSUPPORTED_VERSION: Final = 35


def common_version(which: Api | int | str, theirs: Versions, ours: Versions | None = None) -> int:
    """The highest version of an API in both ranges; `ours` is the schema's range by default.

    >>> common_version("Fetch", Versions(4, 12))
    12
    """
    known = which if isinstance(which, Api) else api(which)
    mine = known.versions if ours is None else ours
    common = mine & theirs
    if not common:
        raise NegotiationError(f"{known.name}: no common version; we have {mine}, the peer has {theirs}")
    return common.last


class Features(NamedTuple):
    """The finalized features of a cluster (KIP-584): each level by name, and the epoch of this state.

    The epoch grows with every change; -1 means that the broker does not know the features.
    """

    epoch: int
    levels: Mapping[str, int]

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> Features:
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        return cls(response.finalized_features_epoch, levels)

    def level(self, name: str) -> int:
        """The level of a feature; 0 if it is not finalized, or the features are not known."""
        return self.levels.get(name, 0) if self.epoch >= 0 else 0


NO_FEATURES: Final = Features(-1, {})


class Negotiated:
    """The versions that one peer serves, and the version to use for each API."""

    def __init__(self, ranges: dict[int, Versions], features: Features | None = None) -> None:
        self.ranges = ranges
        self.features = NO_FEATURES if features is None else features

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> Negotiated:
        ranges = {entry.api_key: Versions(entry.min_version, entry.max_version) for entry in response.api_keys}
        return cls(ranges, Features.from_response(response))

    def version(self, which: int | str) -> int:
        """The version to use; NegotiationError if the peer does not serve the API or no version is common."""
        known = api(which)
        theirs = self.ranges.get(known.key)
        if theirs is None:
            raise NegotiationError(f"{known.name}: the peer does not serve this API (key {known.key})")
        return common_version(known, theirs)


def retry_version(response: ApiVersionsResponse) -> int | None:
    """For a client: the version to ask again with after UNSUPPORTED_VERSION, or None if there was no error.

    A response without a range (brokers before KIP-511) means version 0.
    """
    if response.error_code != UNSUPPORTED_VERSION:
        return None
    ranges = [entry for entry in response.api_keys if entry.api_key == API_VERSIONS]
    if not ranges:
        return 0
    return common_version(API_VERSIONS, Versions(ranges[0].min_version, ranges[0].max_version))


def answer_unsupported(header: RequestHeader, served: Versions | None = None) -> bytes:
    """For a broker: the response frame to an ApiVersions request of an unknown version."""
    versions = api(API_VERSIONS).versions if served is None else served
    entry = ApiVersionsResponse.ApiVersion(api_key=API_VERSIONS, min_version=versions.first, max_version=versions.last)
    response = ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[entry])
    return encode_response(response, api_key=API_VERSIONS, version=0, correlation_id=header.correlation_id)


def answer_supported(served: Iterable[tuple[int, Versions]]) -> ApiVersionsResponse:
    """For a broker: the response that lists the served APIs, by key."""
    return ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=versions.first, max_version=versions.last)
            for key, versions in sorted(served)
        ]
    )


def introduction(name: str, version: str, cluster_id: str | None = None, node_id: int = -1) -> ApiVersionsRequest:
    """For a client: the first request on a connection, with its software, and the broker that it expects, if any."""
    return ApiVersionsRequest(
        client_software_name=name, client_software_version=version, cluster_id=cluster_id, node_id=node_id
    )
