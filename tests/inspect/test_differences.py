"""Differences between trees: by field path, so that inserted bytes and elements shift nothing."""

from __future__ import annotations

from kafkawire.inspect import differences, explain_records, explain_request
from kafkawire.messages import FetchRequest, MetadataRequest
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

Topic = MetadataRequest.MetadataRequestTopic


def metadata(*names: str, version: int = 8) -> bytes:
    request = MetadataRequest(topics=[Topic(name=name) for name in names])
    return bytes(encode_request(request, version=version, correlation_id=1, client_id="c"))


def between(before: bytes, after: bytes) -> list[tuple[str, str]]:
    found = differences(explain_request(before).space, explain_request(after).space)
    return [(each.kind, each.path) for each in found]


def test_equal_frames_have_none() -> None:
    assert between(metadata("a", "b"), metadata("a", "b")) == []


def test_an_inserted_element_is_one_difference() -> None:
    assert between(metadata("a", "b", "c"), metadata("new", "a", "b", "c")) == [("added", "body.topics[0]")]


def test_a_removed_element_is_one_difference() -> None:
    assert between(metadata("a", "b", "c"), metadata("a", "c")) == [("removed", "body.topics[1]")]


def test_a_changed_field_within_an_element_has_its_path() -> None:
    assert between(metadata("a", "b"), metadata("a", "x")) == [("changed", "body.topics[1].name")]


def test_fields_of_other_versions_are_added_and_removed() -> None:
    found = between(metadata("a", version=3), metadata("a", version=8))
    assert ("changed", "header.request_api_version") in found
    assert ("added", "body.allow_auto_topic_creation") in found
    assert not [path for _, path in found if "topics" in path]


def test_other_messages_share_only_the_header() -> None:
    fetch = bytes(encode_request(FetchRequest(max_wait_ms=1), version=4, correlation_id=1, client_id="c"))
    found = between(metadata("a"), fetch)
    assert ("changed", "header.request_api_key") in found
    assert ("added", "body.max_wait_ms") in found
    assert ("removed", "body.topics") in found or any(path.startswith("body.topics") for _, path in found)


def test_the_same_records_in_two_codecs_differ_in_the_attributes() -> None:
    built = []
    for codec in ("none", "gzip"):
        batch = BatchBuilder(compression=codec)
        for number in range(20):
            batch.append(None, b"value %d" % number, 1)
        built.append(explain_records(batch.build()).space)
    assert [(each.kind, each.path) for each in differences(*built)] == [("changed", "[0].attributes")]


def test_a_changed_record_of_compressed_batches_is_found_inside() -> None:
    built = []
    for word in (b"old", b"new"):
        batch = BatchBuilder(compression="gzip")
        for number in range(20):
            batch.append(None, word if number == 7 else b"same", 1)
        built.append(explain_records(batch.build()).space)
    found = [(each.kind, each.path) for each in differences(*built)]
    assert found == [("changed", "[0].records[7].value")]
