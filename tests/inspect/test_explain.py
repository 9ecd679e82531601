"""The explaining tree of requests, responses and bare messages, whole and broken."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from tests.inspect.tree_values import assert_tiles

from kafkawire.inspect._explain.explain import explain_message, explain_request, explain_response
from kafkawire.inspect._explain.tree import Leaf, Space
from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BrokerRegistrationChangeRecord,
    ConsumerGroupCurrentMemberAssignmentValue,
    ControlledShutdownRequest,
    DescribeClusterResponse,
    FetchResponse,
    HeartbeatResponse,
    ListOffsetsRequest,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    RemoteLogSegmentMetadataRecord,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupTopologyDescriptionUpdateRequest,
    UnknownMessageError,
    UnregisterControllerResponse,
    UnsupportedVersionError,
)
from kafkawire.wire import encode_request, encode_response

API_VERSIONS = bytes.fromhex("0000000e 0012 0000 00000007 0004 64656d6f")
STREAMS_GROUPS = StreamsGroupDescribeResponse(
    groups=[StreamsGroupDescribeResponse.DescribedGroup(topology_description_status=3)]
)
_SINK = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode(name="out", node_type=3)
_SUBTOPOLOGY = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology(nodes=[_SINK])
TOPOLOGY_UPDATE = StreamsGroupTopologyDescriptionUpdateRequest(
    topology_description=StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription(subtopologies=[_SUBTOPOLOGY])
)
ENDPOINT = ProduceResponse.NodeEndpoint(node_id=1, host="h", port=9092)


def leaves(space: Space) -> dict[str, Leaf]:
    return {leaf.path: leaf for leaf in space.leaves()}


def test_a_leaf_has_path_offset_length_bytes_type_value_and_note() -> None:
    key = leaves(explain_request(API_VERSIONS).space)["header.request_api_key"]
    assert key == Leaf("header.request_api_key", 4, 2, memoryview(b"\x00\x12"), "int16", 18, "ApiVersions", None)


def test_the_length_of_a_string_is_part_of_its_leaf() -> None:
    client = leaves(explain_request(API_VERSIONS).space)["header.client_id"]
    assert (client.offset, bytes(client.raw), client.type, client.value) == (12, b"\x00\x04demo", "string?", "demo")


def test_counts_markers_and_tags_are_framing_leaves_before_what_they_frame() -> None:
    message = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic="t",
                partitions=[FetchResponse.PartitionData(current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=5))],
            )
        ]
    )
    found = leaves(explain_message(message.encode(12), "FetchResponse", 12).space)
    assert (found["responses.count"].type, found["responses.count"].value) == ("uvarint count", 1)
    section = "responses[0].partitions[0].tagged_fields"
    assert found[f"{section}.count"].value == 1
    assert (found[f"{section}[0].tag"].value, found[f"{section}[0].size"].value) == (1, 9)
    assert found[f"{section}[0].current_leader.leader_id"].value == 5


def test_unknown_tags_are_shown_as_bytes() -> None:
    data = HeartbeatResponse(unknown_tagged_fields=((9, b"xyz"),)).encode(4)
    found = leaves(explain_message(data, "HeartbeatResponse", 4).space)
    assert bytes(found["tagged_fields[0].unknown"].value) == b"xyz"


@pytest.mark.parametrize(
    ("version", "header"), [(0, "RequestHeader v0"), (1, "RequestHeader v1"), (3, "RequestHeader v2")]
)
def test_the_body_version_decides_the_request_header(version: int, header: str) -> None:
    frame = encode_request(ControlledShutdownRequest(), version=version, correlation_id=1)
    root = explain_request(frame).space.root
    assert [node.type for node in root.children()] == ["int32", header, f"ControlledShutdownRequest v{version}"]


def test_an_api_versions_response_never_has_tags_in_its_header() -> None:
    frame = encode_response(ApiVersionsResponse(), api_key=18, version=3, correlation_id=1)
    explained = explain_response(frame, "ApiVersions", 3)
    assert explained.whole
    assert leaves(explained.space).keys() >= {"header.correlation_id", "body.error_code"}


def test_a_refused_api_versions_request_is_answered_and_read_in_version_0() -> None:
    refusal = ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)]
    )
    frame = encode_response(refusal, api_key=18, version=0, correlation_id=1)
    explained = explain_response(frame, "ApiVersions", 4)
    assert (explained.version, explained.whole) == (0, True)
    assert leaves(explained.space)["body.error_code"].note == "UNSUPPORTED_VERSION"


@pytest.mark.parametrize("sized", [True, False])
def test_a_frame_is_read_with_its_size_and_without(sized: bool) -> None:
    explained = explain_request(API_VERSIONS if sized else API_VERSIONS[4:])
    assert explained.title == "ApiVersionsRequest v0"
    assert ("size" in leaves(explained.space)) == sized
    assert_tiles(explained.space)


def test_offsets_count_from_the_start_of_the_buffer() -> None:
    explained = explain_request(b"??" + API_VERSIONS + b"!", start=2, end=2 + len(API_VERSIONS))
    assert leaves(explained.space)["header.request_api_key"].offset == 6
    assert_tiles(explained.space)


def test_the_same_bytes_can_be_read_as_another_version() -> None:
    frame = encode_request(MetadataRequest(topics=None), version=4, correlation_id=1)
    assert explain_request(frame, version=4).whole
    assert not explain_request(frame, version=0).whole


@pytest.mark.parametrize(
    ("path", "note"),
    [
        ("body.isolation_level", "read committed"),
        ("body.replica_id", "a consumer"),
        ("body.topics[0].partitions[0].timestamp", "the earliest offset"),
        ("body.topics[0].partitions[1].timestamp", "2023-11-14 22:13:20.123 UTC"),
    ],
)
def test_notes_say_what_numbers_mean(path: str, note: str) -> None:
    partitions = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        for index, timestamp in enumerate((-2, 1700000000123))
    ]
    message = ListOffsetsRequest(
        isolation_level=1, replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=partitions)]
    )
    frame = encode_request(message, version=2, correlation_id=1)
    assert leaves(explain_request(frame).space)[path].note == note


@pytest.mark.parametrize(
    ("message", "path", "note"),
    [
        (ApiVersionsRequest(node_id=7), "node_id", ""),
        (StreamsGroupHeartbeatRequest(member_epoch=-1), "member_epoch", "leaves"),
        (STREAMS_GROUPS, "groups[0].topology_description_status", "available"),
        (TOPOLOGY_UPDATE, "topology_description.subtopologies[0].nodes[0].node_type", "sink"),
        (UnregisterControllerResponse(error_code=136), "error_code", "CONTROLLER_ID_NOT_REGISTERED"),
        (ConsumerGroupCurrentMemberAssignmentValue(state=1), "state", "unrevoked partitions"),
        (StreamsGroupCurrentMemberAssignmentValue(state=3), "state", "unreleased tasks"),
        (RemoteLogSegmentMetadataRecord(remote_log_segment_state=2), "remote_log_segment_state", "delete started"),
        (BrokerRegistrationChangeRecord(fenced=-1), "tagged_fields[0].fenced", "unfenced"),
    ],
)
def test_numbers_of_newer_messages_have_names(message: Message, path: str, note: str) -> None:
    version = type(message).__schema__.versions.last
    space = explain_message(message.encode(version), type(message).__name__, version).space
    assert leaves(space)[path].note == note


def test_authorized_operations_are_spelled_out() -> None:
    data = DescribeClusterResponse(cluster_authorized_operations=0b1_1000).encode(0)
    found = leaves(explain_message(data, "DescribeClusterResponse", 0).space)
    assert found["cluster_authorized_operations"].note == "read, write"


def test_error_codes_have_names_and_absent_topic_ids_say_so() -> None:
    topic = MetadataResponse.MetadataResponseTopic(error_code=3, name="t", topic_id=UUID(int=0))
    found = leaves(explain_message(MetadataResponse(topics=[topic]).encode(12), "MetadataResponse", 12).space)
    assert found["topics[0].error_code"].note == "UNKNOWN_TOPIC_OR_PARTITION"
    assert found["topics[0].topic_id"].note == "none"


def test_a_fault_takes_all_the_bytes_left_and_names_its_field() -> None:
    frame = encode_request(ProduceRequest(transactional_id="txn"), version=9, correlation_id=1)
    broken = bytearray(frame)
    place = frame.index(b"\x04txn")
    broken[place] = 0x7F
    explained = explain_request(bytes(broken))
    last = list(explained.space.leaves())[-1]
    assert (last.path, last.offset, last.offset + last.length) == ("body.transactional_id", place, len(frame))
    left = len(frame) - place - 1
    expected = f"expected a length of at most the {left} bytes left, found length 126 at offset {place}"
    assert str(last.fault) == expected
    assert_tiles(explained.space)


@pytest.mark.parametrize(
    ("hexadecimal", "path", "problem"),
    [
        ("0000000a 03e7 0000 00000007 ffff", "body", "expected the key of an API, found 999 at offset 4"),
        ("0000000a 0000 0063 00000007 ffff 00", "size", "expected a frame of 10 bytes, found 11 at offset 0"),
        (
            "0000000b 0000 0063 00000007 ffff 00",
            "body",
            "expected a version of ProduceRequest (0-13), found version 99",
        ),
        (
            "0000000c 0012 0000 00000007 ffff dead",
            "trailing",
            "expected the end of ApiVersionsRequest v0, found 2 bytes",
        ),
        ("0012 0000 0000", "header.correlation_id", "expected 4 more bytes, found 2 at offset 4"),
        ("00", "request_api_key", "expected 2 more bytes, found 1 at offset 0"),
    ],
)
def test_frames_that_are_wrong_as_a_whole(hexadecimal: str, path: str, problem: str) -> None:
    sized = True if hexadecimal.startswith("0000000") else None
    explained = explain_request(bytes.fromhex(hexadecimal), sized=sized)
    fault = leaves(explained.space)[path].fault
    assert str(fault).startswith(problem)
    assert not explained.whole
    assert_tiles(explained.space)


def test_bytes_left_over_say_how_many() -> None:
    explained = explain_message(bytes(9), "HeartbeatResponse", 1)
    last = list(explained.space.leaves())[-1]
    assert (last.path, last.length) == ("trailing", 3)
    assert str(last.fault) == "expected the end, found 3 bytes more at offset 6"


def test_a_tag_of_another_version_is_a_fault() -> None:
    explained = explain_message(ProduceResponse(node_endpoints=[ENDPOINT]).encode(10), "ProduceResponse", 9)
    fault = list(explained.space.leaves())[-1].fault
    assert fault is not None
    assert (fault.expected, fault.found) == ("a tag of this version", "tag 0, which other versions have")
    assert_tiles(explained.space)


def test_a_tag_of_another_size_than_it_says_is_a_fault() -> None:
    data = bytearray(ProduceResponse(node_endpoints=[ENDPOINT]).encode(10))
    data[data.index(b"\x00\x0d") + 1] = 0x0E
    explained = explain_message(bytes(data) + b"\x00", "ProduceResponse", 10)
    last = list(explained.space.leaves())[-1]
    assert str(last.fault).startswith("expected a tag value of the declared 14 bytes, found 13 bytes")
    assert (last.path, last.length) == ("tagged_fields[0].value", 1)
    assert_tiles(explained.space)


@pytest.mark.parametrize("length", [0, 1, 3, 7, 100_000])
def test_no_bytes_and_zero_bytes_are_explained_too(length: int) -> None:
    assert_tiles(explain_request(bytes(length)).space)
    assert_tiles(explain_response(bytes(length), "Fetch", 12).space)


def test_an_unknown_api_or_version_is_refused() -> None:
    with pytest.raises(UnknownMessageError, match="did you mean Fetch"):
        explain_response(b"", "Fetsh", 0)
    with pytest.raises(UnsupportedVersionError, match="HeartbeatResponse"):
        explain_message(b"", "HeartbeatResponse", 99)


def test_a_response_of_an_unknown_version_has_its_header() -> None:
    explained = explain_response(struct.pack(">ii", 6, 7) + b"\0\1", "Heartbeat", 99)
    leaves = {leaf.path: leaf.value for leaf in explained.space.leaves()}
    assert leaves["header.correlation_id"] == 7
    assert not explained.whole


def test_arrays_of_numbers_are_made_when_asked_for() -> None:
    partitions = list(range(250_000))
    topic = FetchResponse.FetchableTopicResponse(topic="t")
    assert topic.partitions == []
    data = struct.pack(">i", 1) + b"\x00\x01t" + struct.pack(">i", len(partitions))
    data += struct.pack(f">{len(partitions)}i", *partitions) + b"\xff\xff\xff\xff"
    explained = explain_message(data, "ConsumerProtocolAssignment", 0)
    elements = explained.space.root.children()[0].children()[1].children()[1].children()
    assert len(elements) == 250_001
    assert elements[-1].value == 249_999


def test_a_message_of_too_many_fields_is_shown_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkawire.inspect._explain.walker.MAX_NODES", 100)
    topics = [MetadataRequest.MetadataRequestTopic(name=f"topic-{index}") for index in range(200)]
    explained = explain_message(MetadataRequest(topics=topics).encode(1), "MetadataRequest", 1)
    last = list(explained.space.leaves())[-1]
    assert last.fault is not None
    assert last.fault.expected == "a message of at most 100 fields to show"
    assert_tiles(explained.space)


def test_an_api_versions_request_of_a_coming_version_has_its_header_read() -> None:
    header = struct.pack(">hhi", 18, 9, 1) + b"\x00\x01c\x00"
    explained = explain_request(header + b"whatever")
    assert leaves(explained.space)["header.client_id"].value == "c"
    assert leaves(explained.space)["body"].length == len(b"whatever")
    assert ApiVersionsRequest.__schema__.versions.last < 9
