"""Clients against our broker, a process of its own with its log on disk: ours and peers', interleaved in one run.

Rules:
- All read one topic: uncompressed values of 100 bytes in batches of 16 KiB, the same number of records, from connecting
  to the last record. All write the same values and are timed from the first send to the last acknowledgement.
- Peers have the settings with which they read fastest here; our own are the defaults.
- The median of the rounds counts, of each contender.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa

from benchmarks.report import Row
from kafkawire.client import BulkWriter, Consumer, Producer, TopicPartition
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.blocking import Producer as BlockingProducer
from kafkawire.client.options import ClientOptions, parse_address
from kafkawire.messages import CreateTopicsRequest, CreateTopicsResponse, ProduceRequest, ProduceResponse
from kafkawire.records import BatchBuilder

READ, LOOPED, WRITTEN, SENT_ALONE = 500_000, 100_000, 100_000, 300
VALUE = bytes(range(100))
ROUNDS = 5
WAITING, HELD_BACK = 20_000, 4 * 1024 * 1024
LATER: dict[str, Any] = {"compression_type": "lz4", "linger_ms": 60_000}
AIOKAFKA_READS = {"max_partition_fetch_bytes": 256 * 1024}
CONFLUENT_READS = {"queued.min.messages": 1_000_000}
CONFLUENT_WRITES = {"queue.buffering.max.messages": 2_000_000}
Contender = Callable[[str], float]


def _serve(ready: Any, done: Any) -> None:
    from kafkawire.broker._broker import Broker

    async def main() -> None:
        with tempfile.TemporaryDirectory() as directory:
            async with Broker(directory) as broker:
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
            count = 0
            while count < READ:
                count += sum(map(len, (await client.getmany(timeout_ms=1000)).values()))
            return perf_counter() - start

    return asyncio.run(main())


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


def aiokafka_consumer(bootstrap: str) -> float:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Theirs

    async def main() -> float:
        start = perf_counter()
        client = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", **AIOKAFKA_READS)
        await client.start()
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

    start = perf_counter()
    client = Theirs({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False, **CONFLUENT_READS})
    client.assign([Place("read", 0, 0)])
    count = 0
    while count < READ:
        count += len(client.consume(1000, 1.0))
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


def apart(contender: Contender) -> Contender:
    """In a process of its own."""

    def measured(bootstrap: str) -> float:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(contender, (bootstrap,))

    return measured


def _memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def cpu_of(contender: Contender) -> Contender:
    """CPU seconds, of all threads."""

    def measured(bootstrap: str) -> float:
        start = process_time()
        contender(bootstrap)
        return process_time() - start

    return measured


def rows() -> Iterator[Row]:
    with running_broker() as bootstrap:
        read, wrote = ", 100-byte values", ", 100-byte values, acks=1, lz4"
        kafka_python: dict[str, Contender] = {"kafka-python": kafka_python_producer}
        confluent: dict[str, Contender] = {"confluent-kafka": confluent_producer}
        works: list[tuple[str, Contender, dict[str, Contender], tuple[float, ...], int]] = [
            (
                "bulk fetch to Arrow" + read,
                bulk,
                {"confluent-kafka": confluent_consumer, "aiokafka": aiokafka_consumer},
                (5.0, 12.0),
                READ,
            ),
            (
                "Consumer records" + read,
                consumer,
                {"confluent-kafka": confluent_consumer, "aiokafka": aiokafka_consumer},
                (4.0, 2.0),
                READ,
            ),
            ("async for" + read, consumer_loop, {"aiokafka": aiokafka_loop}, (2.0,), LOOPED),
            (
                "Producer" + wrote,
                producer,
                {**confluent, "aiokafka": aiokafka_producer, **kafka_python},
                (0.7, 2.0, 1.0),
                WRITTEN,
            ),
            ("blocking Producer" + wrote, blocking_producer, {**confluent, **kafka_python}, (0.25, 1.0), WRITTEN),
            ("BulkWriter from Arrow" + wrote, bulk_writer, confluent, (2.0,), WRITTEN),
            ("Producer, one at a time", sends_alone, {"kafka-python": kafka_python_sends_alone}, (1.0,), SENT_ALONE),
        ]
        for work, ours, peers, floors, count in works:
            yield from _compare(bootstrap, work, ours, peers, floors, partial(_rate, count))
        for name, ours in (("Producer", producer), ("blocking Producer", blocking_producer)):
            peers = {"kafka-python": cpu_of(kafka_python_producer)}
            yield from _compare(bootstrap, f"CPU of {name}{wrote}", cpu_of(ours), peers, (1.0,), "{:,.2f} s".format, 3)
        reading = {"confluent-kafka": cpu_of(confluent_consumer)}
        yield from _compare(
            bootstrap, f"CPU of Consumer{read}", cpu_of(consumer), reading, (4.0,), "{:,.2f} s".format, 3
        )
        for name, ours in (("Producer", waiting), ("blocking Producer", blocking_waiting)):
            work, peers = (
                f"memory of {name}, {WAITING:,} records waiting",
                {"kafka-python": apart(kafka_python_waiting)},
            )
            yield from _compare(bootstrap, work, apart(ours), peers, (1.0,), "{:,.1f} MB".format, 1)


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds / 1e3:,.1f} k records/s"


def _compare(
    bootstrap: str,
    work: str,
    ours: Contender,
    peers: Mapping[str, Contender],
    floors: Sequence[float],
    words: Callable[[float], str],
    rounds: int = ROUNDS,
) -> Iterator[Row]:
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, contender in (("ours", ours), *peers.items()):
            try:
                taken.setdefault(name, []).append(contender(bootstrap))
            except ImportError:
                taken[name] = []
    middle = {name: statistics.median(times) if times else float("nan") for name, times in taken.items()}
    for name, floor in zip(peers, floors, strict=True):
        if middle[name] != middle[name]:
            yield Row(work, f"{name} is not installed", float("nan"))
            continue
        note = f"{words(middle['ours'])} against {words(middle[name])}"
        yield Row(work, f"x {name}", middle[name] / middle["ours"], floor, note=note)
