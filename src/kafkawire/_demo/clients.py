"""The clients of the shop: those of other libraries if they are installed, else kafkawire's.

Rules:
- A sender returns the place of each event, in the order of the events.
- A reader continues until its group has read enough, and then leaves the group.
- A client that hangs raises an error after a timeout, so that the demo always ends.
"""

from __future__ import annotations

import asyncio
import math
import time
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire._demo.events import Event

PATIENCE: Final = 30.0
_POLL: Final = 0.2


class DemoClientError(KafkaWireError):
    """A client of the demo did not do its work."""


class RecordPlace(NamedTuple):
    """The place of a record, as the broker returned it."""

    partition: int
    offset: int


class Tally:
    """Counts the records that all members of a group have read; after the last record is sent, the time is limited."""

    def __init__(self, wanted: int) -> None:
        self._wanted, self._read = wanted, 0
        self._lock = Lock()
        self._deadline = math.inf

    def add(self, count: int) -> None:
        """Count records that a member has read."""
        with self._lock:
            self._read += count

    def expect_within(self, seconds: float) -> None:
        """Limit the time for reading, because no more records will be sent."""
        self._deadline = time.monotonic() + seconds

    @property
    def wants_more(self) -> bool:
        """Whether members should continue."""
        if self._read < self._wanted and time.monotonic() > self._deadline:
            raise DemoClientError(f"{self._read} of {self._wanted} records were read")
        return self._read < self._wanted


class Sender(Protocol):
    """A client that produces."""

    def send(self, bootstrap: str, client_id: str, codec: str, events: Iterable[Event]) -> list[RecordPlace]:
        """Send events with acks=all."""


class Reader(Protocol):
    """A client that consumes."""

    def read(self, bootstrap: str, client_id: str, group: str, topics: Sequence[str], tally: Tally) -> None:
        """Read as a member of a group."""


class Confluent:
    """confluent-kafka, over librdkafka."""

    def send(self, bootstrap: str, client_id: str, codec: str, events: Iterable[Event]) -> list[RecordPlace]:
        import confluent_kafka

        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": client_id,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 20,
                "broker.address.family": "v4",
            }
        )
        places: list[RecordPlace] = []
        problems: list[str] = []

        def keep(index: int) -> Any:
            places.append(RecordPlace(-1, -1))

            def delivered(problem: Any, message: Any) -> None:
                if problem is not None:
                    problems.append(str(problem))
                else:
                    places[index] = RecordPlace(message.partition(), message.offset())

            return delivered

        for index, event in enumerate(events):
            producer.produce(
                event.topic,
                event.value,
                event.key,
                headers=list[tuple[str, str | bytes | None]](event.headers),
                timestamp=event.timestamp,
                on_delivery=keep(index),
            )
            if index % 1000 == 0:
                producer.poll(0)
        left = producer.flush(PATIENCE)
        if left or problems:
            raise DemoClientError(f"{client_id}: {problems[0] if problems else f'{left} records were not delivered'}")
        return places

    def read(self, bootstrap: str, client_id: str, group: str, topics: Sequence[str], tally: Tally) -> None:
        import confluent_kafka

        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": client_id,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "broker.address.family": "v4",
            }
        )
        consumer.subscribe(list(topics))
        try:
            while tally.wants_more:
                tally.add(sum(message.error() is None for message in consumer.consume(1000, _POLL)))
        finally:
            consumer.close()


class KafkaPython:
    """kafka-python."""

    def send(self, bootstrap: str, client_id: str, codec: str, events: Iterable[Event]) -> list[RecordPlace]:
        import kafka

        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, client_id=client_id, acks="all", compression_type=codec, linger_ms=20
        )
        try:
            sent = [
                producer.send(event.topic, event.value, event.key, headers=event.headers, timestamp_ms=event.timestamp)
                for event in events
            ]
            producer.flush(PATIENCE)
            results = [future.get(PATIENCE) for future in sent]
        finally:
            producer.close(PATIENCE)
        return [RecordPlace(each.partition, each.offset) for each in results]


class Asynchronous:
    """A client with the interface of aiokafka, such as kafkawire's; `library` has its classes."""

    def __init__(self, library: str, producer: str, consumer: str) -> None:
        self._library, self._producer, self._consumer = library, producer, consumer

    def send(self, bootstrap: str, client_id: str, codec: str, events: Iterable[Event]) -> list[RecordPlace]:
        return asyncio.run(self._send(bootstrap, client_id, codec, events))

    async def _send(self, bootstrap: str, client_id: str, codec: str, events: Iterable[Event]) -> list[RecordPlace]:
        async with getattr(import_module(self._library), self._producer)(
            bootstrap_servers=bootstrap, client_id=client_id, acks="all", compression_type=codec, linger_ms=20
        ) as producer:
            sent = [
                await producer.send(
                    event.topic, event.value, event.key, timestamp_ms=event.timestamp, headers=event.headers
                )
                for event in events
            ]
            async with asyncio.timeout(PATIENCE):
                await producer.flush()
                results = [await future for future in sent]
        return [RecordPlace(each.partition, each.offset) for each in results]

    def read(self, bootstrap: str, client_id: str, group: str, topics: Sequence[str], tally: Tally) -> None:
        asyncio.run(self._read(bootstrap, client_id, group, topics, tally))

    async def _read(self, bootstrap: str, client_id: str, group: str, topics: Sequence[str], tally: Tally) -> None:
        async with getattr(import_module(self._library), self._consumer)(
            *topics, bootstrap_servers=bootstrap, client_id=client_id, group_id=group, auto_offset_reset="earliest"
        ) as consumer:
            while tally.wants_more:
                found = await consumer.getmany(timeout_ms=int(1000 * _POLL), max_records=2000)
                tally.add(sum(map(len, found.values())))


_OURS: Final = Asynchronous("kafkawire.client", "Producer", "Consumer")
_AIOKAFKA: Final = Asynchronous("aiokafka", "AIOKafkaProducer", "AIOKafkaConsumer")
_SENDERS: Final[dict[str, Sender]] = {"confluent_kafka": Confluent(), "aiokafka": _AIOKAFKA, "kafka": KafkaPython()}
_NAMES: Final = {
    "confluent_kafka": "confluent-kafka",
    "aiokafka": "aiokafka",
    "kafka": "kafka-python",
    "kafkawire": "kafkawire",
}
_READERS: Final[dict[str, Reader]] = {"confluent_kafka": Confluent(), "aiokafka": _AIOKAFKA}


def sender(library: str) -> Sender:
    """The producer of a library, or kafkawire's if it is not installed."""
    return _SENDERS.get(library, _OURS) if find_spec(library) is not None else _OURS


def reader(library: str) -> Reader:
    """The consumer of a library, or kafkawire's if it is not installed."""
    return _READERS.get(library, _OURS) if find_spec(library) is not None else _OURS


def name_of(library: str) -> str:
    """The name of the client that is used for a library."""
    return _NAMES[library] if find_spec(library) is not None else _NAMES["kafkawire"]
