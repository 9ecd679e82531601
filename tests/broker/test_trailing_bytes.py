"""Bytes after a well-formed request are ignored, as Apache Kafka does. librdkafka sends some with Metadata v12."""

from __future__ import annotations

import struct

import pytest
from tests.broker.raw_connection import Peer

from kafkawire.messages import (
    ApiVersionsRequest,
    FetchRequest,
    HeartbeatRequest,
    ListOffsetsRequest,
    Message,
    MetadataRequest,
    ProduceRequest,
)
from kafkawire.testing import RunningBroker
from kafkawire.wire import decode_response, encode_request


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (MetadataRequest(topics=[]), 12),
        (MetadataRequest(topics=[]), 4),
        (ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
        (HeartbeatRequest(group_id="g", member_id="m"), 4),
        (ListOffsetsRequest(), 6),
        (FetchRequest(max_wait_ms=0), 11),
        (ProduceRequest(acks=1, timeout_ms=1000), 9),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else None,
)
def test_a_request_with_bytes_after_it_is_answered(request_: Message, version: int) -> None:
    key = type(request_).__schema__.key
    assert key is not None
    frame = encode_request(request_, version=version, correlation_id=7, client_id="peer")
    longer = struct.pack(">i", len(frame) - 4 + 3) + frame[4:] + b"\0\1\2"
    with RunningBroker() as broker, Peer(broker) as peer:
        peer.socket.sendall(longer + frame)
        answers = [peer.read_frame() for _ in range(2)]
    for answer in answers:
        decode_response(answer, api_key=key, version=version, correlation_id=7)
