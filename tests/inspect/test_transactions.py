"""Transactions in the traffic of producers, as a table."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.captures import Conversation, Packet, merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.inspect.transaction_conversations import Producer, fetches, marked

from kafkawire.inspect import SCHEMAS, find_incidents, read_captures

if TYPE_CHECKING:
    from pathlib import Path


def transactions(
    tmp_path: Path, *talks: Conversation | Producer, packets: list[Packet] | None = None
) -> list[dict[str, Any]]:
    path = tmp_path / "x.pcap"
    plain = [each.talk if isinstance(each, Producer) else each for each in talks]
    path.write_bytes(write_pcap(merge(plain) if packets is None else packets, nanoseconds=True))
    table = read_captures([path]).tables["transactions"]
    assert table.schema == SCHEMAS["transactions"]
    return table.to_pylist()


def part(partition: int, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    return {"topic": "orders", "partition": partition, "first_offset": first, "last_offset": last}


def test_a_transaction_has_its_producer_partitions_offsets_groups_and_end(tmp_path: Path) -> None:
    one = Producer().init(3, timeout=30_000).add(0, 1)
    one.write(10, b"a", b"b").write(12, b"c").write(7, partition=1).commit_offsets("g").wait(5).end()
    (row,) = transactions(tmp_path, one)
    known = ("source", "transactional_id", "producer_id", "producer_epoch", "outcome", "ended_by", "timeout_ms")
    assert [row[name] for name in known] == ["traffic", "payments", 7, 3, "committed", "client", 30_000]
    assert row["partitions"] == [part(0, 10, 12), part(1, 7, 7)]
    assert (row["batches"], row["records"], row["groups"]) == (3, 4, ["g"])
    assert 5_000_000 < row["duration_us"] < 5_100_000
    assert (row["client"], row["client_id"], row["conn_id"]) == ("10.0.0.1:50000", "app", 0)
    assert [each["seq"] for each in row["exchanges"]] == [2, 3, 4, 5, 6, 7, 8]
    assert row["end"] > row["last"] > row["begin"]


def test_the_protocol_of_kip_890_adds_implicitly_and_raises_the_epoch_with_every_end(tmp_path: Path) -> None:
    one = Producer().init().write(0, version=12).end(version=5)
    one.write(5, version=12).commit_offsets("g", explicitly=False).end(commit=False, version=5)
    first, second = transactions(tmp_path, one)
    assert (first["producer_epoch"], first["outcome"]) == (0, "committed")
    assert (second["producer_epoch"], second["outcome"], second["groups"]) == (1, "aborted", ["g"])


@pytest.mark.parametrize("error", [51, 14, 15, 16])
def test_an_end_that_is_tried_again_ends_one_transaction(tmp_path: Path, error: int) -> None:
    one = Producer().init().add(0).write(0).end(error=error).end().end()
    (row,) = transactions(tmp_path, one)
    assert row["outcome"] == "committed"


def test_a_producer_that_takes_over_the_id_is_named(tmp_path: Path) -> None:
    old = Producer(0).init().add(0).write(0).wait(20).write(1, error=47).end(error=90)
    new = Producer(1, at=5_000).init(error=51).init(1)
    (row,) = transactions(tmp_path, old, new)
    assert (row["outcome"], row["ended_by"], row["fenced_by"]) == ("fenced", "broker", "10.0.0.2:50001")
    assert row["error_code"] == 47
    assert 4_000_000 < row["duration_us"] < 6_000_000


def test_a_timeout_is_distinguished_from_a_fence(tmp_path: Path) -> None:
    late = Producer(0).init().add(0).write(0).wait(75).write(1, error=47).end(error=90)
    (row,) = transactions(tmp_path, late)
    assert (row["outcome"], row["fenced_by"], row["error_code"]) == ("timed_out", None, 47)
    early = Producer(0).init().add(0).write(0).wait(30).write(1, error=47)
    (row,) = transactions(tmp_path, early)
    assert (row["outcome"], row["fenced_by"]) == ("fenced", None)


def test_an_id_that_is_taken_over_long_after_its_timeout_had_timed_out(tmp_path: Path) -> None:
    old, new = Producer(0).init().add(0).write(0), Producer(1, at=90_000).init(1)
    (row,) = transactions(tmp_path, old, new)
    assert (row["outcome"], row["fenced_by"]) == ("timed_out", None)


def test_an_administrator_that_aborts_is_named(tmp_path: Path) -> None:
    (row,) = transactions(tmp_path, Producer().init().add(0).write(0), marked(7, at=20))
    assert (row["outcome"], row["ended_by"]) == ("aborted", "marker of 10.0.0.6:50005")


def test_markers_of_ended_and_of_unknown_transactions_change_nothing(tmp_path: Path) -> None:
    (row,) = transactions(tmp_path, Producer().init().add(0).write(0).end(), marked(7, at=20))
    assert (row["outcome"], row["ended_by"]) == ("committed", "client")
    assert transactions(tmp_path, marked(9)) == []


def test_an_open_transaction_lasts_until_the_capture_ends(tmp_path: Path) -> None:
    (row,) = transactions(tmp_path, Producer().init().add(0, 2).write(0), fetches((30, 0, 5)))
    assert (row["outcome"], row["end"]) == ("open", None)
    assert row["partitions"] == [part(0, 0, 0), part(2)]
    assert 29_000_000 < row["duration_us"] < 31_000_000


def test_the_end_of_a_transaction_that_began_before_the_capture(tmp_path: Path) -> None:
    one = Producer().init().add(0).write(0).end()
    late = [packet for packet in one.talk.packets if packet.mark >= len(one.talk.truth) - 2]
    (row,) = transactions(tmp_path, packets=late)
    assert (row["begin"], row["duration_us"], row["outcome"]) == (None, None, "committed")
    assert (row["transactional_id"], row["producer_id"], row["partitions"]) == ("payments", 7, [])


def test_refused_partitions_and_records_are_not_part_of_it(tmp_path: Path) -> None:
    assert transactions(tmp_path, Producer().init().add(0, error=51)) == []
    assert transactions(tmp_path, Producer().init().write(0, error=3)) == []


def test_idempotent_producers_have_no_transactions(tmp_path: Path) -> None:
    from tests.inspect.conversations import talk
    from tests.inspect.sample_messages import batch, produce, produced

    records = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    assert transactions(tmp_path, talk().exchange(produce(records), produced(0), 9)) == []


def test_interleaved_producers_keep_their_transactions_apart(tmp_path: Path) -> None:
    chance = random.Random(5)
    producers = [Producer(number, f"id-{number}", producer=100 + number, at=number * 3) for number in range(6)]
    expected: dict[int, list[str]] = {}
    for number, each in enumerate(producers):
        each.init()
        for turn in range(chance.randrange(1, 5)):
            commit = chance.random() < 0.5
            each.add(number).write(turn, partition=number).wait(chance.random()).end(commit=commit)
            expected.setdefault(each.id, []).append("committed" if commit else "aborted")
    rows = transactions(tmp_path, *producers)
    found: dict[int, list[str]] = {}
    for row in rows:
        assert [each["partition"] for each in row["partitions"]] == [row["producer_id"] - 100]
        found.setdefault(row["producer_id"], []).append(row["outcome"])
    assert found == expected
    assert [row["begin"] for row in rows] == sorted(row["begin"] for row in rows)


@pytest.mark.parametrize("seed", range(20))
def test_any_loss_of_packets_leaves_a_table(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    one, two = Producer(0), Producer(1, at=chance.random() * 3000)
    for turn in range(10):
        for each in (one, two):
            act = chance.choice(("init", "add", "write", "end", "wait"))
            if act == "init":
                each.init(turn, error=chance.choice((0, 0, 51)))
            elif act == "add":
                each.add(turn % 3, error=chance.choice((0, 0, 90)))
            elif act == "write":
                each.write(turn, error=chance.choice((0, 0, 47)), partition=turn % 3)
            elif act == "end":
                each.end(commit=chance.random() < 0.5, error=chance.choice((0, 51, 90, 48)))
            else:
                each.wait(chance.random() * 100)
    kept = [packet for packet in merge([one.talk, two.talk]) if chance.random() < 0.8]
    for row in transactions(tmp_path, packets=kept):
        assert row["outcome"] in ("committed", "aborted", "fenced", "timed_out", "open", "unknown")
        assert (row["end"] is None) == (row["outcome"] in ("open", "unknown"))
        assert row["duration_us"] is None or row["duration_us"] >= 0
    find_incidents(read_captures([tmp_path / "x.pcap"]).tables)


@pytest.mark.parametrize("name", ["producers that fence each other", "transaction that timed out"])
def test_one_cause_is_one_finding(tmp_path: Path, name: str) -> None:
    incident = INCIDENTS[name]
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge(incident.shows()), nanoseconds=True))
    found = [each.rule for each in find_incidents(read_captures([path]).tables) if each.level != "info"]
    assert [each for each in found if each != "old-client"] == [incident.rule]


def test_a_hanging_transaction_says_what_is_known_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(
        write_pcap(merge(INCIDENTS["transaction that holds the last stable offset"].shows()), nanoseconds=True)
    )
    found = find_incidents(read_captures([path]).tables)
    (finding,) = [each for each in found if each.rule == "hanging-transaction"]
    assert finding.certainty == "proven"
    assert finding.entity == "payments"
    assert "payments, producer 7 (epoch 0): open for 80 s, timeout 60 s, in orders-0" in finding.text
    assert [each.rule for each in found if each.level != "info"] == ["hanging-transaction"]
