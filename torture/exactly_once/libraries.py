"""The workers of each client library, and the body of a worker process."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import confluent_kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka import errors as aiokafka_errors

import kafkawire.client
from kafkawire.client import blocking
from kafkawire.client.errors import AbortableTransactionError, ClientError
from kafkawire.messages.errors import KafkaError
from torture.exactly_once.kafka_python import KafkaPythonWorker
from torture.exactly_once.worker import FATAL, GROUP, INPUT, MustAbortError, MustEndError, Task, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
POLL_SECONDS: Final = 0.2
CALL_SECONDS: Final = 5.0
POLL_INTERVAL_MS: Final = 6_000
"""A group waits so long for a member that stands still."""
PATIENCE_SECONDS: Final = 20.0


class ConfluentWorker(Worker):
    """librdkafka: transactions of the first protocol."""

    _producer: Any
    _consumer: Any

    def open(self) -> None:
        task = self.task
        network = {
            "bootstrap.servers": task.bootstrap,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }
        self._producer = confluent_kafka.Producer(
            {
                **network,
                "transactional.id": task.transactional_id,
                "transaction.timeout.ms": task.timeout_ms,
                "message.timeout.ms": task.timeout_ms,
                "linger.ms": 1,
            }
        )
        self._call(self._producer.init_transactions, CALL_SECONDS)
        self._consumer = confluent_kafka.Consumer(
            {
                **network,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 2_000,
                "heartbeat.interval.ms": 200,
                "max.poll.interval.ms": POLL_INTERVAL_MS,
            }
        )
        if task.partitions:
            self._consumer.assign([confluent_kafka.TopicPartition(INPUT, index) for index in task.partitions])
        else:
            self._consumer.subscribe([INPUT])

    def close(self) -> None:
        self._consumer.close()

    def poll(self, most: int) -> list[tuple[int, int]]:
        messages = self._consumer.consume(most, timeout=POLL_SECONDS)
        return [(each.partition(), each.offset()) for each in messages if each.error() is None]

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def produce(self, topic: str, partition: int, value: bytes) -> None:
        self._call(self._producer.produce, topic, value, None, partition)

    def send_offsets(self, offsets: dict[int, int]) -> None:
        places = [confluent_kafka.TopicPartition(INPUT, index, offset) for index, offset in offsets.items()]
        group = self._consumer.consumer_group_metadata()
        self._call(self._producer.send_offsets_to_transaction, places, group, CALL_SECONDS)

    def commit(self) -> None:
        self._call(self._producer.commit_transaction, CALL_SECONDS)

    def abort(self) -> None:
        self._call(self._producer.abort_transaction, CALL_SECONDS)

    def rewind(self) -> None:
        assigned = self._consumer.assignment()
        if not assigned:
            return
        try:
            for place in self._consumer.committed(assigned, timeout=PATIENCE_SECONDS):
                place.offset = max(place.offset, 0)
                self._consumer.seek(place)
        except confluent_kafka.KafkaException as error:
            raise MustEndError(f"the committed offsets cannot be read: {error}") from error

    def _call(self, call: Any, *arguments: Any) -> None:
        until = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                call(*arguments)
            except confluent_kafka.KafkaException as error:
                found = error.args[0]
                if found.txn_requires_abort():
                    raise MustAbortError(str(found)) from error
                if not found.retriable() or monotonic() > until:
                    raise MustEndError(str(found)) from error
            else:
                return


class AiokafkaWorker(Worker):
    """aiokafka: version 0 of every API of transactions. It reads offsets without waiting for open transactions."""

    _producer: AIOKafkaProducer
    _consumer: AIOKafkaConsumer

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._loop = asyncio.new_event_loop()

    def open(self) -> None:
        self._run(self._open())

    async def _open(self) -> None:
        task = self.task
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
        while True:
            self._producer = AIOKafkaProducer(
                bootstrap_servers=task.bootstrap,
                transactional_id=task.transactional_id,
                transaction_timeout_ms=task.timeout_ms,
                request_timeout_ms=task.timeout_ms,
                retry_backoff_ms=20,
            )
            self._consumer = AIOKafkaConsumer(
                bootstrap_servers=task.bootstrap,
                group_id=GROUP,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                retry_backoff_ms=20,
            )
            try:
                await self._producer.start()
                await self._consumer.start()
            except aiokafka_errors.KafkaError:
                await self._producer.stop()
                await self._consumer.stop()
                await asyncio.sleep(0.1)
            else:
                break
        self._consumer.assign([TopicPartition(INPUT, index) for index in task.partitions])

    def close(self) -> None:
        self._run(self._consumer.stop())
        self._run(self._producer.stop())

    def poll(self, most: int) -> list[tuple[int, int]]:
        try:
            read = self._run(self._consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=most))
        except MustAbortError:
            return []
        return [(place.partition, record.offset) for place, records in read.items() for record in records]

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def produce(self, topic: str, partition: int, value: bytes) -> None:
        self._run(self._producer.send(topic, value, partition=partition))

    def send_offsets(self, offsets: dict[int, int]) -> None:
        places = {TopicPartition(INPUT, index): offset for index, offset in offsets.items()}
        self._run(self._producer.send_offsets_to_transaction(places, GROUP))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def rewind(self) -> None:
        for index in self.task.partitions:
            place = TopicPartition(INPUT, index)
            self._consumer.seek(place, self._run(self._consumer.committed(place)) or 0)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(work, PATIENCE_SECONDS))
        except (aiokafka_errors.ProducerFenced, aiokafka_errors.IllegalOperation, TimeoutError) as error:
            raise MustEndError(repr(error)) from error
        except AssertionError as error:  # aiokafka asserts that it is not in its fatal state
            raise MustEndError(repr(error)) from error
        except aiokafka_errors.KafkaError as error:
            raise MustAbortError(repr(error)) from error


class KafkawireWorker(Worker):
    """This package's own client: transactions of the second protocol where the broker has it."""

    _producer: blocking.Producer
    _consumer: blocking.Consumer

    def open(self) -> None:
        logging.getLogger("kafkawire").setLevel(logging.CRITICAL + 1)
        task = self.task
        network: dict[str, Any] = {
            "bootstrap_servers": task.bootstrap,
            "reconnect_backoff_max_ms": 100,
            "retry_backoff_ms": 20,
            "retry_backoff_max_ms": 100,
        }
        self._producer = self._call(
            partial(
                blocking.Producer,
                **network,
                transactional_id=task.transactional_id,
                transaction_timeout_ms=task.timeout_ms,
                delivery_timeout_ms=task.timeout_ms,
                request_timeout_ms=task.timeout_ms - 100,
                linger_ms=1,
            )
        )
        self._consumer = self._call(
            partial(
                blocking.Consumer,
                *(() if task.partitions else (INPUT,)),
                **network,
                group_id=GROUP,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                session_timeout_ms=2_000,
                heartbeat_interval_ms=200,
                max_poll_interval_ms=POLL_INTERVAL_MS,
            )
        )
        if task.partitions:
            self._consumer.assign([(INPUT, index) for index in task.partitions])

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()

    def poll(self, most: int) -> list[tuple[int, int]]:
        try:
            read = self._consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=most)
        except (ClientError, KafkaError) as error:
            if not error.retriable:
                raise MustEndError(f"polling: {error!r}") from error
            return []
        return [(place.partition, record.offset) for place, records in read.items() for record in records]

    def begin(self) -> None:
        self._call(self._producer.begin)

    def produce(self, topic: str, partition: int, value: bytes) -> None:
        self._call(partial(self._producer.send, topic, value, partition=partition))

    def send_offsets(self, offsets: dict[int, int]) -> None:
        places = {kafkawire.client.TopicPartition(INPUT, index): offset for index, offset in offsets.items()}
        self._call(
            partial(self._producer.send_offsets_to_transaction, places, self._consumer.group_metadata()),
        )

    def commit(self) -> None:
        self._call(self._producer.commit)

    def abort(self) -> None:
        self._call(self._producer.abort)

    def rewind(self) -> None:
        self._call(self._consumer.seek_to_committed)

    def _call(self, call: Callable[[], T]) -> T:
        until = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return call()
            except AbortableTransactionError as error:
                raise MustAbortError(repr(error)) from error
            except (ClientError, KafkaError) as error:
                if not error.retriable or monotonic() > until:
                    raise MustEndError(repr(error)) from error


LIBRARIES: Final[dict[str, type[Worker]]] = {
    "aiokafka": AiokafkaWorker,
    "confluent": ConfluentWorker,
    "kafka-python": KafkaPythonWorker,
    "kafkawire": KafkawireWorker,
}


def work(library: str, task: Task) -> None:
    """The body of a worker process."""
    worker = LIBRARIES[library](task)

    def stop(*_: object) -> None:
        worker.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        worker.run()
    except MustEndError:
        sys.stdout.flush()
        sys.exit(FATAL)
