"""Producers: gaps in sequences, fencing, sizes, durability, retries and duplicates.

Rules:
- A fenced producer is not reported if its transaction timed out, or if a war over its id is reported.
- Sequences continue from one batch to the next, and wrap from 2**31 - 1 to 0. A batch sent again is not a gap.
- A batch is too large if the broker refuses it, or if it exceeds the default limit of brokers. It is also too large if
  a consumer gets more for a partition than its limit. Brokers return at least one batch, whatever its size.
- A batch is sent again if its producer id, epoch and base sequence occur again, or, without a producer id, its bytes.
- Without a producer id, equal bytes accepted at two base offsets prove a duplicate. With one, the broker knows the last
  five batches, and answers with the first offset or DUPLICATE_SEQUENCE_NUMBER.
- A broker does not recognise records that a producer sends again with a new epoch or id. The checksums prove them:
  CRC-32C is linear, so the checksums of two batches that differ only in producer fields differ by the checksum of that
  difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkawire.inspect._diagnose.evidence import SECOND, grouped, partition_name, topic_of, when
from kafkawire.inspect._diagnose.row_groups import Groups, codes_of
from kafkawire.inspect._diagnose.rule import Finding, about, names_of, rule
from kafkawire.inspect._transactions.traffic import is_war
from kafkawire.records import HEADER_SIZE, add_sequence, crc32c
from kafkawire.records.layout import CHECKED_FROM, PRODUCER, PRODUCER_ID_AT

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.levels import Level
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_PRODUCE, _JOIN_GROUP, _INIT_PRODUCER_ID, _GROUP_HEARTBEAT = 0, 11, 22, 68
_SEQUENCE_ERRORS: Final = (45, 59)
_FENCES: Final = {
    47: "producer",
    90: "producer",
    82: "static member",
    110: "member epoch",
    113: "member epoch",
    74: "leader epoch",
    52: "transaction coordinator",
    77: "broker epoch",
}
_TOO_LARGE: Final = (10, 18)
_NOT_DURABLE: Final = (7, 19, 20)
_SHAPE: Final = (
    *("topic", "partition", "size", "record_count", "base_timestamp", "max_timestamp", "codec", "timestamp_type"),
    *("is_transactional", "is_control"),
)


@rule("sequence-gap", "error", "batches of an idempotent producer that are missing or out of order")
def sequence_gaps(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Gaps in the sequence numbers of a producer, and the errors of brokers about them."""
    sent = evidence.produced
    bases, counts = sent.numbers("base_sequence"), sent.numbers("last_offset") - sent.numbers("base_offset") + 1
    numbered = np.flatnonzero((bases >= 0) & (sent.numbers("magic") == 2))
    owners = (sent.numbers(name)[numbered] for name in ("partition", "producer_id", "producer_epoch"))
    groups = Groups(codes_of(sent.column("topic").take(numbered), *owners), numbered).members()
    gaps = [gap for places in groups for gap in _gaps(places, bases[places], counts[places])]
    pairs = sent.pairs([gap.places for gap in gaps])
    for ((former, _), (batch, _)), gap in zip(pairs, gaps, strict=True):
        name, producer, epoch = partition_name(batch), batch["producer_id"], batch["producer_epoch"]
        text = f"{name}: producer {producer} (epoch {epoch}) continued at sequence {batch['base_sequence']}"
        text += f", expected {gap.due}"
        advice = "A batch was lost or overtaken: use at most 5 requests in flight."
        pair = [former["exchange"], batch["exchange"]]
        yield about("sequence-gap", "error", pair, text, advice, entity=name)
    refused = evidence.partitions.where(api_key=_PRODUCE, error_code=_SEQUENCE_ERRORS)
    for name, rows in grouped(refused, partition_name).items():
        codes = [row["error_code"] for row in rows]
        text = f"{name}: the broker refuses {len(rows)} batches with {names_of(codes)}"
        advice = (
            "The broker no longer knows the producer (its records expired): the client must get a new producer id."
            if codes[0] == 59
            else "An earlier batch is missing: retries reordered the batches, or the client counts sequences wrongly."
        )
        yield about("sequence-gap", "error", [row["exchange"] for row in rows], text, advice, entity=name)


class _Gap(NamedTuple):
    """A batch that does not follow the one before it, and the sequence that was due."""

    places: NDArray[np.int64]
    due: int


def _gaps(places: NDArray[np.int64], bases: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[_Gap]:
    """The gaps in the batches of a producer."""
    if bool((np.diff(bases) == counts[:-1]).all() and (counts > 0).all()):
        return
    seen: set[int] = set()
    due: int | None = None
    for place, (base, count) in enumerate(zip(bases.tolist(), counts.tolist(), strict=True)):
        if due is not None and base != due and base not in seen:
            yield _Gap(places[place - 1 : place + 1], due)
        if base not in seen:
            due = add_sequence(base, count)
            seen.add(base)


@rule(
    "fenced",
    "error",
    "a client that another one with the same transactional or static id replaced",
    thresholds=("fencing",),
)
def fenced(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients that another client with the same identity, or a newer epoch, fenced."""
    wars = {name for name, claims in evidence.claims.items() if is_war(claims, limits.fencing)}
    timeouts = {place for each in evidence.transactions if each.outcome == "timed_out" for place in each.exchanges}
    refused = [
        row
        for row in evidence.exchanges.where(error_code=[*_FENCES])
        if row["transactional_id"] not in wars and (row["conn_id"], row["seq"]) not in timeouts
    ]
    for (conn, code), rows in grouped(refused, lambda row: (row["conn_id"], row["error_code"])).items():
        first, kind = rows[0], _FENCES[code]
        rival = _rival(evidence, first, kind)
        identity = first["transactional_id"] or first["instance_id"] or first["member_id"] or first["group_id"]
        text = f"{kind} fenced: {names_of([code])}" + (f" for {identity}" if identity else "")
        shown = rows
        if rival is not None:
            seconds = (when(first) - when(rival)) / SECOND
            text += f"; {rival['connection']['client']} took over {seconds:.1f} s before"
            shown = [first, rival, *rows[1:]]
        advice = (
            "Two clients share a transactional.id or group.instance.id, or this one is a zombie: give each its own id."
            if kind in ("producer", "static member")
            else "The client uses an old epoch: it must refresh and continue."
        )
        yield about("fenced", "error", shown, text, advice, entity=identity, conn_id=conn, count=len(rows))


def _rival(evidence: Evidence, refused: Row, kind: str) -> Row | None:
    """The last request before the refusal with which another connection claimed the identity."""
    column = {"producer": "transactional_id", "static member": "instance_id"}.get(kind)
    if column is None or refused[column] is None:
        return None
    keys = (_INIT_PRODUCER_ID,) if kind == "producer" else (_JOIN_GROUP, _GROUP_HEARTBEAT)
    claims = [
        row
        for row in evidence.exchanges.where(api_key=keys, error_code=0)
        if row[column] == refused[column] and row["conn_id"] != refused["conn_id"] and when(row) <= when(refused)
    ]
    return claims[-1] if claims else None


@rule(
    "oversized-records",
    "error",
    "batches that are larger than the broker, or a consumer, accepts",
    thresholds=("batch_limit",),
)
def oversized_records(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches that are too large for the broker, or larger than brokers accept by default."""
    refused = evidence.partitions.where(api_key=_PRODUCE, error_code=_TOO_LARGE)
    for name, rows in grouped(refused, partition_name).items():
        largest = max(row["bytes"] or 0 for row in rows)
        why = names_of([row["error_code"] for row in rows])
        text = f"{name}: {len(rows)} produces of up to {largest} bytes were refused with {why}"
        advice = "Raise max.message.bytes of the topic (and message.max.bytes), or send smaller batches and records."
        yield about("oversized-records", "error", [row["exchange"] for row in rows], text, advice, entity=name)
    known = {name for name, _ in grouped(refused, partition_name).items()}
    sent = evidence.produced
    large = sent.rows(np.flatnonzero(sent.numbers("size") > limits.batch_limit))
    for name, rows in grouped(large, partition_name).items():
        if name not in known:
            largest = max(row["size"] for row in rows)
            text = f"{name}: {len(rows)} batches larger than {limits.batch_limit} bytes, up to {largest}"
            advice = "This broker accepts them; replicas, mirrors and consumers with default limits may not."
            yield about("oversized-records", "info", [row["exchange"] for row in rows], text, advice, entity=name)
    places = evidence.fetches.order
    most, size = (evidence.partitions.numbers(name, 0)[places] for name in ("max_bytes", "bytes"))
    beyond = evidence.partitions.at(places[(most > 0) & (size > most)])
    for name, rows in grouped(beyond, partition_name).items():
        largest = max(rows, key=lambda row: int(row["bytes"]))
        text = f"{name}: {len(rows)} fetches returned more than the consumer's limit for a partition,"
        text += f" up to {largest['bytes']} bytes for a limit of {largest['max_bytes']}"
        advice = "Raise max.partition.fetch.bytes above the largest batch, or send smaller batches."
        yield about("oversized-records", "info", [row["exchange"] for row in rows], text, advice, entity=name)


@rule("durability", "error", "produces with acks=all that too few replicas acknowledge")
def durability(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Produces with acks=all that too few replicas acknowledge."""
    refused = [
        row
        for row in evidence.partitions.where(api_key=_PRODUCE, error_code=_NOT_DURABLE)
        if row["exchange"]["acks"] == -1
    ]
    if not refused:
        return
    known = evidence.of_topics({topic_of(row) for row in refused})
    isr = {partition_name(row): (row["isr"], row["replicas"]) for row in known if row["isr"] is not None}
    for name, rows in grouped(refused, partition_name).items():
        text = f"{name}: {len(rows)} produces with acks=all failed with {names_of([row['error_code'] for row in rows])}"
        if name in isr:
            text += f"; {isr[name][0]} of {isr[name][1]} replicas are in sync"
        advice = "Replicas are down or slow: restart or relieve them, because min.insync.replicas is not met."
        yield about("durability", "error", [row["exchange"] for row in rows], text, advice, entity=name)


@rule("duplicates", "error", "a batch that was stored more than once")
@rule("retries", "warning", "a batch that was sent more than once")
def retries_and_duplicates(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches that were sent or stored more than once."""
    sent = evidence.produced
    is_numbered = (sent.numbers("producer_id") >= 0) & (sent.numbers("base_sequence") >= 0)
    keys: list[NDArray[np.int64] | pa.Array[Any]] = [
        sent.column("topic"),
        sent.numbers("partition"),
        is_numbered.astype(np.int64),
    ]
    keys += [
        np.where(is_numbered, sent.numbers(one), sent.numbers(other))
        for one, other in (("producer_id", "crc"), ("producer_epoch", "size"))
    ]
    keys.append(np.where(is_numbered, sent.numbers("base_sequence"), 0))
    again = [places for places in Groups(codes_of(*keys)).members() if len(places) > 1]
    yield from map(_sent_again, sent.pairs(again))
    yield from _under_another_epoch(evidence)


def _sent_again(sent: list[tuple[Row, Row | None]]) -> Finding:
    batch = sent[0][0]
    exchanges, name = [each["exchange"] for each, _ in sent], partition_name(batch)
    accepted = {
        verdict["base_offset"]
        for _, verdict in sent
        if verdict is not None and verdict["error_code"] == 0 and verdict["base_offset"] is not None
    }
    if batch["producer_id"] < 0 and len(accepted) > 1:
        offsets = " and ".join(map(str, sorted(accepted)))
        text = f"{name}: the same batch of {batch['record_count']} records was stored at offsets {offsets}"
        advice = "Set enable.idempotence=true, so that the broker recognises a batch that is sent again."
        return about("duplicates", "error", exchanges, text, advice, entity=name)
    verdict = sent[0][1]
    code = None if verdict is None else verdict["error_code"]
    cause = names_of([code]) if code else ("no response" if exchanges[0]["ts_resp"] is None else "a lost response")
    delay = (when(exchanges[-1]) - when(exchanges[0])) / SECOND
    text = f"{name}: a batch was sent {len(sent)} times within {delay:.1f} s; the first attempt ended with {cause}"
    advice = "Find out why the first attempt failed. Without idempotence each attempt may store the records."
    level: Level = "info" if batch["producer_id"] >= 0 else "warning"
    # One leader that moves fails batches for several partitions of a topic: that is one finding.
    return about("retries", level, exchanges, text, advice, entity=batch["topic"])


def _under_another_epoch(evidence: Evidence) -> Iterator[Finding]:
    sent = evidence.produced
    producers, epochs = sent.numbers("producer_id"), sent.numbers("producer_epoch")
    accepted = (sent.verdict("error_code") == 0) & (producers >= 0) & (sent.numbers("magic") == 2)
    stored = np.flatnonzero(accepted & (sent.numbers("crc_ok") == 1))
    alike = Groups(codes_of(*(sent.column(name).take(stored) for name in _SHAPE)), stored)
    order = alike.order
    follows = np.diff(alike.numbers) == 0
    differs = (np.diff(producers[order]) != 0) | (np.diff(epochs[order]) != 0)
    pairs = [order[place : place + 2] for place in np.flatnonzero(follows & differs).tolist()]
    for (one, first), (other, second) in sent.pairs(pairs):
        if first is not None and second is not None and _same_records(one, other):
            name = partition_name(one)
            text = (
                f"{name}: the same {one['record_count']} records were stored at offsets {first['base_offset']} and"
                f" {second['base_offset']}, by producer {one['producer_id']} in epoch {one['producer_epoch']} and"
                f" {other['producer_id']} in epoch {other['producer_epoch']}"
            )
            advice = "The client sent a stored batch again with a new epoch, a known client bug: upgrade it."
            exchanges = [one["exchange"], other["exchange"]]
            yield about("duplicates", "error", exchanges, text, advice, entity=name)


def _same_records(one: Row, other: Row) -> bool:
    """Whether two batches with equal headers differ only in their producer fields."""
    difference = bytearray(one["size"] - CHECKED_FROM)
    fields = zip(PRODUCER.pack(*_producer(one)), PRODUCER.pack(*_producer(other)), strict=True)
    at = PRODUCER_ID_AT - CHECKED_FROM
    difference[at : at + PRODUCER.size] = bytes(left ^ right for left, right in fields)
    changed = crc32c(difference) ^ crc32c(bytes(len(difference)))
    return bool(one["size"] > HEADER_SIZE and one["crc"] ^ other["crc"] == changed)


def _producer(batch: Row) -> tuple[int, int, int]:
    return batch["producer_id"], batch["producer_epoch"], batch["base_sequence"]
