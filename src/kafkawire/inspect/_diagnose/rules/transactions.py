"""Transactions in traffic that hang, time out, or are fought over, and what they hold back.

Rules:
- A transaction hangs if it is open beyond its timeout, and beyond the time in which a broker notices that. If a later
  fetch shows a last stable offset behind its data, the broker ended it unseen: it timed out.
- An open transaction within its timeout is not a problem, even if its connection is closed: the broker will abort it.
- The last stable offset stands still if it does not change for `stalled_s`, while the log grows. If a transaction that
  hangs, or a consumer that waits at this offset, explains it, only that is reported.
- Producers fight over a transactional id if they take it over from each other back and forth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.evidence import SECOND, grouped, partition_name, when
from kafkawire.inspect._diagnose.rule import Finding, about, names_of, rule
from kafkawire.inspect._transactions.traffic import CHECK_US, INIT, is_war, takeovers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.row_groups import Groups
    from kafkawire.inspect._diagnose.thresholds import Thresholds
    from kafkawire.inspect._transactions.model import Transaction

_FETCH: Final = 1
_INVALID_TIMEOUT: Final = 50
_ABORT: Final = "Abort it (kafka-transactions abort), and find out why its producer neither commits nor aborts."


@rule(
    "hanging-transaction",
    "error",
    "a transaction that is open beyond its timeout",
    thresholds=("transaction_s",),
    needs_start=True,
)
@rule(
    "stable-offset-stalled",
    "warning",
    "a last stable offset that stands still while the log grows",
    thresholds=("stalled_s", "repeats"),
)
@rule(
    "transaction-timeout",
    "error",
    "a transaction that the broker aborted after its timeout, or a timeout that the broker refuses",
    thresholds=("transaction_s",),
)
def held_back(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Transactions that hang or time out, and last stable offsets that stand still."""
    stable = evidence.partitions.numbers("lso", -1)
    places = evidence.partitions.places(api_key=_FETCH)
    groups = evidence.by_partition(places[stable[places] >= 0])
    fetches = {partition_name(evidence.partitions[int(own[0])]): own for own in groups.members()}
    horizon = max((row["t_last"] or 0 for row in evidence.connections.values()), default=0)
    explained: set[str] = set()
    for each in evidence.transactions:
        timeout = each.timeout_ms * 1000 if each.timeout_ms else int(limits.transaction_s * SECOND)
        if each.outcome == "timed_out":
            yield _timed_out(each, evidence, timeout)
        elif each.outcome == "open" and each.begin is not None and horizon - each.begin > timeout + CHECK_US:
            passed = _passed(each, evidence, fetches, each.begin + timeout)
            if passed:
                yield _timed_out(each, evidence, timeout)
                continue
            explained.update(f"{topic}-{partition}" for topic, partition in each.partitions)
            yield _hanging(each, evidence, timeout, horizon, is_held=passed is False)
    for run in _standing(evidence, groups, limits):
        name = partition_name(run[0])
        if name not in explained:
            yield from _stalled(evidence, name, run, limits)
    refused = evidence.exchanges.where(api_key=INIT, error_code=_INVALID_TIMEOUT)
    for name, rows in grouped(refused, lambda row: row["transactional_id"]).items():
        asked = rows[0]["transaction_timeout_ms"]
        text = f"{name}: the broker refuses a transaction timeout of {asked} ms with {names_of([_INVALID_TIMEOUT])}"
        advice = (
            "Set transaction.timeout.ms to at most transaction.max.timeout.ms of the broker (15 minutes by default)."
        )
        yield about("transaction-timeout", "error", rows, text, advice, entity=name)


def _hanging(each: Transaction, evidence: Evidence, timeout: int, horizon: int, *, is_held: bool) -> Finding:
    rows = [evidence.exchange(*place) for place in each.exchanges]
    age = (horizon - (each.begin or 0)) / SECOND
    text = f"{_name(each)}: open for {age:.0f} s, {_timeout(each, timeout)}, in {_places(each)}"
    text += "; the last stable offset waits for it" if is_held else "; nothing shows how it ended"
    return about(
        *("hanging-transaction", "error", rows, text, _ABORT),
        entity=each.transactional_id or str(each.producer_id),
        certainty="proven" if is_held else "suspected",
    )


def _timed_out(each: Transaction, evidence: Evidence, timeout: int) -> Finding:
    rows = [evidence.exchange(*place) for place in each.exchanges]
    text = f"{_name(each)}: the broker aborted its transaction, {_timeout(each, timeout)}"
    if each.last is not None and each.begin is not None:
        text += f"; the producer wrote during the first {(each.last - each.begin) / SECOND:.1f} s"
    if each.error_code is not None:
        text += f"; the producer got {names_of([each.error_code])}"
    advice = "Commit more often, or raise transaction.timeout.ms; look for pauses of the producer."
    return about(
        *("transaction-timeout", "error", rows, text, advice),
        entity=each.transactional_id or str(each.producer_id),
        certainty="proven" if each.outcome == "timed_out" else "suspected",
    )


def _passed(each: Transaction, evidence: Evidence, fetches: dict[str, NDArray[np.int64]], deadline: int) -> bool | None:
    """Whether the last stable offset passed the data of a transaction after a time; None if no fetch shows it."""
    verdict = None
    for (topic, partition), (first, _) in each.partitions.items():
        places = fetches.get(f"{topic}-{partition}")
        if places is None or first is None:
            continue
        later = evidence.partitions.numbers("lso", -1)[places[evidence.times_of(places) > deadline]]
        if len(later):
            if later.max() > first:
                return True
            verdict = False
    return verdict


def _standing(evidence: Evidence, groups: Groups, limits: Thresholds) -> Iterator[list[Row]]:
    """The fetches of a partition during which its last stable offset stays, for long, while the log grows."""
    stable, marks = (evidence.partitions.numbers(name, 0) for name in ("lso", "high_watermark"))
    for run in groups.runs(stable[groups.order]):
        first, last = evidence.times_of(run[[0, -1]]).tolist()
        if (last - first) / SECOND >= limits.stalled_s and marks[run[-1]] > marks[run[0]]:
            yield evidence.partitions.at(run)


def _stalled(evidence: Evidence, name: str, same: list[Row], limits: Thresholds) -> Iterator[Finding]:
    first, last, stable = same[0], same[-1], same[0]["lso"]
    if _is_waited_for(same, stable, limits.repeats):
        return
    seconds = (when(last["exchange"]) - when(first["exchange"])) / SECOND
    grown = (last["high_watermark"] or 0) - (first["high_watermark"] or 0)
    open_ids = [str(each.producer_id) for each in evidence.transactions if _holds(each, first, stable)]
    text = f"{name}: the last stable offset stayed at {stable} for {seconds:.0f} s, while the log grew by {grown}"
    text += f" to {last['high_watermark']}"
    text += f"; open transactions of producers {', '.join(open_ids)}" if open_ids else ""
    advice = "A transaction is open: read_committed consumers get nothing behind it. kafka-transactions finds it."
    exchanges = [row["exchange"] for row in same]
    yield about("stable-offset-stalled", "warning", exchanges, text, advice, entity=name)


def _is_waited_for(same: list[Row], stable: int, repeats: int) -> bool:
    """Whether a read_committed consumer waits at the offset, which is a finding of its own."""
    waiting = [row for row in same if row["fetch_offset"] == stable and row["exchange"]["isolation"] == 1]
    return any(len(own) >= repeats for own in grouped(waiting, lambda row: row["conn_id"]).values())


def _holds(each: Transaction, place: Row, stable: int) -> bool:
    offsets = each.partitions.get((place["topic"], place["partition"]))
    return each.outcome == "open" and offsets is not None and (offsets[0] is None or offsets[0] >= stable)


@rule(
    "fencing-war",
    "error",
    "producers that take over a transactional id from each other",
    thresholds=("fencing",),
)
def fencing(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Transactional ids that several producers use at the same time."""
    for name, claims in evidence.claims.items():
        if not is_war(claims, limits.fencing):
            continue
        clients = sorted({row["connection"]["client"] for row in claims})
        epochs = [row["producer_epoch"] for row in claims if row["producer_epoch"] is not None]
        lost = sum(each.transactional_id == name and each.outcome == "fenced" for each in evidence.transactions)
        text = f"{name}: {', '.join(clients[:4])} took it over from each other {takeovers(claims)} times"
        text += f", epochs {min(epochs)} to {max(epochs)}" if epochs else ""
        text += f"; {lost} transactions were aborted by it" if lost else ""
        advice = "Several producers use one transactional.id at the same time: give each its own."
        yield about("fencing-war", "error", claims, text, advice, entity=name)


def _name(each: Transaction) -> str:
    producer = f"producer {each.producer_id} (epoch {each.producer_epoch})"
    return producer if each.transactional_id is None else f"{each.transactional_id}, {producer}"


def _timeout(each: Transaction, timeout: int) -> str:
    known = f"{timeout / SECOND:.0f} s"
    return f"timeout {known}" if each.timeout_ms else f"timeout not in the capture, taken as {known}"


def _places(each: Transaction) -> str:
    names = [f"{topic}-{partition}" for topic, partition in each.partitions]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "no partition") + more
