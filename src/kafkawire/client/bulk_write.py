"""Bulk writing: Arrow columns to topics, over blocking sockets and without an event loop.

Rules:
- Rows keep their order within a partition. A row's partition is what it says, else that of its key by Kafka's hash,
  else one that all such rows of a call share and the next call does not.
- With idempotence (the default) a batch that has to be sent again is not written twice: it keeps its producer id and
  sequence.
- The next batches are built while the last are on their way. What the broker refuses is raised by the next `write` or
  `flush`; after that the writer is of no use. Only what `flush` has returned for is written.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from kafkawire.client.bulk_send import BulkBatch, BulkSender
from kafkawire.client.errors import OptionError, RecordTooLargeError, UnknownPartitionError
from kafkawire.client.key_hashing import partitions_of_keys
from kafkawire.client.metadata import TopicPartition
from kafkawire.client.options import ProducerOptions, read_options
from kafkawire.client.partitioner import another_partition
from kafkawire.records import add_sequence, from_arrow, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kafkawire.client.metadata import TopicInfo

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
            raise OptionError("acks=0: nobody would say whether rows were written; expected 1 or all")
        self._sender = BulkSender(self.options)
        self._identity: tuple[int, int] | None = None if self.options.is_idempotent else (-1, -1)
        self._sequences: dict[TopicPartition, int] = {}
        self._sticky: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of connections; what was not flushed may be written or not."""
        self._sender.close()

    def write(self, topic: str, rows: pa.RecordBatch) -> None:
        """Send rows with any of the columns key, value, headers, timestamp (now by default) and partition."""
        if not rows.num_rows:
            return
        info = self._sender.topic(topic)
        if "timestamp" not in rows.schema.names:
            now = pa.repeat(pa.scalar(time.time_ns() // 1_000_000, pa.int64()), rows.num_rows)
            rows = rows.append_column("timestamp", now)
        batches = [list(self._encoded(place, part)) for place, part in self._parted(info, rows)]
        for turn in range(max(map(len, batches))):
            self._sender.send([each[turn] for each in batches if turn < len(each)])

    def flush(self) -> None:
        """Wait until all that was sent is written."""
        self._sender.flush()

    def _parted(self, info: TopicInfo, rows: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        places = self._places(info, rows)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        sorted_rows = rows if len(numbers) == 1 else rows.take(pa.array(order, pa.int64()))
        ends = [*starts[1:].tolist(), rows.num_rows]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            yield TopicPartition(info.name, number), sorted_rows.slice(start, end - start)

    def _places(self, info: TopicInfo, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        count, names = len(info.partitions), rows.schema.names
        available = [number for number, each in info.partitions.items() if each.leader >= 0] or list(info.partitions)
        chosen = self._sticky[info.name] = another_partition(available, self._sticky.get(info.name))
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
                raise UnknownPartitionError(f"topic {info.name!r} has {count} partitions, a row says {unknown[0]}")
        return places

    def _encoded(self, place: TopicPartition, rows: pa.RecordBatch) -> Iterator[BulkBatch]:
        options = self.options
        if self._identity is None:
            self._identity = self._sender.identity()
        producer_id, epoch = self._identity
        sequence = self._sequences.get(place, 0) if options.is_idempotent else -1
        data = bytearray(
            from_arrow(
                rows,
                compression=options.codec,
                level=options.compression_level,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                batch_bytes=self._sender.limits.get(place.topic, options.max_batch_size),
            )
        )
        if options.is_idempotent:
            self._sequences[place] = add_sequence(sequence, rows.num_rows)
        scan = scan_batches(data, verify=False)
        for position, size in zip(scan.position, scan.size, strict=True):
            if size > options.max_request_size:
                raise RecordTooLargeError(
                    f"{place}: a batch of {size} bytes, expected at most max_request_size, {options.max_request_size}"
                )
            # Brokers number the records; the base offset stands before what the CRC covers.
            data[position : position + 8] = bytes(8)
            yield BulkBatch(place, memoryview(data)[position : position + size])
