"""The batches of several requests, appended to one log with one write.

Rules:
- Every batch has an outcome of its own, which is what `Partition.append_admitted` returns or raises for it alone, after
  those before it. So a duplicate, or a batch out of order, does not stop the others.
- Batches that nothing distinguishes are appended as one: none is refused or a duplicate, and no segment ends between
  two of them. Otherwise they are appended one by one.
- All of them are written when `append_run` returns. If the disk refuses, each one that was appended reports the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.log._admission import AppendResult
from kafkawire.messages.errors import KafkaError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log._admission import AdmittedBatch
    from kafkawire.log.partition import Partition

    Outcome = AppendResult | KafkaError


def append_run(log: Partition, batches: Sequence[AdmittedBatch], now: int, leader_epoch: int) -> list[Outcome]:
    """Append and write batches that were admitted one by one; returns the outcome of each."""
    holds = len(batches) > 1
    outcomes = _append_as_one(log, batches, now, leader_epoch) if holds else None
    if outcomes is None:
        outcomes = [_append_alone(log, batch, now, leader_epoch, hold=holds) for batch in batches]
    if holds:
        try:
            log.write_held()
        except KafkaStorageError as lost:
            return [each if isinstance(each, KafkaError) else lost for each in outcomes]
    return outcomes


def _append_as_one(
    log: Partition, batches: Sequence[AdmittedBatch], now: int, leader_epoch: int
) -> list[Outcome] | None:
    """Hold all batches at once; None, with nothing changed, if they have to be appended one by one."""
    try:
        if not log.segments.active.has_room_for_each(batches, log.end_offset, now, log.config):
            return None
        first = log.append_admitted(batches, now, leader_epoch=leader_epoch, hold=True, flush=False)
    except (KafkaError, OSError):
        return None
    offset, _, append_time, log_start, duplicate = first
    if duplicate:
        return None
    outcomes: list[Outcome] = []
    for batch in batches:
        last = offset + batch.last_offset_delta
        outcomes.append(AppendResult(offset, last, append_time, log_start))
        offset = last + 1
    return outcomes


def _append_alone(log: Partition, batch: AdmittedBatch, now: int, leader_epoch: int, *, hold: bool) -> Outcome:
    try:
        return log.append_admitted((batch,), now, leader_epoch=leader_epoch, hold=hold, flush=False)
    except KafkaError as error:
        return error
