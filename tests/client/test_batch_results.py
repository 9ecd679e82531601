"""Futures of records: asyncio's protocol, settled by the batch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client import RecordFuture, RecordMetadata, TopicPartition
from kafkawire.client._produce.results import BatchResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PLACE = TopicPartition("t", 2)


def futures(outcome: BatchResult, count: int) -> list[RecordFuture]:
    made = []
    for number in range(count):
        future = RecordFuture()
        future.batch, future.number = outcome, number
        outcome.timestamps.append(1000 + number)
        made.append(future)
    return made


def run(check: Callable[[BatchResult, list[RecordFuture]], Awaitable[None]], count: int = 3) -> None:
    async def main() -> None:
        outcome = BatchResult(asyncio.get_running_loop())
        async with asyncio.timeout(10):
            await check(outcome, futures(outcome, count))

    asyncio.run(main())


def test_an_answer_gives_every_record_its_place() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        assert not each[0].done()
        asyncio.get_running_loop().call_soon(outcome.succeed, PLACE, 40, -1, 7)
        assert await each[1] == RecordMetadata("t", 2, 41, 1001, 0, 7)
        assert await asyncio.gather(*each) == [RecordMetadata("t", 2, 40 + n, 1000 + n, 0, 7) for n in range(3)]
        assert each[2].exception() is None

    run(check)


def test_asyncio_takes_it_for_a_future() -> None:
    is_future: Callable[[object], bool] = asyncio.isfuture
    assert is_future(RecordFuture())


def test_the_brokers_time_stands_for_all_and_unknown_offsets_stay_unknown() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        outcome.succeed(PLACE, -1, 555, -1)
        assert [future.result() for future in each] == [RecordMetadata("t", 2, -1, 555, 1, -1)] * 3

    run(check)


def test_a_reason_is_raised_by_each() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        asyncio.get_running_loop().call_soon(outcome.fail, ValueError("no"))
        found = await asyncio.gather(*each, return_exceptions=True)
        assert [str(error) for error in found] == ["no"] * 3
        with pytest.raises(ValueError, match="no"):
            await each[0]

    run(check)


def test_a_result_that_is_requested_too_early_is_an_error() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        with pytest.raises(asyncio.InvalidStateError):
            each[0].result()

    run(check)


def test_a_wait_that_times_out_concerns_only_its_own_future() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(each[0], 0.01)
        assert each[0].cancelled()
        outcome.succeed(PLACE, 0, -1, -1)
        with pytest.raises(asyncio.CancelledError):
            each[0].result()
        assert not each[0].cancel()
        assert (await each[1]).offset == 1

    run(check)


def test_a_task_that_is_cancelled_while_it_waits_ends() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        async def wait() -> Any:
            return await each[0]

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (each[0].cancelled(), each[1].cancelled()) == (True, False)

    run(check)


def test_asyncios_own_ways_to_wait_work() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        asyncio.get_running_loop().call_later(0.01, outcome.succeed, PLACE, 0, -1, -1)
        done, pending = await asyncio.wait(each)  # type: ignore[type-var]  # a future in all but its class
        assert (len(done), pending) == (3, set())
        assert (await asyncio.shield(each[0])).offset == 0
        assert sorted([(await found).offset for found in asyncio.as_completed(each)]) == [0, 1, 2]

    run(check)


def test_callbacks_are_called_on_the_loop_once_whenever_they_come() -> None:
    async def check(outcome: BatchResult, each: list[RecordFuture]) -> None:
        told: list[str] = []
        one: Any = lambda future: told.append("one")  # noqa: E731
        each[0].add_done_callback(one)
        each[0].add_done_callback(lambda future: told.append("other"))
        assert each[0].remove_done_callback(one) == 1
        outcome.succeed(PLACE, 0, -1, -1)
        assert told == []
        await asyncio.sleep(0)
        assert told == ["other"]
        each[0].add_done_callback(one)
        await asyncio.sleep(0)
        assert told == ["other", "one"]

    run(check)
