"""Versions in common, and ApiVersions between strangers."""

from __future__ import annotations

import pytest

from kafkawire.messages import ApiVersionsResponse, RequestHeader
from kafkawire.messages.schema import Versions
from kafkawire.wire import (
    Negotiated,
    NegotiationError,
    answer_supported,
    answer_unsupported,
    common_version,
    decode_response,
    retry_version,
)


@pytest.mark.parametrize(("theirs", "version"), [(Versions(0, 5), 5), (Versions(4, 99), 18), (Versions(18, 18), 18)])
def test_the_highest_version_of_both_is_used(theirs: Versions, version: int) -> None:
    assert common_version("Fetch", theirs) == version


def test_no_common_version_names_both_ranges() -> None:
    with pytest.raises(NegotiationError, match="Fetch: no common version; we have 0-18, the peer has 19-25"):
        common_version("Fetch", Versions(19, 25))


def test_a_peer_is_asked_only_for_what_it_serves() -> None:
    peer = Negotiated.from_response(answer_supported([(1, Versions(0, 11)), (0, Versions(3, 8))]))
    assert (peer.version("Produce"), peer.version(1)) == (8, 11)
    with pytest.raises(NegotiationError, match="Metadata: the peer does not serve this API"):
        peer.version("Metadata")


def test_a_broker_answers_an_unknown_version_with_its_own_range_and_the_client_asks_again() -> None:
    header = RequestHeader(request_api_key=18, request_api_version=77, correlation_id=5)
    frame = answer_unsupported(header, served=Versions(0, 3))
    assert frame.hex() == "00000010" + "00000005" + "0023" + "00000001" + "0012" + "0000" + "0003"
    _, response = decode_response(frame, api_key=18, version=4)
    assert isinstance(response, ApiVersionsResponse)
    assert retry_version(response) == 3


def test_a_good_answer_needs_no_retry_and_an_old_broker_gets_version_0() -> None:
    assert retry_version(ApiVersionsResponse()) is None
    assert retry_version(ApiVersionsResponse(error_code=35)) == 0
