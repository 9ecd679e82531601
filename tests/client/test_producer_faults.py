"""The producer when brokers fail: nothing acknowledged is lost, nothing is doubled, nothing overtakes."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.produced_log import LOSE_ANSWER, LOSE_REQUEST, STORED, TOO_LARGE, ProducedLog
from tests.client.scripted_broker import SILENCE

from kafkawire.client._produce.producer import Producer
from kafkawire.client.errors import BufferFullError, RequestTimeoutError
from kafkawire.messages.errors import MessageTooLargeError

if TYPE_CHECKING:
    from kafkawire.client import RecordFuture

pytestmark = pytest.mark.usefixtures("virtual_time")

NOT_ENOUGH_REPLICAS, NOT_LEADER, OUT_OF_ORDER, UNKNOWN_PRODUCER = 19, 6, 45, 59
QUICK = {"retry_backoff_ms": 2, "retry_backoff_max_ms": 5, "reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 5}


def producer_to(bootstrap: str, **options: Any) -> Producer:
    return Producer(bootstrap_servers=bootstrap, **{**QUICK, **options})


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


async def send_all(producer: Producer, values: list[bytes], pause_every: int = 3) -> list[RecordFuture]:
    futures = []
    for index, value in enumerate(values):
        futures.append(await producer.send("t", value))
        if index % pause_every == 0:
            await asyncio.sleep(0.001)
    return futures


@pytest.mark.parametrize("seed", range(8))
def test_whatever_fails_records_arrive_once_and_in_order(seed: int) -> None:
    dice = random.Random(seed)
    kinds: list[str | int] = [STORED, STORED, LOSE_ANSWER, LOSE_REQUEST, NOT_ENOUGH_REPLICAS, NOT_LEADER, 7]

    async def main() -> None:
        log = ProducedLog()
        log.faults.extend(dice.choice(kinds) for _ in range(30))
        async with log.broker() as fake, producer_to(fake.bootstrap, max_batch_size=100) as producer:
            values = numbers(150)
            futures = await send_all(producer, values, pause_every=dice.randint(1, 9))
            results = await asyncio.gather(*futures)
            assert log.values == values
            assert [result.offset for result in results] == list(range(len(values)))

    asyncio.run(main())


def test_several_batches_of_a_partition_are_on_their_way_at_once() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap, max_batch_size=1) as producer:
            await producer.send_and_wait("t", b"known")
            fake.delay = 0.02
            futures = [await producer.send("t", value) for value in numbers(5)]
            await asyncio.sleep(0.01)
            (connection,) = [task.result() for task in producer._cluster._connections.values()]
            assert connection.in_flight > 1
            await asyncio.gather(*futures)
            assert log.values == [b"known", *numbers(5)]

    asyncio.run(main())


def test_the_first_batch_goes_alone_because_a_broker_takes_any_sequence_from_a_stranger() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.faults.append(LOSE_REQUEST)
        async with log.broker() as fake, producer_to(fake.bootstrap, max_batch_size=1) as producer:
            await asyncio.gather(*[await producer.send("t", value) for value in numbers(5)])
            assert log.values == numbers(5)

    asyncio.run(main())


def test_without_idempotence_one_batch_of_a_partition_is_on_its_way_so_that_order_holds() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.faults.extend([NOT_ENOUGH_REPLICAS, STORED, NOT_LEADER])
        async with log.broker() as fake, producer_to(fake.bootstrap, acks=1, max_batch_size=1) as producer:
            await asyncio.gather(*(await send_all(producer, numbers(8))))
            assert log.values == numbers(8)
            assert log.ids_given == 0

    asyncio.run(main())


def test_a_broker_that_lost_track_of_us_gets_a_new_epoch() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap) as producer:
            await producer.send_and_wait("t", b"before")
            log.forget_producers()
            await producer.send_and_wait("t", b"after")
            await producer.send_and_wait("t", b"later")
            assert log.values == [b"before", b"after", b"later"]
            assert log.epochs == [(1001, 0), (1001, 1), (1001, 1)]

    asyncio.run(main())


def test_a_producer_id_that_the_broker_does_not_know_is_replaced() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap) as producer:
            await producer.send_and_wait("t", b"before")
            log.faults.append(UNKNOWN_PRODUCER)
            await producer.send_and_wait("t", b"after")
            assert log.values == [b"before", b"after"]
            assert log.epochs == [(1001, 0), (1002, 0)]

    asyncio.run(main())


def test_a_batch_that_is_refused_for_good_fails_and_those_behind_it_go_on() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.faults.append(TOO_LARGE)
        async with log.broker() as fake, producer_to(fake.bootstrap, max_batch_size=1) as producer:
            futures = await send_all(producer, numbers(4), pause_every=99)
            results = await asyncio.gather(*futures, return_exceptions=True)
            assert isinstance(results[0], MessageTooLargeError)
            assert "t-0" in str(results[0])
            assert log.values == numbers(4)[1:]

    asyncio.run(main())


@pytest.mark.parametrize(("acks", "codec"), [("all", "none"), ("all", "gzip"), ("1", "none")])
def test_a_batch_too_large_for_the_broker_goes_in_halves_with_its_sequences(acks: str, codec: str) -> None:
    async def main() -> None:
        log = ProducedLog()
        options = {"acks": acks, "linger_ms": 60_000, "max_batch_size": 200, "compression_type": codec}
        async with log.broker() as fake, producer_to(fake.bootstrap, **options) as producer:
            await asyncio.gather(await producer.send("t", b"known"), producer.flush())
            log.most = 3
            log.faults.extend([STORED, STORED, LOSE_ANSWER, NOT_ENOUGH_REPLICAS, STORED, LOSE_REQUEST])
            futures = [await producer.send("t", value) for value in numbers(40)]
            told: list[int] = []
            futures[17].add_done_callback(lambda future: told.append(future.result().offset))
            await producer.flush()
            assert all(future.done() for future in futures)
            places = await asyncio.gather(*futures)
            if acks == "all":
                assert log.values == [b"known", *numbers(40)]
                assert [place.offset for place in places] == list(range(1, 41))
                assert told == [18]
                assert set(log.epochs) == {(1001, 0)}
            assert [log.values[place.offset] for place in places] == numbers(40)

    asyncio.run(main())


def test_after_a_batch_was_too_large_the_next_ones_are_smaller() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.most = 4
        async with log.broker() as fake, producer_to(fake.bootstrap, linger_ms=60_000, max_batch_size=300) as producer:
            for _ in range(4):
                await producer.send("t", b"x")
                await producer.flush()
            for _ in range(3):
                futures = [await producer.send("t", b"%02d" % number) for number in range(20)]
                await producer.flush()
                await asyncio.gather(*futures)
                refused = log.refused_as_too_large
                log.refused_as_too_large = 0
            assert refused == 0
            assert log.values == [*[b"x"] * 4, *[b"%02d" % number for number in range(20)] * 3]

    asyncio.run(main())


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_one_record_that_is_too_large_does_not_make_the_next_batches_tiny(codec: str) -> None:
    async def main() -> None:
        log = ProducedLog()
        log.most_bytes = 4096
        options: dict[str, Any] = {"linger_ms": 60_000, "compression_type": codec}
        async with log.broker() as fake, producer_to(fake.bootstrap, **options) as producer:
            small, large = [b"x" * 30] * 150, random.Random(1).randbytes(4500)
            futures = [await producer.send("t", value) for value in (*small, large, *small)]
            await producer.flush()
            results = await asyncio.gather(*futures, return_exceptions=True)
            assert [number for number, each in enumerate(results) if isinstance(each, Exception)] == [150]
            before = len(log.epochs)
            futures = [await producer.send("t", value) for value in small[:50]]
            await producer.flush()
            await asyncio.gather(*futures)
            assert len(log.epochs) == before + 1

    asyncio.run(main())


def test_a_single_record_too_large_for_the_broker_fails_and_its_neighbours_arrive() -> None:
    async def main() -> None:
        log = ProducedLog()
        log.faults.extend([STORED, TOO_LARGE, TOO_LARGE, TOO_LARGE])
        async with log.broker() as fake, producer_to(fake.bootstrap, linger_ms=60_000) as producer:
            await asyncio.gather(await producer.send("t", b"known"), producer.flush())
            futures = [await producer.send("t", value) for value in numbers(4)]
            await producer.flush()
            results = await asyncio.gather(*futures, return_exceptions=True)
            assert isinstance(results[0], MessageTooLargeError)
            assert log.values == [b"known", *numbers(4)[1:]]

    asyncio.run(main())


def test_a_record_that_cannot_be_delivered_in_time_is_given_up_and_the_next_ones_still_arrive() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap, delivery_timeout_ms=80) as producer:
            await producer.send_and_wait("t", b"first")
            log.faults.extend([NOT_ENOUGH_REPLICAS] * 1000)
            with pytest.raises(RequestTimeoutError, match=r"t-0: 1 records not delivered within 80 ms \(\d+ att"):
                await producer.send_and_wait("t", b"lost")
            log.faults.clear()
            await producer.send_and_wait("t", b"next")
            assert log.values == [b"first", b"next"]

    asyncio.run(main())


def test_a_broker_that_never_answers_does_not_hold_a_record_past_its_time() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake:
            producer = producer_to(fake.bootstrap, delivery_timeout_ms=80, request_timeout_ms=10_000)
            await producer.start()
            answer, fake.handlers["Produce"] = fake.handlers["Produce"], lambda request, version: SILENCE
            before = asyncio.get_running_loop().time()
            with pytest.raises(RequestTimeoutError):
                await producer.send_and_wait("t", b"lost")
            await producer.stop()
            assert asyncio.get_running_loop().time() - before < 2
            fake.handlers["Produce"] = answer

    asyncio.run(main())


def test_a_request_without_an_answer_is_sent_again_on_another_connection() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap, request_timeout_ms=50) as producer:
            answer = fake.handlers["Produce"]

            def silent_once(request: Any, version: int) -> Any:
                fake.handlers["Produce"] = answer
                answer(request, version)
                return SILENCE

            fake.handlers["Produce"] = silent_once
            assert (await producer.send_and_wait("t", b"once")).offset == 0
            assert log.values == [b"once"]

    asyncio.run(main())


def test_epochs_that_are_used_up_make_a_new_producer_id() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake:
            log.give_id = lambda request, version: ProducedLog.give_id(log, request, version)  # type: ignore[method-assign]
            producer = producer_to(fake.bootstrap)
            await producer.start()
            await producer.send_and_wait("t", b"before")
            (queue,) = producer._accumulator.queues.values()
            assert queue.identity is not None
            queue.identity = queue.identity._replace(epoch=32767)
            log.state.clear()
            await producer.send_and_wait("t", b"at the last epoch")
            log.forget_producers()
            await producer.send_and_wait("t", b"after")
            assert log.epochs[-1] == (1002, 0)
            await producer.stop()

    asyncio.run(main())


def test_a_full_buffer_makes_send_wait_and_then_fail() -> None:
    async def main() -> None:
        options = {"buffer_memory": 1000, "max_block_ms": 30, "linger_ms": 10_000}
        async with (
            ProducedLog().broker() as fake,
            Producer({"bootstrap.servers": fake.bootstrap}, **options) as producer,
        ):
            fake.delay = 1.0
            first = await producer.send("t", bytes(2000))
            with pytest.raises(BufferFullError, match=r"buffer_memory is 1000.* within 30 ms"):
                await producer.send("t", b"x")
            await producer.flush()
            assert first.result().offset == 0
            assert (await producer.send("t", b"y")) is not None

    asyncio.run(main())


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"value": "text"}, "value: expected bytes or None, found str; encode it, or set value_serializer"),
        ({"value": 5}, "value: expected bytes or None, found int"),
        ({"key": "k"}, "key: expected bytes or None, found str; encode it, or set key_serializer"),
        ({"headers": {"name": b"value"}}, "headers: expected pairs of str and bytes or None, found 'name'"),
        ({"headers": [("name", "value")]}, r"found \('name', 'value'\)"),
        ({"headers": [(b"name", b"value")]}, r"found \(b'name', b'value'\)"),
    ],
)
def test_a_record_that_is_not_bytes_is_refused_and_leaves_nothing(record: dict[str, Any], complaint: str) -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, Producer(bootstrap_servers=fake.bootstrap) as producer:
            with pytest.raises(TypeError, match=complaint):
                await producer.send("t", **record)
            await producer.flush()
            before = await producer.send("t", b"before")
            with pytest.raises(TypeError, match=complaint):
                await producer.send("t", **record)
            after = await producer.send("t", b"after", headers=((name, b"") for name in "ab"))
            assert [(await each).offset for each in (before, after)] == [0, 1]
            assert log.values == [b"before", b"after"]

    asyncio.run(main())


def test_an_answer_does_not_close_the_batch_that_is_being_filled() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as fake, producer_to(fake.bootstrap, max_batch_size=300) as producer:
            for value in [b"%03d" % number for number in range(600)]:
                await producer.send("t", value)  # answers arrive whenever a batch is full
            await producer.flush()
        assert len(log.values) == 600
        assert set(log.counts[:-1]) == {log.counts[0]}

    asyncio.run(main())
