"""Transactions in logs that hang, time out, or are fought over.

Rules:
- A transaction of a partition hangs if it has no marker, and the newest record of all logs is later than its timeout
  allows. The transaction log gives the timeout; without it, `transaction_s` does.
- It is proven if the transaction log has no open transaction of its producer: no coordinator will end it.
- Timeouts and fences are counted by transactional id, from the transaction log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._diagnose.aggregates import LoggedTransaction, LogTransactions
from kafkawire.inspect._diagnose.rule import Finding, rule
from kafkawire.inspect._transactions.traffic import CHECK_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect._diagnose.thresholds import Thresholds

_MOST: Final = 100
_SECOND: Final = 1_000_000


@rule(
    "hanging-transaction",
    "error",
    "a transaction in a log that is open beyond its timeout",
    over=LogTransactions,
    thresholds=("transaction_s",),
)
def hanging(logs: LogTransactions, limits: Thresholds) -> Iterator[Finding]:
    """Transactions without a marker, older than their timeout."""
    timeouts = {each.producer_id: each.timeout_ms for each in logs.coordinated if each.timeout_ms is not None}
    ongoing = {each.producer_id for each in logs.coordinated if each.outcome == "open"}
    for each in logs.open[:_MOST]:
        known = timeouts.get(each.producer_id)
        timeout = known * 1000 if known else int(limits.transaction_s * _SECOND)
        age = each.duration_us or 0
        if age <= timeout + CHECK_US:
            continue
        text = f"{each.place}: {_name(each)} has had an open transaction since offset {each.first_offset},"
        text += f" for {age / _SECOND:.0f} s before the newest record of the logs"
        end = logs.ends.get(each.place)
        if end is not None and each.first_offset is not None:
            text += f"; read_committed consumers do not see the {end - each.first_offset + 1} offsets from there on"
        is_proven = bool(logs.coordinated) and each.producer_id not in ongoing
        text += "; the transaction log has no open transaction of this producer" if is_proven else ""
        advice = "Abort it: kafka-transactions abort, with the topic, the partition and the start offset."
        yield Finding(
            *("hanging-transaction", "error", text, advice),
            entity=each.place,
            t0=each.begin,
            t1=each.last,
            certainty="proven" if is_proven else "suspected",
        )


@rule(
    "transaction-timeout", "warning", "transactions that the broker aborted after their timeout", over=LogTransactions
)
def timeouts(logs: LogTransactions, limits: Thresholds) -> Iterator[Finding]:
    """Transactional ids whose transactions time out."""
    for name, own in _by_id(logs, "timed_out"):
        longest = max(each.duration_us or 0 for each in own) / _SECOND
        text = f"{name}: the broker aborted {len(own)} transactions after their timeout of {own[0].timeout_ms} ms,"
        text += f" the longest after {longest:.0f} s"
        advice = "Commit more often, or raise transaction.timeout.ms; look for producers that stop without an abort."
        yield Finding(*("transaction-timeout", "warning", text, advice), entity=name, count=len(own), **_span(own))


@rule(
    "fencing-war",
    "error",
    "a transactional id that is taken over repeatedly while a transaction is open",
    over=LogTransactions,
    thresholds=("fencing",),
)
def fences(logs: LogTransactions, limits: Thresholds) -> Iterator[Finding]:
    """Transactional ids whose transactions are fenced repeatedly."""
    for name, own in _by_id(logs, "fenced"):
        if len(own) >= limits.fencing:
            text = f"{name}: {len(own)} transactions were aborted because another producer took over the id"
            advice = "Several producers use one transactional.id at the same time, or one restarts in a loop."
            yield Finding(*("fencing-war", "error", text, advice), entity=name, count=len(own), **_span(own))


def _by_id(logs: LogTransactions, outcome: str) -> list[tuple[str, list[LoggedTransaction]]]:
    found: dict[str, list[LoggedTransaction]] = {}
    for each in logs.coordinated:
        if each.outcome == outcome and each.transactional_id is not None:
            found.setdefault(each.transactional_id, []).append(each)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST]


def _name(each: LoggedTransaction) -> str:
    name = f"producer {each.producer_id} (epoch {each.producer_epoch})"
    return name if each.transactional_id is None else f"{each.transactional_id}, {name},"


def _span(own: list[LoggedTransaction]) -> dict[str, Any]:
    begins, ends = [each.begin for each in own if each.begin is not None], [each.end or 0 for each in own]
    return {"t0": min(begins, default=None), "t1": max(ends) or None}
