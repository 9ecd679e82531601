"""Every rule finds its incident, and is not fooled by what looks like it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.inspect.bodies import batch, described, fetch, fetched, produce, produced
from tests.inspect.captures import Conversation, Packet, merge, write_pcap
from tests.inspect.incidents import INCIDENTS, talk

from kafkawire.inspect.capture import read_captures
from kafkawire.inspect.diagnose import Finding, Thresholds, diagnose, findings_table
from kafkawire.inspect.tables import FINDINGS
from kafkawire.messages import EndTxnRequest, EndTxnResponse, MetadataRequest

if TYPE_CHECKING:
    from pathlib import Path


def findings(tmp_path: Path, packets: list[Packet], limits: Thresholds | None = None) -> list[Finding]:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    return diagnose(read_captures([path]).tables, limits)


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_incident_is_found_and_its_neighbour_is_not(tmp_path: Path, name: str) -> None:
    incident = INCIDENTS[name]
    found = [each for each in findings(tmp_path, merge(incident.shows())) if each.rule == incident.rule]
    assert found, f"{incident.rule} was not found"
    for finding in found:
        assert finding.text
        assert finding.advice
        assert finding.connection
        assert finding.t0 is not None
    nearly = [each for each in findings(tmp_path, merge(incident.nearly())) if each.rule == incident.rule]
    assert nearly == []


def test_a_quiet_capture_has_no_findings(tmp_path: Path) -> None:
    one = talk()
    for number in range(10):
        one.exchange(produce(batch(b"a%d" % number, b"b", b"c")), produced(3 * number), 9)
    assert findings(tmp_path, []) == []
    assert findings(tmp_path, one.close().packets) == []


def test_findings_name_the_exchanges_and_fit_their_table(tmp_path: Path) -> None:
    found = findings(tmp_path, merge(INCIDENTS["hanging transaction"].shows()))
    (finding,) = found
    assert (finding.level, finding.certainty, finding.entity, finding.count) == ("error", "proven", "orders-0", 6)
    assert finding.evidence == [{"conn_id": 0, "seq": number} for number in range(6)]
    assert finding.client_id == "app"
    assert findings_table(found).schema == FINDINGS


def test_a_gap_in_the_window_makes_a_finding_suspected(tmp_path: Path) -> None:
    one = talk()
    for _ in range(8):
        one.exchange(fetch(0, -1, (0, 100)), fetched(0, (0, 150, b""), error_code=1), 11)
    packets = [packet for packet in one.packets if not (packet.mark == 7 and packet.payload)]
    (finding,) = findings(tmp_path, packets)
    assert (finding.rule, finding.certainty) == ("stuck-error-loop", "suspected")


def test_the_worst_comes_first(tmp_path: Path) -> None:
    shown = [*INCIDENTS["idle"].shows(), *INCIDENTS["unknown topic"].shows()]
    for number, each in enumerate(shown):
        each.packets = [_moved(packet, number) for packet in each.packets]
    levels = [each.level for each in findings(tmp_path, merge(shown))]
    assert levels == sorted(levels, key=("error", "warning", "info").index)
    assert {"error", "info"} <= set(levels)


def _moved(packet: Packet, number: int) -> Packet:
    from dataclasses import replace

    ends = [(host, port + number if port != 9092 else port) for host, port in (packet.source, packet.target)]
    return replace(packet, source=ends[0], target=ends[1])


def _unknown(*more: Conversation) -> list[Packet]:
    one = talk()
    for _ in range(4):
        one.exchange(produce(batch(b"a"), partition=8), produced(-1, partition=8, error=3), 9)
    return merge([one, *more])


def _describing(broker: str, partitions: int = 0, error: int = 0, **more: UUID) -> Conversation:
    two = Conversation(client=("10.0.0.7", 51_000), broker=(broker, 9092)).open()
    return two.exchange(MetadataRequest(topics=[]), described("orders", partitions, error, **more), 12)


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([], "no broker knows it"),
        ([_describing("10.0.0.8")], "10.0.0.8:9092 know it, 10.0.0.9:9092 do not"),
        ([_describing("10.0.0.9", 6)], "it has 6 partitions, and partition 8 is asked for"),
        (
            [_describing("10.0.0.8", 1, topic_id=UUID(int=1)), _describing("10.0.0.7", 1, topic_id=UUID(int=2))],
            "deleted and made again",
        ),
    ],
    ids=["missing", "spreading", "too few partitions", "re-created"],
)
def test_why_a_topic_is_unknown(tmp_path: Path, others: list[Conversation], why: str) -> None:
    (finding,) = [each for each in findings(tmp_path, _unknown(*others)) if each.rule == "unknown-topic"]
    assert why in finding.text


def test_a_forbidden_topic_is_told_from_a_missing_one(tmp_path: Path) -> None:
    one = talk()
    for _ in range(4):
        one.exchange(produce(batch(b"a")), produced(-1, error=29), 9)
    (finding,) = [each for each in findings(tmp_path, one.packets) if each.rule == "unknown-topic"]
    assert "may not use it" in finding.text


def test_who_fenced_whom(tmp_path: Path) -> None:
    (finding,) = [each for each in findings(tmp_path, merge(INCIDENTS["fenced"].shows())) if each.rule == "fenced"]
    assert finding.entity == "tx"
    assert "10.0.0.2:50001 took over 2.0 s before" in finding.text


def test_a_hanging_transaction_names_the_producer_that_did_not_end_it(tmp_path: Path) -> None:
    one, two = talk(0), talk(1)
    for number in (7, 8):
        records = batch(b"a", producer_id=number, producer_epoch=0, base_sequence=0, is_transactional=True)
        two.exchange(produce(records, partition=0), produced(100, partition=0), 9)
    two.exchange(EndTxnRequest(transactional_id="t", producer_id=7, committed=True), EndTxnResponse(), 3)
    for _ in range(6):
        asked = fetch(0, -1, (0, 100), isolation_level=1)
        one.exchange(asked, fetched(0, (0, 150, b""), last_stable_offset=100), 11)
    found = findings(tmp_path, merge([one, two]))
    (finding,) = [each for each in found if each.rule == "stuck-hanging-transaction"]
    assert "producers 8 wrote there and have not ended a transaction since" in finding.text


def test_thresholds_are_options(tmp_path: Path) -> None:
    packets = merge(INCIDENTS["error loop"].shows())
    assert findings(tmp_path, packets, Thresholds(repeats=7)) == []
    assert [each.rule for each in findings(tmp_path, packets, Thresholds(repeats=6))] == ["stuck-error-loop"]
