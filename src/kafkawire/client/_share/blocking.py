"""The share consumer with plain calls.

Rules:
- As with asyncio, a consumer is used by one thread at a time.
- `acknowledge` only notes the result, so it does not wait for the background thread.
- The callback of acknowledgements runs on the background thread and must not make blocking calls.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._cluster.background_loop import BlockingClient
from kafkawire.client._share.acknowledgements import AcknowledgeType
from kafkawire.client._share.consumer import ShareConsumer as AsyncShareConsumer
from kafkawire.client.errors import ClientError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._share.acknowledgements import ShareRecord
    from kafkawire.client._share.fetcher import Callback
    from kafkawire.messages import Message

_WAIT_MS: Final = 60_000


class ShareConsumer(BlockingClient):
    """`kafkawire.client.ShareConsumer` with plain calls.

    `with ShareConsumer("orders", group_id="workers") as consumer: records = consumer.poll(timeout_ms=1000)`
    """

    def __init__(self, *topics: str, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncShareConsumer = self._open(partial(AsyncShareConsumer, *topics, config=config, **options))

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send the acknowledgements so far, release all other records, leave the group, close."""
        self._close(self._client.stop)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to exactly these topics."""
        self._on_loop(partial(self._client.subscribe, topics))

    def unsubscribe(self) -> None:
        self._run(self._client.unsubscribe())

    def subscription(self) -> frozenset[str]:
        return self._on_loop(self._client.subscription)

    def assignment(self) -> set[TopicPartition]:
        return self._on_loop(self._client.assignment)

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        return self._client.acquisition_lock_timeout_ms

    def poll(self, timeout_ms: int = 0) -> list[ShareRecord]:
        """The next records; waits at most `timeout_ms` for the first."""
        return self._run(self._client.poll(timeout_ms))

    def acknowledge(self, record: ShareRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Say what became of a record of the last poll, in explicit mode."""
        self._client.acknowledge(record, kind)

    def acknowledge_offset(
        self, partition: TopicPartition, offset: int, kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """As `acknowledge`, for the record at an offset."""
        self._client.acknowledge_offset(partition, offset, kind)

    def commit_sync(self, timeout_ms: int | None = None) -> dict[TopicPartition, Exception | None]:
        """Send the acknowledgements so far; the result of each partition, None for success."""
        return self._run(self._client.commit_sync(timeout_ms))

    def commit_async(self) -> None:
        """Send the acknowledgements so far without waiting; the callback gets the results."""
        self._on_loop(self._client.commit_async)

    def set_acknowledgement_callback(self, callback: Callback | None) -> None:
        """Call a function with partition, offsets and error, for all acknowledgements that are answered or fail."""
        self._on_loop(partial(self._client.set_acknowledgement_callback, callback))

    def __iter__(self) -> Iterator[ShareRecord]:
        """Records one by one, in implicit mode: each is accepted when the next one is asked for."""
        if self._client.options.share_acknowledgement_mode == "explicit":
            raise ClientError("a loop over records needs share_acknowledgement_mode=implicit")
        while self._is_open:
            try:
                records = self.poll(_WAIT_MS)
            except ClosedError:
                return
            for record in records:
                yield record
                self._client.accept(record)

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, and return the answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))
