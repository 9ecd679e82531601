"""The future of a record sent by a plain call."""

from __future__ import annotations

import asyncio
import threading
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from kafkawire.client import RecordMetadata, RequestTimeoutError
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._produce.results import BatchResult, Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLACE = RecordMetadata("t", 0, 5, 1, 0, 0)
STEPS = ("attach", "split", "answer", "wait", "call")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def batch(loop: asyncio.AbstractEventLoop) -> BatchResult:
    return batch_of(loop, 1)


def batch_of(loop: asyncio.AbstractEventLoop, records: int) -> BatchResult:
    result = BatchResult(loop)
    result.timestamps += [1] * records
    return result


def answer(batch: BatchResult) -> None:
    """The place of the first record is PLACE; the halves of a split batch are answered in turn."""
    halves = [batch] if batch.halves is None else list(batch.halves)
    offset = PLACE.offset
    for half in halves:
        half.succeed(TopicPartition("t", 0), offset, -1, 0)
        offset += len(half.timestamps)


def test_callers_get_the_place_before_and_after_the_answer(batch: BatchResult) -> None:
    delivery = Delivery()
    delivery.attach(batch, 0)
    threading.Timer(0.02, answer, [batch]).start()
    assert delivery.result(5) == PLACE
    assert delivery.result(0) == PLACE
    assert delivery.exception() is None
    assert delivery.done()


def test_a_reason_is_raised(batch: BatchResult) -> None:
    delivery = Delivery()
    delivery.attach(batch, 0)
    batch.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        delivery.result()
    assert isinstance(delivery.exception(), ValueError)


def test_a_record_that_is_refused_raises_the_reason() -> None:
    delivery = Delivery()
    threading.Timer(0.02, delivery.refuse, [ValueError("no")]).start()
    with pytest.raises(ValueError, match="no"):
        delivery.result(5)
    assert delivery.done()


def test_waiting_ends_in_time(batch: BatchResult) -> None:
    with pytest.raises(RequestTimeoutError, match=r"not delivered within 0\.01 s"):
        Delivery().result(0.01)
    delivery = Delivery()
    delivery.attach(batch, 0)
    with pytest.raises(RequestTimeoutError, match=r"not delivered within 0\.01 s"):
        delivery.result(0.01)
    answer(batch)
    assert delivery.result(0) == PLACE


def test_callbacks_are_called_once_whenever_they_come(batch: BatchResult) -> None:
    delivery = Delivery()
    told: list[Delivery] = []
    delivery.add_done_callback(told.append)
    delivery.attach(batch, 0)
    delivery.add_done_callback(told.append)
    assert told == []
    answer(batch)
    assert told == [delivery, delivery]
    delivery.add_done_callback(told.append)
    assert told == [delivery, delivery, delivery]


def test_a_callback_that_fails_is_logged_and_the_others_are_called(
    batch: BatchResult, caplog: pytest.LogCaptureFixture
) -> None:
    delivery = Delivery()
    delivery.attach(batch, 0)
    told: list[Delivery] = []
    delivery.add_done_callback(lambda _: told.remove(delivery))
    delivery.add_done_callback(told.append)
    answer(batch)
    assert told == [delivery]
    assert "a callback of a delivery failed" in caplog.text


@pytest.mark.parametrize("order", [each for each in permutations(STEPS) if each.index("answer") > each.index("split")])
def test_every_order_of_steps_ends_with_the_place(loop: asyncio.AbstractEventLoop, order: tuple[str, ...]) -> None:
    """A record is attached before its batch is split or answered; callers wait and add callbacks at any time."""
    if not order.index("attach") < order.index("split"):
        return
    batch, first, last = batch_of(loop, 4), Delivery(), Delivery()
    told: list[Delivery] = []
    waiting: list[threading.Thread] = []
    found: list[int] = []

    def attach() -> None:
        first.attach(batch, 0)
        last.attach(batch, 3)

    def wait() -> None:
        for each in (first, last):
            waiting.append(threading.Thread(target=lambda each=each: found.append(each.result(10).offset)))
            waiting[-1].start()
            while waiting[-1].is_alive() and each._waiter is None:
                pass

    def call() -> None:
        for each in (first, last):
            each.add_done_callback(told.append)

    steps: dict[str, Callable[[], object]] = {
        "attach": attach,
        "split": lambda: batch.split(2),
        "answer": lambda: answer(batch),
        "wait": wait,
        "call": call,
    }
    for step in order:
        steps[step]()
    for thread in waiting:
        thread.join()
    assert sorted(found) == [5, 8]
    assert told == [first, last]
    assert (first.result(0).offset, last.result(0).offset) == (5, 8)


def test_every_thread_that_waits_is_woken(loop: asyncio.AbstractEventLoop) -> None:
    deliveries = [Delivery() for _ in range(200)]
    batches = [batch_of(loop, 1) for _ in deliveries]
    found: list[RecordMetadata] = []

    def wait() -> None:
        found.extend(delivery.result(10) for delivery in deliveries)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for delivery, batch in zip(deliveries, batches, strict=True):
        delivery.attach(batch, 0)
    for batch in batches:
        answer(batch)
    for thread in threads:
        thread.join()
    assert found == [PLACE] * 800
