"""Messages inside bytes: members of groups, coordinator records, the metadata log, forwarded requests."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from tests.inspect.tree_values import assert_tiles

from kafkawire.inspect._explain.explain import explain_message, explain_records
from kafkawire.inspect._explain.tree import Space, walk
from kafkawire.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    DescribeGroupsResponse,
    EnvelopeRequest,
    FetchResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaderChangeMessage,
    MetadataRequest,
    SyncGroupRequest,
    TopicRecord,
    message_class,
)
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

SUBSCRIPTION = struct.pack(">h", 1) + ConsumerProtocolSubscription(topics=["orders"]).encode(1)
ASSIGNMENT = struct.pack(">h", 0) + ConsumerProtocolAssignment(
    assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 3])]
).encode(0)


def values(space: Space) -> dict[str, Any]:
    return {visit.path: visit.node.value for visit in walk(space)}


def notes(space: Space) -> dict[str, str]:
    return {visit.path: visit.node.note for visit in walk(space)}


def prefixed(name: str, version: int, **fields: Any) -> bytes:
    return struct.pack(">h", version) + message_class(name)(**fields).encode(version)


def stored_key(name: str, **fields: Any) -> bytes:
    return struct.pack(">h", message_class(name).__schema__.key) + message_class(name)(**fields).encode(0)


def records(*pairs: tuple[bytes | None, bytes | None], topic: str, control: bool = False) -> Space:
    builder = BatchBuilder(is_control=control)
    for key, value in pairs:
        builder.append(key, value)
    space = explain_records(builder.build(), topic=topic).space
    assert_tiles(space)
    assert not list(space.faults())
    return space


def join(protocol_type: str, metadata: bytes) -> Space:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
    message = JoinGroupRequest(group_id="g", protocol_type=protocol_type, protocols=[protocol])
    space = explain_message(message.encode(9), "JoinGroupRequest", 9).space
    assert_tiles(space)
    return space


def test_the_subscription_of_a_consumer_is_opened() -> None:
    space = join("consumer", SUBSCRIPTION)
    assert notes(space)["protocols[0].metadata"] == "ConsumerProtocolSubscription v1"
    assert values(space)["protocols[0].metadata.topics[0]"] == "orders"


@pytest.mark.parametrize(("protocol_type", "metadata"), [("connect", SUBSCRIPTION), ("consumer", b"\x00\x01opaque")])
def test_bytes_that_are_not_a_subscription_stay_bytes_without_a_fault(protocol_type: str, metadata: bytes) -> None:
    space = join(protocol_type, metadata)
    assert bytes(values(space)["protocols[0].metadata"]) == metadata
    assert "protocols[0].metadata.version" not in values(space)
    assert not list(space.faults())


def test_a_subscription_of_a_coming_version_is_read_as_the_last_known() -> None:
    coming = struct.pack(">h", 9) + ConsumerProtocolSubscription(topics=["t"], rack_id="r").encode(3) + b"new"
    found = values(join("consumer", coming))
    assert found["protocols[0].metadata.rack_id"] == "r"
    assert bytes(found["protocols[0].metadata.unread"]) == b"new"


def test_members_are_opened_where_the_version_has_no_protocol_type() -> None:
    member = JoinGroupResponse.JoinGroupResponseMember(member_id="m", metadata=SUBSCRIPTION)
    space = explain_message(JoinGroupResponse(members=[member]).encode(2), "JoinGroupResponse", 2).space
    assert values(space)["members[0].metadata.topics[0]"] == "orders"


def test_assignments_are_opened_in_sync_and_describe() -> None:
    sync = SyncGroupRequest(assignments=[SyncGroupRequest.SyncGroupRequestAssignment(assignment=ASSIGNMENT)])
    space = explain_message(sync.encode(3), "SyncGroupRequest", 3).space
    assert values(space)["assignments[0].assignment.assigned_partitions[0].partitions[1]"] == 3
    member = DescribeGroupsResponse.DescribedGroupMember(member_metadata=SUBSCRIPTION, member_assignment=ASSIGNMENT)
    group = DescribeGroupsResponse.DescribedGroup(protocol_type="consumer", members=[member])
    space = explain_message(DescribeGroupsResponse(groups=[group]).encode(5), "DescribeGroupsResponse", 5).space
    assert values(space)["groups[0].members[0].member_assignment.assigned_partitions[0].topic"] == "orders"
    assert_tiles(space)


def test_offsets_and_groups_of_the_group_coordinator() -> None:
    member = message_class("GroupMetadataValue").MemberMetadata(  # type: ignore[attr-defined]  # found by name
        member_id="m", subscription=SUBSCRIPTION, assignment=ASSIGNMENT
    )
    space = records(
        (
            stored_key("OffsetCommitKey", group="g", topic="orders", partition=3),
            prefixed("OffsetCommitValue", 3, offset=42),
        ),
        (
            stored_key("GroupMetadataKey", group="g"),
            prefixed("GroupMetadataValue", 3, protocol_type="consumer", members=[member]),
        ),
        (stored_key("ConsumerGroupMetadataKey", group_id="g"), None),
        topic="__consumer_offsets",
    )
    found = values(space)
    assert (found["[0].records[0].key.topic"], found["[0].records[0].value.offset"]) == ("orders", 42)
    assert found["[0].records[1].value.members[0].assignment.assigned_partitions[0].topic"] == "orders"
    assert notes(space)["[0].records[2].key"] == "ConsumerGroupMetadataKey"
    assert notes(space)["[0].records[2].value"] == "tombstone"


def test_states_of_the_transaction_coordinator() -> None:
    key = stored_key("TransactionLogKey", transactional_id="pay")
    value = prefixed("TransactionLogValue", 1, producer_id=9, transaction_status=4)
    space = records((key, value), topic="__transaction_state")
    assert values(space)["[0].records[0].key.transactional_id"] == "pay"
    assert notes(space)["[0].records[0].value.transaction_status"] == "CompleteCommit"


def test_records_of_the_metadata_log() -> None:
    value = b"\x01\x02\x00" + TopicRecord(name="orders", topic_id=UUID(int=77)).encode(0)
    space = records((None, value), (None, b"\x01\x7f\x00"), topic="__cluster_metadata")
    assert notes(space)["[0].records[0].value.record_type"] == "TopicRecord"
    assert values(space)["[0].records[0].value.name"] == "orders"
    assert bytes(values(space)["[0].records[1].value"]) == b"\x01\x7f\x00"


def test_control_records_of_the_metadata_log() -> None:
    space = records(
        (b"\x00\x00\x00\x02", LeaderChangeMessage(leader_id=3).encode(0)), topic="__cluster_metadata", control=True
    )
    assert values(space)["[0].records[0].value.leader_id"] == 3


def test_the_topic_of_a_fetch_response_selects_the_format_of_its_records() -> None:
    builder = BatchBuilder()
    builder.append(stored_key("GroupMetadataKey", group="g"), None)
    partition = FetchResponse.PartitionData(records=builder.build())
    topic = FetchResponse.FetchableTopicResponse(topic="__consumer_offsets", partitions=[partition])
    space = explain_message(FetchResponse(responses=[topic]).encode(12), "FetchResponse", 12).space
    assert values(space)["responses[0].partitions[0].records[0].records[0].key.group"] == "g"


@pytest.mark.parametrize("known", [True, False])
def test_a_topic_id_stands_for_its_name_where_it_is_known(known: bool) -> None:
    topic_id = UUID(int=5)
    builder = BatchBuilder()
    builder.append(stored_key("GroupMetadataKey", group="g"), None)
    partition = FetchResponse.PartitionData(records=builder.build())
    topic = FetchResponse.FetchableTopicResponse(topic_id=topic_id, partitions=[partition])
    names = {topic_id: "__consumer_offsets"} if known else {}
    data = FetchResponse(responses=[topic]).encode(13)
    space = explain_message(data, "FetchResponse", 13, topics=names).space
    assert ("responses[0].partitions[0].records[0].records[0].key.group" in values(space)) == known


def test_a_forwarded_request_is_opened_inside_its_envelope_but_only_once() -> None:
    inner = encode_request(MetadataRequest(topics=None), version=12, correlation_id=4, client_id="c")[4:]
    envelope = EnvelopeRequest(request_data=inner, request_principal=None, client_host_address=b"\x7f\x00\x00\x01")
    space = explain_message(envelope.encode(0), "EnvelopeRequest", 0).space
    assert values(space)["request_data.header.client_id"] == "c"
    assert notes(space)["request_data"] == "MetadataRequest v12"
    assert_tiles(space)
    nested = EnvelopeRequest(request_data=encode_request(envelope, version=0, correlation_id=5)[4:])
    space = explain_message(nested.encode(0), "EnvelopeRequest", 0).space
    assert not space.root.children()[0].children()


def test_without_a_version_a_message_says_it_in_its_first_two_bytes() -> None:
    explained = explain_message(SUBSCRIPTION, "ConsumerProtocolSubscription")
    assert (explained.version, explained.whole) == (1, True)
    broken = explain_message(b"\xff\xff", "ConsumerProtocolSubscription")
    assert not broken.whole
    assert_tiles(broken.space)
