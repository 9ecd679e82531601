"""The steps of the driver that commit or abort a batch; I/O is behind `SinkTransactions`.

Rules:
- Only one process decides for a sink. A process takes over before it reads the last decision, which fences the process
  before it: a decision of that one is either read, or never stored.
- First the driver takes over, and commits the parts of an open decision of this batch. Then it checks that the new
  parts are open, and stores its decision. Then it commits the parts, stores that the decision is complete, and aborts
  everything else of the sink.
- A crash after any step is repaired by the next run of the batch. A commit that returned means that the rows of the
  batch are in the topics exactly once.
- Spark calls abort after a commit that failed, too. Parts of a stored decision are left for the next run. If the
  answer to the decision was lost, the parts may be aborted before the decision is seen; the next run then replaces all
  of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kafkawire.spark._exactly_once.decision import Decision, Outcome, Part, next_decision
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kafkawire.client import PreparedTransaction


class SinkTransactions(Protocol):
    """The transactions and the decision of one sink, in a cluster."""

    async def take_over(self) -> Decision | None:
        """Fence every other process that decides for the sink; the last decision."""

    async def read(self) -> Decision | None:
        """The last decision; another process may be about to store the next one."""

    async def store(self, decision: Decision | None) -> None:
        """Store a decision durably, or forget the sink; raises if another process has taken over."""

    async def commit(self, transactions: Sequence[PreparedTransaction]) -> list[Outcome]:
        """Commit transactions, in any order; repeated for transactions that are committed already."""

    async def abort(self, transactions: Sequence[PreparedTransaction]) -> None:
        """Abort transactions, as far as they are open."""

    async def find_closed(self, transactions: Sequence[PreparedTransaction]) -> list[PreparedTransaction]:
        """Those of these transactions that are not open any more."""

    async def abort_others(self, kept: Collection[str], *, run: str | None = None) -> None:
        """Abort all open transactions of the sink, or of one of its runs, except these transactional ids."""


async def commit_batch(sink: SinkTransactions, fresh: Decision) -> Decision | None:
    """Commit a batch; the decision that holds afterwards, None if the batch was empty or was committed before."""
    batch, parts = fresh.batch, fresh.parts
    last = await sink.take_over()
    outcomes: list[Outcome] = []
    if last is not None and last.batch == batch and not last.is_complete:
        outcomes = await sink.commit(_transactions(last.parts))
    try:
        decided = next_decision(last, outcomes, fresh)
    except SinkError:
        await sink.abort(_transactions(parts))
        raise
    if decided is not None:
        await _check_open(sink, batch, [part for part in decided.parts if part in parts])
        await sink.store(decided)
        done = await sink.commit(_transactions(decided.parts))
        lost = [part for part, outcome in zip(decided.parts, done, strict=True) if outcome is not Outcome.COMMITTED]
        if lost:
            raise SinkError(
                f"batch {batch}: {len(lost)} of {len(decided.parts)} transactions were aborted after the decision to"
                f" commit, first {lost[0].transaction.transactional_id!r}. Restart the query: it runs the batch again"
                " and writes only the rows that are missing. If this repeats, raise kafka.transaction.timeout.ms"
            )
    if decided is not None or outcomes:
        open_decision = decided or last
        assert open_decision is not None
        await sink.store(open_decision.completed())
    await sink.abort([part.transaction for part in parts if decided is None or part not in decided.parts])
    await sink.abort_others(())
    return decided


async def commit_once(sink: SinkTransactions, fresh: Decision) -> None:
    """Commit a write that is never run again under this name; a write of one task needs no decision."""
    parts = fresh.parts
    if len(parts) > 1:
        await commit_batch(sink, fresh)
        await sink.store(None)
        return
    if parts:
        await _check_open(sink, 0, parts)
    if parts and await sink.commit(_transactions(parts)) != [Outcome.COMMITTED]:
        raise SinkError("the coordinator aborted the transaction of the write; nothing was written. Run it again")
    await sink.abort_others((), run=fresh.run)


async def abort_batch(sink: SinkTransactions, batch: int, run: str, parts: Sequence[Part]) -> None:
    """Abort the parts of a run that failed, unless the run has decided to commit them."""
    last = await sink.read()
    decided = last is not None and last.batch == batch and not last.is_complete
    kept = {part.transaction for part in last.parts} if decided and last is not None else set()
    await sink.abort([part.transaction for part in parts if part.transaction not in kept])
    await sink.abort_others({each.transactional_id for each in kept}, run=run)


async def complete(sink: SinkTransactions) -> Decision | None:
    """Commit what remains of the last decision; None if nothing remained."""
    last = await sink.take_over()
    if last is None or last.is_complete:
        return None
    outcomes = await sink.commit(_transactions(last.parts))
    lost = [part for part, outcome in zip(last.parts, outcomes, strict=True) if outcome is not Outcome.COMMITTED]
    if lost:
        raise SinkError(
            f"batch {last.batch}: {len(lost)} of {len(last.parts)} transactions were aborted after the decision to"
            f" commit, first {lost[0].transaction.transactional_id!r}; run the write again with the same sinkId or"
            " checkpoint, which writes the missing rows"
        )
    await sink.store(last.completed())
    return last


async def _check_open(sink: SinkTransactions, batch: int, parts: Sequence[Part]) -> None:
    closed = await sink.find_closed(_transactions(parts))
    if closed:
        raise SinkError(
            f"batch {batch}: {len(closed)} of {len(parts)} transactions are not open any more, first"
            f" {closed[0].transactional_id!r}; nothing of the batch was committed. Its tasks took longer than"
            " kafka.transaction.timeout.ms, or another run of this sink aborted them. Raise that option, at most to the"
            " brokers' transaction.max.timeout.ms, or write less in a batch (maxOffsetsPerTrigger)"
        )


def _transactions(parts: Sequence[Part]) -> list[PreparedTransaction]:
    return [part.transaction for part in parts]
