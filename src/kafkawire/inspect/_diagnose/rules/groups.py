"""Groups: members that rebalance too often, do not read their partitions, or do not give them up.

Rules:
- A rebalance storm is a group with `joins_per_minute` joins or more, and more generations than its members explain.
  Each member may cause one when it comes and one when it goes. If heartbeats have member epochs (KIP-848, KIP-932,
  KIP-1071), changes of these epochs count instead of joins.
- A join that is answered with MEMBER_ID_REQUIRED is a step of the handshake (KIP-394), not a join.
- The members are the connections that joined. Those of one client that follow each other are one member.
- The time of a storm is the sum from each join to its answered sync. The client with the most joins is named.
- The partitions of a member are those of its last answered SyncGroup or ConsumerGroupHeartbeat. A partition is not read
  if for `silent_s`, while heartbeats succeed, no fetch of the client names it and no session contains it.
- A fetch session that began before the capture may contain any partition, so nothing is reported.
- A partition without any captured fetch may be fetched outside the capture: that finding is suspected.
- If no assignment was captured, a client that used to fetch and now only sends heartbeats is reported.
- Repeated commits of one offset are reported only if the log grows beyond that offset meanwhile.
- A consumer or streams group asks a member to give up partitions (KIP-848, KIP-1071). Its response then has fewer
  partitions than before, with the same member epoch. The member has done so when a heartbeat reports no more
  partitions than that, when its epoch changes, or when it leaves.
- A member that the coordinator removes (rebalance timeout) has not given up its partitions. Other errors of heartbeats
  change nothing, because the member sends the same again. Members with a newer epoch wait for the partitions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._diagnose.evidence import NO_NUMBER, SECOND, client_of, grouped, partition_name, topic_of, when
from kafkawire.inspect._diagnose.row_groups import Groups, codes_of
from kafkawire.inspect._diagnose.rule import Finding, about, names_of, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_FETCH, _JOIN, _HEARTBEAT, _LEAVE, _SYNC, _GROUP_HEARTBEAT = 1, 11, 12, 13, 14, 68
_EPOCHS: Final = (_GROUP_HEARTBEAT, 76, 88)
"""Heartbeats with member epochs: of consumer, share and streams groups."""
_BEATS: Final = (_HEARTBEAT, _GROUP_HEARTBEAT)
_READING: Final = (_FETCH, _SYNC, _GROUP_HEARTBEAT)
_RECONCILED: Final = (_GROUP_HEARTBEAT, 88)
"""Heartbeats that report which partitions a member has: of consumer and streams groups."""
_REMOVED: Final = (25, 110)
_GROUP_ERRORS: Final = (22, 25, 27, 110, 113)
_MEMBER_ID_REQUIRED: Final = 79
_NAMED: Final = 5
_STATIC: Final = "Set group.instance.id, use a cooperative assignor, or raise max.poll.interval.ms."
_RESTLESS: Final = (
    "Look for members that restart, exceed max.poll.interval.ms or change their subscription: each of these raises the "
    "epoch of the group."
)
_ADVICE: Final = "The consumer is paused, or blocked in processing: compare with max.poll.interval.ms."
_BLOCKED: Final = (
    "Its poll loop or its rebalance listener is blocked: look for long processing, compare with max.poll.interval.ms."
)


@rule("rebalance-storm", "error", "a group that rebalances too often", thresholds=("joins_per_minute",))
def rebalance_storms(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Groups whose members join repeatedly."""
    exchanges = evidence.exchanges
    changes = exchanges.column("group_id").take(exchanges.places(api_key=(_JOIN, *_EPOCHS)))
    names = {name for name in pc.unique(changes).to_pylist() if name}
    epochs, places = _epoch_changes(evidence), exchanges.places(group_id=names)
    wanted = np.zeros(len(exchanges), np.bool_)
    for chosen in (
        exchanges.places(api_key=(_JOIN, _LEAVE, _SYNC)),
        exchanges.places(error_code=_GROUP_ERRORS),
        epochs,
    ):
        wanted[chosen] = True
    for own in Groups(codes_of(exchanges.column("group_id").take(places)), places).members():
        rows = exchanges.at(own[wanted[own]])
        joins = [row for row in rows if row["api_key"] == _JOIN and row["error_code"] != _MEMBER_ID_REQUIRED]
        rises = _rises([row for row in joins if row["error_code"] == 0])
        if not joins:
            joins = exchanges.at(np.intersect1d(own, epochs))
            rises = _rises(joins)
        if rises <= 2 * _starts(joins) or len(joins) < 2:
            continue
        minutes = max(when(joins[-1]) - when(joins[0]), SECOND) / (60 * SECOND)
        if len(joins) / max(minutes, 1 / 6) >= limits.joins_per_minute:
            yield _storm(_group(joins[0]), rows, joins, rises, minutes)


def _storm(group: str, rows: list[Row], joins: list[Row], rises: int, minutes: float) -> Finding:
    (address, client), most = Counter(client_of(row) for row in joins).most_common(1)[0]
    reasons = Counter(row["reason"] for row in rows if row["api_key"] in (_JOIN, _LEAVE) and row["reason"])
    errors = [row["error_code"] for row in rows if row["error_code"] in _GROUP_ERRORS]
    by = f"in {minutes * 60:.0f} s, {most} of them by {client or address}"
    if joins[0]["api_key"] == _JOIN:
        text = f"{len(joins)} joins and {rises} generations {by}{_time_spent(rows, minutes)}"
    else:
        text = f"{len(joins)} changes of member epochs to {rises} epochs {by}"
    ids = {row["member_id"] for row in joins if client_of(row) == (address, client) and row["member_id"]}
    text += f", under {len(ids)} member ids" if len(ids) > 1 else ""
    if reasons:
        text += f"; the reason given is {reasons.most_common(1)[0][0]}"
    if errors:
        text += f"; {len(errors)} responses {names_of(errors)}"
    advice = _STATIC if joins[0]["api_key"] == _JOIN else _RESTLESS
    return about("rebalance-storm", "error", joins, f"{group}: {text}", advice, entity=group)


def _time_spent(rows: list[Row], minutes: float) -> str:
    spent = sum((row["ts_resp"] or when(row)) - when(row) for row in rows if row["api_key"] in (_JOIN, _SYNC)) / SECOND
    return f"; {spent:.1f} s were spent in joins and syncs, {100 * spent / max(minutes * 60, spent):.0f} % of the time"


def _group(row: Row) -> str:
    return str(row["group_id"])


def _starts(joins: list[Row]) -> int:
    """The starts of members that are ordinary: each member once, and as many restarts as there are members.

    The members of a client are the most of its connections that joined and were open at the same time.
    """
    members, connections = 0, 0
    for own in grouped(joins, client_of).values():
        known = {row["conn_id"]: row["connection"] for row in own}
        spans = [(each["t_first"] or 0, each["t_close"] or each["t_last"] or 0) for each in known.values()]
        members += max(sum(first <= start <= last for first, last in spans) for start, _ in spans)
        connections += len(spans)
    return min(connections, 2 * members)


def _rises(joins: list[Row]) -> int:
    generations = sorted({row["generation"] for row in joins if row["generation"] is not None})
    return len(generations)


def _epoch_changes(evidence: Evidence) -> NDArray[np.int64]:
    """Heartbeats with another member epoch than the one before (KIP-848, KIP-932, KIP-1071)."""
    exchanges = evidence.exchanges
    epochs, places = exchanges.numbers("generation", NO_NUMBER), exchanges.places(api_key=_EPOCHS)
    places = places[epochs[places] != NO_NUMBER]
    names = (exchanges.column(name).take(places) for name in ("group_id", "member_id"))
    beats = Groups(codes_of(*names), places)
    changed = (np.diff(beats.numbers) == 0) & (np.diff(epochs[beats.order]) != 0)
    found: NDArray[np.int64] = np.sort(beats.order[1:][changed])
    return found


@rule(
    "stuck-not-fetching",
    "warning",
    "a member that sends heartbeats or commits, but does not fetch its partitions",
    thresholds=("silent_s", "repeats"),
    needs_start=True,
)
def not_fetching(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Members whose heartbeats succeed but that do not fetch, or commit the same offset while the log grows."""
    keys = evidence.exchanges.numbers("api_key", -1)
    for places in evidence.by_client.places.values():
        own = keys[places]
        beating = places[np.isin(own, _BEATS)]
        if not len(beating) or not np.isin(own, _READING).any():
            continue
        if evidence.times[beating[-1]] - evidence.times[places[0]] < limits.silent_s * SECOND:
            continue
        rows = evidence.exchanges.at(places[np.isin(own, (*_BEATS, *_READING, _LEAVE))])
        beats = [row for row in rows if row["api_key"] in _BEATS and row["error_code"] == 0]
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
    """The last assignment of the members of a client: each partition with the exchange that assigned it."""
    held: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        if row["api_key"] not in (_SYNC, _GROUP_HEARTBEAT) or row["error_code"] != 0:
            continue
        given = [partition_name(each) for each in evidence.of_exchange(row)]
        if given or row["api_key"] == _SYNC:
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
    """The last fetch of each partition, also by a session; None if the partitions of a session are not known."""
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
    """The request with which a member left afterwards, and its reason."""
    left = next((row for row in rows if row["api_key"] == _LEAVE and when(row) > when(since)), None)
    if left is None:
        return [], ""
    return [left], f"; then it left: {left['reason']}" if left["reason"] else "; then it left"


def _committing_in_place(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    commits, partitions = evidence.commits, evidence.partitions
    offsets = partitions.numbers("committed_offset", NO_NUMBER)
    standing = commits.constant(offsets[commits.order], limits.repeats)
    if not standing:
        return
    marks = partitions.numbers("high_watermark", NO_NUMBER)
    fetched = partitions.places(api_key=_FETCH)
    fetched = fetched[marks[fetched] != NO_NUMBER]
    for rows in map(partitions.at, standing):
        first, offset = rows[0], rows[0]["committed_offset"]
        group, topic, partition = first["exchange"]["group_id"], topic_of(first), first["partition"]
        places = np.intersect1d(fetched, evidence.of_partition(topic, partition))
        seen = marks[places[evidence.times_of(places) >= when(first["exchange"])]]
        behind = int(seen.max(initial=offset)) - offset
        if behind <= 0 or seen.max() <= seen.min():
            continue
        text = f"{group} commits offset {offset} of {topic}-{partition} repeatedly, {behind} behind the log"
        advice = "The group processes nothing although the log grows: look for a blocked or failing handler."
        exchanges = [row["exchange"] for row in rows]
        yield about("stuck-not-fetching", "warning", exchanges, text, advice, entity=f"{topic}-{partition}")


@rule(
    "member-not-reconciling",
    "warning",
    "a member that keeps partitions which the group needs for others",
    thresholds=("unreconciled_s",),
    needs_start=True,
)
def not_reconciling(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Members whose heartbeats go on without the partitions being given up."""
    exchanges = evidence.exchanges
    beats = exchanges.places(api_key=_RECONCILED)
    groups, members = (exchanges.column(name).take(beats) for name in ("group_id", "member_id"))
    named = np.array(pc.not_equal(groups, pa.scalar("")).fill_null(False), np.bool_)
    beats, codes = beats[named], codes_of(groups, members)[named]
    assigned = exchanges.numbers("assigned", NO_NUMBER)
    fewer = Groups(codes, beats)
    asked = [pair[0] for pair in fewer.falls(assigned[fewer.order], null=NO_NUMBER)]
    for places in Groups(codes_of(groups)[named], beats).members():
        if not np.isin(asked, places).any():
            continue
        rows = exchanges.at(places)
        group = rows[0]["group_id"]
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
                yield from _unreconciled(group, rows, asked, since, had, limits)
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
        yield from _unreconciled(group, rows, asked, since, had, limits)


def _is_over(row: Row, asked: Row) -> bool:
    """Whether a member has given up what it was asked to, or has another epoch for another reason."""
    return not row["error_code"] and (row["generation"] != asked["generation"] or _is_given_up(row, asked))


def _is_given_up(row: Row, asked: Row) -> bool:
    return row["owned"] is not None and row["owned"] <= asked["assigned"]


def _unreconciled(
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
    things = "partitions" if asked["api_key"] == _RECONCILED[0] else "tasks"
    asked_for = f"{(had or 0) - asked['assigned']} of {had} {things} at member epoch {asked['generation']}"
    text = f"{group}: {client or asked['member_id']} was asked to give up {asked_for}"
    text += f", and kept them for {seconds:.0f} s and {len(since) - 1} heartbeats"
    if newer:
        text += f"; {len(newer)} other members of a newer epoch wait"
    errors = [row["error_code"] for row in since if row["error_code"]]
    if errors:
        text += f"; then the coordinator removed it: {names_of(errors)}"
    yield about("member-not-reconciling", "warning", since, text, _BLOCKED, entity=group)
