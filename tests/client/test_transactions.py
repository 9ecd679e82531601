"""Transactions on a broker that coordinates them, by both protocols: atomic over partitions, offsets and processes."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.client.topics import until

from kafkawire.client import (
    AbortableTransactionError,
    Admin,
    BulkReader,
    BulkWriter,
    Consumer,
    FatalTransactionError,
    FencedError,
    OptionError,
    PreparedTransaction,
    Producer,
    TopicPartition,
    TransactionStateError,
    blocking,
)
from kafkawire.client._transactions import manager

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.client.topics import Topics


class UnexpectedError(Exception):
    """An error of the application."""


COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


@pytest.fixture(params=["v2", "v1"], autouse=True)
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The protocol that the client speaks; a broker with transactions v2 serves both."""
    if request.param == "v1":
        monkeypatch.setattr(manager, "_ADDS_BY_ITSELF", 99)
    return str(request.param)


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 3)


@pytest.fixture
def named(topic: str) -> str:
    """A transactional id that no other test uses."""
    return f"id-of-{topic}"


def values(broker: Topics, topic: str, isolation: str = COMMITTED, partitions: int = 3) -> list[list[bytes | None]]:
    """The values of each partition up to its end for this isolation."""
    with BulkReader(broker.bootstrap, fetch_max_wait_ms=20) as reader:
        return [
            [
                value
                for batch in reader.read(topic, number, 0, isolation=isolation)
                for value in batch.column("value").to_pylist()
            ]
            for number in range(partitions)
        ]


def run(broker: Topics, named: str, work: Callable[[Producer], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap, transactional_id=named, **options) as producer:
            await work(producer)

    asyncio.run(main())


async def send(producer: Producer, topic: str, *values: bytes) -> None:
    """Send values to partition 0, 1, 2, 0 and so on."""
    for number, value in enumerate(values):
        await producer.send(topic, value, partition=number % 3)


def test_committed_records_of_all_partitions_are_read_and_aborted_ones_are_not(
    broker: Topics, topic: str, named: str
) -> None:
    async def work(producer: Producer) -> None:
        for number in range(5):
            await producer.begin()
            await send(producer, topic, *[b"%d" % number] * 3)
            await (producer.commit() if number % 2 == 0 else producer.abort())

    run(broker, named, work)
    assert values(broker, topic) == [[b"0", b"2", b"4"]] * 3


def test_an_abort_after_the_records_were_stored_hides_them_from_readers_of_committed_records_only(
    broker: Topics, topic: str, named: str
) -> None:
    async def work(producer: Producer) -> None:
        await producer.begin()
        await send(producer, topic, b"a", b"b", b"c")
        await producer.flush()
        await producer.abort()
        async with producer.transaction():
            await send(producer, topic, b"d")

    run(broker, named, work)
    assert values(broker, topic) == [[b"d"], [], []]
    assert values(broker, topic, UNCOMMITTED) == [[b"a", b"d"], [b"b"], [b"c"]]


def test_an_open_transaction_holds_back_later_records_of_the_partition(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        async with (
            Producer(**server, transactional_id=named) as transactional,
            Producer(**server) as plain,
            Consumer(**server, isolation_level=COMMITTED, auto_offset_reset="earliest", fetch_max_wait_ms=20) as reader,
        ):
            place = TopicPartition(topic, 0)
            reader.assign([place])
            await transactional.begin()
            await transactional.send_and_wait(topic, b"1", partition=0)
            await plain.send_and_wait(topic, b"2", partition=0)
            assert await reader.getmany(timeout_ms=200) == {}
            assert await reader.end_offsets([place]) == {place: 0}
            await transactional.commit()
            assert [(await reader.getone()).value, (await reader.getone()).value] == [b"1", b"2"]

    asyncio.run(main())


def test_the_position_passes_the_markers_so_that_the_lag_becomes_0(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        async with (
            Producer(**server, transactional_id=named) as producer,
            Consumer(**server, isolation_level=COMMITTED, auto_offset_reset="earliest", fetch_max_wait_ms=20) as reader,
        ):
            async with producer.transaction():
                await producer.send_and_wait(topic, b"1", partition=0)
            await producer.begin()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await producer.abort()
            place = TopicPartition(topic, 0)
            reader.assign([place])
            assert (await reader.getone()).value == b"1"
            while await reader.position(place) < 4:
                assert await reader.getmany(timeout_ms=100) == {}
            assert await reader.position(place) == (await reader.end_offsets([place]))[place] == 4

    asyncio.run(main())


def test_the_context_aborts_after_an_exception_and_raises_it(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        async def fail() -> None:
            async with producer.transaction():
                await send(producer, topic, b"lost")
                await producer.flush()
                raise UnexpectedError

        with pytest.raises(UnexpectedError):
            await fail()
        async with producer.transaction():
            await send(producer, topic, b"kept")

    run(broker, named, work)
    assert values(broker, topic) == [[b"kept"], [], []]


def test_a_transaction_without_records_ends_without_a_trace(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        for _ in range(2):
            async with producer.transaction():
                pass
            await producer.begin()
            await producer.abort()
        async with producer.transaction():
            await send(producer, topic, b"1")

    run(broker, named, work)
    assert values(broker, topic) == [[b"1"], [], []]


def test_many_batches_of_many_transactions_are_stored_once_and_in_order(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        for first in range(0, 3000, 300):
            async with producer.transaction():
                for number in range(first, first + 300):
                    await producer.send(topic, b"%d" % number, partition=number % 3)

    run(broker, named, work, max_batch_size=200)
    assert values(broker, topic) == [[b"%d" % number for number in range(part, 3000, 3)] for part in range(3)]


def test_a_second_producer_fences_the_first_and_aborts_its_transaction(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        async with Producer(**server, transactional_id=named) as first:
            await first.begin()
            await first.send_and_wait(topic, b"zombie", partition=0)
            async with Producer(**server, transactional_id=named) as second:
                with pytest.raises(FencedError):
                    await first.commit()
                with pytest.raises(FencedError):
                    await first.begin()
                async with second.transaction():
                    await send(second, topic, b"alive")

    asyncio.run(main())
    assert values(broker, topic) == [[b"alive"], [], []]


def test_stopping_aborts_an_open_transaction(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        await producer.begin()
        await send(producer, topic, b"lost", b"lost")
        await producer.flush()

    run(broker, named, work)
    assert values(broker, topic) == [[], [], []]


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    broker: Topics, topic: str, named: str, commit: bool
) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        place, group = TopicPartition(topic, 0), f"group-{topic}"
        async with Producer(**server, transactional_id=named) as producer, Admin(**server) as admin:
            await admin.alter_group_offsets(group, {place: 1})
            await producer.begin()
            await send(producer, topic, b"out")
            await producer.send_offsets_to_transaction({place: 7}, group)
            assert (await admin.list_group_offsets(group))[place].offset == 1
            await (producer.commit() if commit else producer.abort())
            async with Consumer(**server, group_id=group) as reader:  # waits until the markers are written
                assert await reader.committed(place) == (7 if commit else 1)

    asyncio.run(main())


def test_a_consumer_waits_for_offsets_of_an_open_transaction(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        place, group = TopicPartition(topic, 0), f"group-{topic}"
        async with Producer(**server, transactional_id=named) as producer, Consumer(**server, group_id=group) as reader:
            await producer.begin()
            await producer.send_offsets_to_transaction({place: 3}, group)
            asking = asyncio.create_task(reader.committed(place))
            await asyncio.sleep(0.5)
            assert not asking.done()
            await producer.commit()
            assert await asking == 3

    asyncio.run(main())


def test_offsets_of_a_member_that_was_replaced_abort_the_transaction(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        place, group = TopicPartition(topic, 0), f"group-{topic}"
        options: Any = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with Producer(**server, transactional_id=named) as producer, Consumer(topic, **server, **options) as one:
            async with producer.transaction():
                await send(producer, topic, b"in")
            await one.getone()
            member = one.group_metadata()
            assert member.generation_id >= 0
            async with producer.transaction():
                await producer.send_offsets_to_transaction({place: 1}, member)
            await producer.begin()
            with pytest.raises(AbortableTransactionError, match="TxnOffsetCommit"):
                await producer.send_offsets_to_transaction({place: 2}, member._replace(generation_id=99))
            await producer.abort()
            assert await one.committed(place) == 1

    asyncio.run(main())


def test_records_that_were_read_before_a_rebalance_cannot_be_committed_after_it(
    broker: Topics, topic: str, named: str
) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap, "heartbeat_interval_ms": 50}
        place, group = TopicPartition(topic, 0), f"group-{topic}"
        options: Any = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        producer = Producer(bootstrap_servers=broker.bootstrap, transactional_id=named)
        async with producer, Consumer(topic, **server, **options) as one:
            async with producer.transaction():
                await send(producer, topic, b"in")
            await one.getone()
            async with Consumer(topic, **server, **options) as other:
                while not (other.assignment() and one.assignment()):  # both have joined the next generation
                    await asyncio.sleep(0.01)
                await producer.begin()
                with pytest.raises(AbortableTransactionError, match="TxnOffsetCommit"):
                    await producer.send_offsets_to_transaction({place: 1}, one.group_metadata())
                await producer.abort()
                await one.getmany()
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({place: 1}, one.group_metadata())

    asyncio.run(main())


def test_another_process_can_end_a_prepared_transaction_and_repeat_it(broker: Topics, topic: str, named: str) -> None:
    async def prepare(decision: bytes) -> PreparedTransaction:
        async with Producer(bootstrap_servers=broker.bootstrap, transactional_id=f"{named}-{decision!r}") as producer:
            await producer.begin()
            await send(producer, topic, decision)
            prepared = await producer.prepare()
            with pytest.raises(TransactionStateError):
                await send(producer, topic, b"late")
            assert prepared is not None
            return prepared

    async def main() -> None:
        kept, dropped = await prepare(b"kept"), await prepare(b"dropped")
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            for _ in range(2):
                await admin.end_transaction(kept, commit=True)
                await admin.end_transaction(dropped, commit=False)
            with pytest.raises(FatalTransactionError):
                await admin.end_transaction(dropped, commit=True)

    asyncio.run(main())
    assert values(broker, topic) == [[b"kept"], [], []]


def test_a_prepared_transaction_of_nothing_has_nothing_to_end(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        await producer.begin()
        assert await producer.prepare() is None
        async with producer.transaction():
            await send(producer, topic, b"1")

    run(broker, named, work)
    assert values(broker, topic) == [[b"1"], [], []]


def test_plain_calls_have_the_same_transactions(broker: Topics, topic: str, named: str) -> None:
    with blocking.Producer(bootstrap_servers=broker.bootstrap, transactional_id=named) as producer:
        with producer.transaction():
            deliveries = [producer.send(topic, b"%d" % number, partition=0) for number in range(1000)]
        assert deliveries[-1].result(0).offset == 999
        with suppress(UnexpectedError), producer.transaction():
            producer.send(topic, b"lost", partition=0)
            raise UnexpectedError
        producer.begin()
        producer.send(topic, b"aborted", partition=0)
        producer.abort()
        producer.begin()
        producer.send(topic, b"prepared", partition=0)
        prepared = producer.prepare()
        assert prepared is not None
        assert prepared.transactional_id == named
    with blocking.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.end_transaction(prepared, commit=True)
    assert values(broker, topic)[0] == [*(b"%d" % number for number in range(1000)), b"prepared"]


def rows(*values: bytes) -> pa.RecordBatch:
    numbers = pa.array([number % 3 for number in range(len(values))], pa.int32())
    return pa.record_batch({"value": pa.array(values, pa.binary()), "partition": numbers})


def test_rows_of_a_bulk_writer_are_written_in_transactions(broker: Topics, topic: str, named: str) -> None:
    with BulkWriter(broker.bootstrap, transactional_id=named, max_batch_size=200) as writer:
        for number in range(6):
            writer.begin()
            writer.write(topic, rows(*[b"%d" % number] * 300))
            if number % 2:
                writer.abort()
            else:
                writer.commit()
        with writer.transaction():
            writer.write(topic, rows(b"last"))
        writer.begin()
        writer.write(topic, rows(b"open", b"open", b"open"))
    kept = [b"%d" % number for number in (0, 2, 4) for _ in range(100)]
    assert values(broker, topic) == [[*kept, b"last"], kept, kept]


def test_rows_can_be_prepared_by_one_process_and_committed_by_another(broker: Topics, topic: str, named: str) -> None:
    with BulkWriter(broker.bootstrap, transactional_id=named) as writer:
        writer.begin()
        writer.write(topic, rows(b"a", b"b", b"c"))
        prepared = writer.prepare()
        assert prepared is not None
    assert values(broker, topic) == [[], [], []]
    with blocking.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.end_transaction(PreparedTransaction(*prepared), commit=True)
    assert values(broker, topic) == [[b"a"], [b"b"], [b"c"]]


def test_columns_of_a_consumer_leave_out_aborted_records(broker: Topics, topic: str, named: str) -> None:
    async def main() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap}
        async with Producer(**server, transactional_id=named) as producer:
            for number in range(10):
                await producer.begin()
                await producer.send_and_wait(topic, b"%d" % number, partition=0)
                await (producer.commit() if number % 2 else producer.abort())
        async with Consumer(**server, isolation_level=COMMITTED, auto_offset_reset="earliest") as reader:
            reader.assign([TopicPartition(topic, 0)])
            found = [each async for each in reader.arrow(["value"], timeout_ms=1000)]
        assert pa.Table.from_batches(found).column("value").to_pylist() == [b"1", b"3", b"5", b"7", b"9"]

    asyncio.run(main())


def test_calls_that_do_not_fit_are_refused_and_change_nothing(broker: Topics, topic: str, named: str) -> None:
    async def work(producer: Producer) -> None:
        with pytest.raises(TransactionStateError, match="commit while the producer is without a transaction"):
            await producer.commit()
        with pytest.raises(TransactionStateError, match="send while"):
            await send(producer, topic, b"outside")
        await producer.begin()
        with pytest.raises(TransactionStateError, match="begin while the producer is in a transaction"):
            await producer.begin()
        await send(producer, topic, b"inside")
        await producer.commit()

    run(broker, named, work)
    assert values(broker, topic) == [[b"inside"], [], []]


def test_a_producer_without_an_id_has_no_transactions(broker: Topics) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap) as producer:
            with pytest.raises(OptionError, match="no transactional_id"):
                await producer.begin()

    asyncio.run(main())
    with pytest.raises(OptionError, match="acks=all"):
        Producer(transactional_id="t", acks=1)


@pytest.mark.parametrize("codec", ["none", "lz4"])
@pytest.mark.parametrize("seed", range(3))
def test_all_readers_of_committed_records_agree_over_random_histories(
    broker: Topics, topic: str, named: str, seed: int, codec: str
) -> None:
    """Several producers interleave transactions of all sizes in one partition, and plain records between them."""
    dice = random.Random(seed)
    history: list[tuple[int, bytes, list[bool]]] = []  # offset, value, and whether its transaction was committed

    async def fill() -> None:
        server: Any = {"bootstrap_servers": broker.bootstrap, "compression_type": codec, "max_batch_size": 200}
        async with AsyncExitStack() as stack:
            producers = [
                await stack.enter_async_context(Producer(transactional_id=f"{named}-{number}", **server))
                for number in range(3)
            ]
            plain = await stack.enter_async_context(Producer(**server))
            outcomes: dict[Producer, list[bool]] = {}
            for number in range(150):
                producer = dice.choice([*producers, plain])
                if producer is plain:
                    outcomes[plain] = [True]
                elif producer not in outcomes:
                    await producer.begin()
                    outcomes[producer] = [False]
                elif dice.random() < 0.4:
                    outcome = outcomes.pop(producer)
                    outcome[0] = dice.random() < 0.5
                    await (producer.commit() if outcome[0] else producer.abort())
                    continue
                for _ in range(dice.randint(1, 5)):
                    value = b"%d" % number * dice.randint(1, 30)
                    place = await producer.send_and_wait(topic, value, partition=0)
                    history.append((place.offset, value, outcomes[producer]))
            for producer, outcome in outcomes.items():
                if producer is not plain:
                    outcome[0] = dice.random() < 0.5
                    await (producer.commit() if outcome[0] else producer.abort())

    asyncio.run(fill())
    committed = [(offset, value) for offset, value, (outcome,) in history if outcome]

    def is_settled() -> bool:
        with BulkReader(broker.bootstrap, fetch_max_wait_ms=20) as reader:
            return reader.latest(topic, isolation=COMMITTED) == reader.latest(topic)

    until(is_settled)  # Apache Kafka writes markers after it has answered

    def read(start: int, end: int | None, fetch_bytes: int) -> list[tuple[int, bytes]]:
        with BulkReader(broker.bootstrap, fetch_max_wait_ms=20, isolation_level=COMMITTED) as reader:
            batches = list(reader.read(topic, 0, start, end, columns=["offset", "value"], fetch_bytes=fetch_bytes))
            return [(row["offset"], row["value"]) for batch in batches for row in batch.to_pylist()]

    async def consume(fetch_bytes: int, *, columns: bool) -> list[tuple[int, bytes]]:
        async with Consumer(
            bootstrap_servers=broker.bootstrap,
            isolation_level=COMMITTED,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=fetch_bytes,
            fetch_max_wait_ms=20,
        ) as consumer:
            place = TopicPartition(topic, 0)
            consumer.assign([place])
            end = (await consumer.end_offsets([place]))[place]
            found: list[tuple[int, bytes]] = []
            if columns:
                async for batch in consumer.arrow(["offset", "value"], timeout_ms=500):
                    found += [(row["offset"], row["value"]) for row in batch.to_pylist()]
                return found
            while await consumer.position(place) < end:
                records = (await consumer.getmany(timeout_ms=100, max_records=dice.randint(1, 50))).get(place, [])
                found += [(record.offset, record.value) for record in records]
            return found

    assert read(0, None, 1 << 20) == committed
    assert read(0, None, 500) == committed
    for _ in range(5):
        start = dice.randint(0, history[-1][0])
        end = dice.randint(start, history[-1][0])
        assert read(start, end, 700) == [each for each in committed if start <= each[0] < end]
    assert asyncio.run(consume(600, columns=False)) == committed
    assert asyncio.run(consume(1 << 20, columns=False)) == committed
    assert asyncio.run(consume(600, columns=True)) == committed
