"""Groups that rebalance too often.

Rules:
- A storm is a group whose members join `joins_per_minute` times a minute or more while its generation rises thrice or
  more; with the newer protocol, a member epoch that changes as often.
- The time spent is the sum of join to answered sync; the culprit is the client that joined most.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import SECOND, client_of, grouped, when
from kafkawire.inspect.diagnose.findings import Finding, about, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_JOIN, _LEAVE, _SYNC, _HEARTBEAT = 11, 13, 14, 68
_GROUP_ERRORS: Final = (22, 25, 27, 79)
_RISES: Final = 3


def rebalance_storms(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Groups whose members join again and again."""
    for group, rows in grouped((row for row in evidence.exchanges if row["group_id"]), _group).items():
        joins = [row for row in rows if row["api_key"] == _JOIN]
        rises = _rises([row for row in joins if row["error_code"] == 0])
        if not joins:
            joins = _epoch_changes(rows)
            rises = len(joins)
        if rises < _RISES or len(joins) < 2:
            continue
        minutes = max(when(joins[-1]) - when(joins[0]), SECOND) / (60 * SECOND)
        if len(joins) / max(minutes, 1 / 6) >= limits.joins_per_minute:
            yield _storm(group, rows, joins, rises, minutes)


def _storm(group: str, rows: list[Row], joins: list[Row], rises: int, minutes: float) -> Finding:
    (address, client), most = Counter(client_of(row) for row in joins).most_common(1)[0]
    reasons = Counter(row["reason"] for row in rows if row["api_key"] in (_JOIN, _LEAVE) and row["reason"])
    errors = [row["error_code"] for row in rows if row["error_code"] in _GROUP_ERRORS]
    text = f"{len(joins)} joins and {rises} generations in {minutes * 60:.0f} s, {most} of them by {client or address}"
    spent = sum((row["ts_resp"] or when(row)) - when(row) for row in rows if row["api_key"] in (_JOIN, _SYNC)) / SECOND
    text += f"; {spent:.1f} s spent in joining and syncing, {100 * spent / max(minutes * 60, spent):.0f} % of the time"
    ids = {row["member_id"] for row in joins if client_of(row) == (address, client) and row["member_id"]}
    text += f", under {len(ids)} member ids" if len(ids) > 1 else ""
    if reasons:
        text += f"; reason given: {reasons.most_common(1)[0][0]}"
    if errors:
        text += f"; {len(errors)} answers {names_of(errors)}"
    advice = "Give members static ids (group.instance.id), use a cooperative assignor, raise max.poll.interval.ms."
    return about("rebalance-storm", "error", joins, f"{group}: {text}", advice, entity=group)


def _group(row: Row) -> str:
    return str(row["group_id"])


def _rises(joins: list[Row]) -> int:
    generations = sorted({row["generation"] for row in joins if row["generation"] is not None})
    return len(generations)


def _epoch_changes(rows: list[Row]) -> list[Row]:
    """Heartbeats of the newer protocol at which a member's epoch changed."""
    changed: list[Row] = []
    epochs: dict[str | None, int] = {}
    for row in rows:
        if row["api_key"] == _HEARTBEAT and row["generation"] is not None:
            member = row["member_id"]
            if member in epochs and epochs[member] != row["generation"]:
                changed.append(row)
            epochs[member] = row["generation"]
    return changed
