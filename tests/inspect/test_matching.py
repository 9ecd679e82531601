"""Requests are matched with responses, and silence is distinguished from loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.captures import Conversation, Packet, merge, write_pcap

from kafkawire.inspect._tables.read import Reading, read_captures
from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
    ProduceResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from pathlib import Path

BEAT = (HeartbeatRequest(group_id="g", generation_id=3, member_id="m"), HeartbeatResponse(), 4)


def read(tmp_path: Path, packets: list[Packet]) -> Reading:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    return read_captures([path])


def rows(tmp_path: Path, packets: list[Packet], table: str = "exchanges") -> list[dict[str, Any]]:
    return read(tmp_path, packets).tables[table].to_pylist()


def produce(acks: int) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=b"x" * 40)
    return ProduceRequest(acks=acks, topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[data])])


def test_an_exchange_has_times_sizes_and_both_packets(tmp_path: Path) -> None:
    talk = Conversation(client_id="app").open()
    talk.exchange(*BEAT, after=5.0)
    (row,) = rows(tmp_path, talk.packets)
    assert (row["api"], row["version"], row["client_id"], row["state"]) == ("Heartbeat", 4, "app", "matched")
    assert (row["wait_us"], row["service_us"], row["req_packet"], row["resp_packet"]) == (5002, 5002, 4, 5)
    assert (row["req_bytes"], row["resp_bytes"]) == (talk.truth[0].size, talk.truth[1].size)
    assert (row["group_id"], row["member_id"], row["generation"], row["error_code"]) == ("g", "m", 3, 0)


def test_service_time_begins_when_the_response_before_has_gone(tmp_path: Path) -> None:
    talk = Conversation().open()
    first, second = talk.request(BEAT[0], 4), talk.request(BEAT[0], 4)
    talk.wait(10).respond(BEAT[1], 4, first)
    talk.wait(3).respond(BEAT[1], 4, second)
    one, two = rows(tmp_path, talk.packets)
    assert one["service_us"] == one["wait_us"]
    assert (two["wait_us"] // 1000, two["service_us"] // 1000) == (13, 3)


@pytest.mark.parametrize("version", [2, 3, 9, 12])
def test_a_produce_without_acks_has_no_response(tmp_path: Path, version: int) -> None:
    talk = Conversation().open()
    talk.request(produce(0), version)
    talk.exchange(produce(1), ProduceResponse(), version)
    talk.request(produce(0), version)
    states = [row["state"] for row in rows(tmp_path, talk.packets)]
    assert states == ["no_response_expected", "matched", "no_response_expected"]


def test_a_request_without_a_response_is_unanswered(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(*BEAT)
    talk.request(produce(1), 9)
    assert [row["state"] for row in rows(tmp_path, talk.packets)] == ["matched", "unanswered"]


def test_a_response_lost_by_the_capture_is_a_gap_and_no_verdict(tmp_path: Path) -> None:
    talk = Conversation().open()
    for _ in range(3):
        talk.exchange(*BEAT)
    packets = [packet for packet in talk.packets if not (packet.mark == 3 and packet.payload)]
    assert [row["state"] for row in rows(tmp_path, packets)] == ["matched", "gap", "matched"]


def test_a_request_lost_by_the_capture_leaves_a_response_alone(tmp_path: Path) -> None:
    talk = Conversation().open()
    for _ in range(3):
        talk.exchange(*BEAT)
    packets = [packet for packet in talk.packets if not (packet.mark == 2 and packet.payload)]
    found = rows(tmp_path, packets)
    assert [(row["state"], row["corr_id"]) for row in found] == [("matched", 1), ("request_missing", 2), ("matched", 3)]


def test_correlation_ids_may_repeat(tmp_path: Path) -> None:
    talk = Conversation().open()
    for _ in range(4):
        talk.correlation = 6
        talk.exchange(*BEAT)
    assert [row["state"] for row in rows(tmp_path, talk.packets)] == ["matched"] * 4


def test_an_unsupported_api_versions_is_answered_in_version_0(tmp_path: Path) -> None:
    talk = Conversation().open()
    key = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=2)
    talk.request(ApiVersionsRequest(client_software_name="app", client_software_version="1.0"), 4)
    talk.respond(ApiVersionsResponse(error_code=35, api_keys=[key]), 0)
    (row,) = rows(tmp_path, talk.packets)
    assert (row["error_code"], row["fault"]) == (35, None)
    assert row["api_versions"] == [{"api_key": 18, "min": 0, "max": 2}]


def test_raw_sasl_tokens_answer_each_other(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse(mechanisms=["PLAIN"]), 0)
    talk.send(b"\0\0\0\5\0a\0bc").wait(1).send(bytes(4), from_client=False)
    talk.exchange(*BEAT)
    found = rows(tmp_path, talk.packets)
    assert [row["state"] for row in found] == ["matched", "sasl_token", "matched"]
    assert [row["api"] for row in found] == ["SaslHandshake", None, "Heartbeat"]


def test_bodies_that_do_not_read_are_undecoded_and_say_why(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(*BEAT)
    frame = bytes.fromhex("000c0001 00000002 0003 617070 0001 67")
    talk.send(len(frame).to_bytes(4, "big") + frame).wait(1)
    talk.respond(HeartbeatResponse(), 1, 2)
    found = rows(tmp_path, talk.packets)
    assert found[1]["state"] == "undecoded"
    assert "HeartbeatRequest v1" in found[1]["fault"]


def test_connections_have_the_way_they_ended(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(*BEAT).wait(600_000).close("broker")
    other = Conversation(client=("10.0.0.2", 1234)).open()
    other.request(produce(1), 9)
    other.wait(30_000).close("client", flag=4)
    one, two = rows(tmp_path, merge([talk, other]), "connections")
    assert (one["closed_by"], one["close_kind"], one["idle_ms"] // 1000, one["pending"]) == ("broker", "fin", 600, 0)
    assert (two["closed_by"], two["close_kind"], two["pending"], two["rtt_us"]) == ("client", "rst", 1, 200)


def test_a_broker_as_client_is_labelled(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(FetchRequest(replica_id=2, max_wait_ms=500, min_bytes=1), FetchResponse(), 11)
    (row,) = rows(tmp_path, talk.packets, "connections")
    assert row["inter_broker"]


def test_gaps_are_rows(tmp_path: Path) -> None:
    talk = Conversation().open()
    for _ in range(3):
        talk.exchange(*BEAT)
    packets = [packet for packet in talk.packets if not (packet.mark == 2 and packet.payload)]
    (row,) = rows(tmp_path, packets, "gaps")
    assert (row["sender"], row["bytes"], row["reason"]) == ("client", talk.truth[2].size, "missing from the capture")
