"""Bulk reading over blocking sockets: ranges, columns, looking up offsets, and faults."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.errors import ClientError, ClosedError, ConnectionLostError, RequestTimeoutError
from kafkawire.messages.errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from tests.client.topics import Topics

COUNT = 5000


@pytest.fixture(scope="module")
def topic(broker: Topics) -> str:
    broker.create_topic("bulk", 3)
    broker.fill("bulk", COUNT)
    broker.fill("bulk", 10, partition=2)
    return "bulk"


@pytest.fixture
def reader(broker: Topics) -> Iterator[BulkReader]:
    with BulkReader(broker.bootstrap, fetch_max_wait_ms=20) as reader:
        yield reader


@pytest.fixture
def impatient(broker: Topics) -> Iterator[BulkReader]:
    with BulkReader(broker.bootstrap, fetch_max_wait_ms=20, default_api_timeout_ms=1000) as reader:
        yield reader


def values(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [int(value or 0) for batch in batches for value in batch.column("value").to_pylist()]


def test_a_whole_partition_is_read_to_its_present_end(reader: BulkReader, topic: str) -> None:
    assert values(reader.read(topic, 0, 0)) == list(range(COUNT))


@pytest.mark.parametrize(("start", "end"), [(0, 1), (150, 151), (99, 301), (COUNT - 1, COUNT), (7, 7), (9, 3)])
def test_a_range_is_half_open_wherever_batches_begin(reader: BulkReader, topic: str, start: int, end: int) -> None:
    assert values(reader.read(topic, 0, start, end)) == list(range(start, end))


def test_a_small_fetch_takes_more_fetches(reader: BulkReader, topic: str) -> None:
    batches = list(reader.read(topic, 0, 0, 1000, fetch_bytes=5000))
    assert len(batches) > 3
    assert values(iter(batches)) == list(range(1000))


def test_columns_are_those_asked_for(reader: BulkReader, topic: str) -> None:
    (batch,) = reader.read(topic, 2, 3, 5, columns=["key", "offset"])
    assert batch.to_pylist() == [{"key": b"k3", "offset": 3}, {"key": b"k4", "offset": 4}]


def test_partitions_and_offsets_are_looked_up(reader: BulkReader, topic: str) -> None:
    assert topic in reader.topics()
    assert reader.partitions(topic) == [0, 1, 2]
    assert reader.earliest(topic) == {0: 0, 1: 0, 2: 0}
    assert reader.latest(topic) == {0: COUNT, 1: 0, 2: 10}
    assert reader.latest(topic, [2], isolation="read_committed") == {2: 10}
    assert reader.offsets_at(topic, 1_700_000_000_004, [0, 1, 2]) == {0: 4, 1: None, 2: 4}


def test_readings_follow_each_other_on_the_same_connection(reader: BulkReader, topic: str, broker: Topics) -> None:
    values(reader.read(topic, 0, 0, 10))
    before = broker.connections_made()
    for _ in range(5):
        assert values(reader.read(topic, 2, 0, 10)) == list(range(10))
    assert broker.connections_made() == before


def test_no_fetch_goes_out_on_a_connection_whose_session_is_about_over(
    reader: BulkReader, topic: str, broker: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SocketConnection, "is_stale", True)
    before = broker.connections_made()
    batches = list(reader.read(topic, 0, 0, 1000, fetch_bytes=5000))
    assert values(iter(batches)) == list(range(1000))
    assert broker.connections_made() > before + len(batches) > before + 3


def test_readings_may_run_side_by_side(reader: BulkReader, topic: str) -> None:
    one, other = reader.read(topic, 0, 0, 500), reader.read(topic, 2, 0, 10)
    first = next(other)
    assert values(one) == list(range(500))
    assert values(iter([first, *other])) == list(range(10))


def test_a_reading_that_is_left_leaves_nothing_behind(reader: BulkReader, topic: str, broker: Topics) -> None:
    reader.partitions(topic)
    threads, connections = set(threading.enumerate()), broker.connections_made()
    reading = reader.read(topic, 0, 0, COUNT, fetch_bytes=2000)
    next(reading)
    reading.close()  # type: ignore[attr-defined]  # it is a generator
    assert set(threading.enumerate()) <= threads
    assert values(reader.read(topic, 0, 0, 10)) == list(range(10))
    assert broker.connections_made() == connections + 2


def test_an_offset_that_the_log_does_not_have_is_an_error(reader: BulkReader, topic: str) -> None:
    with pytest.raises(OffsetOutOfRangeError, match=f"bulk-0 at offset {COUNT + 1}"):
        list(reader.read(topic, 0, COUNT + 1, COUNT + 9))
    with pytest.raises(ClientError, match="offset -5, expected 0 or more"):
        reader.read(topic, 0, -5, 1)


def test_a_range_beyond_the_end_waits_and_then_says_where_it_stands(impatient: BulkReader, topic: str) -> None:
    reading = impatient.read(topic, 2, 5, 11)
    assert values(iter([next(reading)])) == [5, 6, 7, 8, 9]
    with pytest.raises(RequestTimeoutError, match=r"bulk-2: .*at offset 10 .*1 s"):
        next(reading)


def test_a_topic_that_does_not_exist(reader: BulkReader, impatient: BulkReader) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match="topic 'missing'"):
        reader.partitions("missing")
    with pytest.raises(RequestTimeoutError, match="missing"):
        impatient.latest("missing")


def test_a_reader_that_is_closed_refuses(broker: Topics, topic: str) -> None:
    reader = BulkReader(broker.bootstrap)
    running = reader.read(topic, 0, 0, 10, columns=["offset"])
    first = next(running)
    reader.close()
    assert sum(batch.num_rows for batch in (first, *running)) == 10
    with pytest.raises(ClosedError):
        reader.latest(topic)
    with pytest.raises(ClosedError):
        next(reader.read(topic, 0, 0, 10))


def test_nobody_listens() -> None:
    with (
        BulkReader("127.0.0.1:1", default_api_timeout_ms=50) as reader,
        pytest.raises((ConnectionLostError, RequestTimeoutError), match=r"127\.0\.0\.1:1"),
    ):
        reader.partitions("any")


def test_a_bad_isolation_is_refused(reader: BulkReader, topic: str) -> None:
    with pytest.raises(ClientError, match="isolation 'dirty': expected read_committed or read_uncommitted"):
        reader.read(topic, 0, 0, 1, isolation="dirty")


def test_a_large_answer_comes_in_parts(reader: BulkReader, broker: Topics) -> None:
    broker.create_topic("large", max_message_bytes="30000000")
    broker.append("large", 0, [(None, bytes(1_000_000))] * 20, compression="zstd")
    batches = list(reader.read("large", 0, 0, 20, columns=["value"]))
    assert len(batches) >= 3
    assert sum(batch.num_rows for batch in batches) == 20


def test_a_topic_that_unpacks_to_a_thousand_times_its_size_comes_in_bounded_parts(
    reader: BulkReader, broker: Topics
) -> None:
    broker.create_topic("tight")
    for _ in range(24):
        broker.append("tight", 0, [(None, bytes(1_000_000))] * 4, compression="zstd")
    sizes, offsets = [], []
    for batch in reader.read("tight", 0, 1, 96, columns=["offset", "value"]):
        sizes.append(batch.nbytes)
        offsets += batch.column("offset").to_pylist()
    assert offsets == list(range(1, 96))
    assert max(sizes) < 16_000_000
