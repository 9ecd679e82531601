"""Transactions in log directories: in the logs of partitions, and in the transaction log."""

from __future__ import annotations

import json
import random
import struct
from typing import TYPE_CHECKING, Any

import pytest
from tests.log.batches import Clock, batch

from kafkawire.cli.main import main
from kafkawire.inspect import find_incidents, read_directories
from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.messages import TransactionLogKey, TransactionLogValue
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.log import Partition

NOW = 1_700_000_000_000
STATES = {"Empty": 0, "Ongoing": 1, "PrepareCommit": 2, "PrepareAbort": 3, "CompleteCommit": 4, "CompleteAbort": 5}


class Logs:
    """Logs of topics, and a partition of the transaction log."""

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.directory = LogDirectory(
            root, files=DiskFiles(), clock=self.clock, config=LogConfig(segment_bytes=600, segment_ms=10**12)
        )
        self.root = root
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._sequences: dict[tuple[str, int], int] = {}

    def partition(self, topic: str, number: int = 0) -> Partition:
        if (topic, number) not in self._partitions:
            self._partitions[topic, number] = self.directory.create(topic, number)
        return self._partitions[topic, number]

    def write(self, topic: str, producer: int, second: int, values: int = 1, epoch: int = 0) -> None:
        sequence = self._sequences.get((topic, producer), 0)
        self._sequences[topic, producer] = sequence + values
        data = batch(
            *[b"v"] * values, producer=(producer, epoch, sequence), transactional=True, timestamp=NOW + second * 1000
        )
        self.partition(topic).append(data)

    def mark(self, topic: str, producer: int, second: int, *, commit: bool, epoch: int = 0) -> None:
        self.clock.now = NOW + second * 1000
        self.partition(topic).append_marker(producer, epoch, 0, commit=commit)

    def state(self, name: str, state: str, second: int, *, start: int = -1, epoch: int = 0, **more: Any) -> None:
        topic = TransactionLogValue.PartitionsSchema(topic="orders", partition_ids=[0, 1])
        options = {"producer_id": 7, "transaction_timeout_ms": 60_000} | more
        value = TransactionLogValue(
            producer_epoch=epoch,
            transaction_status=STATES[state],
            transaction_partitions=None if state == "Empty" else [topic],
            transaction_last_update_timestamp_ms=NOW + second * 1000,
            transaction_start_timestamp_ms=-1 if start < 0 else NOW + start * 1000,
            **options,
        )
        builder = BatchBuilder()
        key = b"\0\0" + TransactionLogKey(transactional_id=name).encode(0)
        builder.append(key, struct.pack(">h", 1) + value.encode(1), timestamp=NOW + second * 1000)
        self.partition("__transaction_state").append(bytes(builder.build()))

    def rows(self) -> list[dict[str, Any]]:
        self.directory.close()
        return read_directories([self.root])["transactions"].to_pylist()


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def test_a_transaction_of_a_partition_has_its_offsets_and_its_end(logs: Logs) -> None:
    logs.write("orders", 7, 0, values=2)
    logs.write("orders", 8, 1)
    logs.write("orders", 7, 2)
    logs.mark("orders", 7, 5, commit=True)
    logs.write("orders", 7, 6)
    logs.mark("orders", 7, 7, commit=False)
    first, other, second = logs.rows()
    assert (first["producer_id"], first["outcome"], first["duration_us"]) == (7, "committed", 5_000_000)
    assert first["partitions"] == [{"topic": "orders", "partition": 0, "first_offset": 0, "last_offset": 3}]
    assert (first["batches"], first["records"], first["source"]) == (2, 3, "segment")
    assert (second["outcome"], second["partitions"][0]["first_offset"]) == ("aborted", 5)
    assert (other["producer_id"], other["outcome"], other["end"], other["duration_us"]) == (8, "open", None, 6_000_000)


def test_transactions_span_segments(logs: Logs) -> None:
    for turn in range(20):
        logs.write("orders", 7, turn)
    logs.mark("orders", 7, 30, commit=True)
    assert len(list((logs.root / "orders-0").glob("*.log"))) >= 3
    (row,) = logs.rows()
    assert (row["outcome"], row["batches"], row["partitions"][0]["last_offset"]) == ("committed", 20, 19)


def test_markers_without_data_and_plain_batches_are_not_transactions(logs: Logs) -> None:
    logs.partition("orders").append(batch(b"plain", timestamp=NOW))
    logs.mark("orders", 7, 1, commit=True)
    assert logs.rows() == []


def test_the_transaction_log_names_producers_and_shows_all_partitions(logs: Logs) -> None:
    logs.write("orders", 7, 0)
    logs.state("payments", "Empty", 0)
    logs.state("payments", "Ongoing", 1, start=1)
    logs.state("payments", "PrepareCommit", 3, start=1)
    logs.state("payments", "CompleteCommit", 4, start=1)
    segment, coordinated = logs.rows()
    assert (segment["source"], segment["transactional_id"]) == ("segment", "payments")
    assert (coordinated["source"], coordinated["outcome"]) == ("transaction_log", "committed")
    assert (coordinated["state"], coordinated["timeout_ms"]) == ("CompleteCommit", 60_000)
    assert coordinated["duration_us"] == 3_000_000
    assert [each["partition"] for each in coordinated["partitions"]] == [0, 1]
    assert coordinated["records"] is None


@pytest.mark.parametrize(
    ("second", "epoch", "version", "outcome"),
    [
        (5, 0, 0, "aborted"),
        (5, 1, 0, "fenced"),
        (5, 1, 2, "aborted"),
        (65, 1, 0, "timed_out"),
        (65, 1, 2, "timed_out"),
    ],
)
def test_aborts_of_clients_of_other_producers_and_of_the_timer(
    logs: Logs, second: int, epoch: int, version: int, outcome: str
) -> None:
    logs.state("payments", "Ongoing", 0, start=0, client_transaction_version=version)
    for state in ("PrepareAbort", "CompleteAbort"):
        logs.state("payments", state, second, start=0, epoch=epoch, client_transaction_version=version)
    (row,) = logs.rows()
    assert (row["outcome"], row["producer_epoch"]) == (outcome, 0)


def test_a_fence_by_a_newer_cluster_of_an_older_client(logs: Logs) -> None:
    logs.state("payments", "Ongoing", 0, start=0, client_transaction_version=0)
    for state in ("PrepareAbort", "CompleteAbort"):
        logs.state("payments", state, 5, start=0, epoch=1, client_transaction_version=2)
    (row,) = logs.rows()
    assert (row["outcome"], row["ended_by"]) == ("fenced", "broker")


def test_a_transaction_whose_markers_are_not_written_yet_has_its_state(logs: Logs) -> None:
    logs.state("payments", "Ongoing", 0, start=0)
    logs.state("payments", "PrepareCommit", 2, start=0)
    (row,) = logs.rows()
    assert (row["outcome"], row["state"]) == ("committed", "PrepareCommit")


def rules(logs: Logs) -> list[tuple[str, str, str]]:
    logs.directory.close()
    found = find_incidents(read_directories([logs.root]))
    return [(each.rule, each.certainty, each.text) for each in found]


def test_a_transaction_hangs_if_no_coordinator_will_end_it(logs: Logs) -> None:
    logs.write("orders", 7, 0)
    logs.partition("orders").append(batch(*[b"x"] * 9, timestamp=NOW + 80_000))
    logs.state("payments", "CompleteAbort", 75, start=0, epoch=1)
    ((_, certainty, text),) = [each for each in rules(logs) if each[0] == "hanging-transaction"]
    assert certainty == "proven"
    assert "orders-0: payments, producer 7 (epoch 0), has had an open transaction since offset 0, for 80 s" in text
    assert "do not see the 10 offsets" in text


@pytest.mark.parametrize(("second", "timeout"), [(65, 60_000), (80, 900_000)])
def test_an_open_transaction_within_its_timeout_does_not_hang(logs: Logs, second: int, timeout: int) -> None:
    logs.write("orders", 7, 0)
    logs.partition("orders").append(batch(b"x", timestamp=NOW + second * 1000))
    logs.state("payments", "Ongoing", 0, start=0, transaction_timeout_ms=timeout)
    assert rules(logs) == []


def test_without_a_transaction_log_it_is_suspected(logs: Logs) -> None:
    logs.write("orders", 7, 0)
    logs.partition("orders").append(batch(b"x", timestamp=NOW + 80_000))
    assert [each[:2] for each in rules(logs)] == [("hanging-transaction", "suspected")]


def test_a_committed_transaction_does_not_hang(logs: Logs) -> None:
    logs.write("orders", 7, 0)
    logs.mark("orders", 7, 5, commit=True)
    logs.partition("orders").append(batch(b"x", timestamp=NOW + 80_000))
    assert rules(logs) == []


@pytest.mark.parametrize(("times", "found"), [(3, ["fencing-war"]), (2, [])])
def test_an_id_that_is_fenced_repeatedly(logs: Logs, times: int, found: list[str]) -> None:
    for turn in range(times):
        logs.state("payments", "Ongoing", 10 * turn, start=10 * turn, epoch=2 * turn)
        for state in ("PrepareAbort", "CompleteAbort"):
            logs.state("payments", state, 10 * turn + 1, start=10 * turn, epoch=2 * turn + 1)
    assert [each[0] for each in rules(logs)] == found


@pytest.mark.parametrize(("second", "found"), [(65, ["transaction-timeout"]), (55, [])])
def test_an_id_whose_transactions_time_out(logs: Logs, second: int, found: list[str]) -> None:
    logs.state("payments", "Ongoing", 0, start=0)
    logs.state("payments", "PrepareAbort", second, start=0)
    logs.state("payments", "CompleteAbort", second, start=0)
    assert [each[0] for each in rules(logs)] == found


def test_inspect_shows_transactions_for_people_and_for_programs(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    logs.write("orders", 7, 0, values=3)
    logs.mark("orders", 7, 5, commit=False)
    logs.write("bills", 9, 0)
    logs.directory.close()
    assert main(["inspect", str(logs.root), "--table", "transactions"]) == 0
    text = capsys.readouterr().out
    assert "orders-0 0..2" in text
    assert "aborted" in text
    assert "{" not in text
    assert main(["inspect", str(logs.root), "--table", "transactions", "--json", "-t", "orders"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["outcome"], row["partitions"][0]["topic"]) == ("aborted", "orders")


def test_damaged_markers_and_states_are_left_out(logs: Logs) -> None:
    logs.write("orders", 7, 0)
    logs.mark("orders", 7, 5, commit=True)
    logs.state("payments", "Ongoing", 0, start=0)
    logs.directory.close()
    for path in logs.root.glob("*-0/*.log"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    (row,) = read_directories([logs.root])["transactions"].to_pylist()
    assert row["outcome"] == "open"


@pytest.mark.parametrize("seed", range(12))
def test_any_history_agrees_with_the_state_of_the_log(logs: Logs, seed: int) -> None:
    chance = random.Random(seed)
    for second in range(chance.randrange(5, 60)):
        producer = chance.randrange(1, 5)
        if chance.random() < 0.6:
            logs.write("orders", producer, second, values=chance.randrange(1, 4))
        elif chance.random() < 0.5:
            logs.partition("orders").append(batch(b"plain", timestamp=NOW + second * 1000))
        else:
            logs.mark("orders", producer, second, commit=chance.random() < 0.5)
    partition = logs.partition("orders")
    stable, end = partition.last_stable_offset, partition.end_offset
    aborted = {(each.producer_id, each.first_offset) for each in partition.aborted_transactions(0, end)}
    rows = logs.rows()
    places = [(row["outcome"], row["producer_id"], row["partitions"][0]["first_offset"]) for row in rows]
    assert {(producer, first) for outcome, producer, first in places if outcome == "aborted"} == aborted
    assert min((first for outcome, _, first in places if outcome == "open"), default=end) == stable
