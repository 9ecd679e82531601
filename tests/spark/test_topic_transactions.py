"""Transactions in a log, read live with both isolation levels and from the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.filled_broker import FilledBroker

from kafkawire.testing.sample_logs import Headers, PartitionWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ABORT, COMMIT = 0, 1


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Offsets 0-1 committed, 3-4 aborted, 6 in no transaction, 7 committed by another, 9-10 open, 11 behind them."""
    root = tmp_path / "logs"
    with FilledBroker(data_dir=root) as broker:
        broker.create_topic("t")
    (root / ".kafka_cleanshutdown").unlink()  # so that the broker looks into the files, and indexes what was aborted
    for file in (root / "t-0").glob("0*"):
        file.unlink()
    writer = PartitionWriter(root, "t", 0)

    def write(values: list[bytes], producer: int, sequence: int = 0) -> None:
        records: list[tuple[bytes | None, bytes | None, Headers]] = [(None, value, []) for value in values]
        writer.append(records, is_transactional=True, producer_id=producer, producer_epoch=0, base_sequence=sequence)

    write([b"a", b"b"], 1)
    writer.mark(COMMIT, producer_id=1, producer_epoch=0)
    write([b"c", b"d"], 1, 2)
    writer.mark(ABORT, producer_id=1, producer_epoch=0)
    writer.append([(None, b"plain", [])])
    write([b"e"], 2)
    writer.mark(COMMIT, producer_id=2, producer_epoch=0)
    write([b"f", b"g"], 3)
    writer.append([(None, b"late", [])])
    return root


@pytest.fixture
def broker(logs: Path) -> Iterator[FilledBroker]:
    with FilledBroker(data_dir=logs) as broker:
        yield broker


def read(spark: SparkSession, broker: FilledBroker, isolation: str) -> list[tuple[int, bytes]]:
    reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    options = {"kafka.isolation.level": isolation, "kafka.fetch.max.wait.ms": "50", "subscribe": "t"}
    rows = reader.options(**options).load().select("offset", "value").collect()
    return sorted((row.offset, bytes(row.value)) for row in rows)


def test_only_what_was_committed_comes_where_that_is_asked_for(
    spark: SparkSession, broker: FilledBroker, logs: Path
) -> None:
    committed = [(0, b"a"), (1, b"b"), (6, b"plain"), (7, b"e")]
    rest = [(3, b"c"), (4, b"d"), (9, b"f"), (10, b"g"), (11, b"late")]
    assert read(spark, broker, "read_committed") == committed
    assert read(spark, broker, "read_uncommitted") == sorted(committed + rest)
    stored = spark.read.format("kafkawire-segments").load(str(logs / "t-0")).select("offset", "value").collect()
    assert sorted((row.offset, bytes(row.value)) for row in stored) == sorted(committed + rest)
