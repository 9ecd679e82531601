"""The methods of every message class, through its public names."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any
from uuid import UUID

import pytest

import kafkawire.messages
from kafkawire._codec.parts import ExternalBytes
from kafkawire.messages import (
    ApiVersionsResponse,
    DecodeError,
    EncodeError,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaderChangeMessage,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    UnsupportedVersionError,
    message_class,
    message_names,
)

pytestmark = pytest.mark.twin

RECORDS = bytes(range(256)) * 8


def produce(records: bytes | bytearray | memoryview = RECORDS) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=3, records=records)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[topic])


def test_every_message_imports_by_name_and_its_structs_hang_below_it() -> None:
    assert len(message_names()) == 95 * 2 + 98
    for name in message_names():
        cls = getattr(kafkawire.messages, name)
        assert issubclass(cls, Message)
        assert (cls.__name__, cls.__module__) == (name, "kafkawire.messages")
        assert name in dir(kafkawire.messages)
    assert FetchResponse.PartitionData.__qualname__ == "FetchResponse.PartitionData"


def test_a_name_that_is_not_a_message_suggests_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean FetchRequest"):
        _ = kafkawire.messages.FetchRequst  # type: ignore[attr-defined]  # the mistake is the test


def test_the_constructor_takes_keywords_and_the_schema_gives_the_rest() -> None:
    request = FetchRequest(max_wait_ms=500)
    assert (request.max_wait_ms, request.replica_id, request.max_bytes, request.topics) == (500, -1, 0x7FFFFFFF, [])
    assert request.replica_state == FetchRequest.ReplicaState(replica_id=-1, replica_epoch=-1)
    assert FetchRequest().topics is not FetchRequest().topics
    with pytest.raises(TypeError, match="max_wait"):
        FetchRequest(max_wait=1)  # type: ignore[call-arg]  # the mistake is the test
    with pytest.raises(TypeError):
        FetchRequest(1)  # type: ignore[call-arg, arg-type]  # fields have no order for callers


def test_attributes_are_slots_so_a_mistyped_one_is_an_error() -> None:
    with pytest.raises(AttributeError):
        FetchRequest().max_wait = 1  # type: ignore[attr-defined]  # the mistake is the test


def test_equality_compares_every_field_and_class() -> None:
    assert produce() == produce()
    assert produce() != produce(b"other")
    assert produce(bytearray(RECORDS)) == produce(memoryview(RECORDS))
    assert HeartbeatRequest() != MetadataRequest()
    tagged = HeartbeatRequest(unknown_tagged_fields=((9, b"x"),))
    assert tagged != HeartbeatRequest()


def test_a_repr_shows_what_differs_from_the_defaults_and_cuts_long_values() -> None:
    text = repr(produce())
    assert "acks=-1" in text
    assert "transactional_id" not in text
    assert "<2048 bytes: 000102" in text
    many = MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(node_id=n) for n in range(1, 30)])
    assert "... 21 more]" in repr(many)


def test_messages_copy_and_pickle() -> None:
    message = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="a", topic_id=UUID(int=7))])
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message
    with pytest.raises(TypeError, match="unhashable"):
        hash(message)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_payloads_are_views_into_any_buffer_and_never_copies(kind: type) -> None:
    source = bytearray(produce().encode(9))
    buffer = source if kind is bytearray else kind(source)
    records = ProduceRequest.decode(buffer, 9).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records == RECORDS
    assert records.nbytes == len(RECORDS)
    assert bytes(records[-3:]) == RECORDS[-3:]
    if kind is not bytes:
        source[-10] ^= 0xFF
        assert records != RECORDS


def test_a_view_of_wider_items_is_read_as_its_bytes() -> None:
    data = produce().encode(9)
    padded = data + bytes(-len(data) % 8)
    assert ProduceRequest.decode(memoryview(padded).cast("Q"), 9, allow_trailing=True) == produce()


def test_parts_hold_the_payload_itself_and_join_to_the_encoding() -> None:
    payload = bytes(5000)
    for version in (3, 9):
        parts = produce(payload).encode_parts(version)
        assert b"".join(parts) == produce(payload).encode(version)
        assert any(isinstance(part, memoryview) and part.obj is payload for part in parts)
    assert MetadataRequest(topics=None).encode_parts(9) == [MetadataRequest(topics=None).encode(9)]


class Stored(ExternalBytes):
    """Bytes that count how often they are read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.reads = 0

    def __len__(self) -> int:
        return len(self.content)

    def read(self) -> bytes:
        self.reads += 1
        return self.content


@pytest.mark.parametrize("version", [4, 12])
def test_external_records_are_a_part_of_their_own_and_are_not_read(version: int) -> None:
    def response(first: Any, second: Any) -> FetchResponse:
        partitions = [FetchResponse.PartitionData(partition_index=0, records=each) for each in (first, second)]
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=partitions)])

    stored, empty = Stored(b"stored records"), Stored(b"")
    parts: list[Any] = list(response(stored, b"in memory").encode_parts(version))
    expected = response(b"stored records", b"in memory").encode(version)
    assert sum(part is stored for part in parts) == 1
    assert stored.reads == 0
    assert b"".join(part.content if part is stored else part for part in parts) == expected
    assert response(stored, b"in memory").encode(version) == expected
    assert stored.reads == 1
    assert b"".join(response(empty, b"x").encode_parts(version)) == response(b"", b"x").encode(version)


def test_only_records_may_be_external() -> None:
    with pytest.raises(EncodeError, match="expected bytes"):
        JoinGroupRequest(protocols=[JoinGroupRequest.JoinGroupRequestProtocol(metadata=Stored(b"x"))]).encode(5)  # type: ignore[arg-type]  # the point


def test_an_error_of_reading_external_records_is_raised_as_it_is() -> None:
    class Lost(Stored):
        def read(self) -> bytes:
            raise OSError("the file is gone")

    data = FetchResponse.PartitionData(records=Lost(b"x"))  # type: ignore[arg-type]  # the engine takes it
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])])
    with pytest.raises(OSError, match="the file is gone"):
        response.encode(12)


def test_trailing_bytes_are_an_error_unless_allowed() -> None:
    data = HeartbeatRequest(group_id="g").encode(4) + b"more"
    with pytest.raises(DecodeError, match="expected the end, found 4 bytes more at offset 9") as caught:
        HeartbeatRequest.decode(data, 4)
    assert caught.value.offset == len(data) - 4
    assert HeartbeatRequest.decode(data, 4, allow_trailing=True).group_id == "g"
    assert HeartbeatRequest.decode_prefix(b"??" + data, 4, 2) == (HeartbeatRequest(group_id="g"), len(data) - 2)


def test_an_error_names_message_path_offset_expected_and_found() -> None:
    data = bytearray(FetchResponse(responses=[
        FetchResponse.FetchableTopicResponse(topic="t", partitions=[
            FetchResponse.PartitionData(partition_index=0, records=b"abc"),
            FetchResponse.PartitionData(partition_index=1, records=b"abcd"),
        ])
    ]).encode(12))  # fmt: skip
    place = bytes(data).rindex(b"\x05abcd")
    data[place] = 100
    with pytest.raises(DecodeError) as caught:
        FetchResponse.decode(data, 12)
    error = caught.value
    assert (error.title, error.path) == ("FetchResponse v12", "responses[0].partitions[1].records")
    assert error.offset == place
    assert (error.expected, error.found) == ("a length of at most the 7 bytes left", "length 99")
    assert str(error) == (
        "FetchResponse v12, responses[0].partitions[1].records: "
        f"expected a length of at most the 7 bytes left, found length 99 at offset {place}"
    )


@pytest.mark.parametrize("version", [-1, 19, 99])
def test_a_version_that_the_message_lacks_is_refused(version: int) -> None:
    for call in (
        lambda: FetchRequest.decode(b"", version),
        lambda: FetchRequest().encode(version),
        lambda: FetchRequest().encode_parts(version),
        lambda: FetchRequest().to_json(version),
        lambda: FetchRequest.from_json({}, version),
    ):
        with pytest.raises(UnsupportedVersionError, match=f"expected a version of 0-18, found {version}"):
            call()


def test_a_value_in_a_field_absent_at_the_version_is_refused_unless_ignorable() -> None:
    assert FetchRequest(max_bytes=5).encode(0) == FetchRequest().encode(0)
    with pytest.raises(UnsupportedVersionError, match=r"FetchRequest v0, forgotten_topics_data"):
        FetchRequest(forgotten_topics_data=[FetchRequest.ForgottenTopic()]).encode(0)
    with pytest.raises(UnsupportedVersionError, match=r"FetchRequest v14, replica_state: "):
        FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=1)).encode(14)
    with pytest.raises(UnsupportedVersionError, match="unknown_tagged_fields: expected none"):
        FetchRequest(unknown_tagged_fields=((7, b""),)).encode(11)


@pytest.mark.parametrize(
    ("changes", "path", "expected"),
    [
        ({"acks": 40_000}, "acks", "int16"),
        ({"acks": "all"}, "acks", "int16"),
        ({"acks": None}, "acks", "int16"),
        ({"timeout_ms": 1 << 31}, "timeout_ms", "int32"),
        ({"timeout_ms": 1.5}, "timeout_ms", "int32"),
        ({"timeout_ms": 1 << 80}, "timeout_ms", "int32"),
        ({"transactional_id": b"x"}, "transactional_id", "string"),
        ({"transactional_id": "x" * 40_000}, "transactional_id", "a string of at most 32767 bytes"),
        ({"transactional_id": "\ud800"}, "transactional_id", "a string that UTF-8 can hold"),
        ({"topic_data": None}, "topic_data", "array"),
        ({"topic_data": "abc"}, "topic_data", "a list"),
        ({"topic_data": [None]}, "topic_data[0]", "ProduceRequest.TopicProduceData"),
        ({"topic_data": [ProduceRequest.PartitionProduceData()]}, "topic_data[0]", "ProduceRequest.TopicProduceData"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_path(
    changes: dict[str, object], path: str, expected: str
) -> None:
    message = produce()
    for name, value in changes.items():
        setattr(message, name, value)
    with pytest.raises(EncodeError) as caught:
        message.encode(9)
    assert (caught.value.title, caught.value.path, caught.value.expected) == ("ProduceRequest v9", path, expected)


def test_a_wrong_value_deep_inside_is_refused_with_its_whole_path() -> None:
    message = produce()
    message.topic_data[0].partition_data.append(ProduceRequest.PartitionProduceData(index=1 << 40))
    with pytest.raises(
        EncodeError, match=r"topic_data\[0\].partition_data\[1\].index: expected int32, found 1099511627776"
    ):
        message.encode(9)
    del message.topic_data[0].partition_data[1].index
    with pytest.raises(EncodeError, match=r"topic_data\[0\].partition_data\[1\].index: expected .*, found none set"):
        message.encode(9)


def test_unknown_tags_survive_byte_for_byte_among_the_known_ones() -> None:
    message = ApiVersionsResponse(finalized_features_epoch=5, zk_migration_ready=True)
    message.unknown_tagged_fields = ((4, b"four"), (300, bytes(200)))
    data = message.encode(3)
    again = ApiVersionsResponse.decode(data, 3)
    assert again == message
    assert again.encode(3) == data
    inner = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="a", unknown_tagged_fields=((0, b""),))])
    assert MetadataRequest.decode(inner.encode(12), 12) == inner


@pytest.mark.parametrize(
    "tags", [((5, b""), (4, b"")), ((4, b""), (4, b"")), ((1, b""),), ((1 << 32, b""),), ((-1, b""),), (4,)]
)
def test_unknown_tags_out_of_order_or_known_are_refused(tags: tuple[tuple[int, bytes], ...]) -> None:
    with pytest.raises(EncodeError, match="unknown_tagged_fields"):
        ApiVersionsResponse(unknown_tagged_fields=tags).encode(3)


def test_a_known_tag_outside_its_versions_is_an_error() -> None:
    good = bytearray(FetchRequest().encode(12))
    assert good[-1] == 0
    data = bytes(good[:-1]) + bytes.fromhex("01 01 00")
    with pytest.raises(DecodeError, match="expected a tag of this version, found tag 1, which other versions have"):
        FetchRequest.decode(data, 12)


@pytest.mark.parametrize(("size", "payload", "found"), [(9, bytes(9), "8 bytes"), (7, bytes(7), "7")])
def test_tag_sizes_are_verified(size: int, payload: bytes, found: str) -> None:
    base = ApiVersionsResponse().encode(3)[:-1]
    with pytest.raises(DecodeError, match="finalized_features_epoch") as caught:
        ApiVersionsResponse.decode(base + bytes((1, 1, size)) + payload, 3)
    assert caught.value.found == found


def test_a_long_tag_value_carries_its_own_size() -> None:
    features = [ApiVersionsResponse.SupportedFeatureKey(name=f"feature-{n}" * 20) for n in range(200)]
    message = ApiVersionsResponse(supported_features=features)
    assert ApiVersionsResponse.decode(message.encode(3), 3) == message


def test_malformed_utf8_is_replaced_as_java_does() -> None:
    data = HeartbeatRequest(group_id="gg").encode(0).replace(b"gg", b"\xff\xfe")
    assert HeartbeatRequest.decode(data, 0).group_id == "\ufffd\ufffd"


def test_a_data_message_may_carry_a_field_named_version() -> None:
    message = LeaderChangeMessage(version=1, leader_id=4)
    assert LeaderChangeMessage.decode(message.encode(0), 0) == message


def test_importing_the_package_parses_no_schema() -> None:
    code = (
        "import sys, kafkawire.messages as m\n"
        "assert 'kafkawire.messages._notation' not in sys.modules\n"
        "m.HeartbeatRequest\n"
        "assert 'kafkawire.messages._notation' in sys.modules\n"
        "assert 'FetchRequest' not in vars(m)\n"
        "assert not {'pyarrow', 'numpy', 'pyspark'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_message_class_finds_every_class_by_name() -> None:
    assert message_class("FetchRequest") is FetchRequest
