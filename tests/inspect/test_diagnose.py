"""Every rule finds its incident, and is not fooled by what looks like it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.inspect.captures import Conversation, Packet, merge, write_pcap
from tests.inspect.conversations import BEAT, given, talk
from tests.inspect.incidents import INCIDENTS
from tests.inspect.sample_messages import batch, commit, committed, described, fetch, fetched, produce, produced

from kafkawire.inspect import (
    LEVELS,
    Evidence,
    Finding,
    LogFiles,
    Thresholds,
    about,
    find_incidents,
    findings_table,
    rule,
)
from kafkawire.inspect._diagnose.close_causes import FLOORS
from kafkawire.inspect._diagnose.rule import built_in_rules
from kafkawire.inspect._tables.read import read_captures
from kafkawire.inspect._tables.schemas import FINDINGS
from kafkawire.messages import (
    EndTxnRequest,
    EndTxnResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataRequest,
    apis,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkawire.messages import Api

SHARE_GROUPS = range(76, 80)  # their version 0 was an early access, and went with it


def tables_of(tmp_path: Path, packets: list[Packet]) -> dict[str, pa.Table]:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    return read_captures([path]).tables


def findings(tmp_path: Path, packets: list[Packet], limits: Thresholds | None = None) -> list[Finding]:
    return find_incidents(tables_of(tmp_path, packets), limits)


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
    assert finding.evidence == [{"conn_id": 0, "seq": number} for number in range(1, 7)]
    assert finding.client_id == "app"
    assert findings_table(found).schema == FINDINGS


def test_a_gap_in_the_window_makes_a_finding_suspected(tmp_path: Path) -> None:
    one = talk()
    for _ in range(8):
        one.exchange(fetch(0, -1, (0, 100)), fetched(0, (0, 150, b""), error_code=1), 11)
    packets = [packet for packet in one.packets if not (packet.mark == 9 and packet.payload)]
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
        ([_describing("10.0.0.9", 6)], "it has 6 partitions, and the client uses partition 8"),
        (
            [_describing("10.0.0.8", 1, topic_id=UUID(int=1)), _describing("10.0.0.7", 1, topic_id=UUID(int=2))],
            "deleted and recreated",
        ),
    ],
    ids=["missing", "spreading", "too few partitions", "re-created"],
)
def test_why_a_topic_is_unknown(tmp_path: Path, others: list[Conversation], why: str) -> None:
    (finding,) = [each for each in findings(tmp_path, _unknown(*others)) if each.rule == "unknown-topic"]
    assert why in finding.text


@pytest.mark.parametrize(
    ("steps", "levels"),
    [
        ([(3, 1_000)] * 4 + [(0, 1_000)], ["info"]),
        ([(3, 1_000)] * 4 + [(0, 1_000), (0, 1_000)], ["info"]),
        ([(3, 1_000)] * 4 + [(0, 20_000)], ["error"]),
        ([(0, 1_000)] + [(3, 1_000)] * 4 + [(0, 1_000)], ["error"]),
        ([(3, 1_000)] * 2 + [(0, 1_000)] + [(3, 1_000)] * 2, ["error"]),
        ([(3, 1_000)] * 4, ["error"]),
    ],
    ids=["created", "created and used", "known too late", "deleted and created", "known at times", "missing"],
)
def test_a_topic_that_is_being_created_is_not_an_incident(
    tmp_path: Path, steps: list[tuple[int, int]], levels: list[str]
) -> None:
    one = talk()
    for error, milliseconds in steps:
        one.wait(milliseconds)
        one.exchange(MetadataRequest(topics=[]), described("orders", 1 if error == 0 else 0, error), 12)
    found = [each for each in findings(tmp_path, one.packets) if each.rule == "unknown-topic"]
    assert [each.level for each in found] == levels


@pytest.mark.parametrize(
    ("codes", "level"),
    [
        ([15, 15, 14, 16, 14, 0], "info"),
        ([15, 15, 14, 14, 14], "warning"),
        ([16, 16, 16, 16, 16], "warning"),
        ([15, 6, 14, 14, 14, 0], "warning"),
    ],
    ids=["loaded", "not loaded", "moved", "a leader moved too"],
)
def test_a_coordinator_that_loads_is_not_an_incident(tmp_path: Path, codes: list[int], level: str) -> None:
    one = talk()
    one.exchange(InitProducerIdRequest(), InitProducerIdResponse(error_code=14), 4)
    one.exchange(InitProducerIdRequest(), InitProducerIdResponse(), 4)
    for code in codes:
        one.exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(error_code=code), 4)
    other = Conversation(client=("10.0.0.7", 51_000), broker=("10.0.0.8", 9092)).wait(1_000).open()
    other.exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(), 4)
    found = [each for each in findings(tmp_path, merge([one, other])) if each.rule == "leader-churn"]
    assert [each.level for each in found] == [level]


@pytest.mark.parametrize(("restarts", "storms"), [(1, []), (4, ["rebalance-storm"])])
def test_a_restart_of_a_consumer_is_not_a_storm(tmp_path: Path, restarts: int, storms: list[str]) -> None:
    conversations, generation = [], 0
    for number in range(restarts + 1):
        one = Conversation(client=("10.0.0.7", 51_000 + number), broker=("10.0.0.9", 9092))
        one.wait(3_000 * number)
        one.open()
        for _ in range(2):
            generation += 1
            one.exchange(
                JoinGroupRequest(group_id="g", member_id=f"m{number}"),
                JoinGroupResponse(generation_id=generation, member_id=f"m{number}"),
                7,
            )
        conversations.append(one.close())
    found = find_incidents(tables_of(tmp_path, merge(conversations)))
    assert [each.rule for each in found if each.level == "error"] == storms


def test_a_forbidden_topic_is_distinguished_from_a_missing_one(tmp_path: Path) -> None:
    one = talk()
    for _ in range(4):
        one.exchange(produce(batch(b"a")), produced(-1, error=29), 9)
    (finding,) = [each for each in findings(tmp_path, one.packets) if each.rule == "unknown-topic"]
    assert "may not use it" in finding.text


def test_a_fencing_names_both_clients(tmp_path: Path) -> None:
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
    assert "producers 8 wrote there and did not end a transaction afterwards" in finding.text


def test_thresholds_are_options(tmp_path: Path) -> None:
    packets = merge(INCIDENTS["error loop"].shows())
    assert findings(tmp_path, packets, Thresholds(repeats=7)) == []
    assert [each.rule for each in findings(tmp_path, packets, Thresholds(repeats=6))] == ["stuck-error-loop"]


def finding_of(tmp_path: Path, packets: list[Packet], name: str) -> Finding:
    (finding,) = [each for each in findings(tmp_path, packets) if each.rule == name]
    return finding


def test_a_beginning_that_the_capture_lacks_makes_what_rests_on_it_suspected(tmp_path: Path) -> None:
    for name, expected, certainty in (
        ("paused", "stuck-not-fetching", "proven"),
        ("assigned and not fetched", "stuck-not-fetching", "suspected"),
        ("error loop", "stuck-error-loop", "proven"),
        ("slow", "slow-api", "proven"),
    ):
        assert finding_of(tmp_path, merge(INCIDENTS[name].shows()), expected).certainty == certainty
    late = {name: merge(INCIDENTS[name].shows())[3:] for name in ("paused", "error loop")}
    assert finding_of(tmp_path, late["paused"], "stuck-not-fetching").certainty == "suspected"
    assert finding_of(tmp_path, late["error loop"], "stuck-error-loop").certainty == "proven"
    assert finding_of(tmp_path, merge(INCIDENTS["slow"].shows())[5:], "slow-api").certainty == "suspected"
    unasking = merge(INCIDENTS["never asks for versions"].shows())
    assert [each.rule for each in findings(tmp_path, unasking[3:])] == []


def test_a_session_that_began_before_the_capture_may_have_any_partition(tmp_path: Path) -> None:
    one = talk()
    one.exchange(*given())
    for epoch in range(5, 40):
        one.exchange(*BEAT, then=3000)
        one.exchange(fetch(9, epoch), fetched(9), 11)
    assert findings(tmp_path, one.packets) == []


def test_a_member_that_is_not_fetching_is_reported_with_its_partitions(tmp_path: Path) -> None:
    finding = finding_of(tmp_path, merge(INCIDENTS["paused"].shows()), "stuck-not-fetching")
    assert finding.entity == "orders-1"
    assert "orders-1: assigned, 30 heartbeats, but no fetch for 87 s" in finding.text


@pytest.mark.parametrize(
    ("log_start", "mark", "said"),
    [
        (200, -1, "the log starts at 200: retention deleted the data"),
        (0, 50, "the log ends at 50: it was truncated"),
        (0, -1, ""),
    ],
)
def test_an_offset_out_of_range_is_before_or_behind_the_log(
    tmp_path: Path, log_start: int, mark: int, said: str
) -> None:
    one = talk()
    for _ in range(6):
        refusal = fetched(0, (0, mark, b""), error_code=1, log_start_offset=log_start)
        one.exchange(fetch(0, -1, (0, 100)), refusal, 11)
    text = finding_of(tmp_path, one.packets, "stuck-error-loop").text
    assert said in text
    assert text.endswith("(1)") == (said == "")


def test_throttling_states_the_rate_that_a_quota_allows(tmp_path: Path) -> None:
    one = talk()
    for _ in range(3):
        one.exchange(produce(batch(bytes(100_000))), produced(1, throttle=2000), 9, after=0, then=2000)
    text = finding_of(tmp_path, one.packets, "throttling").text
    assert text.endswith("for up to 2000 ms, at 50083 bytes per second")


def test_the_lowest_versions_that_kafka_4_serves() -> None:
    index = pytest.importorskip("kio.index")

    def serves(api: Api, version: int) -> bool:
        try:
            index.load_request_schema(api.key, version)
        except index.UnknownEntity:
            return False
        return True

    lowest = {
        api.key: next(version for version in api.versions if serves(api, version))
        for api in apis()
        if api.key not in SHARE_GROUPS and api.key in index.api_key_map
    }
    assert {key: low for key, low in lowest.items() if low} == FLOORS


def test_every_rule_over_captures_has_an_incident_and_what_nearly_is_one() -> None:
    declared = {each.id for own in built_in_rules() if own.over is Evidence for each in own.declares}
    assert len(declared) > 25
    assert declared == {incident.rule for incident in INCIDENTS.values()}


def test_rules_declare_exactly_the_ids_and_thresholds_of_their_module() -> None:
    declared = {(own.function.__module__, each.id) for own in built_in_rules() for each in own.declares}
    code = {module: Path(str(sys.modules[module].__file__)).read_text() for module, _ in declared}
    reported = {
        (module, name)
        for module, text in code.items()
        for name in re.findall(r'(?:about|about_connection|Finding)\(\s*(?:\*\()?"([a-z0-9-]+)"', text)
    }
    assert reported == declared
    used = {(module, name) for module, text in code.items() for name in re.findall(r"limits\.(\w+)", text)}
    assert used == {
        (own.function.__module__, name) for own in built_in_rules() for each in own.declares for name in each.thresholds
    }


@pytest.mark.parametrize("name", INCIDENTS)
def test_no_finding_is_worse_than_its_rule_declares(tmp_path: Path, name: str) -> None:
    declared = {each.id: each.level for own in built_in_rules() if own.over is Evidence for each in own.declares}
    for finding in findings(tmp_path, merge(INCIDENTS[name].shows())):
        assert LEVELS.index(finding.level) <= LEVELS.index(declared[finding.rule])


def test_a_rule_of_a_user_runs_beside_the_others(tmp_path: Path) -> None:
    @rule("many-requests", "info", "a connection with many requests", thresholds=("repeats",), needs_start=True)
    def many_requests(evidence: Evidence, limits: Thresholds) -> list[Finding]:
        many = [rows for rows in evidence.by_connection.values() if len(rows) >= limits.repeats]
        return [about("many-requests", "info", rows, "many requests", "Send fewer.") for rows in many]

    tables = tables_of(tmp_path, merge(INCIDENTS["error loop"].shows()))
    found = find_incidents(tables, rules=[many_requests])
    assert [each.rule for each in found] == ["stuck-error-loop", "many-requests"]
    assert [each.certainty for each in found] == ["proven", "proven"]
    assert [each.rule for each in find_incidents(tables)] == ["stuck-error-loop"]
    late = tables_of(tmp_path, merge(INCIDENTS["error loop"].shows())[3:])
    assert [each.certainty for each in find_incidents(late, rules=[many_requests])] == ["proven", "suspected"]


def test_a_rule_that_cannot_run_is_refused() -> None:
    with pytest.raises(ValueError, match="rule 'x' names threshold 'slow', expected one of batch_limit, "):
        rule("x", "info", "text", thresholds=("slow",))
    with pytest.raises(TypeError, match="rule 'x' is over <class 'int'>, expected one of Evidence, LogFiles"):
        rule("x", "info", "text", over=int)
    with pytest.raises(TypeError, match="rule 'x' is over LogFiles, its function over Evidence"):
        rule("x", "info", "text", over=LogFiles)(rule("y", "info", "text")(lambda evidence, limits: []))


def test_answers_without_a_request_are_not_commits(tmp_path: Path) -> None:
    one = talk()
    for offset in (5, 6):
        one.exchange(commit(offset), committed("payments"), 8)
    assert findings(tmp_path, merge([one])) == []


def test_records_that_are_read_again_after_a_rebalance_are_only_worth_knowing(tmp_path: Path) -> None:
    one = talk()
    one.exchange(fetch(0, -1, (0, 500)), fetched(0, (0, 900, b"")), 11)
    one.exchange(*given())
    one.exchange(fetch(0, -1, (0, 480)), fetched(0, (0, 900, b"")), 11)
    finding = finding_of(tmp_path, one.packets, "offset-reset")
    assert finding.level == "info"
    assert "after a rebalance, from the last commit on" in finding.text
    assert "20 offsets are read again" in finding.text
    assert finding.count == len(finding.evidence) == 2


def test_batches_that_a_moved_leader_refused_are_one_finding_for_all_partitions(tmp_path: Path) -> None:
    one = talk()
    records = [batch(b"%d" % number, producer_id=7, producer_epoch=0, base_sequence=0) for number in range(3)]
    for error in (6, 0):
        for number, each in enumerate(records):
            one.exchange(
                produce(each, partition=number), produced(-1 if error else 0, partition=number, error=error), 9
            )
    finding = finding_of(tmp_path, one.packets, "retries")
    assert finding.text.startswith("orders-0: a batch was sent 2 times")
    assert finding.text.endswith("(and 2 more of the same kind)")


def test_findings_of_one_cause_are_one(tmp_path: Path) -> None:
    one = talk()
    for number in range(4):
        records = batch(b"%d" % number, producer_id=7, producer_epoch=0, base_sequence=number)
        one.exchange(produce(records), produced(-1, error=7), 9)
        one.exchange(produce(records), produced(number), 9)
    finding = finding_of(tmp_path, one.packets, "retries")
    assert finding.text.endswith("(and 3 more of the same kind)")
    assert finding.count == len(finding.evidence) == 8
