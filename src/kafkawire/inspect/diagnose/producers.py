"""Producers: holes in sequences, fencing, sizes and durability.

Rules:
- Sequences run from one batch to the next, over 2**31 - 1 to 0; a batch sent again is no hole.
- A batch is too large where a broker refuses it, where it is larger than brokers take by default, or where a consumer
  gets more for a partition than it asked for: brokers answer with one batch at least, whatever its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import SECOND, grouped, partition_name, when
from kafkawire.inspect.diagnose.findings import Finding, about, names_of
from kafkawire.records import add_sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

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


def sequence_gaps(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Holes in the sequence numbers of a producer, and the broker's word for them."""
    numbered = [batch for batch, _ in evidence.produced if batch["base_seq"] is not None and batch["magic"] == 2]
    for (_, _, producer, epoch), batches in grouped(
        numbered, lambda row: (row["topic"], row["partition"], row["producer_id"], row["epoch"])
    ).items():
        seen: set[int] = set()
        due: int | None = None
        for before, batch in zip([None, *batches], batches, strict=False):
            base = batch["base_seq"]
            if due is not None and before is not None and base != due and base not in seen:
                name = partition_name(batch)
                text = f"{name}: producer {producer} (epoch {epoch}) went on at sequence {base}, {due} was due"
                advice = (
                    "A batch was lost or overtaken: keep at most 5 in flight; sequences count records, not batches."
                )
                pair = [before["exchange"], batch["exchange"]]
                yield about("sequence-gap", "error", pair, text, advice, entity=name)
            if base not in seen:
                due = add_sequence(base, batch["last_offset"] - batch["base_offset"] + 1)
                seen.add(base)
    refused = [
        row for row in evidence.partitions if row["api_key"] == _PRODUCE and row["error_code"] in _SEQUENCE_ERRORS
    ]
    for name, rows in grouped(refused, partition_name).items():
        codes = [row["error_code"] for row in rows]
        text = f"{name}: the broker refuses {len(rows)} batches with {names_of(codes)}"
        advice = (
            "The broker has forgotten the producer (its records expired): the client must get a new producer id."
            if codes[0] == 59
            else "A batch before these is missing: retries reordered them, or the client counts sequences wrongly."
        )
        yield about("sequence-gap", "error", [row["exchange"] for row in rows], text, advice, entity=name)


def fenced(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients that were shut out by another of the same identity, or by a newer epoch."""
    refused = [row for row in evidence.exchanges if row["error_code"] in _FENCES]
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
            "Two clients share a transactional.id or group.instance.id, or this one is a zombie: give each its own."
            if kind in ("producer", "static member")
            else "The client works with an old epoch: it must refresh and go on."
        )
        yield about("fenced", "error", shown, text, advice, entity=identity, conn_id=conn, count=len(rows))


def _rival(evidence: Evidence, refused: Row, kind: str) -> Row | None:
    """Who took the identity over: the last to claim it from another connection before."""
    column = {"producer": "transactional_id", "static member": "instance_id"}.get(kind)
    if column is None or refused[column] is None:
        return None
    keys = (_INIT_PRODUCER_ID,) if kind == "producer" else (_JOIN_GROUP, _GROUP_HEARTBEAT)
    claims = [
        row
        for row in evidence.exchanges
        if row["api_key"] in keys
        and row[column] == refused[column]
        and row["conn_id"] != refused["conn_id"]
        and row["error_code"] == 0
        and when(row) <= when(refused)
    ]
    return claims[-1] if claims else None


def oversized_records(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches that are too large for the broker, or larger than most brokers take."""
    refused = [row for row in evidence.partitions if row["api_key"] == _PRODUCE and row["error_code"] in _TOO_LARGE]
    for name, rows in grouped(refused, partition_name).items():
        largest = max(row["bytes"] or 0 for row in rows)
        why = names_of([row["error_code"] for row in rows])
        text = f"{name}: {len(rows)} produces of up to {largest} bytes were refused with {why}"
        advice = "Raise max.message.bytes of the topic (and message.max.bytes), or send smaller batches and records."
        yield about("oversized-records", "error", [row["exchange"] for row in rows], text, advice, entity=name)
    known = {name for name, _ in grouped(refused, partition_name).items()}
    large = [batch for batch, _ in evidence.produced if batch["bytes"] > limits.batch_limit]
    for name, rows in grouped(large, partition_name).items():
        if name not in known:
            largest = max(row["bytes"] for row in rows)
            text = f"{name}: {len(rows)} batches larger than {limits.batch_limit} bytes, up to {largest}"
            advice = "The broker takes them; replicas, mirrors and consumers with default limits may not."
            yield about("oversized-records", "info", [row["exchange"] for row in rows], text, advice, entity=name)
    beyond = [
        row
        for rows in evidence.fetches.values()
        for row in rows
        if row["max_bytes"] is not None and (row["bytes"] or 0) > row["max_bytes"] > 0
    ]
    for name, rows in grouped(beyond, partition_name).items():
        largest = max(rows, key=lambda row: int(row["bytes"]))
        text = f"{name}: {len(rows)} fetches brought more than the consumer's limit for a partition,"
        text += f" up to {largest['bytes']} bytes for a limit of {largest['max_bytes']}"
        advice = (
            "Raise max.partition.fetch.bytes above the largest batch, or send smaller batches: one comes at a time."
        )
        yield about("oversized-records", "info", [row["exchange"] for row in rows], text, advice, entity=name)


def durability(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Produces with acks=all that too few replicas confirm."""
    refused = [
        row
        for row in evidence.partitions
        if row["api_key"] == _PRODUCE and row["error_code"] in _NOT_DURABLE and row["exchange"]["acks"] == -1
    ]
    isr = {partition_name(row): (row["isr"], row["replicas"]) for row in evidence.partitions if row["isr"] is not None}
    for name, rows in grouped(refused, partition_name).items():
        text = f"{name}: {len(rows)} produces with acks=all failed with {names_of([row['error_code'] for row in rows])}"
        if name in isr:
            text += f"; {isr[name][0]} of {isr[name][1]} replicas are in sync"
        advice = "Replicas are down or slow: bring them back; min.insync.replicas is not met until then."
        yield about("durability", "error", [row["exchange"] for row in rows], text, advice, entity=name)
