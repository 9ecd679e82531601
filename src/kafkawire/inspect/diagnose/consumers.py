"""Consumers that do not get on, and consumers that go back.

Rules:
- A consumer is stuck where it asks `repeats` times or more for the same offset of a partition on one connection.
- Which kind of stuck it is, the answers tell; answers that say "nothing new" are no trouble at all.
- Data that comes again and again is no trouble either while the client's commits of the partition move on.
- An offset that falls, in fetches or commits, is a reset; a ListOffsets or an OFFSET_OUT_OF_RANGE before it tells why.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import client_of, grouped, partition_name, topic_of, when
from kafkawire.inspect.diagnose.findings import Finding, about, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_LOOPS: Final = (1, 3, 6, 74, 75, 76, 100, 103)
_LIST_OFFSETS, _END_TXN = 2, 26
_OUT_OF_RANGE: Final = 1
_WHY: Final = {
    _OUT_OF_RANGE: "The offset is outside the log, by expiry or truncation: set auto.offset.reset, or seek.",
    74: "The leader epoch is old: the client must refresh its metadata.",
    75: "The client knows a newer leader epoch than this broker: the broker lags behind.",
    76: "The client is too old for this codec: upgrade it, or compress the topic otherwise.",
}


def stuck(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Every kind of consumer that asks for the same offset again and again."""
    batches = grouped(
        (row for row in evidence.batches if row["source"] == "response"),
        lambda row: (row["conn_id"], row["seq"], row["topic"], row["partition"]),
    )
    for rows in evidence.fetches.values():
        for offset, run in groupby(rows, key=lambda row: row["fetch_offset"]):
            same = list(run)
            if offset is None or len(same) < limits.repeats:
                continue
            carried = [batches.get((row["conn_id"], row["seq"], row["topic"], row["partition"]), []) for row in same]
            yield from _judge(evidence, same, carried, offset)


def _judge(evidence: Evidence, same: list[Row], carried: list[list[Row]], offset: int) -> Iterator[Finding]:
    exchanges, name = [row["exchange"] for row in same], partition_name(same[0])
    errors = [row["error_code"] for row in same]
    at = f"{name} at offset {offset}, asked {len(same)} times"
    if all(code in _LOOPS for code in errors):
        advice = _WHY.get(errors[0], "Refresh metadata; if it persists, the topic or its leader is gone.")
        text = f"{at}: every answer is {names_of(errors)}"
        if errors[0] == _OUT_OF_RANGE:
            text += _where_the_log_is(evidence, same[0], offset)
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
            text += f"; producers {', '.join(map(str, open_ids))} wrote there and have not ended a transaction since"
        yield about(
            "stuck-hanging-transaction",
            "error",
            exchanges,
            text,
            "An open transaction holds the last stable offset. Find it with kafka-transactions find-hanging, abort it.",
            entity=name,
            certainty="proven" if len(stable) == 1 else "suspected",
        )


def _open_producers(evidence: Evidence, place: Row) -> list[int]:
    """The producers seen to write to a partition within a transaction, and not seen to end one afterwards."""
    wrote = {
        batch["producer_id"]: when(batch["exchange"])
        for batch, _ in evidence.produced
        if batch["txn"] and partition_name(batch) == partition_name(place)
    }
    ended = {row["producer_id"]: when(row) for row in evidence.exchanges if row["api_key"] == _END_TXN}
    return sorted(number for number, time in wrote.items() if ended.get(number, -1) < time)


def _with_data(
    evidence: Evidence, same: list[Row], carried: list[list[Row]], offset: int, exchanges: list[Row], at: str
) -> Iterator[Finding]:
    name, version = partition_name(same[0]), exchanges[0]["version"]
    if version <= 2 and all(row["batches"] == 0 and row["bytes"] >= (row["max_bytes"] or 1 << 62) for row in same):
        text = f"{at}: each answer is cut at the client's limit of {same[0]['max_bytes']} bytes, within one batch"
        advice = "Raise max.partition.fetch.bytes, or use a client with Fetch v3 or later, which gets whole batches."
        yield about("stuck-batch-too-large", "error", exchanges, text, advice, entity=name)
    elif all(found and all(_has_no_record(batch, offset) for batch in found) for found in carried):
        last = max(batch["last_offset"] for batch in carried[-1])
        text = f"{at}: the answers end at offset {last}, with no record to hand out"
        advice = f"The client must go on at {last + 1} behind batches that are empty, compacted or control: upgrade it."
        yield about("stuck-empty-batch", "error", exchanges, text, advice, entity=name)
    elif all(any(batch["crc_ok"] for batch in found) for found in carried) and not _commits_move(evidence, same):
        wasted = sum(row["bytes"] for row in same[1:])
        text = f"{at}: the same data came each time, {wasted} bytes for nothing"
        advice = "Fetched records are thrown away: look for a seek, pause or exception loop, or a record that kills it."
        yield about("stuck-refetching", "warning", exchanges, text, advice, entity=name)


def _commits_move(evidence: Evidence, same: list[Row]) -> bool:
    """Whether the client commits one offset after the other of a partition while it asks for the same."""
    first, last = same[0]["exchange"], same[-1]["exchange"]
    offsets = {
        row["committed_offset"]
        for (_, *place), rows in evidence.commits.items()
        if place == [topic_of(same[0]), same[0]["partition"]]
        for row in rows
        if client_of(row["exchange"]) == client_of(first) and when(first) <= when(row["exchange"]) <= when(last)
    }
    return len(offsets) > 1


def _where_the_log_is(evidence: Evidence, place: Row, offset: int) -> str:
    """On which side of the log an offset is, as far as any answer tells."""
    name = partition_name(place)
    known = [row for row in evidence.partitions if partition_name(row) == name]
    start = max((row["log_start"] for row in known if row["log_start"] is not None), default=-1)
    marks = [row["high_watermark"] for row in known if (row["high_watermark"] or -1) >= 0]
    if start > offset:
        return f"; the log begins at {start}: the data expired"
    if marks and marks[-1] < offset:
        return f"; the log ends at {marks[-1]}: it was truncated, or the offset is of another log"
    return ""


def _has_no_record(batch: Row, offset: int) -> bool:
    """Whether a batch has no record for the consumer at or behind an offset."""
    if batch["last_offset"] < offset:
        return True
    last = batch["last_record"]
    return bool(batch["control"] or batch["count"] == 0 or (last is not None and last < offset))


def offset_resets(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Fetch positions and committed offsets that fall."""
    asked = grouped(
        (row for row in evidence.partitions if row["api_key"] == _LIST_OFFSETS),
        lambda row: (topic_of(row), row["partition"]),
    )
    for (_, topic, partition), rows in evidence.fetches.items():
        known = [row for row in rows if row["fetch_offset"] is not None]
        for before, after in pairwise(known):
            if after["fetch_offset"] < before["fetch_offset"]:
                yield _reset(before, after, asked.get((topic, partition), []), "fetch_offset", "fetching")
    for (_, topic, partition), rows in evidence.commits.items():
        for before, after in pairwise(rows):
            if after["committed_offset"] < before["committed_offset"]:
                yield _reset(before, after, asked.get((topic, partition), []), "committed_offset", "committing")


def _reset(before: Row, after: Row, asked: list[Row], column: str, doing: str) -> Finding:
    name, old, new = partition_name(after), before[column], after[column]
    begin, end = when(before["exchange"]), when(after["exchange"])
    lists = [row for row in asked if begin <= when(row["exchange"]) <= end]
    if before["error_code"] == _OUT_OF_RANGE:
        why = "after OFFSET_OUT_OF_RANGE"
    elif lists:
        kind = {-1: "the latest", -2: "the earliest"}.get(lists[-1]["timestamp"], "a time's")
        why = f"after asking for {kind} offset"
    else:
        why = "by a seek, or another member with an older commit"
    text = f"{name}: {doing} went back from {old} to {new}, {old - new} records to be read again, {why}"
    exchanges = [before["exchange"], *(row["exchange"] for row in lists), after["exchange"]]
    advice = "Check auto.offset.reset, retention against the consumer's lag, and whether two members own the partition."
    return about("offset-reset", "warning", exchanges, text, advice, entity=name, count=old - new)
