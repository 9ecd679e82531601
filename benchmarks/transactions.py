"""Transactions of our clients on our broker, a process of its own: what they cost beside work without them.

Rules:
- Contenders take turns, in short rounds; the best round of each counts.
- Values have 1 000 bytes, and options have their defaults. Logs grow in pages that were made warm before: memory that
  the machine has never used takes longer than anything that is measured here.
- Records are sent in transactions of 1 000. The same producers without a transactional id send the same records, and
  wait for all of them at the end.
- Throughput is that of four producers on one event loop, so that one works while another waits for its commit. One
  producer alone also waits for the answers to its last records and to EndTxn, in every transaction. That is latency,
  and its row has no floor. On Apache Kafka 4.3.1 our client reached 0.29 of its throughput without transactions with
  one producer, and 0.66 with four; on our broker, beside it, 0.86 and 0.82. The machine was busy.
- A tenth of the records that are read was aborted. Both readers read the whole partition; readers of committed records
  return nine tenths of the rows.
- A broker starts with transactional ids that each have had one transaction, thus four records. The time ends with its
  first answer. It is killed before, or stopped.
- `benchmarks/apache.py` compares transactions of confluent-kafka with those on Apache Kafka.
"""

from __future__ import annotations

import asyncio
import gc
import math
import socket
import tempfile
from contextlib import AsyncExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.broker import broker, call, server
from benchmarks.log import warm
from benchmarks.report import Row
from kafkawire.client import BulkReader, BulkWriter, NewTopic, Producer
from kafkawire.client.blocking import Admin
from kafkawire.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.messages import Message

VALUE = bytes(range(250)) * 4
PER_TRANSACTION, TRANSACTIONS, PRODUCERS = 1_000, 40, 4
READ, PER_READ_TRANSACTION = 1_000_000, 1_000
ROUNDS = 9
IDS, UNDER_WAY, STARTS = 10_000, 500, 4
WARM = 3 << 30


def produce(
    bootstrap: str, transactional_id: str | None, producers: int, clock: Callable[[], float] = perf_counter
) -> float:
    """Seconds in which so many producers send all records, and get them acknowledged."""

    async def send(producer: Producer) -> None:
        for _ in range(TRANSACTIONS // producers):
            if transactional_id is not None:
                await producer.begin()
            for _ in range(PER_TRANSACTION):
                await producer.send("written", VALUE)
            if transactional_id is not None:
                await producer.commit()
        await producer.flush()

    async def main() -> float:
        options: Any = {"bootstrap_servers": bootstrap}
        async with AsyncExitStack() as stack:
            working = []
            for number in range(producers):
                named = None if transactional_id is None else f"{transactional_id}-{number}"
                working.append(await stack.enter_async_context(Producer(transactional_id=named, **options)))
                await working[-1].partitions_for("written")
            start = clock()
            await asyncio.gather(*map(send, working))
            return clock() - start

    return asyncio.run(main())


def write(bootstrap: str, transactional_id: str | None) -> float:
    """Seconds to write and acknowledge all rows in bulk."""
    rows = pa.record_batch({"value": pa.array([VALUE] * PER_TRANSACTION, pa.binary())})
    with BulkWriter(bootstrap, transactional_id=transactional_id) as writer:
        if transactional_id is not None:
            writer.begin()
            writer.abort()
        start = perf_counter()
        for _ in range(TRANSACTIONS):
            if transactional_id is not None:
                writer.begin()
            writer.write("written", rows)
            if transactional_id is not None:
                writer.commit()
        writer.flush()
        return perf_counter() - start


def read(bootstrap: str, isolation: str) -> float:
    """Seconds to read a partition in which a tenth of the records was aborted."""
    start = perf_counter()
    with BulkReader(bootstrap, isolation_level=isolation) as reader:
        count = sum(batch.num_rows for batch in reader.read("read", 0, 0))
    expected = READ // 10 * 9 if isolation == "read_committed" else READ
    assert count == expected, (count, expected)
    return perf_counter() - start


def fill(bootstrap: str) -> None:
    """Every tenth transaction is aborted."""
    rows = pa.record_batch({"value": pa.array([VALUE[:100]] * PER_READ_TRANSACTION, pa.binary())})
    with BulkWriter(bootstrap, transactional_id="fill", max_batch_size=16_384) as writer:
        for number in range(READ // PER_READ_TRANSACTION):
            writer.begin()
            writer.write("read", rows)
            writer.flush()
            if number % 10:
                writer.commit()
            else:
                writer.abort()


def compare(
    name: str, ours: Callable[[], float], other: Callable[[], float], count: int, than: str, floor: float | None = 0.9
) -> Row:
    """How fast one is beside the other."""
    best = [math.inf, math.inf]
    for _ in range(ROUNDS):
        for index, work in enumerate((ours, other)):
            gc.collect()
            best[index] = min(best[index], work())
    note = f"{count / best[0] / 1e3:,.0f} k records/s against {count / best[1] / 1e3:,.0f} k"
    return Row(name, f"x {than}", best[1] / best[0], floor, note=note)


def ask(connection: socket.socket, version: int, requests: Iterable[Message]) -> Iterator[bytes]:
    """The answers to requests, many of which are under way at a time."""
    frames = (encode_request(each, version=version, correlation_id=1, client_id="bench") for each in requests)
    while part := list(islice(frames, UNDER_WAY)):
        connection.sendall(b"".join(part))
        for _ in part:
            size = connection.recv(4, socket.MSG_WAITALL)
            yield size + connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)


def use_ids(port: int) -> None:
    """Commit one transaction of each transactional id."""
    place = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="used", partitions=[0])
    names = [f"id-{number}" for number in range(IDS)]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        call(connection, FindCoordinatorRequest(key=names[0], key_type=1), 1)
        initiate = (InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000) for name in names)
        ids: dict[str, int] = {}
        for name, frame in zip(names, ask(connection, 1, initiate), strict=True):
            answer = decode_response(frame, api_key=22, version=1)[1]
            assert isinstance(answer, InitProducerIdResponse)
            ids[name] = answer.producer_id
        adding = (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=0,
                v3_and_below_topics=[place],
            )
            for name, producer_id in ids.items()
        )
        ending = (
            EndTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=0, committed=True)
            for name, producer_id in ids.items()
        )
        for version, requests in ((3, adding), (3, ending)):
            assert len(list(ask(connection, version, requests))) == IDS


def start_rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        with server(*broker("--data", directory)) as running:
            with Admin(bootstrap_servers=f"127.0.0.1:{running.port}") as admin:
                admin.create_topics([NewTopic("used", 1)])
            use_ids(running.port)
        for how in ("stopped", "killed"):
            taken = []
            for _ in range(STARTS):
                with server(*broker("--data", directory)) as running:
                    taken.append(running.seconds)
                    with Admin(bootstrap_servers=f"127.0.0.1:{running.port}") as admin:
                        states = [each.state for each in admin.list_transactions()]
                    assert states == ["CompleteCommit"] * IDS
                    if how == "killed":
                        running.process.kill()
            # The first start of a directory follows the end of another kind.
            yield Row(f"start with {IDS // 1_000} 000 transactional ids, {how}", "s", min(taken[1:]), 1, at_most=True)


def rows() -> Iterator[Row]:
    yield from start_rows()
    yield from throughput_rows()


def throughput_rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory, server(*broker("--data", directory)) as running:
        bootstrap = f"127.0.0.1:{running.port}"
        with Admin(bootstrap_servers=bootstrap) as admin:
            admin.create_topics([NewTopic("written", 3), NewTopic("read", 1)])
        fill(bootstrap)
        warm(Path(directory) / "warm", WARM)
        sent = PER_TRANSACTION * TRANSACTIONS
        for producers, floor in ((PRODUCERS, 0.9), (1, None)):
            yield compare(
                f"1 000 records per transaction, {producers} producer{'s' if producers > 1 else ''}",
                partial(produce, bootstrap, "bench", producers),
                partial(produce, bootstrap, None, producers),
                sent,
                "idempotent",
                floor,
            )
        yield compare(
            "processor time of one of these producers",
            partial(produce, bootstrap, "bench", 1, process_time),
            partial(produce, bootstrap, None, 1, process_time),
            sent,
            "idempotent",
        )
        yield compare(
            "1 000 rows per transaction, one BulkWriter",
            partial(write, bootstrap, "bulk"),
            partial(write, bootstrap, None),
            sent,
            "idempotent",
            None,
        )
        yield compare(
            "BulkReader of committed records, 10 % aborted",
            partial(read, bootstrap, "read_committed"),
            partial(read, bootstrap, "read_uncommitted"),
            READ,
            "uncommitted",
        )
