"""The same clients for code without an event loop, with plain calls.

Rules:
- A client is opened by its constructor and closed by `close` or its `with`; between, any thread may call it.
- Iterating a consumer takes records in runs, but the position advances record by record: auto-commit commits what the
  loop has reached. Any other call first gives back the rest of a run. Records of a partition that was revoked or reset
  meanwhile are dropped.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._admin.blocking import Admin
from kafkawire.client._cluster.background_loop import BlockingClient
from kafkawire.client._consume.consumer import Consumer as AsyncConsumer
from kafkawire.client._consume.subscription import RebalanceListener
from kafkawire.client._produce.blocking import Producer
from kafkawire.client._share.blocking import ShareConsumer
from kafkawire.client.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata
    from kafkawire.client._consume.offsets import OffsetAndTimestamp
    from kafkawire.client._consume.positions import Run
    from kafkawire.client._consume.records import ConsumerRecord
    from kafkawire.client._consume.subscription import AnyPattern
    from kafkawire.messages import Message

__all__ = ["Admin", "Consumer", "Producer", "ShareConsumer"]
_RUN: Final = 500


class _ThreadListener(RebalanceListener):
    """Calls a listener on another thread, so that it may call the consumer and wait."""

    def __init__(self, listener: RebalanceListener) -> None:
        self._listener = listener

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_revoked, revoked)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_assigned, assigned)

    async def _call(self, method: Callable[[set[TopicPartition]], Any], partitions: set[TopicPartition]) -> None:
        result = await asyncio.to_thread(method, partitions)
        if inspect.isawaitable(result):
            await result


class Consumer(BlockingClient):
    """`kafkawire.client.Consumer` with plain calls.

    `with Consumer("orders", group_id="g") as consumer: for record in consumer: ...`
    """

    def __init__(self, *topics: str, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncConsumer = self._open(partial(AsyncConsumer, *topics, config=config, **options))
        self._runs: dict[TopicPartition, Run] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit (with auto-commit), leave the group, close."""
        self._close(self._client.stop)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        while self._is_open:
            while self._runs:
                partition, run = next(iter(self._runs.items()))
                while (record := run.pop()) is not None:
                    yield record
                if self._runs.get(partition) is run:
                    del self._runs[partition]
            if self._is_open:
                try:
                    self._runs = self._run(self._next_runs())
                except ClosedError:
                    return

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: AnyPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Subscribe to these topics, or to those whose names match; the listener is called on a thread of its own."""
        self._give_back()
        called = None if listener is None else _ThreadListener(listener)
        self._on_loop(partial(self._client.subscribe, topics, pattern, called))

    def unsubscribe(self) -> None:
        self._give_back()
        self._run(self._client.unsubscribe())

    def subscription(self) -> frozenset[str]:
        return self._on_loop(self._client.subscription)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read exactly these partitions."""
        self._give_back()
        self._on_loop(partial(self._client.assign, list(partitions)))

    def assignment(self) -> set[TopicPartition]:
        return self._on_loop(self._client.assignment)

    def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """Wait for the next record."""
        self._give_back()
        return self._run(self._client.getone(*partitions))

    def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The available records; waits at most `timeout_ms` for the first."""
        self._give_back()
        return self._run(self._client.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records))

    def arrow(self, columns: Sequence[str] | None = None, *, timeout_ms: int | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches as they arrive."""
        self._give_back()
        batches = self._client.arrow(columns, timeout_ms=timeout_ms)
        while self._is_open:
            batch = self._run(_next_or_none(batches))
            if batch is None:
                return
            yield batch

    def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit these offsets, or all positions."""
        self._run(self._client.commit(offsets))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The group and this member of it, for `Producer.send_offsets_to_transaction`."""
        return self._on_loop(self._client.group_metadata)

    def committed(self, partition: TopicPartition) -> int | None:
        return self._run(self._client.committed(partition))

    def position(self, partition: TopicPartition) -> int:
        return self._run(self._client.position(partition))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at an offset."""
        self._on_loop(partial(self._client.seek, partition, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_end(*partitions))

    def seek_to_committed(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_committed(*partitions))

    def pause(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._on_loop(partial(self._client.pause, *partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._on_loop(partial(self._client.resume, *partitions))

    def paused(self) -> set[TopicPartition]:
        return self._on_loop(self._client.paused)

    def highwater(self, partition: TopicPartition) -> int | None:
        return self._on_loop(partial(self._client.highwater, partition))

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        return self._on_loop(partial(self._client.last_stable_offset, partition))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return self._run(self._client.offsets_for_times(timestamps))

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._run(self._client.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._run(self._client.end_offsets(partitions))

    def topics(self) -> set[str]:
        return self._run(self._client.topics())

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self._run(self._client.partitions_for_topic(topic))

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, and return the answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))

    def _give_back(self) -> None:
        if self._runs:
            left, self._runs = self._runs, {}
            self._on_loop(partial(self._return_to, left))

    def _return_to(self, runs: dict[TopicPartition, Run]) -> None:
        for partition, run in runs.items():
            if run.is_left:
                self._client.seek(partition, run.records[0].offset)

    async def _next_runs(self) -> dict[TopicPartition, Run]:
        while True:
            found = self._client.take((), _RUN)
            if found:
                return {partition: self._client.run_of(partition, records) for partition, records in found.items()}
            await self._client.wait()


async def _next_or_none(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)
