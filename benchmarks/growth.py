"""The cost of a unit in inputs of 1, 10 and 100 times a size: it must not grow with the size.

Rules:
- The cost is the processor time of this process, the least of several rounds. The broker is another process.
- Columns stay below 32 MB. Above, the C library takes fresh pages from the system for each call. That costs four
  times as much as decoding records of 100 bytes, and is linear from there on.
- Clients connect within the measured time, once for each size.
- Captures by commands are in `captures`, next to tshark.
"""

from __future__ import annotations

import asyncio
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import pyarrow as pa
from tests.inspect.captures import write_pcap
from tests.inspect.cluster_traffic import cluster_traffic

from benchmarks._writing_clients import VALUE
from benchmarks.client import running_broker
from benchmarks.report import Row, growth
from kafkawire.client import BulkReader, BulkWriter, Consumer, Producer, TopicPartition
from kafkawire.inspect import find_incidents, read_captures
from kafkawire.records import BatchBuilder, read_batches, to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES = (1, 10, 100)
ROUNDS = 3
RECORDS, SENT, WRITTEN, DECODED, CONNECTIONS, EXCHANGES = 5_000, 1_000, 10_000, 2_000, 1, 1_500


def rows() -> Iterator[Row]:
    yield from _decoding()
    yield from _captures()
    with running_broker() as bootstrap:
        works: list[tuple[str, int, Callable[[str, int], object]]] = [
            ("Consumer records", RECORDS, _consume),
            ("BulkReader", RECORDS, _read),
            ("Producer", SENT, _produce),
            ("BulkWriter", WRITTEN, _write),
        ]
        for name, size, work in works:
            sizes = [size * times for times in TIMES]
            yield growth(name, "record", {count: _cost(count, partial(work, bootstrap, count)) for count in sizes})


def _cost(units: int, work: Callable[[], object]) -> float:
    """Seconds of processor time per unit."""
    taken = []
    for _ in range(ROUNDS):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken) / units


def _decoding() -> Iterator[Row]:
    """One batch of many records, as columns and as objects."""
    batches = {count: _batch(count) for count in (DECODED * times for times in TIMES)}
    columns = {count: _cost(count, partial(to_arrow, batch)) for count, batch in batches.items()}
    yield growth("a big batch to columns", "record", columns)
    objects = {count: _cost(count, partial(_records, batch)) for count, batch in batches.items()}
    yield growth("a big batch to records", "record", objects)


def _batch(count: int) -> bytes:
    builder = BatchBuilder()
    for number in range(count):
        builder.append(None, VALUE, 1_700_000_000_000 + number)
    return builder.build()


def _records(batch: bytes) -> int:
    return sum(1 for each in read_batches(batch) for _ in each.records())


def _captures() -> Iterator[Row]:
    """Captures to tables and findings, without starting a process."""
    tables: dict[int, float] = {}
    findings: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        for connections in (CONNECTIONS * times for times in TIMES):
            path.write_bytes(write_pcap(cluster_traffic(connections, EXCHANGES, payload=80).packets))
            exchanges = connections * EXCHANGES
            tables[exchanges] = _cost(exchanges, partial(read_captures, [path]))
            reading = read_captures([path])
            findings[exchanges] = _cost(exchanges, partial(find_incidents, reading.tables))
    yield growth("captures to tables", "exchange", tables)
    yield growth("findings of captures", "exchange", findings)


def _consume(bootstrap: str, count: int) -> None:
    async def main() -> None:
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as client:
            client.assign([TopicPartition("read", 0)])
            left = count
            while left > 0:
                found = await client.getmany(timeout_ms=1000, max_records=left)
                left -= sum(map(len, found.values()))

    asyncio.run(main())


def _read(bootstrap: str, count: int) -> None:
    with BulkReader(bootstrap) as reader:
        assert sum(batch.num_rows for batch in reader.read("read", 0, 0, count)) == count


def _produce(bootstrap: str, count: int) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=bootstrap, acks=1, compression_type="lz4") as client:
            for _ in range(count):
                await client.send("written", VALUE)
            await client.flush()

    asyncio.run(main())


def _write(bootstrap: str, count: int) -> None:
    table = pa.record_batch({"value": pa.array([VALUE] * count)})
    with BulkWriter(bootstrap, acks=1, compression_type="lz4") as writer:
        writer.write("written", table)
        writer.flush()
