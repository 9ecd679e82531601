"""The decision to commit a batch, and what follows from an earlier one; no I/O.

A batch is written by many tasks, each in a transaction of its own, a *part*. Kafka ends each transaction by itself. So
the driver first stores which parts make up the batch, the *decision*, and then commits them.

Rules:
- A sink has one decision, that of its last batch. It is `open` until all parts are committed, then `complete`.
- Parts of an open decision are only ever committed. Parts that are in no decision are only ever aborted.
- A batch that runs again after a complete decision is discarded: its rows are in the topics already.
- After an open decision the parts of the first run are committed again, which Kafka allows. If all of them are, the
  second run is discarded. If none is, because the coordinator aborted them after their timeout, the second run replaces
  the first. If some are, each aborted part is replaced by the part of the same task. This is only right if every task
  had the same rows in both runs, so the digests of all parts must agree. If they do not, the batch is torn.
- A batch before the last decision is refused: the checkpoint is older than the topics. So is a batch that was decided
  for another topic: a copy of a checkpoint has the sink of the original.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client import PreparedTransaction
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT: Final = 1


class Outcome(Enum):
    """The answer of a coordinator about a part that was to be committed."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Part:
    """The rows of one task, in a transaction that is stored and open. The digest does not depend on their order."""

    task: int
    rows: int
    digest: int
    transaction: PreparedTransaction


@dataclass(frozen=True)
class Decision:
    """The batch of a sink that is to be committed, or that is committed completely and needs no parts any more."""

    batch: int
    run: str
    parts: tuple[Part, ...]
    is_complete: bool = False
    target: str = ""
    """The topic of all rows; empty if each row names its own."""

    def completed(self) -> Decision:
        return replace(self, parts=(), is_complete=True)

    def encode(self) -> bytes:
        """The value of its record. The common beginning of transactional ids is stored once: a batch may have many.

        >>> Decision(7, "r", ()).encode()
        b'{"format": 1, "batch": 7, "run": "r", "target": "", "complete": false, "ids": "", "parts": []}'
        """
        named = commonprefix([part.transaction.transactional_id for part in self.parts])  # noqa: RUF071 - not paths
        parts = [
            [part.task, part.rows, part.digest, part.transaction[0].removeprefix(named), *part.transaction[1:]]
            for part in self.parts
        ]
        about = {"format": FORMAT, "batch": self.batch, "run": self.run, "target": self.target}
        return json.dumps({**about, "complete": self.is_complete, "ids": named, "parts": parts}).encode()

    @classmethod
    def decode(cls, value: bytes, where: str) -> Decision:
        """The decision in a record; `where` names the record for the error."""
        try:
            fields: Any = json.loads(value)
            if fields["format"] != FORMAT:
                raise SinkError(f"{where}: a decision of format {fields['format']!r}, expected {FORMAT}")
            named = str(fields["ids"])
            parts = tuple(
                Part(
                    int(task), int(rows), int(digest), PreparedTransaction(named + rest, int(pid), int(epoch), int(tv))
                )
                for task, rows, digest, rest, pid, epoch, tv in fields["parts"]
            )
            is_complete, target = fields["complete"] is True, str(fields["target"])
            return cls(int(fields["batch"]), str(fields["run"]), parts, is_complete, target)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SinkError(f"{where}: not a decision of an exactly-once sink: {value[:80]!r}") from error


def next_decision(last: Decision | None, outcomes: Sequence[Outcome], fresh: Decision) -> Decision | None:
    """The decision to store in place of a fresh one about the parts of this run; None if they are discarded.

    `outcomes` has one entry for each part of the last decision if that is open and of the same batch, else none.
    """
    batch = fresh.batch
    if last is not None and last.batch > batch:
        raise SinkError(
            f"batch {batch} was requested, but batch {last.batch} is decided already: the checkpoint is older than the"
            " topics, and its batches would be written twice; continue with the newer checkpoint, or give the sink"
            " another sinkId to write them again"
        )
    if last is None or last.batch < batch:
        return fresh if fresh.parts else None
    if last.target != fresh.target:
        raise SinkError(
            f"batch {batch} was decided for topic {last.target or 'of each row'!r}, not for"
            f" {fresh.target or 'that of each row'!r}: another query has this name, perhaps with a copy of the"
            " checkpoint; give the sink another sinkId"
        )
    if last.is_complete:
        return None
    if Outcome.UNKNOWN in outcomes:
        unknown = [part.transaction.transactional_id for part, how in _paired(last, outcomes) if how is Outcome.UNKNOWN]
        raise SinkError(
            f"batch {batch} was decided, but the cluster no longer knows the transactions {_listed(unknown)}: they were"
            " committed or aborted, and transactional.id.expiration.ms has passed since. Compare the topics with the"
            " batch, then give the sink another sinkId"
        )
    if all(how is Outcome.COMMITTED for how in outcomes):
        return None
    if all(how is Outcome.ABORTED for how in outcomes):
        return fresh
    return _replaced(last, outcomes, fresh)


def _replaced(last: Decision, outcomes: Sequence[Outcome], fresh: Decision) -> Decision:
    """The committed parts of the last decision, and new parts for the aborted ones."""
    old = {part.task: part for part in last.parts}
    new = {part.task: part for part in fresh.parts}
    different = [
        task
        for task in sorted(old.keys() | new.keys())
        if task not in old or task not in new or _content(old[task]) != _content(new[task])
    ]
    lost = [part.task for part, how in _paired(last, outcomes) if how is Outcome.ABORTED]
    if different:
        raise SinkError(
            f"batch {last.batch} is torn: the transactions of tasks {_listed(lost)} were aborted after the decision to"
            f" commit, those of the other tasks are committed, and the second run has other rows in tasks"
            f" {_listed(different)}, so that they cannot replace the lost ones. Write the rows of these tasks by hand,"
            " then give the sink another sinkId. A query whose tasks always have the same rows is not affected"
        )
    kept = tuple(part for part, how in _paired(last, outcomes) if how is Outcome.COMMITTED)
    return replace(fresh, parts=kept + tuple(new[task] for task in lost))


def _paired(decision: Decision, outcomes: Sequence[Outcome]) -> list[tuple[Part, Outcome]]:
    return list(zip(decision.parts, outcomes, strict=True))


def _content(part: Part) -> tuple[int, int]:
    return part.rows, part.digest


def _listed(items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:5]))
    return f"{shown} and {len(items) - 5} more" if len(items) > 5 else shown
