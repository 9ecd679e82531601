"""Bulk writing: Arrow columns to topics, over blocking sockets and without an event loop.

Rules:
- Rows keep their order within a partition. The partition of a row is its `partition` column, else Kafka's hash of its
  key. Rows with neither share one partition per call, and the next call takes another.
- With idempotence (the default) a batch that is resent is not stored twice: it keeps its producer id and sequence.
- With a transactional id, rows can only be written between `begin` and `commit` or `abort`. A `with` aborts a
  transaction that is still open at its end; a prepared one stays open.
- The next batches are built while the last ones are in flight. The next `write` or `flush` raises the broker's error;
  after that the writer cannot be used. Rows are only certain to be stored when `flush` has returned.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from kafkawire.client._bulk.sender import BulkSender
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._produce.partitioner import another_partition, partitions_of_keys
from kafkawire.client._transactions.scope import blocking_transaction_scope
from kafkawire.client.errors import OptionError, RecordTooLargeError, UnknownPartitionError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ProducerOptions
from kafkawire.records import from_arrow, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kafkawire.client._cluster.metadata import TopicInfo
    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata
    from kafkawire.client._transactions.prepared import PreparedTransaction

BATCH_BYTES: Final = 512 * 1024
_BATCH_SIZE: Final = ("batch.size", "batch_size", "max.batch.size", "max_batch_size")


class BulkWriter:
    """Writes Arrow columns at full speed; options are those of a producer.

    `with BulkWriter("localhost:9092") as writer: writer.write("orders", pa.record_batch({"value": [b"1", b"2"]}))`
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if bootstrap_servers is not None:
            options["bootstrap_servers"] = bootstrap_servers
        if not any(name in options or name in (config or {}) for name in _BATCH_SIZE):
            options["max_batch_size"] = BATCH_BYTES
        self.options = read_options(ProducerOptions, config, options)
        if self.options.required_acks == 0:
            raise OptionError("acks=0: the broker would not report whether rows were stored; expected 1 or all")
        self._sender = BulkSender(self.options)
        self._sticky: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        transactions = self._sender.transactions
        try:
            if transactions is not None:
                if transactions.state.may_abort:
                    self.abort()
            elif kind is None:
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections; rows that were not flushed may be stored or not."""
        self._sender.close()

    def write(self, topic: str, rows: pa.RecordBatch) -> None:
        """Send rows with any of the columns key, value, headers, timestamp (default: now) and partition."""
        if not rows.num_rows:
            return
        info = self._sender.topic(topic)
        if "timestamp" not in rows.schema.names:
            now = pa.repeat(pa.scalar(time.time_ns() // 1_000_000, pa.int64()), rows.num_rows)
            rows = rows.append_column("timestamp", now)
        for place, part in self._by_partition(info, rows):
            self._add(place, part)
        self._sender.push()

    def flush(self) -> None:
        """Wait until all rows are stored."""
        self._sender.flush()

    def begin(self) -> None:
        """Begin a transaction; the first one fences earlier producers with the transactional id."""
        self._sender.begin()

    def commit(self) -> None:
        """Store all rows of the transaction and commit it.

        AbortableTransactionError: abort it. RequestTimeoutError: the result is not known, commit again.
        """
        self._sender.commit()

    def abort(self) -> None:
        """Abort the transaction; the writer can begin another one, also after an error."""
        self._sender.abort()

    def prepare(self) -> PreparedTransaction | None:
        """Store all rows of the transaction and leave it open, to be ended by this or another process.

        None if the transaction has neither rows nor offsets, and nothing is left to end.
        """
        return self._sender.prepare()

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata], group: str | ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction."""
        self._sender.send_offsets(offsets, group)

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction that is committed at the end of its `with`, and aborted if it raises."""
        self.begin()
        transactions = self._sender.transactions
        assert transactions is not None
        with blocking_transaction_scope(transactions.state, self.commit, self.abort):
            yield self

    def _by_partition(self, info: TopicInfo, rows: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        places = self._places(info, rows)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        sorted_rows = rows if len(numbers) == 1 else rows.take(pa.array(order, pa.int64()))
        ends = [*starts[1:].tolist(), rows.num_rows]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            yield TopicPartition(info.name, number), sorted_rows.slice(start, end - start)

    def _places(self, info: TopicInfo, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        count, names = len(info.partitions), rows.schema.names
        chosen = self._sticky[info.name] = another_partition(info.available(), self._sticky.get(info.name))
        places = np.full(rows.num_rows, chosen, np.int64)
        if "key" in names:
            keys = rows.column("key")
            has_key = keys.is_valid().to_numpy(zero_copy_only=False)
            places[has_key] = partitions_of_keys(keys.cast(pa.binary()), count)[has_key]
        if "partition" in names:
            given = rows.column("partition")
            is_given = given.is_valid().to_numpy(zero_copy_only=False)
            places[is_given] = given.drop_null().cast(pa.int64()).to_numpy()
            unknown = sorted(set(places[is_given].tolist()) - info.partitions.keys())
            if unknown:
                raise UnknownPartitionError(f"topic {info.name!r} has {count} partitions, a row has {unknown[0]}")
        return places

    def _add(self, place: TopicPartition, rows: pa.RecordBatch) -> None:
        options = self.options
        identity, sequence = self._sender.reserve(place, rows.num_rows)
        data = bytearray(
            from_arrow(
                rows,
                compression=options.codec,
                level=options.compression_level,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence,
                is_transactional=options.transactional_id is not None,
                batch_bytes=self._sender.limits.get(place.topic, options.max_batch_size),
            )
        )
        scan = scan_batches(data, verify=False)
        largest = max(scan.size)
        if largest > options.max_request_size:
            raise RecordTooLargeError(
                f"{place}: a batch of {largest} bytes, expected at most max_request_size, {options.max_request_size}"
            )
        for position, size, count, first in zip(
            scan.position, scan.size, scan.record_count, scan.base_sequence, strict=True
        ):
            # The broker assigns offsets; the base offset stands before the bytes that the CRC covers.
            data[position : position + 8] = bytes(8)
            self._sender.add(place, memoryview(data)[position : position + size], count, first)
