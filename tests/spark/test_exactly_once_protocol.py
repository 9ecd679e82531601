"""The commit protocol of exactly-once sinks, over a simulated cluster with crashes at every step."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.simulated_sink import OPEN, Checkpoint, Driver, SimulatedCluster, SimulatedSink

from kafkawire.client import PreparedTransaction
from kafkawire.spark._exactly_once.decision import Decision, Outcome, Part, next_decision
from kafkawire.spark._exactly_once.protocol import commit_batch, complete
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

HISTORIES = 2_000


def part(task: int, run: str = "a", digest: int = 7) -> Part:
    return Part(task, 2, digest, PreparedTransaction(f"{run}.{task}.0", 1, 1, 2))


def advance(work: Coroutine[Any, Any, None]) -> bool:
    """Run a driver to its next step; whether it has one."""
    try:
        work.send(None)
    except StopIteration:
        return False
    return True


@pytest.mark.parametrize("same_tasks", [True, False], ids=["same-tasks", "other-tasks"])
def test_every_record_is_committed_once_after_crashes_timeouts_and_zombies(same_tasks: bool) -> None:
    for seed in range(HISTORIES):
        try:
            play(Random(seed), same_tasks=same_tasks)
        except BaseException as error:
            error.add_note(f"history {seed}")
            raise


def play(random: Random, *, same_tasks: bool) -> None:
    """One history: drivers that are killed, suspended as zombies and restarted, then one that runs alone to the end."""
    cluster, checkpoint = SimulatedCluster(), Checkpoint()
    batches = [[f"{batch}-{row}" for row in range(random.randrange(6))] for batch in range(3)]
    running: list[tuple[Driver, Coroutine[Any, Any, None]]] = []
    timeouts = random.choice([0.0, 0.02, 0.1])

    def start(number: int, *, troubles: bool) -> Driver:
        driver = Driver(cluster, checkpoint, batches, random, f"run{number}", same_tasks=same_tasks, troubles=troubles)
        running.append((driver, driver.work()))
        return driver

    for number in range(random.randrange(1, 6)):
        start(number, troubles=True)
        for _ in range(random.randrange(60)):
            chosen = random.randrange(len(running)) if running else None
            if chosen is None:
                break
            if random.random() < timeouts:
                expire(cluster, random)
            if not advance(running[chosen][1]):
                del running[chosen]
            assert len(set(cluster.committed)) == len(cluster.committed), "a row is committed twice"
        if running and random.random() < 0.7:
            running.pop(random.randrange(len(running)))[1].close()
    for _, zombie in running:
        zombie.close()
    running.clear()
    left, last = len(batches) - checkpoint.done, start(99, troubles=False)
    while advance(running[0][1]):
        pass
    if last.error is not None:
        assert not same_tasks, last.error
        assert "torn" in str(last.error)
        return
    assert checkpoint.done == len(batches)
    assert sorted(cluster.committed) == sorted(row for batch in batches for row in batch)
    still_open = [name for name, (_, state, _) in cluster.ids.items() if state == OPEN]
    assert not left or not still_open, "a transaction was left open"


def expire(cluster: SimulatedCluster, random: Random) -> None:
    """The coordinator aborts a transaction that is open for too long."""
    names = [name for name, (_, state, _) in cluster.ids.items() if state == OPEN]
    if names:
        cluster.fence(random.choice(names))


def test_a_batch_of_a_complete_decision_is_discarded() -> None:
    assert next_decision(Decision(4, "a", (), is_complete=True), [], Decision(4, "b", (part(0, "b"),))) is None


def test_an_open_decision_whose_parts_are_all_committed_discards_the_second_run() -> None:
    last = Decision(4, "a", (part(0), part(1)))
    assert next_decision(last, [Outcome.COMMITTED] * 2, Decision(4, "b", (part(0, "b"), part(1, "b")))) is None


def test_an_open_decision_whose_parts_are_all_aborted_is_replaced_by_the_second_run_with_any_rows() -> None:
    last = Decision(4, "a", (part(0), part(1)))
    new = [part(0, "b", digest=8)]
    assert next_decision(last, [Outcome.ABORTED] * 2, Decision(4, "b", tuple(new))) == Decision(4, "b", tuple(new))


def test_only_the_aborted_parts_of_an_open_decision_are_replaced() -> None:
    last = Decision(4, "a", (part(0), part(1), part(2)))
    outcomes = [Outcome.COMMITTED, Outcome.ABORTED, Outcome.COMMITTED]
    decided = next_decision(last, outcomes, Decision(4, "b", (part(0, "b"), part(1, "b"), part(2, "b"))))
    assert decided == Decision(4, "b", (part(0), part(2), part(1, "b")))


@pytest.mark.parametrize(
    "second",
    [
        [part(0, "b"), part(1, "b", digest=8)],
        [part(0, "b", digest=8), part(1, "b")],
        [part(0, "b")],
        [part(0, "b"), part(1, "b"), part(2, "b")],
    ],
    ids=["lost-part-differs", "kept-part-differs", "fewer-tasks", "more-tasks"],
)
def test_a_torn_batch_whose_second_run_has_other_rows_is_an_error(second: list[Part]) -> None:
    last = Decision(4, "a", (part(0), part(1)))
    with pytest.raises(SinkError, match=r"batch 4 is torn: the transactions of tasks 1 were aborted"):
        next_decision(last, [Outcome.COMMITTED, Outcome.ABORTED], Decision(4, "b", tuple(second)))


def test_a_batch_before_the_last_decision_is_refused() -> None:
    with pytest.raises(SinkError, match="batch 3 was requested, but batch 4 is decided already"):
        next_decision(Decision(4, "a", (), is_complete=True), [], Decision(3, "b", (part(0, "b"),)))


def test_a_batch_that_was_decided_for_another_topic_is_refused() -> None:
    last = Decision(4, "a", (), is_complete=True, target="orders")
    with pytest.raises(SinkError, match=r"batch 4 was decided for topic 'orders', not for 'orders\.copy'"):
        next_decision(last, [], Decision(4, "b", (part(0, "b"),), target="orders.copy"))
    following = Decision(5, "b", (part(0, "b"),), target="orders.copy")
    assert next_decision(last, [], following) == following


def test_a_decision_whose_transactions_are_forgotten_is_an_error() -> None:
    with pytest.raises(SinkError, match=r"no longer knows the transactions a\.0\.0"):
        next_decision(Decision(4, "a", (part(0),)), [Outcome.UNKNOWN], Decision(4, "b", (part(0, "b"),)))


def test_a_decision_survives_its_record() -> None:
    decision = Decision(4, "a", (part(0), part(3, digest=2**64 - 1)), target="orders")
    assert Decision.decode(decision.encode(), "record") == decision
    assert Decision.decode(decision.completed().encode(), "record") == Decision(4, "a", (), True, "orders")


def test_a_decision_of_ten_thousand_tasks_fits_into_a_record() -> None:
    ids = [f"kafkawire.{'q' * 36}.{'r' * 36}.{task}.0" for task in range(10_000)]
    parts = [Part(n, 10**6, 2**64 - 1, PreparedTransaction(name, 10**9, 32_000, 2)) for n, name in enumerate(ids)]
    decision = Decision(10**6, "r" * 36, tuple(parts))
    assert len(decision.encode()) < 1_000_000
    assert Decision.decode(decision.encode(), "record") == decision


@pytest.mark.parametrize(
    "value", [b"", b"[]", b'{"format": 1}', b'{"format": 1, "batch": 1, "run": "", "target": "", "parts": [[1]]}']
)
def test_a_record_that_is_not_a_decision_is_an_error_that_names_it(value: bytes) -> None:
    with pytest.raises(SinkError, match="decisions-0 at offset 5: not a decision"):
        Decision.decode(value, "decisions-0 at offset 5")


def test_a_transaction_that_timed_out_before_the_decision_fails_the_batch_and_nothing_is_committed() -> None:
    cluster = SimulatedCluster()
    kept, late = cluster.prepare("a.0.0", ["x"]), cluster.prepare("a.1.0", ["y"])
    cluster.fence("a.1.0")
    work = commit_batch(SimulatedSink(cluster), Decision(0, "a", (Part(0, 1, 1, kept), Part(1, 1, 1, late))))
    with pytest.raises(SinkError, match=r"1 of 2 transactions are not open.*kafka.transaction.timeout.ms"):
        to_the_end(work)
    assert cluster.committed == []
    assert cluster.decisions == []


def test_what_a_crash_left_of_a_decision_is_completed_without_the_rows() -> None:
    cluster = SimulatedCluster()
    parts = tuple(Part(task, 1, 1, cluster.prepare(f"a.{task}.0", [str(task)])) for task in range(3))
    cluster.decisions.append(Decision(0, "a", parts).encode())
    cluster.end(parts[1].transaction, commit=True)
    assert to_the_end(complete(SimulatedSink(cluster))) == Decision(0, "a", parts)
    assert sorted(cluster.committed) == ["0", "1", "2"]
    assert to_the_end(complete(SimulatedSink(cluster))) is None


def to_the_end(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine whose steps are not interrupted."""
    try:
        while True:
            work.send(None)
    except StopIteration as done:
        return done.value
