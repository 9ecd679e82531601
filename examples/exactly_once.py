"""Turn orders into invoices exactly once: `python examples/exactly_once.py`.

The first attempt fails before the commit. Its transaction is aborted, so every invoice and offset is there once.
"""

from __future__ import annotations

from kafkawire.client.blocking import Consumer, Producer
from kafkawire.testing import RunningBroker


def bill(producer: Producer, consumer: Consumer, *, fails: bool) -> None:
    found = consumer.getmany(timeout_ms=5_000)
    with producer.transaction():  # commits at the end; aborts if the body raises
        for records in found.values():
            for record in records:
                producer.send("invoices", b"invoice for " + record.value)
        offsets = {partition: records[-1].offset + 1 for partition, records in found.items()}
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        if fails:
            raise RuntimeError("the program fails before the commit")


if __name__ == "__main__":
    with RunningBroker() as broker:
        servers = {"bootstrap_servers": broker.bootstrap_servers}
        for topic in ("orders", "invoices"):
            broker.create_topic(topic)
        broker.produce("orders", b"order 0")
        settings = {**servers, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        billing = Consumer("orders", config=settings, group_id="billing", enable_auto_commit=False)
        with Producer(servers, transactional_id="billing-1") as producer, billing as consumer:
            for fails in (True, False):
                try:
                    bill(producer, consumer, fails=fails)
                except RuntimeError as error:
                    print(f"aborted: {error}")
                    consumer.seek_to_committed()  # the orders are read again
        with Consumer("invoices", config=settings) as reader:
            print(reader.getone().value)
