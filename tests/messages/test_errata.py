"""Errors of common descriptions of the protocol, each as bytes."""

from __future__ import annotations

import pytest

from kafkawire.messages import (
    DecodeError,
    FetchRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    ProduceRequest,
    RequestHeader,
    UnsupportedVersionError,
    api,
    message_class,
    message_names,
)
from kafkawire.messages.schema import EMPTY
from kafkawire.wire import encode_response

pytestmark = pytest.mark.twin


def test_the_client_id_is_never_compact_and_header_2_ends_with_tags() -> None:
    header = RequestHeader(request_api_key=3, request_api_version=12, correlation_id=7, client_id="me")
    assert header.encode(2).hex(" ") == "00 03 00 0c 00 00 00 07 00 02 6d 65 00"
    header.client_id = None
    assert header.encode(2).hex(" ") == "00 03 00 0c 00 00 00 07 ff ff 00"


def test_a_tag_section_is_a_count_then_tag_size_value() -> None:
    message = MetadataRequest(topics=None, unknown_tagged_fields=((0, b"ab"), (5, b"")))
    assert message.encode(12).hex(" ") == "00 01 00 02 00 02 61 62 05 00"
    with pytest.raises(DecodeError):
        MetadataRequest.decode(bytes.fromhex("00 01 00 02 00 02 61 62 00"), 12)


def test_fields_do_end() -> None:
    assert "name" not in ProduceRequest(topic_data=[ProduceRequest.TopicProduceData()]).to_json(13)["topicData"][0]
    assert "topic" in FetchRequest(topics=[FetchRequest.FetchTopic()]).to_json(12)["topics"][0]
    assert "topic" not in FetchRequest(topics=[FetchRequest.FetchTopic()]).to_json(13)["topics"][0]
    assert "replicaId" in FetchRequest().to_json(14)
    assert "replicaId" not in FetchRequest().to_json(15)


def test_a_fetch_is_sessionless_by_default() -> None:
    assert (FetchRequest().session_id, FetchRequest().session_epoch) == (0, -1)


def test_cluster_id_and_replica_state_of_fetch_are_tags_at_the_end() -> None:
    plain = FetchRequest().encode(16)
    message = FetchRequest(cluster_id="c", replica_state=FetchRequest.ReplicaState(replica_id=1))
    data = message.encode(16)
    assert data[: len(plain) - 1] == plain[:-1]
    assert data[len(plain) - 1 :].hex(" ") == "02 00 02 02 63 01 0d 00 00 00 01 ff ff ff ff ff ff ff ff 00"


def test_metadata_topics_have_an_id_before_their_nullable_name() -> None:
    message = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=None)])
    assert message.encode(12).hex() == "02" + "00" * 16 + "00" + "00" + "010000"
    assert MetadataResponse.MetadataResponseTopic(name=None).name is None


def test_metadata_v0_has_no_null_and_later_versions_do() -> None:
    assert MetadataRequest(topics=[]).encode(0) == bytes(4)
    with pytest.raises(Exception, match="topics: expected array, found None"):
        MetadataRequest(topics=None).encode(0)
    with pytest.raises(DecodeError, match="expected a value, found null"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0)
    assert MetadataRequest.decode(b"\xff\xff\xff\xff", 1).topics is None
    assert MetadataRequest.decode(bytes(4), 1).topics == []


def test_compact_null_is_0_and_compact_empty_is_1() -> None:
    assert MetadataRequest(topics=None).encode(12)[0] == 0
    assert MetadataRequest(topics=[]).encode(12)[0] == 1


def test_the_api_versions_response_always_has_header_0() -> None:
    assert {api("ApiVersions").response_header_version(version) for version in range(9)} == {0}
    response = message_class("ApiVersionsResponse")()
    assert (
        encode_response(response, api_key=18, version=3, correlation_id=1).hex()
        == "0000000c" + "00000001" + "0000" + "01" + "00000000" + "00"
    )


def test_produce_is_listed_and_read_from_version_0() -> None:
    assert str(api("Produce").versions) == "0-13"
    assert ProduceRequest.decode(ProduceRequest(acks=1).encode(0), 0).acks == 1


def test_a_nullable_field_without_a_default_is_empty_and_null_only_where_the_schema_says_so() -> None:
    assert MetadataRequest().topics == []
    assert OffsetFetchRequest().topics == []
    assert ProduceRequest().transactional_id is None
    for name in message_names():
        for struct in (message_class(name).__schema__.root, *message_class(name).__schema__.structs):
            for field in struct.fields:
                if field.nullable and field.default is None and field.type != "records":
                    assert field.nullable == field.versions
                elif field.is_array:
                    assert field.default is EMPTY


def test_an_overlong_varint_is_read_and_a_sixth_byte_is_not() -> None:
    assert MetadataRequest.decode(bytes.fromhex("8100 00 00 00"), 12).topics == []
    assert MetadataRequest.decode(bytes.fromhex("8080808010 00 00 00"), 12).topics is None
    with pytest.raises(DecodeError, match="expected a varint of at most 5 bytes"):
        MetadataRequest.decode(bytes.fromhex("808080808001 00 00 00"), 12)


def test_a_string_has_at_most_32767_bytes_on_both_ways() -> None:
    longest = RequestHeader(client_id="x" * 32767)
    assert RequestHeader.decode(longest.encode(1), 1) == longest
    data = bytes.fromhex("81 80 02") + b"x" * 32768 + bytes(30)
    with pytest.raises(DecodeError, match="expected a string of at most 32767 bytes, found length 32768"):
        message_class("ApiVersionsRequest").decode(data, 3)


def test_an_unsupported_version_is_refused_before_its_body_is_read() -> None:
    with pytest.raises(UnsupportedVersionError):
        MetadataRequest.decode(b"", 14)
