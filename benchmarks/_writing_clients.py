"""Clients that write to the topic `written`, ours and peers: seconds from the first send to the last acknowledgement.

Some measure the memory of records that wait to be sent instead, in megabytes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkawire.client import BulkWriter, Producer
from kafkawire.client.blocking import Producer as BlockingProducer

if TYPE_CHECKING:
    from collections.abc import Sequence

WRITTEN, SENT_ALONE = 100_000, 300
VALUE = bytes(range(100))
WAITING, HELD_BACK = 20_000, 4 * 1024 * 1024
LATER: dict[str, Any] = {"compression_type": "lz4", "linger_ms": 60_000}
CONFLUENT_WRITES = {"queue.buffering.max.messages": 2_000_000}


def producer(bootstrap: str) -> float:
    async def main() -> float:
        async with Producer(bootstrap_servers=bootstrap, acks=1, compression_type="lz4") as client:
            await client.partitions_for("written")
            start = perf_counter()
            for _ in range(WRITTEN):
                await client.send("written", VALUE)
            await client.flush()
            return perf_counter() - start

    return asyncio.run(main())


def blocking_producer(bootstrap: str) -> float:
    with BlockingProducer(bootstrap_servers=bootstrap, acks=1, compression_type="lz4") as client:
        client.partitions_for("written")
        start = perf_counter()
        for _ in range(WRITTEN):
            client.send("written", VALUE)
        client.flush()
        return perf_counter() - start


def aiokafka_producer(bootstrap: str) -> float:
    from aiokafka import AIOKafkaProducer

    async def main() -> float:
        client = AIOKafkaProducer(bootstrap_servers=bootstrap, acks=1, compression_type="lz4")
        await client.start()
        await client.partitions_for("written")
        start = perf_counter()
        for _ in range(WRITTEN):
            await client.send("written", VALUE)
        await client.flush()
        taken = perf_counter() - start
        await client.stop()
        return taken

    return asyncio.run(main())


def kafka_python_producer(bootstrap: str) -> float:
    from kafka import KafkaProducer

    client = KafkaProducer(bootstrap_servers=bootstrap, acks=1, compression_type="lz4", enable_idempotence=False)
    client.partitions_for("written")
    start = perf_counter()
    for _ in range(WRITTEN):
        client.send("written", VALUE)
    client.flush()
    taken = perf_counter() - start
    client.close()
    return float(taken)


def confluent_producer(bootstrap: str) -> float:
    from confluent_kafka import Producer as Theirs

    client = Theirs({"bootstrap.servers": bootstrap, "acks": 1, "compression.type": "lz4", **CONFLUENT_WRITES})
    client.produce("written", VALUE)
    client.flush()
    start = perf_counter()
    for number in range(WRITTEN):
        client.produce("written", VALUE)
        if not number % 1_000:
            client.poll(0)
    assert client.flush(30) == 0
    return perf_counter() - start


def bulk_writer(bootstrap: str) -> float:
    rows = pa.record_batch({"value": pa.array([VALUE] * WRITTEN)})
    with BulkWriter(bootstrap, acks=1, compression_type="lz4") as writer:
        writer.write("written", rows.slice(0, 1))
        writer.flush()
        start = perf_counter()
        writer.write("written", rows)
        writer.flush()
        return perf_counter() - start


def sends_alone(bootstrap: str) -> float:
    """Seconds a record, each acknowledged before the next is sent."""
    with BlockingProducer(bootstrap_servers=bootstrap, acks=1) as client:
        client.partitions_for("written")
        start = perf_counter()
        for _ in range(SENT_ALONE):
            client.send("written", VALUE).result(10)
        return perf_counter() - start


def kafka_python_sends_alone(bootstrap: str) -> float:
    from kafka import KafkaProducer

    client = KafkaProducer(bootstrap_servers=bootstrap, acks=1, enable_idempotence=False)
    client.partitions_for("written")
    start = perf_counter()
    for _ in range(SENT_ALONE):
        client.send("written", VALUE).get(10)
    taken = perf_counter() - start
    client.close()
    return float(taken)


def waiting(bootstrap: str) -> float:
    """Megabytes for records that wait to be sent, and their futures."""

    async def main() -> float:
        async with Producer(bootstrap_servers=bootstrap, max_batch_size=HELD_BACK, **LATER) as client:
            await client.partitions_for("written")
            before = _memory("VmRSS")
            futures = [await client.send("written", VALUE) for _ in range(WAITING)]
            return _grown(before, futures)

    return asyncio.run(main())


def blocking_waiting(bootstrap: str) -> float:
    with BlockingProducer(bootstrap_servers=bootstrap, max_batch_size=HELD_BACK, **LATER) as client:
        client.partitions_for("written")
        before = _memory("VmRSS")
        return _grown(before, [client.send("written", VALUE) for _ in range(WAITING)])


def kafka_python_waiting(bootstrap: str) -> float:
    from kafka import KafkaProducer

    client = KafkaProducer(bootstrap_servers=bootstrap, batch_size=HELD_BACK, **LATER)
    client.partitions_for("written")
    before = _memory("VmRSS")
    grown = _grown(before, [client.send("written", VALUE) for _ in range(WAITING)])
    client.close()
    return grown


def _grown(before: float, futures: Sequence[object]) -> float:
    assert len(futures) == WAITING
    return _memory("VmRSS") - before


def _memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))
