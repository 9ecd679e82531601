"""Transactions when requests fail: every error at every step, lost answers, timeouts and cancelled calls."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.client.produced_log import LOSE_ANSWER, LOSE_REQUEST
from tests.client.scripted_broker import SILENCE
from tests.client.transactional_broker import TransactionalBroker

from kafkawire.client import (
    AbortableTransactionError,
    BulkWriter,
    ConsumerGroupMetadata,
    FatalTransactionError,
    FencedError,
    Producer,
    RequestTimeoutError,
    TopicPartition,
    TransactionError,
    TransactionStateError,
)
from kafkawire.client._transactions.state import Phase
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

pytestmark = pytest.mark.usefixtures("virtual_time")
QUICK: Any = {
    "retry_backoff_ms": 2,
    "retry_backoff_max_ms": 5,
    "reconnect_backoff_ms": 1,
    "reconnect_backoff_max_ms": 5,
}
PLACE = TopicPartition("t", 0)
GROUP = ConsumerGroupMetadata("g", 1, "m")


def run(broker: TransactionalBroker, work: Callable[[Producer], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        given: Any = {"transactional_id": "id", **QUICK, **options}
        async with broker.fake, Producer(bootstrap_servers=broker.fake.bootstrap, **given) as producer:
            await work(producer)

    asyncio.run(main())


async def transact(producer: Producer, *values: bytes) -> None:
    """One transaction with a record in each partition, and an offset."""
    async with producer.transaction():
        for number, value in enumerate(values):
            await producer.send("t", value, partition=number % 3)
        await producer.send_offsets_to_transaction({PLACE: len(values)}, GROUP)


RETRIED, ABORTS, FATAL, FENCES = "retried", "aborts", "fatal", "fenced"
V2 = {"InitProducerId", "TxnOffsetCommit", "EndTxn", "Produce"}
ERRORS = {
    # (step, code): the reaction of Java's producer
    **{(step, code): RETRIED for step in (*V2, "AddPartitionsToTxn", "AddOffsetsToTxn") for code in (7, 14, 51)},
    **{
        (step, code): RETRIED
        for step in ("InitProducerId", "TxnOffsetCommit", "EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn")
        for code in (15, 16)
    },
    **{(step, code): FENCES for step in ("InitProducerId", "EndTxn", "TxnOffsetCommit") for code in (47, 90)},
    **{(step, code): FENCES for step in ("AddPartitionsToTxn", "AddOffsetsToTxn") for code in (47, 90)},
    **{(step, 53): FATAL for step in (*V2, "AddPartitionsToTxn", "AddOffsetsToTxn")},
    **{(step, 49): FATAL for step in (*V2, "AddPartitionsToTxn", "AddOffsetsToTxn")},
    **{(step, 48): FATAL for step in ("InitProducerId", "EndTxn", "TxnOffsetCommit", "AddPartitionsToTxn")},
    **{(step, 120): ABORTS for step in ("TxnOffsetCommit", "EndTxn", "Produce")},
    **{(step, 120): ABORTS for step in ("AddPartitionsToTxn", "AddOffsetsToTxn")},
    **{(step, -1): FATAL for step in ("InitProducerId", "TxnOffsetCommit", "EndTxn", "AddOffsetsToTxn")},
    ("InitProducerId", 50): FATAL,
    ("Produce", 90): FENCES,
    ("Produce", 31): FATAL,
    **{("Produce", code): ABORTS for code in (10, 29, 45, 47, 48, 59, 87, -1)},
    **{("Produce", code): RETRIED for code in (3, 6, 19)},
    **{("TxnOffsetCommit", code): ABORTS for code in (22, 25, 30, 82)},
    ("TxnOffsetCommit", 3): RETRIED,
    **{("AddPartitionsToTxn", code): ABORTS for code in (29, 55, -1)},
    ("AddPartitionsToTxn", 3): RETRIED,
    ("AddOffsetsToTxn", 30): ABORTS,
    ("FindCoordinator", 15): RETRIED,
    ("FindCoordinator", 53): FATAL,
}  # fmt: skip


ONLY_BELOW_V2 = {"InitProducerId", "FindCoordinator", "AddPartitionsToTxn", "AddOffsetsToTxn"}
CASES = [
    (level, step, code) for step, code in sorted(ERRORS) for level in (2, 1) if level == 1 or step not in ONLY_BELOW_V2
]


@pytest.mark.parametrize(("level", "step", "code"), CASES)
def test_every_error_of_every_step_has_the_reaction_of_javas_producer(level: int, step: str, code: int) -> None:
    expected, broker = ERRORS[step, code], TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await transact(producer, b"first")
        if step in ("InitProducerId", "FindCoordinator"):
            producer._transactions.lose_sequence()  # type: ignore[union-attr]
            producer._cluster.forget_coordinator(1, "id")
        broker.faults[step].append(code)
        if expected == RETRIED:
            await transact(producer, b"second")
            assert broker.committed == [b"first", b"second"]
            assert broker.offsets == {("t", 0): 1}
            return
        with pytest.raises(TransactionError) as raised:
            await transact(producer, b"second")
        cause = raised.value.__cause__
        assert isinstance(cause, KafkaError)
        assert cause.code == code
        if expected == ABORTS:
            assert isinstance(raised.value, AbortableTransactionError)
            await transact(producer, b"third")
            assert broker.committed == [b"first", b"third"]
        else:
            assert isinstance(raised.value, FencedError if expected == FENCES else FatalTransactionError)
            for again in (producer.begin, producer.commit, producer.abort):
                with pytest.raises(type(raised.value)):
                    await again()
            assert broker.committed == [b"first"]

    run(broker, work)


@pytest.mark.parametrize(
    ("code", "kind"), [(53, FatalTransactionError), (90, FencedError), (50, FatalTransactionError)]
)
def test_a_producer_that_cannot_be_initialized_does_not_start(code: int, kind: type[Exception]) -> None:
    broker = TransactionalBroker()
    broker.faults["InitProducerId"].append(code)

    async def main() -> None:
        async with broker.fake:
            producer = Producer(bootstrap_servers=broker.fake.bootstrap, transactional_id="id", **QUICK)
            with pytest.raises(kind):
                await producer.start()

    asyncio.run(main())


@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize("code", [120, 48, 53])
def test_an_abort_that_is_refused_makes_the_producer_unusable(level: int, code: int) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await producer.begin()
        await producer.send_and_wait("t", b"1")
        broker.faults["EndTxn"].append(code)
        with pytest.raises(FatalTransactionError):
            await producer.abort()

    run(broker, work)


@pytest.mark.parametrize("fault", [LOSE_REQUEST, LOSE_ANSWER])
@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize(
    "step", ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "Produce"]
)
def test_a_request_or_an_answer_that_is_lost_changes_nothing(step: str, level: int, fault: str) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        for number in range(4):
            if number % 2:
                broker.faults[step].append(fault)
            await transact(producer, *(b"%d" % number for _ in range(3)))

    run(broker, work)
    assert broker.committed == [b"0", b"1", b"2", b"3"] * 3
    assert broker.offsets == {("t", 0): 3}


def test_transactions_v2_send_no_requests_to_add_partitions() -> None:
    broker = TransactionalBroker(2)

    async def work(producer: Producer) -> None:
        await transact(producer, b"1", b"2", b"3")
        await transact(producer, b"1", b"2", b"3")

    run(broker, work)
    coordinating = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
    assert broker.names(*coordinating) == ["InitProducerId", *["TxnOffsetCommit", "EndTxn"] * 2]
    assert broker.versions("EndTxn") == {5}
    assert broker.versions("TxnOffsetCommit") == {5}
    assert min(broker.versions("Produce")) >= 12


def test_transactions_v1_add_partitions_once_and_use_the_versions_before_v2() -> None:
    broker = TransactionalBroker(1)

    async def work(producer: Producer) -> None:
        async with producer.transaction():
            for _ in range(3):
                await producer.send_and_wait("t", b"v", partition=0)
            await producer.send_offsets_to_transaction({PLACE: 1}, GROUP)
            await producer.send_offsets_to_transaction({PLACE: 2}, GROUP)

    run(broker, work)
    assert broker.names("AddPartitionsToTxn", "AddOffsetsToTxn") == ["AddPartitionsToTxn", "AddOffsetsToTxn"]
    assert broker.versions("EndTxn") == {4}
    assert broker.versions("TxnOffsetCommit") == {4}
    assert broker.versions("Produce") == {11}
    assert broker.versions("AddPartitionsToTxn") == {3}


def test_transactions_v2_begin_with_the_transaction_after_the_upgrade_and_a_new_epoch() -> None:
    broker = TransactionalBroker(1)

    async def work(producer: Producer) -> None:
        await transact(producer, b"1")
        before = producer._transactions.identity  # type: ignore[union-attr]
        broker.level = 2
        broker.faults["EndTxn"].append(LOSE_ANSWER)  # the features are read with every connection
        await transact(producer, b"2")
        await transact(producer, b"3")
        await transact(producer, b"4")
        broker.level = 3
        after = producer._transactions.identity  # type: ignore[union-attr]
        assert before is not None
        assert after is not None
        assert (after.producer_id, after.epoch) == (before.producer_id, before.epoch + 3)

    run(broker, work)
    assert broker.committed == [b"1", b"2", b"3", b"4"]
    assert broker.versions("EndTxn") == {4, 5}
    assert broker.names("InitProducerId") == ["InitProducerId"] * 2


def test_an_upgrade_is_noticed_on_connections_that_stay_open() -> None:
    broker = TransactionalBroker(1)

    async def work(producer: Producer) -> None:
        await transact(producer, b"1")
        broker.level = 2
        await transact(producer, b"2")
        assert broker.versions("EndTxn") == {4}
        await asyncio.sleep(2)
        await transact(producer, b"3")
        await transact(producer, b"4")
        assert broker.versions("EndTxn") == {4, 5}
        assert broker.fake.accepted == 2  # to bootstrap, and to the broker

    run(broker, work, metadata_max_age_ms=1_000, retry_backoff_max_ms=5_000)
    assert broker.committed == [b"1", b"2", b"3", b"4"]


def test_below_v2_a_lost_answer_to_a_commit_gives_a_new_epoch_so_that_a_late_one_cannot_end_the_next_transaction() -> (
    None
):
    broker = TransactionalBroker(1)

    async def work(producer: Producer) -> None:
        broker.faults["EndTxn"].append(LOSE_REQUEST)
        await transact(producer, b"1")
        (_, version, late), *_ = [each for each in broker.fake.requests if each[0] == "EndTxn"]
        await producer.begin()
        await producer.send_and_wait("t", b"2")
        answer: Any = broker.fake.handlers["EndTxn"](late, version)
        assert answer.error_code == 90
        await producer.abort()

    run(broker, work)
    assert broker.committed == [b"1"]


@pytest.mark.parametrize("level", [2, 1])
def test_a_commit_that_times_out_can_only_be_repeated(level: int) -> None:
    broker = TransactionalBroker(level)
    answer = broker.fake.handlers["EndTxn"]

    async def work(producer: Producer) -> None:
        await producer.begin()
        await producer.send("t", b"1", partition=0)
        broker.fake.handlers["EndTxn"] = lambda request, version: SILENCE
        with pytest.raises(RequestTimeoutError, match="EndTxn"):
            await producer.commit()
        with pytest.raises(TransactionStateError, match="only another commit may follow"):
            await producer.abort()
        with pytest.raises(TransactionStateError):
            await producer.begin()
        broker.fake.handlers["EndTxn"] = answer
        await producer.commit()
        await transact(producer, b"2")

    run(broker, work, max_block_ms=5_000, request_timeout_ms=2_000, retry_backoff_max_ms=5_000)
    assert broker.committed == [b"1", b"2"]


@pytest.mark.parametrize("level", [2, 1])
def test_a_record_that_is_not_delivered_in_time_aborts_the_transaction_and_the_next_one_succeeds(level: int) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await transact(producer, b"1")
        broker.faults["Produce"].extend([19] * 1_000)
        await producer.begin()
        futures = [await producer.send("t", b"lost", partition=number) for number in range(3)]
        with pytest.raises(AbortableTransactionError, match="not delivered within"):
            await producer.commit()
        with pytest.raises(AbortableTransactionError):
            await producer.send("t", b"refused")
        broker.faults["Produce"].clear()
        await producer.abort()
        results = await asyncio.gather(*futures, return_exceptions=True)
        assert all(isinstance(each, (RequestTimeoutError, AbortableTransactionError, KafkaError)) for each in results)
        await transact(producer, b"2")

    run(broker, work, delivery_timeout_ms=1_000, retry_backoff_ms=200, retry_backoff_max_ms=5_000)
    assert broker.committed == [b"1", b"2"]


@pytest.mark.parametrize("level", [2, 1])
def test_the_answer_to_a_record_that_was_given_up_does_not_touch_the_next_transaction(level: int) -> None:
    broker = TransactionalBroker(level)
    answer = broker.fake.handlers["Produce"]

    async def work(producer: Producer) -> None:
        await transact(producer, b"1")
        broker.fake.handlers["Produce"] = lambda request, version: SILENCE
        await producer.begin()
        await producer.send("t", b"lost", partition=0)
        with pytest.raises(AbortableTransactionError, match="not delivered within"):
            await producer.commit()
        broker.fake.handlers["Produce"] = answer
        now = asyncio.get_running_loop().time
        given_up = now()
        await producer.abort()
        assert now() - given_up > 1, "the abort has not waited for the request that is still under way"
        for number in range(2, 5):
            await transact(producer, b"%d" % number)

    run(broker, work, delivery_timeout_ms=1_000, request_timeout_ms=3_000, retry_backoff_max_ms=5_000)
    assert broker.committed == [b"1", b"2", b"3", b"4"]
    assert broker.names("InitProducerId") == ["InitProducerId"] * (1 if level == 2 else 2)


@pytest.mark.parametrize("level", [2, 1])
def test_an_abort_that_waits_for_a_request_ends_when_the_producer_stops(level: int) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await transact(producer, b"0")
        await producer.begin()
        broker.fake.handlers["Produce"] = lambda request, version: SILENCE
        await producer.send("t", b"1", partition=0)
        with pytest.raises(AbortableTransactionError, match="not delivered within"):
            await producer.commit()
        abort = asyncio.create_task(producer.abort())
        await asyncio.sleep(0.01)
        assert not abort.done(), "the request is not under way"
        stop = asyncio.create_task(producer.stop())
        await asyncio.sleep(0.01)
        stop.cancel()
        await asyncio.gather(stop, return_exceptions=True)
        done, _ = await asyncio.wait([abort], timeout=30)
        abort.cancel()
        assert done, "the abort waits for a request of a producer that was stopped"
        assert isinstance(abort.exception(), Exception)

    run(broker, work, delivery_timeout_ms=1000, request_timeout_ms=60_000)


@pytest.mark.parametrize("level", [2, 1])
def test_after_the_timeout_of_a_transaction_the_producer_gets_an_error(level: int) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await producer.begin()
        await producer.send_and_wait("t", b"1")
        broker.time_out()
        with pytest.raises(TransactionError):
            await producer.commit()

    run(broker, work)
    assert broker.committed == []


@pytest.mark.parametrize("level", [2, 1])
def test_records_that_were_not_sent_fail_when_the_transaction_is_aborted(level: int) -> None:
    broker = TransactionalBroker(level)

    async def work(producer: Producer) -> None:
        await producer.begin()
        future = await producer.send("t", b"1")
        await producer.abort()
        with pytest.raises(AbortableTransactionError, match="was aborted"):
            await future
        assert broker.names("Produce", "EndTxn") == []
        await transact(producer, b"2")

    run(broker, work, linger_ms=60_000)
    assert broker.committed == [b"2"]


@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize("step", ["Produce", "TxnOffsetCommit", "EndTxn"])
def test_a_cancelled_call_leaves_a_producer_that_can_go_on(level: int, step: str) -> None:
    broker = TransactionalBroker(level)
    answer = broker.fake.handlers[step]

    async def work(producer: Producer) -> None:
        await transact(producer, b"1")
        broker.fake.handlers[step] = lambda request, version: SILENCE
        task = asyncio.create_task(transact(producer, b"2"))
        await asyncio.sleep(1)
        broker.fake.handlers[step] = answer
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        state = producer._transactions.state  # type: ignore[union-attr]
        if step == "EndTxn":
            assert state.phase is Phase.COMMITTING
            await producer.commit()
        assert state.phase is Phase.READY
        await transact(producer, b"3")

    run(broker, work, request_timeout_ms=3_000, retry_backoff_max_ms=5_000)
    assert broker.committed == ([b"1", b"2", b"3"] if step == "EndTxn" else [b"1", b"3"])


@pytest.mark.parametrize("level", [2, 1])
def test_stopping_leaves_a_prepared_transaction_open_and_aborts_any_other(level: int) -> None:
    for prepares in (True, False):
        broker = TransactionalBroker(level)

        async def work(producer: Producer, prepares: bool = prepares) -> None:
            await producer.begin()
            await producer.send_and_wait("t", b"1")
            if prepares:
                prepared = await producer.prepare()
                assert prepared is not None
                assert prepared.transaction_version == (2 if level == 2 else 0)

        run(broker, work)
        assert broker.state == ("Ongoing" if prepares else "CompleteAbort")


@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_fails_a_transaction_is_stored_whole_and_once_or_not_at_all(seed: int, level: int) -> None:
    dice, broker = random.Random(seed), TransactionalBroker(level)
    passing: list[int | str] = [0, 0, 0, LOSE_ANSWER, LOSE_REQUEST, 7, 14, 51]
    aborting: list[int | str] = [0, 0, 0, 0, LOSE_ANSWER, LOSE_REQUEST, 19, 7, 48, 120, 29]
    steps: dict[str, list[int | str]] = {
        "Produce": aborting,
        "TxnOffsetCommit": [*passing, 120, 22],
        "AddPartitionsToTxn": [*passing, 16, 120],
        "AddOffsetsToTxn": [*passing, 15, 120],
        "EndTxn": [*passing, 16],
        "InitProducerId": passing,
    }
    committed: list[bytes] = []

    async def work(producer: Producer) -> None:
        for number in range(40):
            for step, faults in steps.items():
                broker.faults[step].clear()
                broker.faults[step].extend(dice.choice(faults) for _ in range(dice.randint(0, 3)))
            values = [b"%d" % (100 * number + each) for each in range(dice.randint(0, 6))]
            try:
                await producer.begin()
                for value in values:
                    await producer.send("t", value, partition=0)
                    if dice.random() < 0.3:
                        await asyncio.sleep(0.001)
                await producer.send_offsets_to_transaction({PLACE: number}, GROUP)
                if dice.random() < 0.3:
                    raise AbortableTransactionError("by choice")
                await producer.commit()
                committed.extend(values)
                assert broker.offsets == {("t", 0): number}
            except AbortableTransactionError:
                await producer.abort()
            assert broker.committed == committed

    run(broker, work, max_batch_size=20)


def rows(*values: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        {"value": pa.array(values, pa.binary()), "partition": pa.array([0] * len(values), pa.int32())}
    )


def write(broker: TransactionalBroker, work: Callable[[BulkWriter], None], **options: Any) -> None:
    """Run a writer on a thread of its own, in real time."""

    def in_thread() -> None:
        given: Any = {"transactional_id": "id", **QUICK, **options}
        with BulkWriter(broker.fake.bootstrap, **given) as writer:
            work(writer)

    async def main() -> None:
        async with broker.fake:
            await asyncio.to_thread(in_thread)

    loop = asyncio.SelectorEventLoop()
    try:
        loop.run_until_complete(main())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize("code", [10, 29, 45, 47, 120])
def test_a_bulk_writer_goes_on_after_an_abort(level: int, code: int) -> None:
    broker = TransactionalBroker(level)

    def write_many(writer: BulkWriter) -> None:
        for _ in range(20):
            writer.write("t", rows(b"lost", b"lost"))
        writer.commit()

    def work(writer: BulkWriter) -> None:
        for number in range(3):
            writer.begin()
            writer.write("t", rows(b"first"))
            broker.faults["Produce"].append(code)
            with pytest.raises(AbortableTransactionError):
                write_many(writer)
            with pytest.raises(AbortableTransactionError):
                writer.write("t", rows(b"refused"))
            writer.abort()
            with writer.transaction():
                writer.write("t", rows(b"%d" % number))

    write(broker, work, max_batch_size=50)
    assert broker.committed == [b"0", b"1", b"2"]


@pytest.mark.parametrize("level", [2, 1])
def test_rows_that_were_never_sent_do_not_leave_a_gap_in_the_sequences(level: int) -> None:
    broker = TransactionalBroker(level)

    def work(writer: BulkWriter) -> None:
        with writer.transaction():
            writer.write("t", rows(b"1"))
        writer.begin()
        writer._add(TopicPartition("t", 0), rows(b"built").append_column("timestamp", pa.array([0], pa.int64())))
        writer.abort()
        with writer.transaction():
            writer.write("t", rows(b"2"))

    write(broker, work)
    assert broker.committed == [b"1", b"2"]


@pytest.mark.parametrize("level", [2, 1])
@pytest.mark.parametrize("seed", range(4))
def test_transactions_of_a_bulk_writer_are_stored_whole_and_once_or_not_at_all(seed: int, level: int) -> None:
    dice, broker = random.Random(seed), TransactionalBroker(level)
    kinds: list[int | str] = [0, 0, 0, LOSE_ANSWER, LOSE_REQUEST, 7, 14, 51]
    committed: list[bytes] = []

    def work(writer: BulkWriter) -> None:
        for number in range(20):
            for step in ("Produce", "AddPartitionsToTxn", "EndTxn", "TxnOffsetCommit", "InitProducerId"):
                more = [120, 29] if step == "Produce" else []
                broker.faults[step].clear()
                broker.faults[step].extend(dice.choice([*kinds, *more]) for _ in range(dice.randint(0, 2)))
            values = [b"%d" % (100 * number + each) for each in range(dice.randint(1, 6))]
            try:
                writer.begin()
                for value in values:
                    writer.write("t", rows(value))
                writer.send_offsets_to_transaction({PLACE: number}, "g")
                if dice.random() < 0.3:
                    raise AbortableTransactionError("by choice")
                writer.commit()
                committed.extend(values)
            except AbortableTransactionError:
                writer.abort()
            assert broker.committed == committed

    write(broker, work)
