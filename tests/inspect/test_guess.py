"""The guess of what bytes are, without an option that names them."""

from __future__ import annotations

import pytest

from kafkawire.inspect._explain.guess import UnknownBytesError, explain_anything, explain_requests, explain_responses
from kafkawire.messages import (
    ApiVersionsRequest,
    FetchRequest,
    FetchResponse,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    api,
)
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request, encode_response

METADATA = encode_request(MetadataRequest(topics=None), version=12, correlation_id=1, client_id="c")
FETCH = encode_request(FetchRequest(), version=12, correlation_id=2, client_id="c")
HEARTBEAT = encode_response(HeartbeatResponse(error_code=27), api_key=12, version=4, correlation_id=3)


@pytest.mark.parametrize(
    ("data", "titles"),
    [
        (METADATA, ["MetadataRequest v12"]),
        (METADATA[4:], ["MetadataRequest v12"]),
        (METADATA + FETCH, ["MetadataRequest v12", "FetchRequest v12"]),
        (METADATA[:-1], ["MetadataRequest v12"]),
        (METADATA + FETCH[:-5], ["MetadataRequest v12", "FetchRequest v12"]),
    ],
)
def test_requests_are_recognised_with_size_and_without_whole_and_cut(data: bytes, titles: list[str]) -> None:
    assert [each.title for each in explain_anything(data)] == titles


@pytest.mark.parametrize("correlation_id", [7, 0x00030001, 0x00120003])
def test_a_request_without_its_size_is_not_taken_for_one_with_a_size(correlation_id: int) -> None:
    # 00 00 00 09 begins a Produce v9 request without its size, and would be the size of a frame of nine bytes.
    frame = encode_request(ProduceRequest(), version=9, correlation_id=correlation_id, client_id="c")
    assert [each.title for each in explain_anything(frame[4:])] == ["ProduceRequest v9"]
    assert all(each.whole for each in explain_anything(frame[4:]))


def test_offsets_run_through_frames_that_follow_each_other() -> None:
    second = explain_anything(METADATA + FETCH)[1]
    assert next(second.space.leaves()).offset == len(METADATA)


def test_record_batches_are_recognised_by_their_crc() -> None:
    builder = BatchBuilder()
    builder.append(None, b"hello")
    assert explain_anything(builder.build())[0].kind == "records"


@pytest.mark.parametrize("data", [b"hello, world", b"\x00", b"\xff" * 40, HEARTBEAT])
def test_ambiguous_bytes_are_not_guessed(data: bytes) -> None:
    with pytest.raises(UnknownBytesError, match=f"these {len(data)} bytes are"):
        explain_anything(data)


@pytest.mark.parametrize("correlation_id", [0, 1, 5, 9, 13, 14, 65536])
@pytest.mark.parametrize("message", [HeartbeatResponse(), FetchResponse(), MetadataResponse(), ProduceResponse()])
def test_a_response_is_not_taken_for_a_request(message: Message, correlation_id: int) -> None:
    which = api(type(message).__name__.removesuffix("Response"))
    for version in which.versions:
        frame = encode_response(message, api_key=which.key, version=version, correlation_id=correlation_id)
        with pytest.raises(UnknownBytesError, match="perhaps a response"):
            explain_anything(frame)


@pytest.mark.parametrize("data", [HEARTBEAT, HEARTBEAT[4:], HEARTBEAT * 3])
def test_responses_are_read_with_size_and_without_and_several(data: bytes) -> None:
    explained = explain_responses(data, "Heartbeat", 4)
    assert all(each.whole for each in explained)
    assert len(explained) == max(1, len(data) // len(HEARTBEAT))


def test_bytes_that_are_given_as_requests_are_read_as_requests() -> None:
    assert explain_requests(b"hello, world")[0].message == ""
    assert not explain_requests(HEARTBEAT)[0].whole
    assert explain_requests(encode_request(ApiVersionsRequest(), version=0, correlation_id=0))[0].whole
