"""kafka-python against the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.clients.workload import CODECS, Sent, workload

kafka = pytest.importorskip("kafka")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


def consume(broker: RunningBroker, topic: str, count: int) -> list[Sent]:
    consumer = kafka.KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, consumer_timeout_ms=60_000)
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    found: list[Sent] = []
    for record in consumer:
        found.append(Sent(record.key, record.value, list(record.headers), record.timestamp))
        if len(found) == count:
            break
    consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_produced_records_are_consumed(kafka_broker: RunningBroker, kafka_topic: str, codec: str) -> None:
    producer = kafka.KafkaProducer(
        bootstrap_servers=kafka_broker.bootstrap_servers, compression_type=None if codec == "none" else codec
    )
    sent = workload()
    pending = [producer.send(kafka_topic, each.value, each.key, each.headers, 0, each.timestamp) for each in sent]
    for future in pending:
        future.get(60)
    producer.close()
    assert consume(kafka_broker, kafka_topic, len(sent)) == sent


def test_administration(kafka_broker: RunningBroker) -> None:
    admin = kafka.KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
    admin.create_topics([kafka.admin.NewTopic("made", 2, 1)])
    assert admin.list_topics() == ["made"]
    admin.create_partitions({"made": kafka.admin.NewPartitions(5)})
    assert len(admin.describe_topics(["made"])[0]["partitions"]) == 5
    admin.delete_topics(["made"])
    assert admin.list_topics() == []
    admin.close()


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "zstd"])
def test_clients_of_another_age_are_served_in_their_formats(
    kafka_broker: RunningBroker, kafka_topic: str, codec: str
) -> None:
    old = {"bootstrap_servers": kafka_broker.bootstrap_servers, "api_version": (0, 10, 1)}
    producer = kafka.KafkaProducer(**old, compression_type=None if codec == "none" else codec)
    sent = [b"%d" % number for number in range(100)]
    for future in [producer.send(kafka_topic, value, b"key", partition=0) for value in sent]:
        future.get(60)
    producer.close()
    consumer = kafka.KafkaConsumer(**old, consumer_timeout_ms=60_000)
    partition = kafka.TopicPartition(kafka_topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    found = [next(consumer).value for _ in sent]
    consumer.close()
    assert found == sent
    assert {request.version for request in kafka_broker.requests if request.api == "Produce"} == {2}
    assert {request.version for request in kafka_broker.requests if request.api == "Fetch"} == {3}
