"""Produce ten records and consume them as a group: `python examples/produce_and_consume.py`.

The broker runs inside this program. To use a cluster of your own, replace `broker.bootstrap_servers` by its address.
"""

from __future__ import annotations

import asyncio

from kafkawire.client import Consumer, Producer
from kafkawire.testing import RunningBroker


async def main(servers: str) -> None:
    async with Producer(bootstrap_servers=servers) as producer:
        for number in range(10):
            await producer.send("orders", f"order {number}".encode(), key=b"customer-%d" % (number % 3))
        await producer.flush()  # returns when every record is acknowledged

    async with Consumer(
        "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
    ) as consumer:
        for _ in range(10):
            record = await consumer.getone()
            print(record.partition, record.offset, record.key, record.value)
        await consumer.commit()  # the group continues here next time


if __name__ == "__main__":
    with RunningBroker() as broker:
        broker.create_topic("orders", partitions=2)
        asyncio.run(main(broker.bootstrap_servers))
