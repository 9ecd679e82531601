"""Consumers that make no progress or go back, and records that share groups get too often.

Rules:
- A consumer is stuck if it asks `repeats` times or more for the same offset of a partition on one connection.
- The responses give the reason. Empty responses at the end of the log are not a problem.
- Data that is fetched repeatedly is not a problem while the commits of the client for the partition advance.
- A fetch or commit offset that decreases is a reset. A ListOffsets or an OFFSET_OUT_OF_RANGE before it is the cause.
- A rebalance is a cause too: records after the last commit are read again, which is only info.
- The delivery count of a record of a share group (KIP-932) is how often the group got it, this time included. At the
  limit the record is delivered for the last time: if it is released, or its lock ends, the broker archives it
  unprocessed. The limit of the group is a threshold, because a capture does not contain it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.evidence import NO_NUMBER, client_of, grouped, partition_name, topic_of, when
from kafkawire.inspect._diagnose.rule import Finding, about, names_of, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.levels import Level
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_LOOPS: Final = (1, 3, 6, 74, 75, 76, 100, 103)
_LIST_OFFSETS: Final = 2
_SHARE_FETCH: Final = 78
_ASSIGNING: Final = (11, 14)
_OUT_OF_RANGE: Final = 1
_WHY: Final = {
    _OUT_OF_RANGE: "The offset is outside the log, by retention or truncation: set auto.offset.reset, or seek.",
    74: "The leader epoch is old: the client must refresh its metadata.",
    75: "The client knows a newer leader epoch than this broker: the broker is behind.",
    76: "The client does not support this codec: upgrade it, or use another compression.type.",
}
_POISONOUS: Final = (
    "The record fails repeatedly, or takes longer than its lock: log it and reject it after a known failure, or raise "
    "share.record.lock.duration.ms."
)


@rule(
    "stuck-hanging-transaction",
    "error",
    "a read_committed consumer waits for a transaction that does not end",
    thresholds=("repeats",),
)
@rule(
    "stuck-empty-batch",
    "error",
    "a client does not advance past empty, compacted or control batches",
    thresholds=("repeats",),
)
@rule(
    "stuck-batch-too-large",
    "error",
    "responses are cut within a batch, because the limit of the client is smaller",
    thresholds=("repeats",),
)
@rule("stuck-refetching", "warning", "a consumer fetches the same data repeatedly", thresholds=("repeats",))
@rule("stuck-error-loop", "error", "a consumer gets the same error repeatedly", thresholds=("repeats",))
def stuck(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Consumers that ask for the same offset repeatedly."""
    fetches = evidence.fetches
    offsets = evidence.partitions.numbers("fetch_offset", NO_NUMBER)[fetches.order]
    runs = fetches.runs(offsets, limits.repeats, null=NO_NUMBER)
    for same in evidence.partitions.at_each(runs):
        fetched = evidence.batches_of(same, "response")
        batches = grouped(fetched, lambda row: (row["conn_id"], row["seq"], row["topic"], row["partition"]))
        carried = [batches.get((row["conn_id"], row["seq"], row["topic"], row["partition"]), []) for row in same]
        yield from _reason(evidence, same, carried, same[0]["fetch_offset"])


def _reason(evidence: Evidence, same: list[Row], carried: list[list[Row]], offset: int) -> Iterator[Finding]:
    exchanges, name = [row["exchange"] for row in same], partition_name(same[0])
    errors = [row["error_code"] for row in same]
    at = f"{name} at offset {offset}, requested {len(same)} times"
    if all(code in _LOOPS for code in errors):
        advice = _WHY.get(errors[0], "Refresh the metadata. If the error persists, the topic or its leader is gone.")
        text = f"{at}: every response is {names_of(errors)}"
        if errors[0] == _OUT_OF_RANGE:
            text += _side_of_log(evidence, same[0], offset)
        yield about("stuck-error-loop", "error", exchanges, text, advice, entity=name)
    elif any(errors):
        return
    elif all(row["bytes"] for row in same):
        yield from _with_data(evidence, same, carried, offset, exchanges, at)
    elif all(not row["bytes"] and exchanges[0]["isolation"] == 1 for row in same) and all(
        row["lso"] is not None and 0 <= row["lso"] <= offset < row["high_watermark"] for row in same
    ):
        stable = {row["lso"] for row in same}
        text = f"{at}: committed data ends at {same[-1]['lso']}, the log at {same[-1]['high_watermark']}"
        open_ids = _open_producers(evidence, same[0])
        if open_ids:
            text += f"; producers {', '.join(map(str, open_ids))} wrote there and did not end a transaction afterwards"
        yield about(
            "stuck-hanging-transaction",
            "error",
            exchanges,
            text,
            "An open transaction holds the last stable offset: kafka-transactions find-hanging finds it; abort it.",
            entity=name,
            certainty="proven" if len(stable) == 1 else "suspected",
        )


def _open_producers(evidence: Evidence, place: Row) -> list[int]:
    """Producers whose open transactions wrote to a partition."""
    return sorted(
        each.producer_id
        for each in evidence.transactions
        if each.outcome == "open" and (place["topic"], place["partition"]) in each.partitions
    )


def _with_data(
    evidence: Evidence, same: list[Row], carried: list[list[Row]], offset: int, exchanges: list[Row], at: str
) -> Iterator[Finding]:
    name, version = partition_name(same[0]), exchanges[0]["version"]
    if version <= 2 and all(row["batches"] == 0 and row["bytes"] >= (row["max_bytes"] or 1 << 62) for row in same):
        text = f"{at}: each response is cut at the client's limit of {same[0]['max_bytes']} bytes, within one batch"
        advice = "Raise max.partition.fetch.bytes, or use a client with Fetch v3 or later, which gets whole batches."
        yield about("stuck-batch-too-large", "error", exchanges, text, advice, entity=name)
    elif all(found and all(_has_no_record(batch, offset) for batch in found) for found in carried):
        last = max(batch["last_offset"] for batch in carried[-1])
        text = f"{at}: the responses end at offset {last}, and have no record for the consumer"
        advice = f"The client must continue at {last + 1}, after the empty, compacted or control batches: upgrade it."
        yield about("stuck-empty-batch", "error", exchanges, text, advice, entity=name)
    elif all(any(batch["crc_ok"] for batch in found) for found in carried) and not _commits_move(evidence, same):
        wasted = sum(row["bytes"] for row in same[1:])
        text = f"{at}: each response has the same data; {wasted} bytes were wasted"
        advice = "The client discards the records: look for a loop of seeks, pauses or exceptions."
        yield about("stuck-refetching", "warning", exchanges, text, advice, entity=name)


def _commits_move(evidence: Evidence, same: list[Row]) -> bool:
    """Whether the commits of the client for a partition change while it asks for the same offset."""
    first, last = same[0]["exchange"], same[-1]["exchange"]
    offsets = {
        row["committed_offset"]
        for key in evidence.commits
        if key[1:] == (topic_of(same[0]), same[0]["partition"])
        for row in evidence.commits[key]
        if client_of(row["exchange"]) == client_of(first) and when(first) <= when(row["exchange"]) <= when(last)
    }
    return len(offsets) > 1


def _side_of_log(evidence: Evidence, place: Row, offset: int) -> str:
    """Whether an offset is before or behind the log, if a response shows it."""
    name = partition_name(place)
    known = [row for row in evidence.of_topics({topic_of(place)}) if partition_name(row) == name]
    start = max((row["log_start"] for row in known if row["log_start"] is not None), default=-1)
    marks = [row["high_watermark"] for row in known if (row["high_watermark"] or -1) >= 0]
    if start > offset:
        return f"; the log starts at {start}: retention deleted the data"
    if marks and marks[-1] < offset:
        return f"; the log ends at {marks[-1]}: it was truncated, or the offset belongs to another log"
    return ""


def _has_no_record(batch: Row, offset: int) -> bool:
    """Whether a batch has no record for the consumer at or after an offset."""
    if batch["last_offset"] < offset:
        return True
    last = batch["last_record"]
    return bool(batch["is_control"] or batch["record_count"] == 0 or (last is not None and last < offset))


@rule("offset-reset", "warning", "a consumer, or the commits of a group, went back to an earlier offset")
def offset_resets(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Fetch positions and committed offsets that decrease."""
    causes = _Causes(evidence)
    rows = evidence.partitions
    both = (("fetch_offset", "fetching", evidence.fetches), ("committed_offset", "committing", evidence.commits))
    for column, doing, groups in both:
        offsets = rows.numbers(column, NO_NUMBER)[groups.order]
        for before, after in rows.at_each(groups.falls(offsets, null=NO_NUMBER)):
            yield _reset(causes, before, after, column, doing)


class _Causes:
    """The requests that may explain why a consumer went back, in the order of time, so that a question is a search."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    @cached_property
    def _asked(self) -> dict[tuple[str, int], list[Row]]:
        asked = self._evidence.partitions.where(api_key=_LIST_OFFSETS)
        return grouped(asked, lambda row: (topic_of(row), row["partition"]))

    @cached_property
    def _assigning(self) -> dict[tuple[str, str | None], list[Row]]:
        return grouped(self._evidence.exchanges.where(api_key=_ASSIGNING), client_of)

    def lists(self, row: Row, begin: int, end: int) -> list[Row]:
        """The ListOffsets of the partition of a row, between two times."""
        rows = self._asked.get((topic_of(row), row["partition"]), [])
        return _between(rows, begin, end, lambda each: when(each["exchange"]))

    def was_assigned(self, exchange: Row, begin: int, end: int) -> bool:
        """Whether the client of an exchange may have got other partitions between two times."""
        return bool(_between(self._assigning.get(client_of(exchange), []), begin, end, when))


def _between(rows: list[Row], begin: int, end: int, time: Callable[[Row], int]) -> list[Row]:
    return rows[bisect_left(rows, begin, key=time) : bisect_right(rows, end, key=time)]


def _reset(causes: _Causes, before: Row, after: Row, column: str, doing: str) -> Finding:
    name, old, new = partition_name(after), before[column], after[column]
    begin, end = when(before["exchange"]), when(after["exchange"])
    lists = causes.lists(after, begin, end)
    level: Level = "warning"
    if before["error_code"] == _OUT_OF_RANGE:
        why = "after OFFSET_OUT_OF_RANGE"
    elif lists:
        kind = {-1: "the latest offset", -2: "the earliest offset"}.get(lists[-1]["timestamp"], "the offset of a time")
        why = f"after a request for {kind}"
    elif causes.was_assigned(after["exchange"], begin, end):
        why, level = "after a rebalance, from the last commit on", "info"
    else:
        why = "by a seek, or because another member has an older commit"
    text = f"{name}: {doing} went back from {old} to {new}, {old - new} offsets are read again, {why}"
    exchanges = [before["exchange"], *(row["exchange"] for row in lists), after["exchange"]]
    advice = "Check auto.offset.reset, the retention, the lag, and whether two members own the partition."
    return about("offset-reset", level, exchanges, text, advice, entity=name)


@rule(
    "delivery-limit",
    "warning",
    "records that a share group gets for the last time, because they were not accepted before",
    thresholds=("deliveries",),
)
def delivery_limits(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Records that were delivered as often as the limit allows."""
    last = (
        row
        for row in evidence.partitions.where(api_key=_SHARE_FETCH)
        if row["deliveries"] is not None and row["deliveries"] >= limits.deliveries
    )
    for (group, name), rows in grouped(last, lambda row: (row["exchange"]["group_id"], partition_name(row))).items():
        offsets = sorted({row["base_offset"] for row in rows})
        address, client = client_of(rows[-1]["exchange"])
        others = f" and {len(offsets) - 1} other offsets" if len(offsets) > 1 else ""
        text = (
            f"{group}: offset {offsets[0]} of {name}{others} delivered {max(row['deliveries'] for row in rows)} times, "
            f"the last time to {client or address}; the broker archives records that are not accepted then"
        )
        yield about("delivery-limit", "warning", [row["exchange"] for row in rows], text, _POISONOUS, entity=name)
