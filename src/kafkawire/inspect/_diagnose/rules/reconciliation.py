"""Members of consumer and streams groups that do not give up what they are asked to (KIP-848, KIP-1071).

Rules:
- A response with fewer partitions than before, and with the same member epoch, asks the member to give some up.
- The member has done so when a heartbeat reports no more partitions than that, when its epoch changes, or when it
  leaves. A member that the coordinator removes (rebalance timeout) has not done so.
- Other errors of heartbeats change nothing, because the member sends the same again.
- Members with a newer epoch wait for the partitions of the older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.evidence import SECOND, client_of, grouped, when
from kafkawire.inspect._diagnose.findings import Finding, about, names_of
from kafkawire.inspect._diagnose.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_HEARTBEATS: Final = (68, 88)
_REMOVED: Final = (25, 110)
_ADVICE: Final = (
    "Its poll loop or its rebalance listener is blocked: look for long processing, compare with max.poll.interval.ms."
)


@rule(
    "member-not-reconciling",
    "warning",
    "a member that keeps partitions which the group needs for others",
    thresholds=("unreconciled_s",),
    needs_start=True,
)
def not_reconciling(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Members whose heartbeats go on without the partitions being given up."""
    beats = [row for row in evidence.exchanges.where(api_key=_HEARTBEATS) if row["group_id"]]
    for group, rows in grouped(beats, lambda row: row["group_id"]).items():
        for own in grouped(rows, lambda row: row["member_id"]).values():
            yield from _kept(group, rows, own, limits)


def _kept(group: str, rows: list[Row], own: list[Row], limits: Thresholds) -> Iterator[Finding]:
    """Spans in which a member had partitions that it was asked to give up."""
    epoch: int | None = None
    had: int | None = None
    asked: Row | None = None
    since: list[Row] = []
    for row in own:
        is_removed = row["error_code"] in _REMOVED
        leaves = not row["error_code"] and row["generation"] is None
        if asked is not None:
            since.append(row)
            if is_removed or leaves or _is_over(row, asked):
                yield from _finding(group, rows, asked, since, had, limits)
                had, asked = asked["assigned"], None
        if is_removed or leaves:
            epoch = had = None
        elif not row["error_code"]:
            if row["assigned"] is not None and asked is None:
                is_fewer = had is not None and row["assigned"] < had and row["generation"] == epoch
                if is_fewer and not _is_given_up(row, row):
                    asked, since = row, [row]
                else:
                    had = row["assigned"]
            epoch = row["generation"]
    if asked is not None:
        yield from _finding(group, rows, asked, since, had, limits)


def _is_over(row: Row, asked: Row) -> bool:
    """Whether a member has given up what it was asked to, or has another epoch for another reason."""
    return not row["error_code"] and (row["generation"] != asked["generation"] or _is_given_up(row, asked))


def _is_given_up(row: Row, asked: Row) -> bool:
    return row["owned"] is not None and row["owned"] <= asked["assigned"]


def _finding(
    group: str, rows: list[Row], asked: Row, since: list[Row], had: int | None, limits: Thresholds
) -> Iterator[Finding]:
    seconds = (when(since[-1]) - when(asked)) / SECOND
    if seconds < limits.unreconciled_s:
        return
    _, client = client_of(asked)
    newer = {
        row["member_id"]
        for row in rows
        if row["generation"] is not None and row["generation"] > asked["generation"] and when(row) <= when(since[-1])
    }
    things = "partitions" if asked["api_key"] == _HEARTBEATS[0] else "tasks"
    asked_for = f"{(had or 0) - asked['assigned']} of {had} {things} at member epoch {asked['generation']}"
    text = f"{group}: {client or asked['member_id']} was asked to give up {asked_for}"
    text += f", and kept them for {seconds:.0f} s and {len(since) - 1} heartbeats"
    if newer:
        text += f"; {len(newer)} other members of a newer epoch wait"
    errors = [row["error_code"] for row in since if row["error_code"]]
    if errors:
        text += f"; then the coordinator removed it: {names_of(errors)}"
    yield about("member-not-reconciling", "warning", since, text, _ADVICE, entity=group)
