"""Batches to Arrow columns, in Python: the reference of `_decode.pyx`, and its replacement if it is not compiled.

Rules:
- Only the columns of the schema are built. Header fields are repeated over the rows of their batch.
- The CRC is checked before a batch is skipped, because a damaged header must not hide records. A batch is decompressed
  only if it has rows, or may have the marker that ends an aborted transaction.
- An aborted transaction runs from its first offset to the abort marker of its producer (KIP-98): transactional
  batches of that producer in between are skipped.
- Bytes of a header key that are not UTF-8 are replaced, as Kafka's own reader does.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkawire.records._kernel.kernel import SCAN_COLUMNS
from kafkawire.records._reader import BatchReader
from kafkawire.records.control import is_abort
from kafkawire.records.errors import Fault, corrupt
from kafkawire.records.layout import CODEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.records._kernel.kernel import Buffer, Record
    from kafkawire.records._reader import Batch

WIDTHS = {name: {"q": 8, "i": 4, "I": 4, "h": 2, "b": 1}[code] for name, code in SCAN_COLUMNS.items()}
"""The header fields that may be columns and their widths in bytes, in the order of a scan."""

COLUMN_BYTES = 2**31 - 1
"""The most bytes of the keys, values, header keys or header values of one table, because Arrow's offsets are int32."""


class _Transactions:
    """The producers that are inside an aborted transaction at the current batch."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._pending = sorted(aborted, key=lambda entry: entry[1], reverse=True)
        self._active: set[int] = set()
        self.filtering = bool(self._pending)

    def begin(self, last_offset: int) -> None:
        while self._pending and self._pending[-1][1] <= last_offset:
            self._active.add(self._pending.pop()[0])

    def end(self, producer_id: int) -> None:
        self._active.discard(producer_id)

    def holds(self, producer_id: int) -> bool:
        return producer_id in self._active


def decode(
    buffer: Buffer,
    schema: pa.Schema,
    verify: bool,
    include_control: bool,
    aborted: Sequence[tuple[int, int]],
    start: int,
    last: int,
    limit: int,
) -> pa.RecordBatch:
    """The records of a buffer of batches as the columns of a schema."""
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    rows = 0
    sizes: Counter[str] = Counter()
    transactions = _Transactions(aborted)
    for batch in BatchReader(buffer, verify):
        if not _is_wanted(batch, transactions, include_control, start, last):
            continue
        kept = [
            record
            for record in _records(batch, transactions, verify, limit)
            if start <= record.offset <= last and (include_control or not batch.is_control)
        ]
        _append(columns, batch, kept)
        rows += len(kept)
        _weigh(sizes, kept)
        if any(size > COLUMN_BYTES and name.partition(".")[0] in columns for name, size in sizes.items()):
            raise corrupt(batch.position, Fault.OVERFLOW)
    if not columns:
        return pa.record_batch([pa.nulls(rows)], ["none"]).select([])  # a table may consist of its rows alone
    return pa.record_batch([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _is_wanted(batch: Batch, transactions: _Transactions, include_control: bool, start: int, last: int) -> bool:
    if transactions.filtering and batch.producer_id >= 0:
        transactions.begin(batch.last_offset)
        if batch.is_control:
            return True
        if batch.is_transactional and transactions.holds(batch.producer_id):
            return False
    if batch.is_control and not include_control:
        return False
    is_wrapper = batch.magic < 2 and batch.attributes & CODEC != 0  # it may begin anywhere before its offset
    return batch.last_offset >= start and (is_wrapper or batch.base_offset <= last)


def _records(batch: Batch, transactions: _Transactions, verify: bool, limit: int) -> Iterator[Record]:
    for record in batch.records(verify=verify, max_decompressed=limit):
        if batch.is_control and transactions.filtering and is_abort(record.key or b""):
            transactions.end(batch.producer_id)
        yield record


def _weigh(sizes: Counter[str], kept: list[Record]) -> None:
    for record in kept:
        sizes["key"] += len(record.key or b"")
        sizes["value"] += len(record.value or b"")
        for name, content in record.headers:
            sizes["headers.key"] += len(name.encode())
            sizes["headers.value"] += len(content or b"")


def _append(columns: dict[str, list[Any]], batch: Batch, kept: list[Record]) -> None:
    for name, column in columns.items():
        if name == "timestamp_type":
            column.extend([batch.timestamp_type] * len(kept))
        elif name == "headers":
            column.extend([{"key": key, "value": value} for key, value in record.headers] for record in kept)
        elif name in WIDTHS:
            column.extend([getattr(batch, name)] * len(kept))
        else:
            column.extend([getattr(record, name) for record in kept])
