"""Cutting frames: all of them, none that was not sent, whatever the capture lost."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import Conversation, Packet, Sent, write_pcap
from tests.inspect.cluster_traffic import Traffic, cluster_traffic, impaired

from kafkawire.inspect._capture.connections import Connection, open_capture
from kafkawire.inspect._capture.frames import Tail
from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin
BEAT = (HeartbeatRequest(group_id="g", generation_id=3, member_id="m"), HeartbeatResponse(), 4)


def connections(tmp_path: Path, packets: list[Packet]) -> list[Connection]:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    return list(open_capture(path).connections())


def only(tmp_path: Path, packets: list[Packet]) -> Connection:
    (connection,) = connections(tmp_path, packets)
    return connection


def score(tmp_path: Path, traffic: Traffic) -> tuple[float, int]:
    """The share of frames found, and how many were found that never were."""
    found: Counter[Sent] = Counter()
    for connection in connections(tmp_path, traffic.packets):
        for from_client, frames in ((True, connection.requests), (False, connection.responses)):
            rows = zip(frames.size.tolist(), frames.correlation.tolist(), frames.whole.tolist(), strict=True)
            found.update(Sent(connection.client, from_client, size, number) for size, number, whole in rows if whole)
    truth = Counter(traffic.truth)
    return (found & truth).total() / truth.total(), (found - truth).total()


def test_a_clean_capture_is_cut_without_fault(tmp_path: Path) -> None:
    assert score(tmp_path, cluster_traffic(12, 20, payload=6_000)) == (1.0, 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_impaired_capture_loses_little_and_invents_nothing(tmp_path: Path, seed: int) -> None:
    traffic = impaired(cluster_traffic(40, 25, payload=8_000, seed=seed), lost=4, seed=seed)
    share, false = score(tmp_path, traffic)
    assert share >= 0.995
    assert false == 0


def test_every_connection_starting_in_mid_stream_is_found(tmp_path: Path) -> None:
    traffic = impaired(cluster_traffic(24, 20, payload=8_000), lost=0, mid_stream=1.0)
    share, false = score(tmp_path, traffic)
    assert share >= 0.995
    assert false == 0


def test_frames_are_cut_where_an_early_packet_overlaps_later_ones(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(*BEAT).exchange(*BEAT)
    sent = [index for index, packet in enumerate(talk.packets) if packet.payload and packet.source == talk.client]
    first, second = (talk.packets[index] for index in sent)
    both = first.payload + second.payload
    early = replace(first, sequence=first.sequence + 10, payload=both[10:-10])
    packets = [*talk.packets[: sent[0]], early, *talk.packets[sent[0] :]]
    assert only(tmp_path, packets).requests.correlation.tolist() == [1, 2]


def test_a_gap_within_a_frame_costs_that_frame_only(tmp_path: Path) -> None:
    talk = Conversation(segment=20).open()
    for _ in range(5):
        talk.exchange(*BEAT)
    third = [index for index, packet in enumerate(talk.packets) if packet.mark == 4 and packet.payload]
    talk.packets.pop(third[1])
    frames = only(tmp_path, talk.packets).requests
    assert frames.correlation.tolist() == [1, 2, 3, 4, 5]
    assert frames.whole.tolist() == [True, True, False, True, True]
    assert [skip.reason for skip in frames.skips] == ["missing from the capture"]


def test_a_lost_boundary_is_found_again_and_the_skipped_bytes_are_reported(tmp_path: Path) -> None:
    talk = Conversation(segment=20).open()
    for _ in range(6):
        talk.exchange(*BEAT)
    third = [index for index, packet in enumerate(talk.packets) if packet.mark == 4 and packet.payload]
    talk.packets.pop(third[0])
    frames = only(tmp_path, talk.packets).requests
    assert frames.correlation.tolist() == [1, 2, 4, 5, 6]
    assert [skip.reason for skip in frames.skips] == ["missing from the capture", "no frame recognised"]


def test_without_a_syn_the_side_that_sends_requests_is_the_client(tmp_path: Path) -> None:
    talk = Conversation(client=("10.0.0.1", 900), broker=("10.0.0.9", 40_000)).open()
    for _ in range(3):
        talk.exchange(*BEAT)
    connection = only(tmp_path, talk.packets[3:])
    assert (connection.client, len(connection.requests), len(connection.responses)) == ("10.0.0.1:900", 3, 3)


def test_raw_sasl_tokens_follow_a_version_0_handshake(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse(mechanisms=["PLAIN"]), 0)
    token = b"\0user\0secret"
    talk.send(struct.pack(">i", len(token)) + token).send(bytes(4), from_client=False)
    talk.exchange(*BEAT)
    connection = only(tmp_path, talk.packets)
    assert connection.requests.api_key.tolist() == [17, -1, 12]
    assert connection.responses.correlation.tolist() == [1, -1, 2]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50), "tls"),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "http"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "unknown"),
        (b"\0\0\0\x28\0\3\0\0user\0bob\0database\0bobs\0" + bytes(12), "unknown"),
    ],
)
def test_traffic_that_is_not_kafka_is_named_and_not_cut(tmp_path: Path, start: bytes, kind: str) -> None:
    connection = only(tmp_path, Conversation().open().send(start).close("broker").packets)
    assert (connection.kind, len(connection.requests)) == (kind, 0)
    assert connection.requests.skips[0].reason == "not Kafka: the first bytes are not a request"


def test_a_stream_that_ends_within_a_frame_has_a_tail(tmp_path: Path) -> None:
    talk = Conversation().open()
    talk.exchange(*BEAT)
    talk.send(struct.pack(">ihhi", 5_000, 0, 9, 2) + b"\0\3app")
    frames = only(tmp_path, talk.packets).requests
    assert (len(frames), frames.tail) == (1, Tail(int(frames.size[0]), 5_000, 17))


def test_times_are_those_of_the_first_and_last_packet_of_a_frame(tmp_path: Path) -> None:
    talk = Conversation(segment=20).open()
    began = talk.now
    talk.request(BEAT[0], 4)
    packets = [packet for packet in talk.packets if packet.payload]
    frames = only(tmp_path, talk.packets).requests
    assert (frames.begin.tolist(), frames.end.tolist()) == ([began], [packets[-1].time])
    assert frames.packets(0) == [4, 5]


def test_fetch_of_client_ids_that_differ_within_a_connection(tmp_path: Path) -> None:
    talk = Conversation().open()
    for name in ("a", "a", None, "", "b", "a"):
        talk.request(ApiVersionsRequest(), 0, client_id=name or None)
        talk.respond(ApiVersionsResponse(), 0)
    frames = only(tmp_path, talk.packets).requests
    assert [frames.clients[number] if number >= 0 else None for number in frames.client.tolist()] == [
        *("a", "a", None, None, "b", "a")
    ]


def test_a_huge_request_spans_packets_without_being_copied_when_walked(tmp_path: Path) -> None:
    talk = Conversation(segment=60_000).open()
    data = ProduceRequest.PartitionProduceData(records=bytes(300_000))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    talk.request(ProduceRequest(acks=1, topic_data=[topic]), 9)
    frames = only(tmp_path, talk.packets).requests
    assert len(frames.packets(0)) == 6
    assert len(frames.read(0)) == talk.truth[0].size - 4
