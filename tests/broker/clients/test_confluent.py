"""confluent-kafka (librdkafka) against the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.clients.workload import CODECS, Sent, workload

confluent_kafka = pytest.importorskip("confluent_kafka")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


def consume(broker: RunningBroker, topic: str, count: int) -> list[Sent]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[Sent] = []
    while len(found) < count:
        (message,) = consumer.consume(1, 10)
        assert message.error() is None, message.error()
        found.append(Sent(message.key(), message.value(), message.headers() or [], message.timestamp()[1]))
    consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_produced_is_consumed(kafka_broker: RunningBroker, kafka_topic: str, codec: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka_broker.bootstrap_servers, "compression.type": codec}
    )
    sent = workload()
    for each in sent:
        producer.produce(kafka_topic, each.value, each.key, headers=each.headers, timestamp=each.timestamp)
    assert producer.flush(10) == 0
    assert consume(kafka_broker, kafka_topic, len(sent)) == sent


def test_topics_are_made_by_asking_for_them(kafka_broker: RunningBroker) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
    producer.produce("fresh", b"value")
    assert producer.flush(10) == 0
    assert consume(kafka_broker, "fresh", 1)[0].value == b"value"
