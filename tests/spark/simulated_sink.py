"""A cluster of transactions in memory, drivers that crash anywhere, and the batches that they write.

Every call of a driver is suspended once before it has its effect and once after it. So a test chooses the order in
which drivers continue, kills them in between, and lets transactions time out at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import coroutine
from typing import TYPE_CHECKING

from kafkawire.client import PreparedTransaction
from kafkawire.spark._exactly_once.decision import Decision, Outcome, Part
from kafkawire.spark._exactly_once.protocol import abort_batch, commit_batch
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Generator, Sequence
    from random import Random
    from typing import Any

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"


class FencedError(Exception):
    """Another process has taken over."""


@coroutine
def step() -> Generator[None, None, None]:
    """A point at which a driver may be suspended or killed."""
    yield


@dataclass
class SimulatedCluster:
    """Transactional ids with their last transaction, the decisions of one sink, and all committed rows."""

    ids: dict[str, tuple[int, str, tuple[str, ...]]] = field(default_factory=dict)
    decisions: list[bytes] = field(default_factory=list)
    decider: int = 0
    committed: list[str] = field(default_factory=list)

    def prepare(self, name: str, rows: Sequence[str]) -> PreparedTransaction:
        """Begin a transaction, which aborts the last one of the id, and write rows."""
        self.fence(name)
        epoch = self.ids.get(name, (0, ABORTED, ()))[0] + 1
        self.ids[name] = (epoch, OPEN, tuple(rows))
        return PreparedTransaction(name, 1, epoch, 2)

    def fence(self, name: str) -> None:
        epoch, state, rows = self.ids.get(name, (0, ABORTED, ()))
        if state == OPEN:
            self.ids[name] = (epoch + 1, ABORTED, rows)

    def end(self, transaction: PreparedTransaction, *, commit: bool) -> Outcome:
        if transaction.transactional_id not in self.ids:
            return Outcome.UNKNOWN
        epoch, state, rows = self.ids[transaction.transactional_id]
        if epoch != transaction.producer_epoch:
            return Outcome.ABORTED
        if state == OPEN:
            state = COMMITTED if commit else ABORTED
            self.ids[transaction.transactional_id] = (epoch, state, rows)
            if commit:
                self.committed += rows
        return Outcome.COMMITTED if state == COMMITTED else Outcome.ABORTED


class SimulatedSink:
    """The transactions of the sink, as one driver sees them."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self._identity: int | None = None
        self._last: Decision | None = None

    async def take_over(self) -> Decision | None:
        await step()
        if self._identity is None:
            self.cluster.decider += 1
            self._identity = self.cluster.decider
            await step()
            self._last = self._read()
        return self._last

    async def read(self) -> Decision | None:
        await step()
        return self._read()

    async def store(self, decision: Decision | None) -> None:
        await step()
        if self._identity != self.cluster.decider:
            raise FencedError
        self.cluster.decisions.append(b"" if decision is None else decision.encode())
        self._last = decision
        await step()

    async def commit(self, transactions: Sequence[PreparedTransaction]) -> list[Outcome]:
        outcomes = []
        for each in transactions:
            await step()
            outcomes.append(self.cluster.end(each, commit=True))
        await step()
        return outcomes

    async def abort(self, transactions: Sequence[PreparedTransaction]) -> None:
        for each in transactions:
            await step()
            self.cluster.end(each, commit=False)

    async def find_closed(self, transactions: Sequence[PreparedTransaction]) -> list[PreparedTransaction]:
        await step()
        ids = self.cluster.ids
        return [each for each in transactions if ids[each.transactional_id][:2] != (each.producer_epoch, OPEN)]

    async def abort_others(self, kept: Collection[str], *, run: str | None = None) -> None:
        for name, (_, state, _) in list(self.cluster.ids.items()):
            if state == OPEN and name not in kept and (run is None or name.startswith(f"{run}.")):
                await step()
                self.cluster.fence(name)

    def _read(self) -> Decision | None:
        last = self.cluster.decisions[-1] if self.cluster.decisions else b""
        return Decision.decode(last, "record") if last else None


@dataclass
class Checkpoint:
    """The checkpoint of Spark: how many batches are done. A batch that is not done runs again."""

    done: int = 0


class Driver:
    """One run of a query: its tasks, with retries and speculation, then the commit, batch after batch."""

    def __init__(
        self, cluster: SimulatedCluster, checkpoint: Checkpoint, batches: list[list[str]], random: Random, run: str,
        *, same_tasks: bool, troubles: bool,
    ) -> None:  # fmt: skip
        self._cluster, self._checkpoint, self._batches = cluster, checkpoint, batches
        self._random, self._run = random, run
        self._same_tasks, self._troubles = same_tasks, troubles
        self.error: Exception | None = None

    def work(self) -> Coroutine[Any, Any, None]:
        return self._work()

    async def _work(self) -> None:
        sink = SimulatedSink(self._cluster)
        while (batch := self._checkpoint.done) < len(self._batches):
            parts = await self._tasks(batch)
            try:
                await commit_batch(sink, Decision(batch, self._run, tuple(parts)))
            except (SinkError, FencedError) as error:
                self.error = error
                await abort_batch(sink, batch, self._run, parts)
                return
            check_batch(self._cluster, self._batches, batch)
            await step()
            self._checkpoint.done = max(self._checkpoint.done, batch + 1)

    async def _tasks(self, batch: int) -> list[Part]:
        parts = []
        for task, rows in enumerate(self._share(batch)):
            attempts = []
            for attempt in range(1 + (self._troubles and self._random.random() < 0.3)):
                await step()
                written = rows if self._random.random() < 0.8 or not attempt else rows[:1]
                made = self._cluster.prepare(f"{self._run}.{task}.{attempt}", written)
                if written == rows:
                    attempts.append(Part(task, len(rows), sum(map(hash, rows)), made))
            if rows:
                parts.append(self._random.choice(attempts))
        return parts

    def _share(self, batch: int) -> list[list[str]]:
        """The rows of each task; a query whose tasks have other rows in each run deals them at random."""
        tasks: list[list[str]] = [[] for _ in range(3)]
        for number, row in enumerate(self._batches[batch]):
            tasks[number % 3 if self._same_tasks else self._random.randrange(3)].append(row)
        return tasks


def check_batch(cluster: SimulatedCluster, batches: list[list[str]], batch: int) -> None:
    """Each row of a batch that a commit has returned for is committed once."""
    found = sorted(row for row in cluster.committed if row in batches[batch])
    assert found == sorted(batches[batch]), f"batch {batch}: {found}"
