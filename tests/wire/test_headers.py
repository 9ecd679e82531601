"""Requests and responses as whole frames."""

from __future__ import annotations

import pytest

from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ControlledShutdownRequest,
    DecodeError,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
    RequestHeader,
    UnsupportedVersionError,
    apis,
)
from kafkawire.wire import (
    CorrelationError,
    FrameError,
    UnknownApiError,
    UnsupportedRequestError,
    WireError,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_request_parts,
    encode_response,
)


def test_every_api_and_version_travels_both_ways() -> None:
    for each in apis():
        for version in each.versions:
            frame = encode_request(each.request(), version=version, correlation_id=9, client_id="me")
            header, message = decode_request(frame)
            assert (header.request_api_key, header.request_api_version, header.correlation_id) == (each.key, version, 9)
            assert message == each.request()
            answer = encode_response(each.response(), api_key=each.key, version=version, correlation_id=9)
            answered, response = decode_response(answer, api_key=each.key, version=version, correlation_id=9)
            assert (answered.correlation_id, response) == (9, each.response())


def test_the_size_counts_what_follows_it() -> None:
    frame = encode_request(HeartbeatRequest(), version=4, correlation_id=1)
    assert int.from_bytes(frame[:4]) == len(frame) - 4


def test_parts_of_a_request_hold_the_records_themselves() -> None:
    payload = bytes(3000)
    partition = ProduceRequest.PartitionProduceData(records=payload)
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(partition_data=[partition])])
    parts = encode_request_parts(message, version=9, correlation_id=1, client_id="c")
    assert b"".join(parts) == encode_request(message, version=9, correlation_id=1, client_id="c")
    assert any(isinstance(part, memoryview) and part.obj is payload for part in parts)


def test_controlled_shutdown_v0_has_no_client_id() -> None:
    frame = encode_request(ControlledShutdownRequest(broker_id=1), version=0, correlation_id=2, client_id="dropped")
    assert frame.hex() == "0000000c" + "0007" + "0000" + "00000002" + "00000001"


def test_the_header_of_a_version_nobody_knows_is_read() -> None:
    header = RequestHeader(request_api_key=18, request_api_version=77, correlation_id=5, client_id="new").encode(2)
    frame = len(header).to_bytes(4) + header
    read, offset = decode_request_header(frame)
    assert (read.correlation_id, read.client_id, offset) == (5, "new", len(frame))
    with pytest.raises(UnsupportedRequestError, match="ApiVersions version 77: expected one of 0-5") as caught:
        decode_request(frame)
    assert caught.value.header == read


def test_an_unknown_key_is_refused_with_its_number() -> None:
    with pytest.raises(UnknownApiError, match=r"unknown API key 999 \(version 1\)"):
        decode_request(bytes.fromhex("0000000a 03e7 0001 00000001 0000"))


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00", b"\x00\x00\x00\x05abcd", b"\x00\x00\x00\x01abcd", b"\x00\x00\x00\x01a"]
)
def test_bytes_that_are_not_one_whole_frame_are_refused(data: bytes) -> None:
    with pytest.raises((FrameError, WireError)):
        decode_request(data)


def test_errors_count_from_the_start_of_the_frame() -> None:
    frame = bytearray(encode_request(HeartbeatRequest(group_id="abc"), version=0, correlation_id=1, client_id=""))
    place = frame.index(b"\x00\x03abc")
    frame[place] = 0x7F
    with pytest.raises(DecodeError) as caught:
        decode_request(frame)
    assert (caught.value.offset, caught.value.path) == (place, "group_id")


def test_trailing_bytes_are_refused_unless_allowed() -> None:
    frame = encode_response(HeartbeatResponse(), api_key=12, version=0, correlation_id=1)
    longer = (len(frame) - 3).to_bytes(4) + frame[4:] + b"x"
    with pytest.raises(DecodeError, match="expected the end of the frame, found 1 bytes more at offset 10"):
        decode_response(longer, api_key=12, version=0)
    assert decode_response(longer, api_key=12, version=0, allow_trailing=True)[1] == HeartbeatResponse()


def test_a_response_to_another_request_is_refused() -> None:
    frame = encode_response(HeartbeatResponse(), api_key=12, version=0, correlation_id=1)
    with pytest.raises(CorrelationError, match="expected a response to request 2, found one to 1"):
        decode_response(frame, api_key=12, version=0, correlation_id=2)


def test_a_message_of_the_wrong_kind_or_key_is_refused() -> None:
    with pytest.raises(WireError, match="HeartbeatResponse is not a request"):
        encode_request(HeartbeatResponse(), version=0, correlation_id=1)
    with pytest.raises(WireError, match="answers API key 12, not 3"):
        encode_response(HeartbeatResponse(), api_key=3, version=0, correlation_id=1)
    with pytest.raises(UnsupportedVersionError):
        encode_request(ApiVersionsRequest(), version=9, correlation_id=1)


def test_an_api_versions_answer_in_version_0_is_read_whatever_was_asked() -> None:
    entry = ApiVersionsResponse.ApiVersion(api_key=18, max_version=2)
    answer = ApiVersionsResponse(error_code=35, api_keys=[entry])
    frame = encode_response(answer, api_key=18, version=0, correlation_id=1)
    for version in (0, 3, 4):
        assert decode_response(frame, api_key=18, version=version)[1] == answer
