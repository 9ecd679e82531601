"""The pace of a peer: only time counts in which the broker waits for it."""

from __future__ import annotations

import pytest

from kafkawire.broker._net.receive_rate import SLOT_SECONDS, WINDOW_SECONDS, ReceiveRate

JUDGED = WINDOW_SECONDS + SLOT_SECONDS


def test_a_peer_has_no_pace_before_it_was_waited_for_that_long() -> None:
    pace = ReceiveRate(100.0)
    pace.add(10, 100.5)
    assert pace.rate(100.0 + JUDGED - 0.01) is None
    assert pace.rate(100.0 + JUDGED) is not None


@pytest.mark.parametrize("every", [0.01, 0.1, 0.25, 0.3])
def test_the_pace_of_a_steady_peer_is_its_rate(every: float) -> None:
    pace = ReceiveRate(100.0)
    now = 100.0
    while now < 110:
        now += every
        pace.add(int(20_000 * every), now)
    rate = pace.rate(now)
    assert rate is not None
    assert 14_000 <= rate <= 26_000


def test_a_burst_is_forgotten_after_the_window() -> None:
    pace = ReceiveRate(100.0)
    pace.add(900_000, 100.01)
    assert pace.rate(100.0 + JUDGED) == 0
    pace.add(1, 102.0)
    assert pace.rate(102.1) == 1
    assert pace.rate(150.0) == 0


def test_bytes_that_were_not_read_yet_count() -> None:
    assert ReceiveRate(100.0).rate(110.0, unread=5000) == 5000


def test_the_speed_is_that_of_the_best_frame_and_falls_with_slower_ones() -> None:
    pace = ReceiveRate(100.0)
    pace.add(1_000_000, 100.0)
    pace.finish(100.1)
    assert pace.speed == pytest.approx(10_000_000)
    pace.add(1_000_000, 101.0)
    pace.finish(110.1)
    assert pace.speed == pytest.approx(9_000_000)
    pace.finish(120.0)
    assert pace.speed == pytest.approx(9_000_000)


def test_bytes_that_arrive_with_the_start_of_a_frame_are_counted_like_later_ones() -> None:
    one, other = ReceiveRate(100.0), ReceiveRate(100.0)
    one.restart(101.0, 3000)
    other.restart(101.0)
    other.add(3000, 101.0)
    for now in (101.5, 102.0):
        one.add(500, now)
        other.add(500, now)
    for now in (102.3, 102.4, 102.6, 110.0):
        assert one.rate(now) == other.rate(now)
    assert one.rate(110.0, unread=7) == 7
    one.finish(102.0)
    other.finish(102.0)
    assert one.speed == other.speed > 0
