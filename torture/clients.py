"""Real clients that write and read while brokers come and go, and note what they were promised.

Rules:
- Each client is a thread with a `run` that returns soon after `stopping` is set.
- A broken promise of a client is kept and raised by `Crowd.check`.
- Producers keep few records under way, so that many clients share one machine.
- An idempotent producer may never fail a record: it has two minutes for each, and brokers are away for seconds.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from importlib import import_module
from random import Random
from threading import Event, Semaphore, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

import confluent_kafka
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AioKafkaError

from kafkawire.client.blocking import Consumer, Producer
from kafkawire.exceptions import KafkaWireError
from torture.application import Application
from torture.peer import Peer, create, delete
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture.ledger import Ledger, TopicPartition

    class Broker(Protocol):
        """A broker that clients find at an address, of any kind."""

        @property
        def port(self) -> int: ...

        @property
        def bootstrap(self) -> str: ...


T = TypeVar("T")
PARTITIONS: Final = 3
UNDER_WAY: Final = 200
DELIVERED_WITHIN_MS: Final = 120_000
PAUSE: Final = 0.002
TOPICS: Final = ("orders", "clicks")
NOISY: Final = ("kafka", "aiokafka", "kafkawire.client")


class Client(Thread):
    """One client in its thread."""

    def __init__(self, name: str, victim: Broker, ledger: Ledger, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.victim, self.ledger = victim, ledger
        self.dice = Random(seed)
        self.stopping = Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.failure = error

    def work(self) -> None:
        raise NotImplementedError

    def opened(self, make: Callable[[], T]) -> T:
        """A client, made as soon as there is a broker to talk to."""
        while True:
            try:
                return make()
            except Exception:
                if self.stopping.wait(0.05):
                    raise

    def break_promise(self, promised: str, found: object) -> None:
        if self.failure is None:
            self.failure = BrokenPromiseError(promised, f"{self.name}: {found}")


class ProducerClient(Client):
    """A producer that keeps a bounded number of records under way."""

    is_idempotent = True

    def __init__(self, name: str, victim: Broker, ledger: Ledger, seed: int, topic: str) -> None:
        super().__init__(name, victim, ledger, seed)
        self.topic = topic
        self.writer = ledger.writer(name, idempotent=self.is_idempotent)
        self.room = Semaphore(UNDER_WAY)

    def next_record(self) -> tuple[int, int, bytes] | None:
        """Partition, number and value of the next record; None when there is no room for a while."""
        if not self.room.acquire(timeout=0.1):
            return None
        number, value = self.ledger.next_value(self.writer)
        return self.dice.randrange(PARTITIONS), number, value

    def delivered(self, number: int, partition: int, offset: int) -> None:
        try:
            self.ledger.acknowledge(self.writer, number, (self.topic, partition), offset)
        except BrokenPromiseError as broken:
            self.failure = self.failure or broken
        self.room.release()

    def failed(self, number: int, error: object) -> None:
        if self.is_idempotent and not self.stopping.is_set():
            self.break_promise(f"record {number} of an idempotent producer is delivered", error)
        self.room.release()


class ConfluentProducer(ProducerClient):
    """librdkafka; which of its ways is a matter of settings."""

    settings: ClassVar[dict[str, Any]] = {}

    def work(self) -> None:
        def on_error(error: Any) -> None:
            if error.fatal():
                self.break_promise("an idempotent producer never gets a fatal error", error)

        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.victim.bootstrap,
                "message.timeout.ms": DELIVERED_WITHIN_MS,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "linger.ms": 2,
                "log_level": 0,
                "error_cb": on_error,
                **self.settings,
            }
        )
        while not self.stopping.is_set() and self.failure is None:
            producer.poll(0)
            record = self.next_record()
            if record is None:
                continue
            partition, number, value = record
            producer.produce(self.topic, value, b"key", partition, on_delivery=self._told(number))
            self.stopping.wait(PAUSE)
        producer.flush(60)

    def _told(self, number: int) -> Callable[[Any, Any], None]:
        def told(error: Any, message: Any) -> None:
            if error is None:
                self.delivered(number, message.partition(), message.offset())
            else:
                self.failed(number, error)

        return told


class ConfluentIdempotent(ConfluentProducer):
    """Five requests under way, compressed."""

    settings: ClassVar[dict[str, Any]] = {"enable.idempotence": True, "max.in.flight": 5, "compression.type": "lz4"}


class ConfluentAll(ConfluentProducer):
    """acks=all, one request at a time: records may be there twice, and are in order."""

    is_idempotent = False
    settings: ClassVar[dict[str, Any]] = {"acks": "all", "max.in.flight": 1}


class ConfluentOne(ConfluentProducer):
    """acks=1, one request at a time."""

    is_idempotent = False
    settings: ClassVar[dict[str, Any]] = {"acks": 1, "max.in.flight": 1}


class KafkawireProducer(ProducerClient):
    """This package's own client."""

    def work(self) -> None:
        make = partial(
            Producer,
            bootstrap_servers=self.victim.bootstrap,
            delivery_timeout_ms=DELIVERED_WITHIN_MS,
            reconnect_backoff_max_ms=100,
            retry_backoff_max_ms=100,
            max_block_ms=60_000,
            enable_idempotence=True,
            linger_ms=2,
        )
        with self.opened(make) as producer:
            while not self.stopping.is_set() and self.failure is None:
                record = self.next_record()
                if record is None:
                    continue
                partition, number, value = record
                producer.send(self.topic, value, b"key", partition).add_done_callback(self._told(number))
                self.stopping.wait(PAUSE)

    def _told(self, number: int) -> Callable[[Any], None]:
        def told(delivery: Any) -> None:
            error = delivery.exception()
            if error is None:
                place = delivery.result()
                self.delivered(number, place.partition, place.offset)
            else:
                self.failed(number, error)

        return told


class KafkaPythonProducer(ProducerClient):
    """kafka-python, idempotent; it is imported when it is wanted, because its import warns."""

    def work(self) -> None:
        kafka = import_module("kafka")
        make = partial(
            kafka.KafkaProducer,
            bootstrap_servers=self.victim.bootstrap,
            enable_idempotence=True,
            delivery_timeout_ms=DELIVERED_WITHIN_MS,
            max_block_ms=60_000,
            reconnect_backoff_ms=10,
            reconnect_backoff_max_ms=100,
            linger_ms=2,
        )
        producer = self.opened(make)
        try:
            while not self.stopping.is_set() and self.failure is None:
                record = self.next_record()
                if record is None:
                    continue
                partition, number, value = record
                sent = producer.send(self.topic, value, b"key", partition=partition)
                sent.add_callback(lambda place, number=number: self.delivered(number, place.partition, place.offset))
                sent.add_errback(lambda error, number=number: self.failed(number, error))
                self.stopping.wait(5 * PAUSE)
            producer.flush(60)
        finally:
            producer.close(timeout=5)


class AiokafkaProducer(ProducerClient):
    """aiokafka, idempotent, on a loop of its own."""

    def work(self) -> None:
        asyncio.run(self._produce())

    async def _produce(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.victim.bootstrap,
            enable_idempotence=True,
            request_timeout_ms=DELIVERED_WITHIN_MS,
            retry_backoff_ms=20,
            linger_ms=2,
        )
        started = False
        while not started and not self.stopping.is_set():
            try:
                await producer.start()
                started = True
            except AioKafkaError:
                await asyncio.sleep(0.05)
        under_way: set[asyncio.Task[None]] = set()
        try:
            while not self.stopping.is_set() and self.failure is None:
                number, value = self.ledger.next_value(self.writer)
                partition = self.dice.randrange(PARTITIONS)
                future = await producer.send(self.topic, value, b"key", partition=partition)
                task = asyncio.create_task(self._await(future, number))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                await asyncio.sleep(2 * PAUSE)
                if len(under_way) >= UNDER_WAY:
                    await asyncio.wait(under_way, timeout=1, return_when=asyncio.FIRST_COMPLETED)
            if under_way:
                await asyncio.wait(under_way, timeout=60)
        finally:
            with suppress(AioKafkaError, TimeoutError):
                await asyncio.wait_for(producer.stop(), 30)

    async def _await(self, future: Any, number: int) -> None:
        try:
            place = await future
            self.delivered(number, place.partition, place.offset)
        except AioKafkaError as error:
            self.failed(number, repr(error))


class RawClient(Client):
    """Mixed pipelines on a raw socket."""

    def __init__(self, name: str, victim: Broker, ledger: Ledger, seed: int, places: list[TopicPartition]) -> None:
        super().__init__(name, victim, ledger, seed)
        self.application = Application(name, ledger, self.dice, places)

    def work(self) -> None:
        while not self.stopping.is_set():
            self.stopping.wait(0.01 if self.application.pipeline(self.victim.port) else 0.05)
        self.application.catch_up(self.victim.port)
        self.application.close()


class ConfluentConsumer(Client):
    """A member of a group that commits what it has read, and notes the answers that it got."""

    group = "confluent"

    def work(self) -> None:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.victim.bootstrap,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 300,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        consumer.subscribe(list(TOPICS))
        try:
            while not self.stopping.is_set():
                if not [each for each in consumer.consume(200, timeout=0.1) if each.error() is None]:
                    continue
                with suppress(confluent_kafka.KafkaException):
                    for place in consumer.commit(asynchronous=False) or ():
                        if place.error is None and place.offset >= 0:
                            self.ledger.commit(self.group, (place.topic, place.partition), place.offset)
        finally:
            consumer.close()


class KafkawireConsumer(Client):
    """The same with this package's own client."""

    group = "kafkawire"

    def work(self) -> None:
        make = partial(
            Consumer,
            *TOPICS,
            bootstrap_servers=self.victim.bootstrap,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=10_000,
            heartbeat_interval_ms=300,
            reconnect_backoff_max_ms=100,
            retry_backoff_max_ms=100,
            default_api_timeout_ms=5_000,
        )
        with self.opened(make) as consumer:
            while not self.stopping.is_set():
                try:
                    read = consumer.getmany(timeout_ms=100, max_records=500)
                    offsets = {place: records[-1].offset + 1 for place, records in read.items() if records}
                    if not offsets:
                        continue
                    consumer.commit(offsets)
                except KafkaWireError:
                    self.stopping.wait(0.05)
                    continue
                for place, offset in offsets.items():
                    self.ledger.commit(self.group, (place.topic, place.partition), offset)


class TopicMaker(Client):
    """Creates topics and deletes some of them."""

    def work(self) -> None:
        made: list[str] = []
        number = 0
        while not self.stopping.is_set():
            with suppress(OSError, EOFError), Peer(self.victim.port) as peer:
                while not self.stopping.wait(0.05):
                    if len(made) > 3 and self.dice.random() < 0.5:
                        name = made.pop(self.dice.randrange(len(made)))
                        self.ledger.change_topic(name)
                        if not peer.ask(delete(name)).responses[0].error_code:
                            self.ledger.topic_changed(name, exists=False)
                        continue
                    number += 1
                    name = f"topic-{number}"
                    self.ledger.change_topic(name)
                    if not peer.ask(create(name, self.dice.randint(1, 3))).topics[0].error_code:
                        self.ledger.topic_changed(name, exists=True)
                        made.append(name)
            self.stopping.wait(0.02)


class Crowd:
    """All clients of one campaign."""

    def __init__(self, victim: Broker, ledger: Ledger, dice: Random, *, few: bool = False) -> None:
        self._levels = [(logging.getLogger(name), logging.getLogger(name).level) for name in NOISY]
        for logger, _ in self._levels:
            logger.setLevel(logging.CRITICAL + 1)
        producers: list[type[ProducerClient]] = [ConfluentIdempotent, KafkawireProducer, ConfluentAll]
        if not few:
            producers += [ConfluentIdempotent, ConfluentOne, KafkaPythonProducer, AiokafkaProducer]
        self.clients: list[Client] = [
            kind(f"{kind.__name__}-{number}", victim, ledger, dice.getrandbits(32), TOPICS[number % 2])
            for number, kind in enumerate(producers)
        ]
        places = [("raw", partition) for partition in range(PARTITIONS)]
        self.clients.append(RawClient("raw", victim, ledger, dice.getrandbits(32), places))
        for number, kind in enumerate((ConfluentConsumer, KafkawireConsumer) * (1 if few else 2)):
            self.clients.append(kind(f"{kind.__name__}-{number}", victim, ledger, dice.getrandbits(32)))
        self.clients.append(TopicMaker("topics", victim, ledger, dice.getrandbits(32)))

    def start(self) -> None:
        for client in self.clients:
            client.start()

    def check(self) -> None:
        """Raise what broke a client."""
        for client in self.clients:
            if client.failure is not None:
                raise client.failure

    def stop(self, patience: float) -> None:
        """End all clients, and wait so long for them; while the broker is there each can finish its work."""
        for client in self.clients:
            client.stopping.set()
        end = monotonic() + patience
        for client in self.clients:
            client.join(max(0.1, end - monotonic()))
        if not any(client.is_alive() for client in self.clients):
            for logger, level in self._levels:
                logger.setLevel(level)

    def check_ended(self) -> None:
        late = [client.name for client in self.clients if client.is_alive()]
        if late:
            raise BrokenPromiseError("a client ends its work when the broker is there", f"{late} did not")
