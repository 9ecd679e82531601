"""The future of a record sent by a plain call."""

from __future__ import annotations

import threading

import pytest

from kafkawire.client import RecordMetadata, RequestTimeoutError
from kafkawire.client._produce.batches import Delivery

PLACE = RecordMetadata("t", 0, 5, 1)


def test_callers_get_the_place_before_and_after_the_answer() -> None:
    delivery = Delivery()
    threading.Timer(0.02, delivery.set_result, [PLACE]).start()
    assert delivery.result(5) == PLACE
    assert delivery.result(0) == PLACE
    assert delivery.exception() is None
    assert delivery.done()


def test_a_reason_is_raised() -> None:
    delivery = Delivery()
    delivery.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        delivery.result()
    assert isinstance(delivery.exception(), ValueError)


def test_waiting_ends_in_time() -> None:
    with pytest.raises(RequestTimeoutError, match=r"not delivered within 0\.01 s"):
        Delivery().result(0.01)


def test_callbacks_are_called_once_whenever_they_come() -> None:
    delivery = Delivery()
    told: list[Delivery] = []
    delivery.add_done_callback(told.append)
    assert told == []
    delivery.set_result(PLACE)
    delivery.add_done_callback(told.append)
    assert told == [delivery, delivery]


def test_every_thread_that_waits_is_woken() -> None:
    deliveries = [Delivery() for _ in range(200)]
    found: list[RecordMetadata] = []

    def wait() -> None:
        found.extend(delivery.result(10) for delivery in deliveries)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for delivery in deliveries:
        delivery.set_result(PLACE)
    for thread in threads:
        thread.join()
    assert found == [PLACE] * 800
