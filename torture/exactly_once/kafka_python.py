"""The worker of kafka-python: transactions of the first protocol, with the members of groups (KIP-447)."""

from __future__ import annotations

import logging
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING, Any

from torture.exactly_once.worker import GROUP, INPUT, MustAbortError, MustEndError, Task, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_MS = 200
PATIENCE_MS = 20_000


class KafkaPythonWorker(Worker):
    """kafka-python; it is imported when it is wanted, because its import warns."""

    _producer: Any
    _consumer: Any

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._kafka: Any = import_module("kafka")

    def open(self) -> None:
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
        while True:
            try:
                self._open()
            except MustAbortError:  # no broker answers yet
                sleep(0.1)
            else:
                return

    def _open(self) -> None:
        task = self.task
        network = {
            "bootstrap_servers": task.bootstrap,
            "reconnect_backoff_ms": 10,
            "reconnect_backoff_max_ms": 100,
            "retry_backoff_ms": 20,
        }
        self._producer = self._call(
            self._kafka.KafkaProducer,
            **network,
            transactional_id=task.transactional_id,
            transaction_timeout_ms=task.timeout_ms,
            delivery_timeout_ms=task.timeout_ms,
            request_timeout_ms=task.timeout_ms - 100,
            max_block_ms=PATIENCE_MS,
            linger_ms=1,
        )
        self._call(self._producer.init_transactions)
        self._consumer = self._call(
            self._kafka.KafkaConsumer,
            **network,
            group_id=GROUP,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        self._consumer.assign([self._kafka.TopicPartition(INPUT, index) for index in task.partitions])

    def close(self) -> None:
        self._consumer.close()
        self._producer.close(timeout=5)

    def poll(self, most: int) -> list[tuple[int, int]]:
        try:
            read = self._call(self._consumer.poll, timeout_ms=POLL_MS, max_records=most)
        except MustAbortError:
            return []
        return [(place.partition, record.offset) for place, records in read.items() for record in records]

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def produce(self, topic: str, partition: int, value: bytes) -> None:
        self._call(self._producer.send, topic, value, partition=partition)

    def send_offsets(self, offsets: dict[int, int]) -> None:
        made = self._kafka.structs.OffsetAndMetadata
        places = {self._kafka.TopicPartition(INPUT, index): made(offset, "", -1) for index, offset in offsets.items()}
        self._call(self._producer.send_offsets_to_transaction, places, self._consumer.group_metadata())

    def commit(self) -> None:
        self._call(self._producer.commit_transaction)

    def abort(self) -> None:
        self._call(self._producer.abort_transaction)

    def rewind(self) -> None:
        for index in self.task.partitions:
            place = self._kafka.TopicPartition(INPUT, index)
            committed = self._call(self._consumer.committed, place, timeout_ms=PATIENCE_MS)
            self._consumer.seek(place, committed or 0)

    def _call(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        errors = self._kafka.errors
        try:
            return call(*arguments, **options)
        except (errors.ProducerFencedError, errors.InvalidProducerEpochError, errors.KafkaTimeoutError) as error:
            raise MustEndError(repr(error)) from error
        except errors.KafkaError as error:
            raise MustAbortError(repr(error)) from error
