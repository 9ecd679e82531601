"""Partitions, batches and records of exchanges; fetch sessions and topic ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from tests.inspect.captures import Conversation, Packet, write_pcap
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.inspect._tables.read import read_captures
from kafkawire.inspect._tables.schemas import SCHEMAS
from kafkawire.inspect._tables.topics import TopicFileError, TopicNames, show_id
from kafkawire.messages import (
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from kafkawire.records import crc32c

if TYPE_CHECKING:
    from pathlib import Path

ORDERS, AUDIT = UUID(int=77), UUID(int=78)


def tables(tmp_path: Path, packets: list[Packet], **options: Any) -> dict[str, list[dict[str, Any]]]:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    read = read_captures([path], **options).tables
    for name, table in read.items():
        assert table.schema == SCHEMAS[name]
    return {name: table.to_pylist() for name, table in read.items()}


def test_request_and_response_join_in_one_row_a_partition(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(produce(batch(b"a", b"b")), produced(40), 9)
    found = tables(tmp_path, talk.packets)
    (row,) = found["exchange_partitions"]
    assert (row["topic"], row["partition"], row["error_code"], row["base_offset"]) == ("orders", 3, 0, 40)
    assert (row["bytes"], row["batches"]) == (len(batch(b"a", b"b")), 1)


def test_partition_errors_become_the_error_of_the_exchange(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(produce(batch(b"a")), produced(-1, error=6), 9)
    assert tables(tmp_path, talk.packets)["exchanges"][0]["error_code"] == 6


def test_batches_have_their_headers_and_a_bad_checksum_is_reported(tmp_path: Path) -> None:
    good, bad = batch(b"a", b"b", base_offset=5), bytearray(batch(b"c", base_offset=7))
    bad[-2] ^= 1
    talk = Conversation().open()
    talk.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 9, good + bytes(bad) + good[:20])), 11)
    found = tables(tmp_path, talk.packets)["batches"]
    assert [(row["base_offset"], row["last_offset"], row["record_count"], row["crc_ok"]) for row in found] == [
        *((5, 6, 2, True), (7, 7, 1, False))
    ]
    assert [row["location"] for row in found] == ["0/0@0", f"0/0@{len(good)}"]
    assert {row["source"] for row in found} == {"response"}


def test_records_are_rows_and_values_stay_out_unless_asked_for(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(produce(batch(b"secret", None)), produced(0), 9)
    private = tables(tmp_path, talk.packets, records=True)["records"]
    assert [(row["key"], row["value_len"], row["value"], row["tombstone"]) for row in private] == [
        *((b"k", 6, None, False), (b"k", None, None, True))
    ]
    assert tables(tmp_path, talk.packets, values=True)["records"][0]["value"] == b"secret"
    assert "records" not in tables(tmp_path, talk.packets)


def test_an_incremental_fetch_has_the_offsets_of_its_session(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(fetch(0, 0, (0, 10), (1, 20)), fetched(9, (0, 10, b""), (1, 20, b"")), 11)
    talk.exchange(fetch(9, 1), fetched(9, (1, 21, b"")), 11)
    talk.exchange(fetch(9, 2, (1, 21)), fetched(9, (0, 11, b"")), 11)
    found = tables(tmp_path, talk.packets)
    asked = [(row["seq"], row["partition"], row["fetch_offset"]) for row in found["exchange_partitions"]]
    assert asked == [(0, 0, 10), (0, 1, 20), (1, 1, 20), (2, 1, 21), (2, 0, 10)]
    assert [row["session_size"] for row in found["exchanges"]] == [2, 2, 2]


def test_forgotten_partitions_leave_the_session(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(fetch(0, 0, (0, 10), (1, 20)), fetched(9), 11)
    request = fetch(9, 1)
    request.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic="orders", partitions=[0])]
    talk.exchange(request, fetched(9), 11)
    assert [row["session_size"] for row in tables(tmp_path, talk.packets)["exchanges"]] == [2, 1]


def test_a_session_seen_midway_is_unknown_until_a_full_fetch(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(fetch(9, 40), fetched(9, (1, 21, b"")), 11)
    talk.exchange(fetch(9, 0, (1, 30)), fetched(12), 11)
    talk.exchange(fetch(12, 1), fetched(12, (1, 31, b"")), 11)
    found = tables(tmp_path, talk.packets)
    assert [row["session_size"] for row in found["exchanges"]] == [None, 1, 1]
    assert [row["fetch_offset"] for row in found["exchange_partitions"]] == [None, 30, 30]


def test_a_session_error_ends_the_session(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(fetch(0, 0, (0, 10)), fetched(9), 11)
    talk.exchange(fetch(9, 1), fetched(0, error=70), 11)
    talk.exchange(fetch(9, 2), fetched(9, (0, 11, b"")), 11)
    assert [row["session_size"] for row in tables(tmp_path, talk.packets)["exchanges"]] == [1, 1, None]


def test_topic_ids_are_named_by_metadata_even_when_it_comes_later(tmp_path: Path) -> None:
    talk = Conversation().open()
    part = FetchRequest.FetchPartition(partition=0, fetch_offset=4)
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=ORDERS, partitions=[part])])
    answer = FetchResponse.FetchableTopicResponse(
        topic_id=ORDERS, partitions=[FetchResponse.PartitionData(partition_index=0, high_watermark=9)]
    )
    talk.exchange(request, FetchResponse(responses=[answer]), 13)
    topic = MetadataResponse.MetadataResponseTopic(name="orders", topic_id=ORDERS)
    talk.exchange(MetadataRequest(topics=[]), MetadataResponse(topics=[topic]), 12)
    rows = tables(tmp_path, talk.packets)["exchange_partitions"]
    assert [(row["topic"], row["topic_id"], row["partition"]) for row in rows] == [
        *(("orders", show_id(ORDERS), 0), ("orders", show_id(ORDERS), -1))
    ]


def test_topic_ids_come_from_log_directories_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "my-topic-3"
    folder.mkdir(parents=True)
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {show_id(ORDERS)}\n")
    listed = tmp_path / "ids"
    listed.write_text(f"# mine\n{AUDIT} audit\n")
    names = TopicNames()
    names.learn_directories(tmp_path / "logs")
    names.learn_file(listed)
    assert names.names == {ORDERS: "my-topic", AUDIT: "audit"}
    listed.write_text("one two three\n")
    with pytest.raises(TopicFileError, match="line 1: expected a topic id and a name"):
        names.learn_file(listed)


def test_commits_have_their_offsets(tmp_path: Path) -> None:
    talk = Conversation().open()
    asked = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=2, committed_offset=55)
    request = OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[asked])]
    )
    verdict = OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=2, error_code=27)
    answer = OffsetCommitResponse.OffsetCommitResponseTopic(name="orders", partitions=[verdict])
    talk.exchange(request, OffsetCommitResponse(topics=[answer]), 8)
    (row,) = tables(tmp_path, talk.packets)["exchange_partitions"]
    assert (row["partition"], row["committed_offset"], row["error_code"]) == (2, 55, 27)


def test_records_that_cannot_be_unpacked_cost_no_others(tmp_path: Path) -> None:
    wrong = bytearray(batch(b"lost"))
    wrong[-6] = 0x7E  # the value's length, which now passes the end of the record
    wrong[17:21] = crc32c(bytes(wrong[21:])).to_bytes(4, "big")
    talk = Conversation().open()
    for number, records in enumerate((batch(b"one", b"two"), bytes(wrong), batch(b"three"))):
        talk.exchange(produce(records), produced(number), 8)
    found = tables(tmp_path, talk.packets, values=True)
    assert [row["crc_ok"] for row in found["batches"]] == [True] * 3
    assert [(row["value"], row["location"]) for row in found["records"]] == [
        (b"one", "0/0@0"),
        (b"two", "0/0@0"),
        (b"three", "0/2@0"),
    ]
