"""A broker in a thread of its own, for tests that are not asynchronous, and for clients that are not either.

Rules:
- `start` returns when clients can connect, `stop` when the thread is gone.
- `restart` keeps port and data: with a data directory nothing acknowledged is lost, in memory everything is. A port
  that the system chose is nobody else's while the broker is away.
- `produce` and `records` go past the wire: what a test puts in and looks at is not among its client's requests.
- Nothing here sleeps or polls.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from weakref import finalize

from kafkawire.broker.broker import Broker
from kafkawire.broker.changes import NewTopic
from kafkawire.broker.listeners import DEFAULT_HOST
from kafkawire.broker.loops import new_loop
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import KafkaError
from kafkawire.platforms import HOLDS_PORTS, claim_address
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.testing.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from kafkawire.broker.topics import Topic
    from kafkawire.log.files import FileSystem
    from kafkawire.log.partition import Partition
    from kafkawire.records import Record
    from kafkawire.testing.faults import RecordedRequest

T = TypeVar("T")
_PIECE: Final = 1024 * 1024


class NotRunningError(KafkaWireError):
    """The broker was asked something while it was stopped."""


class RunningBroker:
    """A broker that runs beside the test.

    >>> with RunningBroker(config={"num.partitions": "2"}) as broker:
    ...     broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    ...     broker.requests
    []
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        port: int | None = None,
        config: Mapping[str, str] | None = None,
        files: FileSystem | None = None,
    ) -> None:
        self._data_dir = data_dir
        self._port = port
        self._files = files
        self._bootstrap = ""
        self._config = {"group.initial.rebalance.delay.ms": "0", **(config or {})}
        self._faults = Faults()
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def start(self) -> None:
        """Run the broker; an error of its start is raised here."""
        if not self._port and "listeners" not in self._config:
            self._port = self._take_port()
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(started,), name="kafkawire broker", daemon=True)
        self._thread.start()
        started.result()

    def stop(self) -> None:
        """Stop it cleanly."""
        if self._thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = self._loop = self._stopping = None

    def restart(self) -> None:
        """Stop it and start it again on the same port."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given as bootstrap.servers; known once it has been started."""
        if not self._bootstrap:
            raise NotRunningError("the broker was not started, so it has no address yet")
        return self._bootstrap

    @property
    def requests(self) -> Sequence[RecordedRequest]:
        """What clients have sent, oldest first: the last 100 000 requests, and at most 64 MiB of them."""
        return self._faults.requests

    def fail_next(
        self,
        api: str,
        error: int | str,
        times: int = 1,
        *,
        topic: str | None = None,
        partition: int | None = None,
    ) -> None:
        """Answer the next requests of an API with an error instead of serving them.

        With a topic, or a partition of it, the next requests that ask for it, and nothing else that they ask for.
        """
        self._faults.fail(api, error, times, topic, partition)

    def delay_next(self, api: str, seconds: float, times: int = 1) -> None:
        """Let the next requests of an API wait before they are served."""
        self._faults.delay(api, seconds, times)

    def close_next(self, api: str, times: int = 1) -> None:
        """Close the connection of the next requests of an API instead of serving them."""
        self._faults.close(api, times)

    def drop_connections(self) -> None:
        """Close every connection at once, as a failing network would."""
        self.call(lambda: self.broker.server.drop_connections())

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Make a topic without asking over the wire."""

        async def create() -> list[Topic | KafkaError]:
            return await self.broker.node.create_topics([NewTopic(name, partitions, configs or {})])

        (made,) = self._await(create())
        if isinstance(made, KafkaError):
            raise made

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int = 0,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> int:
        """Put a record into a topic for clients to find; its offset.

        >>> with RunningBroker() as broker:
        ...     broker.create_topic("orders")
        ...     broker.produce("orders", b"one"), broker.produce("orders", b"two", key=b"k")
        ...     [record.value for record in broker.records("orders")]
        (0, 1)
        [b'one', b'two']
        """

        async def append() -> int:
            node = self.broker.node
            builder = BatchBuilder()
            now = node.clock.now() if timestamp is None else timestamp
            builder.append(key, value, timestamp=now, headers=tuple(headers))
            written = node.append(topic, partition, builder.build())
            settled = node.settled(topic, partition, written.last_offset)
            if settled is not None:
                await settled
            return written.base_offset

        return self._await(append())

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """What a topic holds, by partition and offset, or what one of its partitions does."""

        def read() -> list[Record]:
            node = self.broker.node
            indexes = range(node.topics.get(topic).partitions) if partition is None else [partition]
            return [record for index in indexes for record in _records(node.log(topic, index))]

        return self.call(read)

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the broker's loop, where its state may be touched."""
        loop = self._running_loop()
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        loop.call_soon_threadsafe(run)
        return done.result()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop."""
        try:
            loop = self._running_loop()
        except NotRunningError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise NotRunningError("the broker is not running")
        return self._loop

    def _take_port(self) -> int:
        """Any free port: bound and never listened on, so that the broker may, and nobody is given it by chance."""
        place = socket.socket()
        finalize(self, place.close)
        claim_address(place)
        place.bind((DEFAULT_HOST, 0))
        port = int(place.getsockname()[1])
        if not HOLDS_PORTS:
            place.close()
        return port

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            self.broker = Broker(self._data_dir, port=self._port, config=self._config, files=self._files)
            await self.broker.start()
            self.broker.dispatcher.interceptor = self._faults.intercept
            self.broker.node.guard = self._faults.guard
            self._port, self._bootstrap = self.broker.port, self.broker.bootstrap
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._stopping.wait()
        await self.broker.stop()


def _records(log: Partition) -> Iterator[Record]:
    offset = log.log_start_offset
    while offset < log.high_watermark:
        for batch in read_batches(log.read(offset, _PIECE).read()):
            if not batch.is_control:
                yield from (record for record in batch.records() if record.offset >= offset)
        offset = batch.next_offset
