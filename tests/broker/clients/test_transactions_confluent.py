"""Transactions of confluent-kafka (librdkafka) against the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker

WAIT = 60


def producer_of(broker: RunningBroker, name: str, **settings: Any) -> Any:
    settings = {name.replace("_", "."): value for name, value in settings.items()}
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, **settings}
    )
    producer.init_transactions(WAIT)
    return producer


def read(broker: RunningBroker, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """Every value of a topic's first partition, up to its end."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while True:
        (message,) = consumer.consume(1, WAIT)
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            consumer.close()
            return found
        found.append(message.value())


def test_readers_of_committed_records_see_whole_transactions_only(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    producer = producer_of(kafka_broker, "writer")
    expected = []
    for number in range(10):
        producer.begin_transaction()
        values = [f"{number}-{each}".encode() for each in range(20)]
        for value in values:
            producer.produce(kafka_topic, value, partition=0)
        if number % 3:
            producer.commit_transaction(WAIT)
            expected += values
        else:
            producer.abort_transaction(WAIT)
    assert read(kafka_broker, kafka_topic) == expected


def test_a_second_producer_of_an_id_fences_the_first_and_aborts_its_transaction(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    first = producer_of(kafka_broker, "fenced")
    first.begin_transaction()
    first.produce(kafka_topic, b"lost", partition=0)
    assert first.flush(WAIT) == 0
    second = producer_of(kafka_broker, "fenced")
    second.begin_transaction()
    second.produce(kafka_topic, b"kept", partition=0)
    second.commit_transaction(WAIT)
    with pytest.raises(confluent_kafka.KafkaException) as fenced:
        first.commit_transaction(WAIT)
    assert fenced.value.args[0].fatal()
    assert read(kafka_broker, kafka_topic) == [b"kept"]
    assert read(kafka_broker, kafka_topic, "read_uncommitted") == [b"lost", b"kept"]


def test_offsets_are_committed_with_the_records(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    partition = confluent_kafka.TopicPartition(kafka_topic, 0)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka_broker.bootstrap_servers, "group.id": "copier"})
    consumer.assign([partition])
    producer = producer_of(kafka_broker, "copier")
    for offset, commits in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.produce(kafka_topic, b"value", partition=0)
        offsets = [confluent_kafka.TopicPartition(kafka_topic, 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT)
        if commits:
            producer.commit_transaction(WAIT)
        else:
            producer.abort_transaction(WAIT)
        (found,) = consumer.committed([partition], timeout=WAIT)
        assert found.offset == (offset if commits else offset - 1)
    consumer.close()
