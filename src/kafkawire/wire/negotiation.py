"""Which version of an API two sides use (KIP-35), and what happens when even that question is in an unknown version
(KIP-511).

Rules:
- A side speaks the highest version that both ranges hold; no common version is an error that names both ranges.
- A broker answers an ApiVersions request of any version; one it does not know gets a version 0 body, error 35, and
  the range of ApiVersions itself.
- A client that gets that answer asks again with the highest version of that range that it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.messages import Api, ApiVersionsRequest, ApiVersionsResponse, api
from kafkawire.messages.schema import Versions
from kafkawire.wire.errors import NegotiationError
from kafkawire.wire.headers import API_VERSIONS, encode_response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.messages import RequestHeader

UNSUPPORTED_VERSION: Final = 35


def common_version(which: Api | int | str, theirs: Versions, ours: Versions | None = None) -> int:
    """The highest version of an API in both ranges; ours is the schema's where none is given.

    >>> common_version("Fetch", Versions(4, 12))
    12
    """
    known = which if isinstance(which, Api) else api(which)
    mine = known.versions if ours is None else ours
    common = mine & theirs
    if not common:
        raise NegotiationError(f"{known.name}: no common version; we have {mine}, the peer has {theirs}")
    return common.last


class Negotiated:
    """What one peer serves, and the version to use for each API with it."""

    def __init__(self, ranges: dict[int, Versions]) -> None:
        self.ranges = ranges

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> Negotiated:
        return cls({entry.api_key: Versions(entry.min_version, entry.max_version) for entry in response.api_keys})

    def version(self, which: int | str) -> int:
        """The version to use; NegotiationError where the peer does not serve the API or no version is common."""
        known = api(which)
        theirs = self.ranges.get(known.key)
        if theirs is None:
            raise NegotiationError(f"{known.name}: the peer does not serve this API (key {known.key})")
        return common_version(known, theirs)


def retry_version(response: ApiVersionsResponse) -> int | None:
    """For a client: the version to ask again with after an answer of UNSUPPORTED_VERSION, or None if it was good.

    An answer that names no range (brokers before KIP-511) means version 0.
    """
    if response.error_code != UNSUPPORTED_VERSION:
        return None
    ranges = [entry for entry in response.api_keys if entry.api_key == API_VERSIONS]
    if not ranges:
        return 0
    return common_version(API_VERSIONS, Versions(ranges[0].min_version, ranges[0].max_version))


def answer_unsupported(header: RequestHeader, served: Versions | None = None) -> bytes:
    """For a broker: the frame that answers an ApiVersions request of a version it does not have."""
    versions = api(API_VERSIONS).versions if served is None else served
    entry = ApiVersionsResponse.ApiVersion(api_key=API_VERSIONS, min_version=versions.first, max_version=versions.last)
    response = ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[entry])
    return encode_response(response, api_key=API_VERSIONS, version=0, correlation_id=header.correlation_id)


def answer_supported(served: Iterable[tuple[int, Versions]]) -> ApiVersionsResponse:
    """For a broker: the answer that lists what it serves, by key."""
    return ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=versions.first, max_version=versions.last)
            for key, versions in sorted(served)
        ]
    )


def introduction(name: str, version: str) -> ApiVersionsRequest:
    """For a client: the first request on a connection, with its software name and version."""
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)
