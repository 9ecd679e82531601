"""The work of a task besides reading: connections it keeps, offsets that vanish under it."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.filled_broker import FilledBroker

from kafkawire.client import BulkWriter
from kafkawire.spark import _workers as workers
from kafkawire.spark._columns import MAX_BYTES
from kafkawire.spark._topics.lookup import OffsetRange
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.tasks import RowShaper, pooled_reader, read_range
from kafkawire.spark._workers import tune_worker
from kafkawire.spark.errors import DataLossError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t")
        broker.fill("t", 10)
        yield broker


def options(broker: FilledBroker, **more: str) -> TopicOptions:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t", **more}
    return TopicOptions.parse(given, is_stream=False)


def offsets(wanted: OffsetRange, asked: TopicOptions) -> list[int]:
    return [row["offset"] for batch in read_range(wanted, ("offset",), asked) for row in batch.to_pylist()]


def test_offsets_that_vanish_before_the_task_runs_fail_it_or_are_skipped(broker: FilledBroker) -> None:
    broker.delete_records("t", 0, before=6)
    with pytest.raises(DataLossError, match="t-0 at offset 2"):
        offsets(OffsetRange("t", 0, 2, 10), options(broker))
    lenient = options(broker, failOnDataLoss="false")
    assert offsets(OffsetRange("t", 0, 2, 10), lenient) == [6, 7, 8, 9]
    assert offsets(OffsetRange("t", 0, 2, 5), lenient) == []


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_arrow_batches_have_a_size_that_the_jvm_reads_well(broker: FilledBroker, compression: str) -> None:
    count, size = 4_000, 4_000
    broker.create_topic("large")
    chance = random.Random(1)
    values = [chance.randbytes(40) * (size // 40) for _ in range(count)]
    with BulkWriter(broker.bootstrap_servers, compression_type=compression) as writer:
        writer.write("large", pa.record_batch({"value": values}))
    asked = options(broker, **{"kafka.max.partition.fetch.bytes": str(16 << 20)})
    found = list(read_range(OffsetRange("large", 0, 0, count), ("offset", "value"), asked))
    assert max(batch.nbytes for batch in found) <= MAX_BYTES
    assert min(batch.nbytes for batch in found[:-1]) > MAX_BYTES // 8
    assert pa.Table.from_batches(found).column("value").to_pylist() == values


def test_readers_are_kept_by_their_options(broker: FilledBroker) -> None:
    one, other = options(broker), options(broker, **{"kafka.client.id": "other"})
    assert pooled_reader(one.client) is pooled_reader(options(broker).client)
    assert pooled_reader(one.client) is not pooled_reader(other.client)


def test_loaded_modules_are_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(None))
    monkeypatch.setattr(workers, "_is_tuned", False)
    tune_worker()
    tune_worker()
    assert len(calls) == 1


def test_memory_of_large_buffers_is_kept_by_the_worker() -> None:
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("another C library than glibc")
    script = """
import resource
from kafkawire.spark._workers import tune_worker
tune_worker()
several = [bytes(8 << 20) + b"x" for _ in range(6)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    several.clear()
    several = [bytes(8 << 20) + b"x" for _ in range(6)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    faults = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(faults) < 60 * (8 << 20) / os.sysconf("SC_PAGE_SIZE") / 4


def test_rows_have_only_the_columns_asked_for_in_their_order(broker: FilledBroker) -> None:
    [batch] = read_range(OffsetRange("t", 0, 3, 5), ("topic", "offset", "partition"), options(broker))
    assert batch.to_pylist() == [{"topic": "t", "offset": n, "partition": 0} for n in (3, 4)]


def test_batches_are_rows_of_the_range_that_has_their_last_offset(broker: FilledBroker) -> None:
    broker.fill("t", 5, first=10, compression="gzip")
    asked = options(broker, table="batches")
    columns = ("topic", "base_offset", "last_offset", "codec", "record_count")

    def rows(start: int, end: int) -> list[tuple[object, ...]]:
        found = read_range(OffsetRange("t", 0, start, end), columns, asked)
        return [tuple(row.values()) for batch in found for row in batch.to_pylist()]

    first, second = ("t", 0, 9, "none", 10), ("t", 10, 14, "gzip", 5)
    assert rows(0, 15) == [first, second]
    assert rows(0, 7) == []
    assert rows(7, 12) == [first]
    assert rows(12, 15) == [second]


def test_times_that_spark_cannot_hold_are_null_and_old_records_have_no_time() -> None:
    shaper = RowShaper(("timestamp", "timestampType"), "t", 0)
    decoded = pa.record_batch(
        [pa.array([2**62, -1], pa.timestamp("ms", "UTC")), pa.array([0, -1], pa.int8())],
        names=["timestamp", "timestamp_type"],
    )
    [batch] = shaper.rows(decoded)
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [None, -1000]
    assert batch.column("timestampType").to_pylist() == [0, -1]
