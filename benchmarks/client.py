"""Clients against our broker, a process of its own with its log on disk: ours and peers', interleaved in one run.

Rules:
- All read one topic: uncompressed values of 100 bytes in batches of 16 KiB, the same number of records, from connecting
  to the last record. All write the same values and are timed from the first send to the last acknowledgement.
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
from time import process_time
from typing import Any

from benchmarks._reading_clients import (
    LOOPED,
    READ,
    aiokafka_consumer,
    aiokafka_loop,
    blocking_consumer,
    bulk,
    confluent_consumer,
    consumer,
    consumer_loop,
)
from benchmarks._writing_clients import (
    SENT_ALONE,
    VALUE,
    WAITING,
    WRITTEN,
    aiokafka_producer,
    blocking_producer,
    blocking_waiting,
    bulk_writer,
    confluent_producer,
    kafka_python_producer,
    kafka_python_sends_alone,
    kafka_python_waiting,
    producer,
    sends_alone,
    waiting,
)
from benchmarks.report import Row
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.options import ClientOptions, parse_address
from kafkawire.messages import CreateTopicsRequest, CreateTopicsResponse, ProduceRequest, ProduceResponse
from kafkawire.records import BatchBuilder

ROUNDS = 5
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


def apart(contender: Contender) -> Contender:
    """In a process of its own."""

    def measured(bootstrap: str) -> float:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(contender, (bootstrap,))

    return measured


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
                {
                    "confluent-kafka": partial(confluent_consumer, looks=False),
                    "aiokafka": partial(aiokafka_consumer, looks=False),
                },
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
            (
                "blocking Consumer records" + read,
                blocking_consumer,
                {"confluent-kafka": confluent_consumer},
                (4.0,),
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
        for name, ours in (("Consumer", consumer), ("blocking Consumer", blocking_consumer)):
            yield from _compare(bootstrap, f"CPU of {name}{read}", cpu_of(ours), reading, (4.0,), "{:,.3f} s".format)
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
