"""The topics that programs read and write, seen by confluent-kafka: a client that none of the programs uses."""

from __future__ import annotations

from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

import confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Iterable

administration: Any = import_module("confluent_kafka.admin")  # most of its names are not typed


def create(bootstrap: str, *names: str, partitions: int = 3) -> None:
    admin = administration.AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([administration.NewTopic(name, partitions, 1) for name in names]).values():
        future.result()


def produce(bootstrap: str, topic: str, values: Iterable[str]) -> None:
    """Write values to the partitions in turn, and wait until all are acknowledged."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number, value in enumerate(values):
        producer.produce(topic, value, str(number))
        producer.poll(0)
    assert producer.flush(60) == 0


def committed(bootstrap: str, topic: str) -> list[tuple[str | None, str]]:
    """The keys and values of all committed records of a topic, in the order of each partition."""
    reader: Any = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        places = list(reader.list_topics(topic, timeout=30).topics[topic].partitions)
        reader.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in places])
        found, waiting, deadline = [], set(places), monotonic() + 60
        while waiting:
            assert monotonic() < deadline, f"partitions {waiting} of {topic} have no end"
            for message in reader.consume(1_000, timeout=0.2):
                if message.error() is None:
                    key = message.key()
                    found.append((None if key is None else key.decode(), message.value().decode()))
                elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
        return found
    finally:
        reader.close()
