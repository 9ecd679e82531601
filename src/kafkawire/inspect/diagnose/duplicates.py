"""Batches that were sent more than once, and batches that were stored more than once.

Rules:
- A batch is sent again when its producer id, epoch and base sequence come again, or, without a producer id, its bytes.
- Without a producer id, the same bytes accepted under two base offsets are a duplicate, proven. With one, the broker
  knows its last five batches and answers with the first offset, or DUPLICATE_SEQUENCE_NUMBER: no duplicate.
- A producer that takes a new epoch or id and sends its records again is not recognised by the broker. The checksums
  prove it: CRC-32C is linear, so two batches that differ in nothing but producer fields have checksums that differ by
  the checksum of that difference.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect.diagnose.evidence import SECOND, grouped, partition_name, when
from kafkawire.inspect.diagnose.findings import Finding, about, names_of
from kafkawire.records import HEADER_SIZE, crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_CHECKED_FROM: Final = 21  # the checksum covers what follows it: attributes, and all behind
_PRODUCER: Final = struct.Struct(">qhi")
_PRODUCER_AT: Final = 43
_SHAPE: Final = ("topic", "partition", "bytes", "count", "base_ts", "max_ts", "codec", "ts_type", "txn", "control")


def retries_and_duplicates(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches that were sent or stored more than once."""
    tries: dict[Any, list[tuple[Row, Row | None]]] = {}
    for batch, verdict in evidence.produced:
        place = (batch["topic"], batch["partition"])
        if batch["producer_id"] is not None and batch["base_seq"] is not None:
            key: tuple[Any, ...] = (*place, batch["producer_id"], batch["epoch"], batch["base_seq"])
        else:
            key = (*place, batch["crc"], batch["bytes"])
        tries.setdefault(key, []).append((batch, verdict))
    for sent in tries.values():
        if len(sent) > 1:
            yield _sent_again(sent)
    yield from _under_another_epoch(evidence)


def _sent_again(sent: list[tuple[Row, Row | None]]) -> Finding:
    batch = sent[0][0]
    exchanges, name = [each["exchange"] for each, _ in sent], partition_name(batch)
    accepted = {
        verdict["base_offset"]
        for _, verdict in sent
        if verdict is not None and verdict["error_code"] == 0 and verdict["base_offset"] is not None
    }
    if batch["producer_id"] is None and len(accepted) > 1:
        offsets = " and ".join(map(str, sorted(accepted)))
        text = f"{name}: the same batch of {batch['count']} records was stored at offsets {offsets}"
        advice = "Enable idempotence (enable.idempotence=true), which lets the broker recognise a batch sent again."
        return about("duplicates", "error", exchanges, text, advice, entity=name)
    verdict = sent[0][1]
    code = None if verdict is None else verdict["error_code"]
    cause = names_of([code]) if code else ("no answer" if exchanges[0]["ts_resp"] is None else "a lost answer")
    delay = (when(exchanges[-1]) - when(exchanges[0])) / SECOND
    text = f"{name}: a batch was sent {len(sent)} times within {delay:.1f} s; the first try ended with {cause}"
    advice = "See why the first try failed; without idempotence each try may store the records once more."
    return about(
        "retries", "info" if batch["producer_id"] is not None else "warning", exchanges, text, advice, entity=name
    )


def _under_another_epoch(evidence: Evidence) -> Iterator[Finding]:
    stored = [
        batch | {"stored_at": verdict["base_offset"]}
        for batch, verdict in evidence.produced
        if verdict is not None
        and verdict["error_code"] == 0
        and batch["producer_id"] is not None
        and batch["magic"] == 2
        and batch["crc_ok"]
    ]
    for alike in grouped(stored, lambda batch: tuple(batch[name] for name in _SHAPE)).values():
        for one, other in pairwise(alike):
            if _producer(one)[:2] != _producer(other)[:2] and _same_records(one, other):
                name = partition_name(one)
                text = (
                    f"{name}: the same {one['count']} records were stored at offsets {one['stored_at']} and"
                    f" {other['stored_at']}, by producer {one['producer_id']} in epoch {one['epoch']} and"
                    f" {other['producer_id']} in epoch {other['epoch']}"
                )
                advice = (
                    "The client sent a stored batch again under a new epoch: upgrade it, this is a known client bug."
                )
                exchanges = [one["exchange"], other["exchange"]]
                yield about("duplicates", "error", exchanges, text, advice, entity=name)


def _same_records(one: Row, other: Row) -> bool:
    """Whether two batches of like headers differ in their producer fields only."""
    difference = bytearray(one["bytes"] - _CHECKED_FROM)
    fields = zip(_PRODUCER.pack(*_producer(one)), _PRODUCER.pack(*_producer(other)), strict=True)
    at = _PRODUCER_AT - _CHECKED_FROM
    difference[at : at + _PRODUCER.size] = bytes(left ^ right for left, right in fields)
    changed = crc32c(difference) ^ crc32c(bytes(len(difference)))
    return bool(one["bytes"] > HEADER_SIZE and one["crc"] ^ other["crc"] == changed)


def _producer(batch: Row) -> tuple[int, int, int]:
    return batch["producer_id"], batch["epoch"], batch["base_seq"] if batch["base_seq"] is not None else -1
