"""Members that live but do not read: heartbeats go on, fetches or commits do not.

Rules:
- A member's partitions are those that its last answered SyncGroup or ConsumerGroupHeartbeat gave it. One of them is not
  read when for `silent_s`, with heartbeats answered well, no fetch of the client names it and no session has it.
- A fetch session that began before the capture may have any partition: then nothing is said.
- A partition that was never seen to be fetched may be fetched where the capture does not look: suspected.
- Where no assignment was seen, a client that did fetch and only beats since is told of.
- The same offset committed again and again is trouble where the log grows meanwhile beyond it, and only there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import SECOND, client_of, grouped, partition_name, topic_of, when
from kafkawire.inspect.diagnose.findings import Finding, about

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_FETCH, _HEARTBEAT, _LEAVE_GROUP, _SYNC_GROUP, _GROUP_HEARTBEAT = 1, 12, 13, 14, 68
_NAMED: Final = 5
_ADVICE: Final = "The consumer is paused or blocked in processing; compare with max.poll.interval.ms."


def not_fetching(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Members that beat without error but do not fetch, or commit the same offset while the log grows."""
    for rows in grouped(evidence.exchanges, client_of).values():
        beats = [row for row in rows if row["api_key"] in (_HEARTBEAT, _GROUP_HEARTBEAT) and row["error_code"] == 0]
        if not beats:
            continue
        fetched = [row for row in rows if row["api_key"] == _FETCH and not row["connection"]["inter_broker"]]
        assigned = _assigned(evidence, rows)
        if assigned:
            yield from _not_read(evidence, limits, rows, beats, fetched, assigned)
        elif fetched:
            yield from _silent(limits, rows, beats, fetched)
    yield from _committing_in_place(evidence, limits)


def _assigned(evidence: Evidence, rows: list[Row]) -> dict[str, Row]:
    """The partitions that members of a client have at last, each with the exchange that gave it."""
    held: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        if row["api_key"] not in (_SYNC_GROUP, _GROUP_HEARTBEAT) or row["error_code"] != 0:
            continue
        given = [partition_name(each) for each in evidence.of_exchange(row)]
        if given or row["api_key"] == _SYNC_GROUP:
            before = held.get(row["member_id"], {})
            held[row["member_id"]] = {name: before.get(name, row) for name in given}
    return {name: row for given in held.values() for name, row in given.items()}


def _not_read(
    evidence: Evidence,
    limits: Thresholds,
    rows: list[Row],
    beats: list[Row],
    fetched: list[Row],
    assigned: dict[str, Row],
) -> Iterator[Finding]:
    read = _last_fetches(evidence, fetched)
    if read is None:
        return
    end = when(beats[-1])
    quiet = {
        name: max((given, *([read[name]] if name in read else [])), key=when)
        for name, given in sorted(assigned.items())
        if end - max(when(given), when(read.get(name, given))) >= limits.silent_s * SECOND
    }
    if not quiet:
        return
    since = min(quiet.values(), key=when)
    beating = [row for row in beats if when(row) > when(since)]
    names = ", ".join(list(quiet)[:_NAMED]) + (f" and {len(quiet) - _NAMED} more" if len(quiet) > _NAMED else "")
    seconds = (end - when(since)) // SECOND
    left, why = _departure(rows, since)
    text = f"{names}: assigned, {len(beating)} heartbeats, but no fetch for {seconds} s{why}"
    yield about(
        "stuck-not-fetching",
        "warning",
        [since, *beating, *left],
        text,
        _ADVICE,
        entity=next(iter(quiet)) if len(quiet) == 1 else beats[-1]["group_id"],
        count=len(beating),
        certainty="proven" if all(name in read for name in quiet) else "suspected",
    )


def _last_fetches(evidence: Evidence, fetched: list[Row]) -> dict[str, Row] | None:
    """The last fetch of each partition, alone or in a session; None where a session's partitions are not known."""
    last: dict[str, Row] = {}
    sessions: dict[tuple[str, int], set[str]] = {}
    for row in fetched:
        named = evidence.of_exchange(row)
        asked = {partition_name(each) for each in named if each["fetch_offset"] is not None}
        session = (row["connection"]["server"], row["session_id"])
        if not row["session_epoch"]:
            if row["session_id"]:
                sessions[session] = set(asked)
        elif row["session_size"] is None:
            return None
        else:
            gone = {partition_name(each) for each in named if each["fetch_offset"] is each["error_code"] is None}
            asked = sessions[session] = (sessions.get(session, set()) | asked) - gone
        last.update(dict.fromkeys(asked, row))
    return last


def _silent(limits: Thresholds, rows: list[Row], beats: list[Row], fetched: list[Row]) -> Iterator[Finding]:
    last = fetched[-1]
    beating = [row for row in beats if when(row) > when(last)]
    if not beating or when(beating[-1]) - when(last) < limits.silent_s * SECOND:
        return
    left, why = _departure(rows, last)
    seconds = (when(beating[-1]) - when(last)) // SECOND
    text = f"{len(beating)} heartbeats but no fetch for {seconds} s{why}"
    shown = [last, *beating, *left]
    yield about(
        "stuck-not-fetching", "warning", shown, text, _ADVICE, entity=beating[0]["group_id"], count=len(beating)
    )


def _departure(rows: list[Row], since: Row) -> tuple[list[Row], str]:
    """The request with which a member left afterwards, and what it gave as the reason."""
    left = next((row for row in rows if row["api_key"] == _LEAVE_GROUP and when(row) > when(since)), None)
    if left is None:
        return [], ""
    return [left], f"; then it left: {left['reason']}" if left["reason"] else "; then it left"


def _committing_in_place(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    marks = grouped(
        (row for row in evidence.partitions if row["api_key"] == _FETCH and row["high_watermark"] is not None),
        lambda row: (topic_of(row), row["partition"]),
    )
    for (group, topic, partition), rows in evidence.commits.items():
        offsets = {row["committed_offset"] for row in rows}
        if len(rows) < limits.repeats or len(offsets) > 1:
            continue
        since = when(rows[0]["exchange"])
        seen = [row["high_watermark"] for row in marks.get((topic, partition), []) if when(row["exchange"]) >= since]
        behind = max(seen, default=0) - next(iter(offsets))
        if behind <= 0 or max(seen) <= min(seen):
            continue
        text = f"{group} commits offset {next(iter(offsets))} of {topic}-{partition} again and again, {behind} behind"
        advice = "Nothing is processed although the log grows: look for a blocked or failing handler."
        exchanges = [row["exchange"] for row in rows]
        yield about("stuck-not-fetching", "warning", exchanges, text, advice, entity=f"{topic}-{partition}")
