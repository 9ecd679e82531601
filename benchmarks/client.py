"""Clients against our broker, in a process of its own: records a second, ours and peers', interleaved in one run."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from benchmarks.report import Row
from kafkawire.client import Consumer, Producer, TopicPartition
from kafkawire.client.blocking import Producer as BlockingProducer
from kafkawire.client.fetch import BulkReader
from kafkawire.client.options import ClientOptions, parse_address
from kafkawire.client.sockets import SocketConnection
from kafkawire.messages import CreateTopicsRequest, CreateTopicsResponse, ProduceRequest, ProduceResponse
from kafkawire.records import BatchBuilder

READ, LOOPED, WRITTEN = 500_000, 100_000, 100_000
VALUE = bytes(range(100))
ROUNDS = 3
Contender = Callable[[str], float]


def _serve(ready: Any, done: Any) -> None:
    from kafkawire.broker.broker import Broker

    async def main() -> None:
        async with Broker() as broker:
            ready.put(broker.bootstrap)
            await asyncio.get_running_loop().run_in_executor(None, done.get)

    asyncio.run(main())


@contextmanager
def running_broker() -> Iterator[str]:
    """A broker in another process, with a topic of records to read and topics to write to."""
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Queue(), spawn.Queue()
    process = spawn.Process(target=_serve, args=(ready, done), daemon=True)
    process.start()
    try:
        bootstrap = ready.get(timeout=30)
        _fill(bootstrap)
        yield bootstrap
    finally:
        done.put(None)
        process.join(10)


def _fill(bootstrap: str) -> None:
    connection = SocketConnection(*parse_address(bootstrap), ClientOptions())
    topics = [
        CreateTopicsRequest.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
        for name, count in (("read", 1), ("written", 3))
    ]
    connection.request(CreateTopicsRequest(topics=topics, timeout_ms=5000), CreateTopicsResponse)
    builder = BatchBuilder(size_limit=16_384)
    while builder.append(None, VALUE, 1_700_000_000_000):
        pass
    batch, count = builder.build(), builder.count
    for _ in range(-(-READ // count)):
        data = ProduceRequest.PartitionProduceData(index=0, records=batch)
        topic = ProduceRequest.TopicProduceData(name="read", partition_data=[data])
        connection.request(ProduceRequest(acks=1, timeout_ms=5000, topic_data=[topic]), ProduceResponse, version=9)
    connection.close()


def bulk(bootstrap: str) -> float:
    with BulkReader(bootstrap) as reader:
        reader.partitions("read")
        start = perf_counter()
        rows = sum(batch.num_rows for batch in reader.read("read", 0, 0, READ))
        assert rows == READ
        return perf_counter() - start


def consumer(bootstrap: str) -> float:
    async def main() -> float:
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
            start = perf_counter()
            client.assign([TopicPartition("read", 0)])
            count = 0
            while count < READ:
                count += sum(map(len, (await client.getmany(timeout_ms=1000)).values()))
            return perf_counter() - start

    return asyncio.run(main())


def consumer_loop(bootstrap: str) -> float:
    async def main() -> float:
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
            start = perf_counter()
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
        client = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        await client.start()
        start = perf_counter()
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


def aiokafka_consumer(bootstrap: str) -> float:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Theirs

    async def main() -> float:
        client = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        await client.start()
        start = perf_counter()
        client.assign([Theirs("read", 0)])
        count = 0
        while count < READ:
            count += sum(map(len, (await client.getmany(timeout_ms=1000)).values()))
        taken = perf_counter() - start
        await client.stop()
        return taken

    return asyncio.run(main())


def confluent_consumer(bootstrap: str) -> float:
    from confluent_kafka import Consumer as Theirs
    from confluent_kafka import TopicPartition as Place

    client = Theirs({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    start = perf_counter()
    client.assign([Place("read", 0, 0)])
    count = 0
    while count < READ:
        count += len(client.consume(5000, 1.0))
    taken = perf_counter() - start
    client.close()
    return taken


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


def rows() -> Iterator[Row]:
    with running_broker() as bootstrap:
        peers: Mapping[str, Contender]
        for work, ours, peers, floors, count in (
            (
                "bulk fetch to Arrow, 100-byte values",
                bulk,
                {"confluent-kafka": confluent_consumer, "aiokafka": aiokafka_consumer},
                {"confluent-kafka": 5.0, "aiokafka": 12.0},
                READ,
            ),
            ("Consumer records, 100-byte values", consumer, {"aiokafka": aiokafka_consumer}, {"aiokafka": 2.0}, READ),
            ("async for, 100-byte values", consumer_loop, {"aiokafka": aiokafka_loop}, {"aiokafka": 2.0}, LOOPED),
            (
                "Producer, 100-byte values, acks=1, lz4",
                producer,
                {"aiokafka": aiokafka_producer, "kafka-python": kafka_python_producer},
                {"aiokafka": 2.0, "kafka-python": 1.0},
                WRITTEN,
            ),
            (
                "blocking Producer, 100-byte values, acks=1, lz4",
                blocking_producer,
                {"kafka-python": kafka_python_producer},
                {"kafka-python": 1.0},
                WRITTEN,
            ),
        ):
            yield from _compare(bootstrap, work, ours, peers, floors, count)


def _compare(
    bootstrap: str,
    work: str,
    ours: Contender,
    peers: Mapping[str, Contender],
    floors: dict[str, float],
    count: int,
) -> Iterator[Row]:
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, contender in (("ours", ours), *peers.items()):
            try:
                best[name] = min(best.get(name, float("inf")), contender(bootstrap))
            except ImportError:
                best[name] = float("nan")
    for name in peers:
        if best[name] != best[name]:
            yield Row(work, f"{name} is not installed", float("nan"))
            continue
        note = f"{count / best['ours'] / 1e3:,.0f} k records/s against {count / best[name] / 1e3:,.0f} k"
        yield Row(work, f"x {name}", best[name] / best["ours"], floors[name], note=note)
