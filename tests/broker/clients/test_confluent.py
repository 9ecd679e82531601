"""confluent-kafka (librdkafka) against the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.clients.workload import CODECS, Sent, workload

confluent_kafka = pytest.importorskip("confluent_kafka")
pytest.importorskip("confluent_kafka.admin")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


def consume(broker: RunningBroker, topic: str, count: int) -> list[Sent]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[Sent] = []
    while len(found) < count:
        (message,) = consumer.consume(1, 60)
        assert message.error() is None, message.error()
        found.append(Sent(message.key(), message.value(), message.headers() or [], message.timestamp()[1]))
    consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_produced_records_are_consumed(kafka_broker: RunningBroker, kafka_topic: str, codec: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka_broker.bootstrap_servers, "compression.type": codec}
    )
    sent = workload()
    for each in sent:
        producer.produce(kafka_topic, each.value, each.key, headers=each.headers, timestamp=each.timestamp)
    assert producer.flush(60) == 0
    assert consume(kafka_broker, kafka_topic, len(sent)) == sent


def test_topics_are_made_by_asking_for_them(kafka_broker: RunningBroker) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
    producer.produce("fresh", b"value")
    assert producer.flush(60) == 0
    assert consume(kafka_broker, "fresh", 1)[0].value == b"value"


def test_an_idempotent_producer_survives_lost_connections_without_duplicates(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka_broker.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 1,
            "retry.backoff.ms": 1,
            "reconnect.backoff.ms": 1,
            "reconnect.backoff.max.ms": 5,
        }
    )
    for number in range(600):
        producer.produce(kafka_topic, b"%d" % number, partition=0)
        if number % 100 == 50:
            producer.poll(0.02)
            kafka_broker.drop_connections()
    assert producer.flush(60) == 0
    assert [each.value for each in consume(kafka_broker, kafka_topic, 600)] == [b"%d" % n for n in range(600)]
    assert kafka_broker.call(lambda: kafka_broker.broker.node.log(kafka_topic, 0).end_offset) == 600


def test_administration(kafka_broker: RunningBroker) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers})
    topic = confluent_kafka.admin.NewTopic("made", 2, 1, config={"retention.ms": "1000"})
    admin.create_topics([topic])["made"].result(60)
    resource = confluent_kafka.admin.ConfigResource("topic", "made")
    assert admin.describe_configs([resource])[resource].result(60)["retention.ms"].value == "1000"
    admin.create_partitions([confluent_kafka.admin.NewPartitions("made", 4)])["made"].result(60)
    assert len(admin.list_topics("made", 60).topics["made"].partitions) == 4
    cluster = admin.describe_cluster().result(60)
    assert cluster.controller.id == 1
    admin.delete_topics(["made"])["made"].result(60)
    assert "made" not in admin.list_topics(timeout=60).topics


def test_errors_of_the_broker_reach_the_application(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.fail_next("Produce", "TOPIC_AUTHORIZATION_FAILED")
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
    heard: list[object] = []
    producer.produce(kafka_topic, b"v", on_delivery=lambda error, _: heard.append(error.code()))
    producer.flush(60)
    assert heard == [29]
    assert "Produce" in [request.api for request in kafka_broker.requests]


def test_retriable_errors_and_delays_are_survived(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    kafka_broker.delay_next("Fetch", 0.05)
    kafka_broker.close_next("Metadata")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka_broker.bootstrap_servers, "retry.backoff.ms": 1, "reconnect.backoff.ms": 1}
    )
    producer.produce(kafka_topic, b"v")
    assert producer.flush(60) == 0
    assert [each.value for each in consume(kafka_broker, kafka_topic, 1)] == [b"v"]


@pytest.mark.parametrize("version", ["0.8.2", "0.9.0"])
@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "zstd"])
def test_clients_of_another_age_are_served_in_their_formats(
    kafka_broker: RunningBroker, kafka_topic: str, version: str, codec: str
) -> None:
    old = {
        "bootstrap.servers": kafka_broker.bootstrap_servers,
        "api.version.request": False,
        "broker.version.fallback": version,
    }
    producer = confluent_kafka.Producer({**old, "compression.type": codec})
    sent = [b"%d" % number for number in range(100)]
    for value in sent:
        producer.produce(kafka_topic, value, b"key", partition=0)
    assert producer.flush(60) == 0
    consumer = confluent_kafka.Consumer({**old, "group.id": "reader"})
    consumer.assign([confluent_kafka.TopicPartition(kafka_topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < len(sent):
        (message,) = consumer.consume(1, 60)
        assert message.error() is None, message.error()
        found.append(message.value())
    consumer.close()
    assert found == sent
    assert {request.version for request in kafka_broker.requests if request.api == "Fetch"} <= {0, 1, 2}
