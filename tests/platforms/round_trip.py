"""A broker on a disk and a client, in one interpreter: records in and out, a restart, a lock, a topic deleted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing import RunningBroker

VALUES = [b"small", b"x" * 300_000, b"y" * 700_000]


def run(data: Path) -> None:
    with RunningBroker(data, config={"flush.on.ack": "true"}) as broker:
        broker.create_topic("orders", 2)
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for value in VALUES:
                producer.send("orders", value, partition=1).result(30)
        assert read(broker) == VALUES
        with pytest.raises(KafkaStorageError, match="another broker uses it"):
            RunningBroker(data).start()
        broker.restart()
        assert read(broker) == VALUES
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.delete_topics(["orders"])
    assert not {"orders-0", "orders-1"} & {path.name for path in data.iterdir()}


def read(broker: RunningBroker) -> list[bytes | None]:
    found: list[bytes | None] = []
    with Consumer("orders", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        while len(found) < len(VALUES):
            found.append(consumer.getone().value)
    return found


if __name__ == "__main__":
    run(Path(sys.argv[1]))
