"""Transactions of kafka-python against the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

kafka = pytest.importorskip("kafka")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


def producer_of(broker: RunningBroker, name: str) -> Any:
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name)
    producer.init_transactions()
    return producer


def read(broker: RunningBroker, topic: str, count: int, isolation: str = "read_committed") -> list[bytes]:
    """The first values of a topic's first partition."""
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, isolation_level=isolation, consumer_timeout_ms=60_000
    )
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    found = [record.value for _, record in zip(range(count), consumer, strict=False)]
    consumer.close()
    return found


def test_readers_of_committed_records_see_whole_transactions_only(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    producer = producer_of(kafka_broker, "writer")
    expected = []
    for number in range(9):
        producer.begin_transaction()
        values = [f"{number}-{each}".encode() for each in range(20)]
        for value in values:
            producer.send(kafka_topic, value, partition=0)
        if number % 3:
            producer.commit_transaction()
            expected += values
        else:
            producer.flush()
            producer.abort_transaction()
    producer.close()
    assert read(kafka_broker, kafka_topic, len(expected)) == expected


def test_a_second_producer_of_an_id_fences_the_first(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    first = producer_of(kafka_broker, "fenced")
    first.begin_transaction()
    first.send(kafka_topic, b"lost", partition=0).get(60)
    second = producer_of(kafka_broker, "fenced")
    second.begin_transaction()
    second.send(kafka_topic, b"kept", partition=0)
    second.commit_transaction()
    with pytest.raises(kafka.errors.KafkaError):
        first.commit_transaction()
    first.close(timeout=1)
    second.close()
    assert read(kafka_broker, kafka_topic, 1) == [b"kept"]
    assert read(kafka_broker, kafka_topic, 2, "read_uncommitted") == [b"lost", b"kept"]


def test_offsets_are_committed_with_the_records(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    partition = kafka.TopicPartition(kafka_topic, 0)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=kafka_broker.bootstrap_servers, group_id="copier", isolation_level="read_committed"
    )
    consumer.assign([partition])
    producer = producer_of(kafka_broker, "copier")
    for offset, commits in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.send(kafka_topic, b"value", partition=0)
        offsets = {partition: kafka.structs.OffsetAndMetadata(offset, "", -1)}
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        if commits:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
        assert consumer.committed(partition) == (offset if commits else offset - 1)
    consumer.close()
    producer.close()
