"""Bulk writing over blocking sockets: where rows go, in which order, and what becomes of faults."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.client.produced_log import LOSE_ANSWER, LOSE_REQUEST, STORED, ProducedLog

from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._bulk.writer import BulkWriter
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client._produce.partitioner import partition_of_key
from kafkawire.client.errors import (
    ClosedError,
    OptionError,
    RecordTooLargeError,
    RequestTimeoutError,
    UnknownPartitionError,
)
from kafkawire.messages.errors import MessageTooLargeError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from tests.client.topics import Topics

QUICK: dict[str, Any] = {"retry_backoff_ms": 2, "retry_backoff_max_ms": 5}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def write(bootstrap: str, topic: str, *chunks: dict[str, Any], **options: Any) -> None:
    with BulkWriter(bootstrap, **{**QUICK, **options}) as writer:
        for chunk in chunks:
            writer.write(topic, pa.record_batch(chunk))


def read(bootstrap: str, topic: str, partition: int = 0) -> list[dict[str, Any]]:
    with BulkReader(bootstrap, fetch_max_wait_ms=20) as reader:
        batches = list(reader.read(topic, partition, 0))
        return pa.Table.from_batches(batches).to_pylist() if batches else []


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_rows_are_read_back_as_they_were_written(broker: Topics, codec: str) -> None:
    topic = f"back-{codec}"
    broker.create_topic(topic)
    headers = [[("a", b"1"), ("a", None)], None, []]
    write(
        broker.bootstrap,
        topic,
        {
            "key": pa.array([b"k", None, b""], pa.binary()),
            "value": pa.array(["one", None, ""], pa.string()),
            "headers": pa.array(headers, HEADERS),
            "timestamp": pa.array([5, 6, 7], pa.int64()),
        },
        compression_type=codec,
    )
    rows = read(broker.bootstrap, topic)
    assert [(row["key"], row["value"]) for row in rows] == [(b"k", b"one"), (None, None), (b"", b"")]
    assert [[(each["key"], each["value"]) for each in row["headers"]] for row in rows] == [headers[0], [], []]
    assert [row["timestamp"].timestamp() for row in rows] == [0.005, 0.006, 0.007]


def test_rows_go_where_they_say_or_their_key_does_in_their_order(broker: Topics) -> None:
    broker.create_topic("placed", 3)
    keys = [b"key %d" % (number % 50) for number in range(3000)]
    chunk = {
        "key": pa.array(keys, pa.binary()),
        "value": pa.array([str(number) for number in range(3000)]),
        "partition": pa.array([1 if number % 100 == 0 else None for number in range(3000)], pa.int32()),
    }
    write(broker.bootstrap, "placed", chunk, batch_size=2000)
    expected: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for number, key in enumerate(keys):
        expected[1 if number % 100 == 0 else partition_of_key(key, 3)].append(number)
    assert {
        each: [int(row["value"]) for row in read(broker.bootstrap, "placed", each)] for each in range(3)
    } == expected


def test_rows_without_a_key_stay_together_and_move_on_with_the_next_call(broker: Topics) -> None:
    broker.create_topic("keyless", 2)
    write(broker.bootstrap, "keyless", *({"value": [b"%d" % number] * 10} for number in range(4)))
    values = [[row["value"] for row in read(broker.bootstrap, "keyless", each)] for each in (0, 1)]
    assert sorted(map(len, values)) == [20, 20]
    assert {value[0] for value in values} == {b"0", b"1"}


def test_times_are_now_where_rows_have_none(broker: Topics) -> None:
    broker.create_topic("now")
    write(broker.bootstrap, "now", {"value": [b"1"]})
    assert read(broker.bootstrap, "now")[0]["timestamp"].year >= 2024


@pytest.mark.parametrize("seed", range(6))
def test_whatever_fails_rows_arrive_once_and_in_order(seed: int) -> None:
    dice = random.Random(seed)
    kinds: list[str | int] = [STORED, STORED, LOSE_ANSWER, LOSE_REQUEST, 19, 6, 7]
    values = [b"%d" % number for number in range(120)]

    def work(bootstrap: str) -> None:
        with BulkWriter(bootstrap, {"batch.size": 100}, retry_backoff_ms=2, retry_backoff_max_ms=5) as writer:
            for first in range(0, len(values), 20):
                writer.write("t", pa.record_batch({"value": values[first : first + 20]}))

    async def main() -> None:
        log = ProducedLog()
        log.faults.extend(dice.choice(kinds) for _ in range(30))
        async with log.broker() as fake:
            await asyncio.to_thread(work, fake.bootstrap)
        assert log.values == values
        assert log.ids_given == 1

    asyncio.run(main())


def test_batches_too_large_for_the_broker_go_in_halves_and_the_next_are_smaller(broker: Topics) -> None:
    broker.create_topic("narrow", max_message_bytes="1000")
    values = [b"%0100d" % number for number in range(100)]
    write(broker.bootstrap, "narrow", {"value": values[:60]}, {"value": values[60:]})
    assert [row["value"] for row in read(broker.bootstrap, "narrow")] == values


def test_records_that_compress_well_stay_in_large_batches_after_one_was_too_large() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.most_bytes = 4096
        values = [random.Random(each).randbytes(16) + bytes(84) for each in range(300)]

        def work(bootstrap: str) -> None:
            with BulkWriter(bootstrap, compression_type="gzip", max_batch_size=64 * 1024, **QUICK) as writer:
                writer.write("t", pa.record_batch({"value": values}))
                writer.flush()
                before = len(log.epochs)
                writer.write("t", pa.record_batch({"value": values[:150]}))
                writer.flush()
                assert len(log.epochs) == before + 1

        async with log.broker() as fake:
            await asyncio.to_thread(work, fake.bootstrap)
        assert log.values == [*values, *values[:150]]

    asyncio.run(main())


def test_no_batch_goes_out_on_a_connection_whose_session_is_about_over(
    broker: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("brief-sessions")
    monkeypatch.setattr(SocketConnection, "is_stale", True)
    before = broker.connections_made()
    write(broker.bootstrap, "brief-sessions", *({"value": [b"%d" % number]} for number in range(5)))
    assert broker.connections_made() >= before + 5
    assert [row["value"] for row in read(broker.bootstrap, "brief-sessions")] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_refusal_of_the_broker_is_raised_with_its_reason(broker: Topics) -> None:
    broker.create_topic("tight", max_message_bytes="200")
    with pytest.raises(MessageTooLargeError, match="tight-0"):
        write(broker.bootstrap, "tight", {"value": [b"fits"]}, {"value": [bytes(500)]})


def test_a_leader_that_stays_away_is_given_up_with_the_brokers_error() -> None:
    with RunningBroker() as failing:
        failing.create_topic("away")
        failing.fail_next("Produce", "NOT_ENOUGH_REPLICAS", times=1000)
        with pytest.raises(RequestTimeoutError, match=r"away-0, after NOT_ENOUGH_REPLICAS .*given up after 1 s"):
            write(failing.bootstrap_servers, "away", {"value": [b"1"]}, delivery_timeout_ms=1000)


def test_the_time_of_the_caller_does_not_count_as_delivery_time() -> None:
    def work(bootstrap: str) -> None:
        with BulkWriter(bootstrap, delivery_timeout_ms=1500, retry_backoff_ms=1) as writer:
            writer.write("t", pa.record_batch({"value": [b"1"]}))
            time.sleep(1.6)

    async def main() -> None:
        log = ProducedLog()
        log.faults.append(LOSE_ANSWER)
        async with log.broker() as scripted:
            await asyncio.to_thread(work, scripted.bootstrap)
        assert log.values == [b"1"]

    asyncio.run(main())


def test_a_broker_that_lost_the_state_of_the_producer_gets_a_new_epoch() -> None:
    def work(bootstrap: str, log: ProducedLog) -> None:
        with BulkWriter(bootstrap, **QUICK) as writer:
            for value in (b"1", b"2"):
                writer.write("t", pa.record_batch({"value": [value]}))
                writer.flush()
                log.forget_producers()

    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as scripted:
            await asyncio.to_thread(work, scripted.bootstrap, log)
        assert log.values == [b"1", b"2"]
        assert [epoch for _, epoch in log.epochs] == [0, 1]

    asyncio.run(main())


def test_an_interrupted_writer_reports_that_the_result_is_unknown(
    broker: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("interrupted")
    writer = BulkWriter(broker.bootstrap)
    writer.write("interrupted", pa.record_batch({"value": [b"1"]}))
    with monkeypatch.context() as patched:
        patched.setattr(SocketConnection, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
    with pytest.raises(ClosedError, match="the writer was interrupted"):
        writer.flush()
    writer.close()


def interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_topic_is_created_where_brokers_do_that() -> None:
    with RunningBroker() as willing:
        write(willing.bootstrap_servers, "made-by-writing", {"value": [b"1"]})
        assert len(read(willing.bootstrap_servers, "made-by-writing")) == 1


def test_a_topic_that_nobody_creates_is_given_up(broker: Topics) -> None:
    with pytest.raises(RequestTimeoutError, match="topic 'nowhere': given up"):
        write(broker.bootstrap, "nowhere", {"value": [b"1"]}, max_block_ms=50)


def test_a_writer_that_is_closed_refuses(broker: Topics) -> None:
    writer = BulkWriter(broker.bootstrap)
    writer.close()
    with pytest.raises(ClosedError, match="the writer is closed"):
        writer.write("t", pa.record_batch({"value": [b"x"]}))
    with pytest.raises(ClosedError, match="the writer is closed"):
        writer.flush()


def test_invalid_records_are_refused_before_they_are_sent(broker: Topics) -> None:
    broker.create_topic("refusing", 2)
    with pytest.raises(UnknownPartitionError, match="topic 'refusing' has 2 partitions, a row has 7"):
        write(broker.bootstrap, "refusing", {"value": [b"1"], "partition": pa.array([7], pa.int32())})
    with pytest.raises(RecordTooLargeError, match="expected at most max_request_size, 100"):
        write(broker.bootstrap, "refusing", {"value": [bytes(500)]}, max_request_size=100)
    with pytest.raises(OptionError, match="acks=0"):
        BulkWriter(broker.bootstrap, acks=0)
