"""A broker and a client out of an installed wheel: `python round_trip.py`."""

from __future__ import annotations

import sys
import tempfile

from kafkawire.client.blocking import Consumer, Producer
from kafkawire.testing import RunningBroker


def main() -> None:
    with tempfile.TemporaryDirectory() as data, RunningBroker(data) as broker:
        servers = broker.bootstrap_servers
        broker.create_topic("orders")
        with Producer(bootstrap_servers=servers) as producer:
            producer.send_and_wait("orders", b"hello", key=b"k")
        with Consumer("orders", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            record = consumer.getone()
    sys.stdout.write(f"offset {record.offset}, key {record.key!r}, value {record.value!r}\n")


if __name__ == "__main__":
    main()
