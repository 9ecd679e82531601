"""The calls by which a test creates topics, and writes and reads their records.

Rules:
- They bypass the wire, so that they are not among the recorded requests. They run on the broker's loop.
- Settings may be numbers and booleans. An unknown setting of a topic is an error that names the nearest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kafkawire.broker import NewTopic
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import KafkaError, UnknownTopicOrPartitionError
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.testing._orders import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from kafkawire.broker import Broker, Topic
    from kafkawire.log.partition import Partition
    from kafkawire.records import Record

    Setting = str | int | float | bool

T = TypeVar("T")
_PIECE: Final = 1024 * 1024


class UnknownSettingError(KafkaWireError, ValueError):
    """A test gave the broker a setting that does not exist."""


class TopicCalls(Protocol):
    """The calls about topics and their records."""

    broker: Broker

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the broker's loop."""

    def run_coroutine(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop."""

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, Setting] | None = None) -> None:
        """Create a topic without a request."""

        check_count("partitions", partitions)
        wanted = NewTopic(name, partitions, settings_of(configs or {}))

        async def create() -> list[Topic | KafkaError]:
            self.broker.node.config.check_topic(wanted.configs)
            return await self.broker.node.create_topics([wanted])

        (made,) = self.run_coroutine(create())
        if isinstance(made, KafkaError):
            raise made

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int = 0,
        headers: Mapping[str, bytes | None] | Sequence[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> int:
        """Append a record to a topic without a request; returns its offset.

        >>> from kafkawire.testing import RunningBroker
        >>> with RunningBroker() as broker:
        ...     broker.create_topic("orders")
        ...     broker.produce("orders", b"one"), broker.produce("orders", b"two", key=b"k")
        ...     [record.value for record in broker.records("orders")]
        (0, 1)
        [b'one', b'two']
        """

        pairs = headers.items() if isinstance(headers, Mapping) else headers

        async def append() -> int:
            node = self.broker.node
            builder = BatchBuilder()
            now = node.clock.now() if timestamp is None else timestamp
            builder.append(key, value, timestamp=now, headers=tuple(pairs))
            try:
                hosted = node.partition(topic, partition)
            except UnknownTopicOrPartitionError as missing:
                raise UnknownTopicOrPartitionError(
                    f"no partition {partition} of topic {topic!r};"
                    f" create_topic({topic!r}, partitions={partition + 1}) creates it"
                ) from missing
            written = node.append_to(hosted, builder.build())
            durable = node.durable(hosted, written.last_offset)
            if durable is not None:
                await durable
            return written.base_offset

        return self.run_coroutine(append())

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """The records of a topic by partition and offset, or those of one partition."""

        def read() -> list[Record]:
            node = self.broker.node
            if topic not in node.topics:
                raise UnknownTopicOrPartitionError(f"no topic {topic!r}; create_topic({topic!r}) creates it")
            indexes = range(node.topics.get(topic).partitions) if partition is None else [partition]
            return [record for index in indexes for record in _records(node.log(topic, index))]

        return self.call(read)


def settings_of(given: Mapping[str, Setting]) -> dict[str, str]:
    """Settings as Kafka writes them: true and false for booleans, and whole numbers without a fraction."""
    return {_name(name): _text(value) for name, value in given.items()}


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise UnknownSettingError(f"a setting named {given!r}: expected text, such as 'num.partitions'")
    return given


def _text(value: Setting) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _records(log: Partition) -> Iterator[Record]:
    offset = log.log_start_offset
    while offset < log.high_watermark:
        for batch in read_batches(log.read(offset, _PIECE).read()):
            if not batch.is_control:
                yield from (record for record in batch.records() if record.offset >= offset)
        offset = batch.next_offset
