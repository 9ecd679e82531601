"""Commits and aborts of exactly-once sinks on a broker, without Spark."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkawire.client import BulkReader, BulkWriter, NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.spark._exactly_once import cluster_sink
from kafkawire.spark._exactly_once.cluster_sink import abort_on_cluster, commit_on_cluster
from kafkawire.spark._exactly_once.decision import Decision, Part
from kafkawire.spark._exactly_once.decision_log import DecisionLog, read_decisions
from kafkawire.spark._exactly_once.options import SinkOptions
from kafkawire.spark.errors import SinkError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Sink:
    """A topic of a cluster, and one sink that writes to it, with a topic of decisions of its own."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers, self.name, self.topic, self.decisions = servers, f"shop.{name}", f"out.{name}", f"decided.{name}"
        given = {"deliveryguarantee": "exactly-once", "decisiontopic": self.decisions}
        options = SinkOptions.parse(given, {"bootstrap.servers": servers}, is_stream=True)
        assert options is not None
        self.options = options
        self.names = options.names(self.name)
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(self.topic, 2, 1)])

    def prepare(self, run: str, task: int, rows: Sequence[str], attempt: int = 0, digest: int = 1) -> Part:
        """Do what a task does."""
        named = self.names.of_task(run, task, attempt)
        writer = BulkWriter(config=dict(self.options.client), transactional_id=named, transaction_timeout_ms=60_000)
        writer.begin()
        writer.write(self.topic, pa.record_batch({"value": pa.array([row.encode() for row in rows], pa.binary())}))
        prepared = writer.prepare()
        writer.close()
        assert prepared is not None
        return Part(task, len(rows), digest, prepared)

    def parts(self, run: str, batch: int, count: int = 3) -> list[Part]:
        return [self.prepare(run, task, [f"{batch}-{task}"]) for task in range(count)]

    def commit(self, batch: int, run: str, parts: Sequence[Part]) -> None:
        commit_on_cluster(self.options, self.name, batch, run, parts)

    def decide(self, decision: Decision) -> None:
        """Do what a driver does that dies after its decision."""
        log = DecisionLog(self.options, self.names)
        asyncio.run(log.take_over())
        log.store(decision)
        log.close()
        forget()

    def end(self, part: Part, *, commit: bool) -> None:
        with Admin(bootstrap_servers=self.servers) as admin:
            admin.end_transaction(part.transaction, commit=commit)

    def committed(self) -> Counter[str]:
        with BulkReader(self.servers, isolation_level="read_committed", fetch_max_wait_ms=20) as reader:
            return Counter(
                str(value, "utf-8")
                for partition in reader.partitions(self.topic)
                for batch in reader.read(self.topic, partition, 0)
                for value in batch.column("value").to_pylist()
                if value is not None
            )

    def open(self) -> list[str]:
        with Admin(bootstrap_servers=self.servers) as admin:
            listed = admin.list_transactions(states=["Ongoing"])
        return [each.transactional_id for each in listed if each.transactional_id.startswith(self.names.of_driver)]


def forget() -> None:
    """Start as a new process does."""
    for log in cluster_sink._logs.values():
        log.close()
    cluster_sink._logs.clear()


def rows_of(*batches: int, count: int = 3) -> Counter[str]:
    return Counter(f"{batch}-{task}" for batch in batches for task in range(count))


@pytest.fixture
def sink() -> Iterator[Sink]:
    with RunningBroker() as broker:
        yield Sink(broker.bootstrap_servers, "test")
        forget()


def test_batches_are_committed_and_losing_attempts_are_aborted(sink: Sink) -> None:
    for batch in range(3):
        sink.prepare("a", 1, ["loser"], attempt=1)
        sink.commit(batch, "a", sink.parts("a", batch))
        assert sink.open() == []
    assert sink.committed() == rows_of(0, 1, 2)


@pytest.mark.parametrize("is_new_process", [False, True])
def test_a_batch_that_runs_again_after_its_commit_is_discarded(sink: Sink, is_new_process: bool) -> None:
    sink.commit(0, "a", sink.parts("a", 0))
    if is_new_process:
        forget()
    sink.commit(0, "b", sink.parts("b", 0))
    assert sink.committed() == rows_of(0)
    assert sink.open() == []


@pytest.mark.parametrize("done", range(4))
def test_a_driver_that_died_between_commits_is_completed_by_the_next(sink: Sink, done: int) -> None:
    parts = sink.parts("a", 0)
    sink.decide(Decision(0, "a", tuple(parts)))
    for part in parts[:done]:
        sink.end(part, commit=True)
    sink.commit(0, "b", sink.parts("b", 0))
    assert sink.committed() == rows_of(0)
    assert sink.open() == []


@pytest.mark.parametrize("lost", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_transactions_that_timed_out_after_the_decision_are_replaced(sink: Sink, lost: list[int]) -> None:
    parts = sink.parts("a", 0)
    sink.decide(Decision(0, "a", tuple(parts)))
    for part in parts:
        sink.end(part, commit=part.task not in lost)
    sink.commit(0, "b", sink.parts("b", 0))
    assert sink.committed() == rows_of(0)
    sink.commit(1, "b", sink.parts("b", 1))
    assert sink.committed() == rows_of(0, 1)


def test_a_torn_batch_with_other_rows_fails_and_adds_nothing(sink: Sink) -> None:
    parts = sink.parts("a", 0)
    sink.decide(Decision(0, "a", tuple(parts)))
    for part in parts:
        sink.end(part, commit=part.task != 1)
    other = [sink.prepare("b", task, [f"0-{task}"], digest=2) for task in range(3)]
    with pytest.raises(SinkError, match="batch 0 is torn: the transactions of tasks 1 were aborted"):
        sink.commit(0, "b", other)
    assert sink.committed() == Counter(["0-0", "0-2"])
    assert sink.open() == []


def test_a_transaction_that_was_ended_before_the_decision_fails_the_batch(sink: Sink) -> None:
    parts = sink.parts("a", 0)
    sink.end(parts[2], commit=False)
    with pytest.raises(SinkError, match="1 of 3 transactions are not open any more"):
        sink.commit(0, "a", parts)
    abort_on_cluster(sink.options, sink.name, 0, "a", parts)
    assert sink.committed() == Counter()
    assert sink.open() == []


def test_a_driver_that_was_replaced_cannot_decide(sink: Sink) -> None:
    sink.commit(0, "a", sink.parts("a", 0))
    old = sink.parts("a", 1)
    other = DecisionLog(sink.options, sink.names)
    assert asyncio.run(other.take_over()) == Decision(0, "a", (), is_complete=True)
    try:
        with pytest.raises(SinkError, match="another driver has taken over"):
            sink.commit(1, "a", old)
    finally:
        other.close()
    abort_on_cluster(sink.options, sink.name, 1, "a", old)
    assert sink.committed() == rows_of(0)
    assert sink.open() == []


def test_an_abort_leaves_what_is_decided(sink: Sink) -> None:
    parts = sink.parts("a", 0)
    sink.decide(Decision(0, "a", tuple(parts[:2])))
    abort_on_cluster(sink.options, sink.name, 0, "a", parts)
    assert sink.open() == [part.transaction.transactional_id for part in parts[:2]]


def test_the_decision_behind_an_open_one_of_another_sink_is_read(sink: Sink) -> None:
    ours = DecisionLog(sink.options, sink.names)
    asyncio.run(ours.take_over())
    other = DecisionLog(sink.options, sink.options.names(f"other.{sink.name}"))
    asyncio.run(other.take_over())
    writer = other._writer
    assert writer is not None
    writer.write(
        sink.decisions, pa.record_batch({"key": [b"kafkawire.other"], "value": [Decision(9, "x", ()).encode()]})
    )
    writer.flush()
    ours.store(Decision(1, "a", (), is_complete=True))
    ours.close()
    ending = threading.Timer(0.5, writer.abort)
    ending.start()
    found = dict(read_decisions(dict(sink.options.client), sink.decisions))
    ending.join()
    other.close()
    assert found == {sink.names.of_driver: Decision(1, "a", (), is_complete=True)}


def test_a_topic_of_decisions_that_deletes_is_refused(sink: Sink) -> None:
    with Admin(bootstrap_servers=sink.servers) as admin:
        admin.create_topics([NewTopic(sink.decisions, 1, 1, topic_configs={"cleanup.policy": "compact,delete"})])
    with pytest.raises(SinkError, match=r"has cleanup\.policy=compact,delete, expected compact"):
        sink.commit(0, "a", sink.parts("a", 0))


def test_a_write_without_a_name_is_forgotten_when_it_is_complete(sink: Sink) -> None:
    run = f"once-{sink.topic.replace('.', '-')}"
    names = sink.options.names(run)

    def write(tasks: int) -> None:
        parts = []
        for task in range(tasks):
            named = names.of_task(run, task, 0)
            with BulkWriter(config=dict(sink.options.client), transactional_id=named) as writer:
                writer.begin()
                writer.write(sink.topic, pa.record_batch({"value": pa.array([b"%d" % task], pa.binary())}))
                prepared = writer.prepare()
            assert prepared is not None
            parts.append(Part(task, 1, 1, prepared))
        commit_on_cluster(sink.options, None, 0, run, parts)

    client = dict(sink.options.client)
    for tasks, decisions in ((0, 0), (1, 0), (2, 3)):
        write(tasks)
        assert len(list(read_decisions(client, sink.decisions))) == decisions
    assert sink.committed() == Counter(["0", "0", "1"])
    assert dict(read_decisions(client, sink.decisions)) == {names.of_driver: None}


def test_a_process_keeps_the_connections_of_few_sinks(sink: Sink) -> None:
    for number in range(6):
        commit_on_cluster(sink.options, f"{sink.name}.{number}", 0, "a", sink.parts(f"a{number}", number, 1))
    assert len(cluster_sink._logs) == 4
    commit_on_cluster(sink.options, None, 0, "b", sink.parts("b", 6, 2))
    assert len(cluster_sink._logs) == 4
    assert sink.committed() == rows_of(*range(6), count=1) + rows_of(6, count=2)
