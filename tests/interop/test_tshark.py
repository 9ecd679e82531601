"""Wireshark's dissector sees the frames that we see, and opens what the proxy records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import Conversation, merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic, impaired
from tests.inspect.recordings import VALUES, record, with_aiokafka
from tests.interop.tshark import Tshark

from kafkawire.inspect._tables.read import Reading, read_captures
from kafkawire.messages import apis

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

Seen = tuple[int, int, int, int]  # from port, to port, size, correlation id


@pytest.fixture(scope="module")
def tshark() -> Tshark:
    return Tshark()


def frames_in(reading: Reading) -> Counter[Seen]:
    found: Counter[Seen] = Counter()
    for talk in reading.conversations:
        one = talk.connection
        client, broker = (int(end.rpartition(":")[2]) for end in (one.client, one.broker))
        for ends, frames in (((client, broker), one.requests), ((broker, client), one.responses)):
            parts = zip(frames.size.tolist(), frames.correlation.tolist(), frames.whole.tolist(), strict=True)
            found.update((*ends, size - 4, number) for size, number, whole in parts if whole)
    return found


@pytest.fixture(scope="module")
def every_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A connection for each API, with an exchange of each version."""
    talks = []
    for number, api in enumerate(apis()):
        talk = Conversation(client=("10.0.0.1", 40_000 + number)).open()
        for version in api.versions:
            talk.exchange(api.request(), api.response(), version)
        talks.append(talk.close())
    path = tmp_path_factory.mktemp("tshark") / "x.pcap"
    path.write_bytes(write_pcap(merge(talks), nanoseconds=True))
    return path


def test_lengths_keys_versions_and_correlation_ids_of_every_api_and_version(
    tshark: Tshark, every_version: Path
) -> None:
    reading = read_captures([every_version], bodies=False)
    theirs = tshark.frames(every_version)
    assert Counter(each[1:5] for each in theirs) == frames_in(reading)
    asked = {row["req_packet"]: row for row in reading.tables["exchanges"].to_pylist()}
    answered = {row["resp_packet"]: row for row in asked.values()}
    requests = [each for each in theirs if each.to_port == 9092]
    assert len(requests) == len(asked)
    for each in requests:
        row = asked[each.packet]
        assert each.request == (row["api_key"], row["version"])
    known = [each for each in theirs if each.response is not None]
    assert len(known) > 150
    for each in known:
        row = answered[each.packet]
        assert each.response == (row["api_key"], row["version"])
        assert each.request_packet == row["req_packet"]


def test_frames_of_many_packets(tshark: Tshark, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    traffic = cluster_traffic(20, 20, payload=20_000)
    path.write_bytes(write_pcap(traffic.packets))
    ours = frames_in(read_captures([path], bodies=False))
    assert Counter(each[1:5] for each in tshark.frames(path)) == ours
    assert ours.total() == len(traffic.truth)


def test_of_an_impaired_capture_we_find_what_tshark_finds_and_more(tshark: Tshark, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    traffic = impaired(cluster_traffic(60, 25, payload=20_000), lost=6)
    path.write_bytes(write_pcap(traffic.packets))
    truth: Counter[Seen] = Counter()
    for frame in traffic.truth:
        port = int(frame.client.rpartition(":")[2])
        ends = (port, 9092) if frame.from_client else (9092, port)
        truth[*ends, frame.size - 4, frame.correlation] += 1
    ours = frames_in(read_captures([path], bodies=False))
    theirs: Counter[Seen] = Counter(
        each[1:5] for each in tshark.frames(path, 9092, "-o", "tcp.reassemble_out_of_order:TRUE")
    )
    assert (ours - truth).total() == 0
    assert (ours & truth).total() > (theirs & truth).total()
    assert ((theirs & truth) - ours).total() <= 6


def test_wireshark_opens_what_the_proxy_records(tshark: Tshark, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    recorded = record(path, with_aiokafka)
    assert recorded.values == VALUES
    facts = tshark.describe(path)
    assert facts["File type"] == "pcapng"
    assert facts["File encapsulation"] == "rawip"
    reading = read_captures([path])
    assert int(facts["Number of packets"]) == reading.packets
    theirs = tshark.frames(path, recorded.port)
    assert Counter(each[1:5] for each in theirs) == frames_in(reading)
    names = {api.key: api.name for api in apis()}
    told = Counter((names[each.request[0]], each.request[1]) for each in theirs if each.request is not None)
    assert told - Counter((each.api, each.version) for each in recorded.requests) == Counter()
