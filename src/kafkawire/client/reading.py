"""The thread behind one bulk reading: fetches a range, asks ahead, and survives brokers that move or fall.

Rules:
- The next fetch is on its way before the last answer is handed over.
- A fetch names neither session nor member: whoever runs a range again gets the same rows.
- No progress for `default_api_timeout_ms` is an error that says where the reading stands.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkawire.client.errors import ClientError, RequestTimeoutError, is_retriable
from kafkawire.client.metadata import NO_ID
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages.errors import error_for
from kafkawire.records import scan_batches

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.client.metadata import Node, TopicPartition
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.client.sockets import SocketConnection

_NAMED_BY_TOPIC: Final = 12  # the last version of Fetch that names topics instead of their ids
_LOOK_AGAIN: Final = 0.1


class Source(Protocol):
    """What a reading needs of its reader."""

    options: ConsumerOptions

    def leader(self, partition: TopicPartition) -> Node: ...
    def refresh(self, topic: str) -> None: ...
    def take_connection(self, node: Node) -> SocketConnection: ...
    def give_back(self, connection: SocketConnection) -> None: ...
    def topic_id(self, topic: str) -> UUID: ...


class Fetched(NamedTuple):
    """What one answer held for the range, from `position` on."""

    position: int
    records: memoryview
    aborted: list[tuple[int, int]]


class Reading:
    """The thread's side of one range: fetches, asks ahead, puts answers into the queue."""

    def __init__(
        self,
        reader: Source,
        partition: TopicPartition,
        start: int,
        end: int,
        isolation: int,
        fetch_bytes: int,
        fetched: queue.Queue[Fetched | BaseException | None],
    ) -> None:
        self._reader = reader
        self._partition = partition
        self._position, self._end = start, end
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._fetched = fetched
        self._stopped = threading.Event()
        self._connection: SocketConnection | None = None

    def stop(self) -> None:
        """End the thread, also where it waits."""
        self._stopped.set()
        connection = self._connection
        if connection is not None:
            connection.close()

    def run(self) -> None:
        try:
            self._fetch_all()
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _fetch_all(self) -> None:
        options = self._reader.options
        patience = options.default_api_timeout_ms / 1000
        progress = time.monotonic()
        while self._position < self._end and not self._stopped.is_set():
            before = self._position
            try:
                self._fetch_on()
            except KafkaWireError as error:
                if self._stopped.is_set():
                    return
                if self._position > before:
                    progress = time.monotonic()
                if not is_retriable(error):
                    raise
                if time.monotonic() - progress > patience:
                    raise RequestTimeoutError(
                        f"{self._partition}: no progress at offset {self._position} for {patience:g} s: {error}"
                    ) from error
                self._stopped.wait(options.retry_backoff_ms / 1000)
                self._refresh()

    def _refresh(self) -> None:
        try:
            self._reader.refresh(self._partition.topic)
        except KafkaWireError as error:
            if not is_retriable(error):
                raise

    def _fetch_on(self) -> None:
        """Fetch from one leader until the range ends or something goes wrong."""
        connection = self._connection = self._reader.take_connection(self._reader.leader(self._partition))
        if self._stopped.is_set():
            connection.close()
            return
        patience = self._reader.options.default_api_timeout_ms / 1000
        progress = time.monotonic()
        try:
            self._ask(connection)
            while True:
                item = self._read_answer(connection.receive(FetchResponse))
                if item is not None:
                    progress = time.monotonic()
                elif time.monotonic() - progress > patience:
                    raise RequestTimeoutError(
                        f"{self._partition}: nothing to read at offset {self._position} for {patience:g} s, "
                        f"the range ends at {self._end}"
                    )
                ahead = self._position < self._end
                if ahead:
                    self._ask(connection)
                if item is not None and not self._put(item):
                    connection.close()
                    return
                if not ahead:
                    break
        except BaseException:
            connection.close()
            raise
        self._connection = None
        self._reader.give_back(connection)

    def _ask(self, connection: SocketConnection) -> None:
        options, topic = self._reader.options, self._partition.topic
        topic_id = self._reader.topic_id(topic)
        wanted = FetchRequest.FetchPartition(
            partition=self._partition.partition,
            fetch_offset=self._position,
            partition_max_bytes=self._fetch_bytes,
        )
        request = FetchRequest(
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
        )
        version = connection.negotiated.version("Fetch")
        connection.send(request, version=min(version, _NAMED_BY_TOPIC) if topic_id == NO_ID else version)

    def _read_answer(self, response: FetchResponse) -> Fetched | None:
        if response.error_code:
            raise error_for(response.error_code, str(self._partition))
        number = self._partition.partition
        parts = [each for topic in response.responses for each in topic.partitions if each.partition_index == number]
        if not parts:
            return None
        found = parts[0]
        if found.error_code:
            raise error_for(found.error_code, f"{self._partition} at offset {self._position}")
        records = found.records
        if records is None or not len(records):
            return None
        scan = scan_batches(records, verify=False)
        scan.raise_error()
        if scan.next_offset is None:
            raise ClientError(
                f"{self._partition}: the batch at offset {self._position} is larger than a fetch of "
                f"{self._fetch_bytes} bytes, and the broker does not send it whole"
            )
        aborted = [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()]
        position, self._position = self._position, max(self._position, scan.next_offset)
        if self._position == position:
            raise ClientError(f"{self._partition}: the broker keeps sending what lies before offset {position}")
        return Fetched(position, memoryview(records), aborted)

    def _put(self, item: Fetched | BaseException | None) -> bool:
        """Hand an item over; False once the caller has left."""
        while not self._stopped.is_set():
            try:
                self._fetched.put(item, timeout=_LOOK_AGAIN)
            except queue.Full:
                continue
            return True
        return False
