"""Clients that read the topic `read`, ours and peers: seconds from connecting to the last record.

Rules:
- A consumer looks at the value and the offset of each record, as a program does. Beside columns, which nobody looks at
  record by record, peers do not look at records either.
- Peers have the settings with which they read fastest here; our own are the defaults.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

from kafkawire.client import Consumer, TopicPartition
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client.blocking import Consumer as BlockingConsumer

READ, LOOPED = 500_000, 100_000
AIOKAFKA_READS = {"max_partition_fetch_bytes": 256 * 1024}
CONFLUENT_READS: dict[str, Any] = {"queued.min.messages": 1_000_000, "group.id": "g", "enable.auto.commit": False}


def bulk(bootstrap: str) -> float:
    start = perf_counter()
    with BulkReader(bootstrap) as reader:
        rows = sum(batch.num_rows for batch in reader.read("read", 0, 0, READ))
        assert rows == READ
        return perf_counter() - start


def consumer(bootstrap: str) -> float:
    async def main() -> float:
        start = perf_counter()
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
            client.assign([TopicPartition("read", 0)])
            count = size = 0
            while count < READ:
                for records in (await client.getmany(timeout_ms=1000)).values():
                    count += len(records)
                    for record in records:
                        size += len(record.value) + record.offset
            return perf_counter() - start

    return asyncio.run(main())


def blocking_consumer(bootstrap: str) -> float:
    start = perf_counter()
    with BlockingConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
        client.assign([TopicPartition("read", 0)])
        count = size = 0
        while count < READ:
            for records in client.getmany(timeout_ms=1000).values():
                count += len(records)
                for record in records:
                    size += len(record.value) + record.offset
        return perf_counter() - start


def consumer_loop(bootstrap: str) -> float:
    async def main() -> float:
        start = perf_counter()
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
            client.assign([TopicPartition("read", 0)])
            count = 0
            async for _ in client:
                count += 1
                if count == LOOPED:
                    break
            return perf_counter() - start

    return asyncio.run(main())


def aiokafka_loop(bootstrap: str) -> float:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Theirs

    async def main() -> float:
        start = perf_counter()
        client = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", **AIOKAFKA_READS)
        await client.start()
        client.assign([Theirs("read", 0)])
        count = 0
        async for _ in client:
            count += 1
            if count == LOOPED:
                break
        taken = perf_counter() - start
        await client.stop()
        return taken

    return asyncio.run(main())


def aiokafka_consumer(bootstrap: str, *, looks: bool = True) -> float:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Theirs

    async def main() -> float:
        start = perf_counter()
        client = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", **AIOKAFKA_READS)
        await client.start()
        client.assign([Theirs("read", 0)])
        count = 0
        size = 0
        while count < READ:
            for records in (await client.getmany(timeout_ms=1000)).values():
                count += len(records)
                for record in records if looks else ():
                    size += len(record.value) + record.offset
        taken = perf_counter() - start
        await client.stop()
        return taken

    return asyncio.run(main())


def confluent_consumer(bootstrap: str, *, looks: bool = True) -> float:
    from confluent_kafka import Consumer as Theirs
    from confluent_kafka import TopicPartition as Place

    start = perf_counter()
    client: Any = Theirs({"bootstrap.servers": bootstrap, **CONFLUENT_READS})
    client.assign([Place("read", 0, 0)])
    count = size = 0
    while count < READ:
        records = client.consume(1000, 1.0)
        count += len(records)
        for record in records if looks else ():
            size += len(record.value()) + record.offset()
    taken = perf_counter() - start
    client.close()
    return taken
