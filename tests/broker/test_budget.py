"""The memory of requests: shared, lent, waited for, and taken back from slow peers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from kafkawire.broker._net.budget import AT_ONCE, CHECK_SECONDS, LONGEST_LOAN, MIN_RATE, SHORTEST_LOAN, Budget
from kafkawire.wire.receive_buffer import SMALL

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from kafkawire.broker._net.connection import Connection

MIB = 1024 * 1024
LIMIT = 64 * MIB
SHARED = 48 * MIB
FAST = 100.0 * MIB


class Timer:
    def __init__(self, when: float, call: Callable[[], None]) -> None:
        self.when, self.call, self.is_cancelled = when, call, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """A clock that the test moves, and that runs due timers."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        timer = Timer(self.now + delay, call)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [each for each in self.timers if each.when <= end and not each.is_cancelled]:
            first = min(due, key=lambda timer: timer.when)
            self.timers.remove(first)
            self.now = max(self.now, first.when)
            first.call()
        self.now = end


class Peer:
    """A connection as the budget sees it; what it is asked to do is noted."""

    def __init__(self, budget: Budget, *, rate: float | None = None, speed: float = 0.0) -> None:
        self.budget = budget
        self.rate, self.speed = rate, speed
        self.accounted = self.unread = self.lacking = 0
        self.owes = self.is_parked = False
        self.is_sending = True
        self.wanted = 0
        self.granted = False
        self.refused = ""

    def pace(self, now: float, unread: int = 0) -> float | None:
        return None if self.rate is None else self.rate + unread

    def hold(self, size: int) -> None:
        change, self.accounted = size - self.accounted, size
        self.budget.account(change, cast("Connection", self))

    def ask(self, size: int, frame: int | None = None) -> bool:
        self.wanted = size
        self.granted = self.budget.reserve(cast("Connection", self), size, frame or self.accounted + size)
        if self.granted:
            self.hold(self.accounted + size)
        return self.granted

    def grant(self) -> None:
        self.granted = True
        self.hold(self.accounted + self.wanted)

    def finish(self) -> None:
        if self.owes:
            self.budget.repay(cast("Connection", self))
        self.hold(0)

    def refuse(self, kind: str, reason: str) -> None:
        assert kind == "slow"
        self.refused = reason

    def leave(self) -> None:
        self.budget.forget(cast("Connection", self))


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def budget(loop: Loop) -> Budget:
    return Budget(cast("AbstractEventLoop", loop), LIMIT)


def fill(budget: Budget, size: int = SHARED, **settings: Any) -> list[Peer]:
    """Peers of a MiB each that hold so much, and one whose frame exceeds the limit."""
    peers = [Peer(budget, **settings) for _ in range(size // MIB)]
    for peer in peers:
        assert peer.ask(MIB)
    return peers


def favour(budget: Budget) -> Peer:
    """The one frame that may exceed the limit."""
    first = Peer(budget)
    assert first.ask(MIB)
    assert first.owes
    return first


def test_slow_peers_may_hold_memory_that_nobody_needs(loop: Loop, budget: Budget) -> None:
    slow = fill(budget, SHARED - 2 * MIB, rate=0.0)
    assert Peer(budget).ask(MIB)
    loop.advance(3600)
    assert not any(peer.refused for peer in slow)


def test_slow_peers_are_closed_for_a_frame_that_waits_the_largest_first(loop: Loop, budget: Budget) -> None:
    steady = fill(budget, SHARED - 4 * MIB, rate=10.0 * MIB)
    small, large = Peer(budget, rate=MIN_RATE - 1.0), Peer(budget, rate=MIN_RATE - 1.0)
    assert small.ask(MIB)
    assert large.ask(3 * MIB)
    favour(budget)
    waiting = Peer(budget)
    assert not waiting.ask(2 * MIB)
    loop.advance(CHECK_SECONDS)
    assert large.refused
    assert "3145728 bytes of memory held at 16383 bytes per second, expected 49152" in large.refused
    assert "1 requests wait for memory, queued.max.request.bytes is 67108864" in large.refused
    assert not small.refused
    assert not any(peer.refused for peer in steady)
    large.leave()
    assert waiting.granted


def test_a_peer_whose_bytes_were_not_read_yet_is_not_slow(loop: Loop, budget: Budget) -> None:
    slow = fill(budget, rate=0.0)
    for peer in slow:
        peer.unread = MIB
    favour(budget)
    assert not Peer(budget).ask(MIB)
    loop.advance(0.9)
    assert not any(peer.refused for peer in slow)


def test_the_rate_that_is_expected_doubles_while_a_frame_waits(loop: Loop, budget: Budget) -> None:
    peers = fill(budget, rate=10.0 * MIN_RATE)
    favour(budget)
    assert not Peer(budget).ask(MIB)
    loop.advance(2.9)
    assert not any(peer.refused for peer in peers)
    loop.advance(2)
    assert any(peer.refused for peer in peers)


def test_peers_that_park_requests_are_closed_after_slow_ones(loop: Loop, budget: Budget) -> None:
    parked, slow = fill(budget, SHARED - MIB, rate=0.0), Peer(budget, rate=0.0)
    for peer in parked:
        peer.is_parked = True
    assert slow.ask(MIB)
    favour(budget)
    first, second = Peer(budget), Peer(budget)
    assert not first.ask(MIB)
    loop.advance(CHECK_SECONDS)
    assert slow.refused
    assert not any(peer.refused for peer in parked)
    slow.leave()
    assert first.granted
    assert not second.ask(MIB)
    loop.advance(2 * CHECK_SECONDS)
    assert sum(bool(peer.refused) for peer in parked) == 1


def test_memory_that_is_on_its_way_back_is_not_taken_twice(loop: Loop, budget: Budget) -> None:
    slow = fill(budget, rate=0.0)
    favour(budget)
    assert not Peer(budget).ask(MIB)
    loop.advance(0.9)
    assert sum(bool(peer.refused) for peer in slow) == 1


def test_new_senders_leave_the_last_quarter_to_proven_ones(loop: Loop, budget: Budget) -> None:
    fill(budget)
    favour(budget)
    crowd = [Peer(budget) for _ in range(100)]
    for peer in crowd:
        assert not peer.ask(MIB)
        peer.unread = 100_000
    loop.advance(0.01)
    assert sum(peer.granted for peer in crowd) == LIMIT // 16 // MIB
    for _ in range(20):
        proven = Peer(budget, speed=FAST)
        assert proven.ask(500_000)
        proven.finish()


def test_a_connection_that_proved_slow_waits_for_shared_memory(loop: Loop, budget: Budget) -> None:
    shared = fill(budget)
    favour(budget)
    waiting = Peer(budget, speed=1000.0)
    assert not waiting.ask(MIB)
    loop.advance(0.2)
    assert not waiting.granted
    shared[0].finish()
    shared[1].finish()
    assert waiting.granted


def test_a_loan_to_a_new_peer_ends_when_others_wait(loop: Loop, budget: Budget) -> None:
    fill(budget)
    favour(budget)
    borrower = Peer(budget)
    assert not borrower.ask(MIB)
    borrower.unread = 100_000
    loop.advance(0.01)
    assert borrower.granted
    borrower.unread, borrower.lacking = 0, 900_000
    loop.advance(1)
    assert not borrower.refused
    assert not Peer(budget).ask(MIB)
    loop.advance(CHECK_SECONDS)
    assert borrower.refused.startswith("1048576 bytes of memory were lent, 900000 of them are overdue")


def test_a_loan_is_renewed_while_the_frame_makes_its_way(loop: Loop, budget: Budget) -> None:
    fill(budget)
    favour(budget)
    borrower, waiting = Peer(budget, speed=FAST), [Peer(budget, speed=FAST) for _ in range(20)]
    assert borrower.ask(MIB)
    borrower.lacking = MIB // 2
    for peer in waiting:
        peer.ask(MIB)
        peer.is_sending = False
    assert not waiting[-1].granted
    loop.advance(LONGEST_LOAN + CHECK_SECONDS)
    assert not borrower.refused
    loop.advance(SHORTEST_LOAN + CHECK_SECONDS)
    assert borrower.refused


def test_a_proven_peer_keeps_its_loan_while_only_new_ones_wait(loop: Loop, budget: Budget) -> None:
    fill(budget)
    favour(budget)
    proven = Peer(budget, speed=FAST)
    assert proven.ask(MIB)
    proven.lacking = MIB
    assert not Peer(budget).ask(MIB)
    loop.advance(5)
    assert not proven.refused


def test_something_always_ends_however_small_the_limit_is(loop: Loop) -> None:
    budget = Budget(cast("AbstractEventLoop", loop), 1000)
    peers = [Peer(budget) for _ in range(5)]
    for peer in peers:
        peer.hold(SMALL)
        peer.ask(MIB)
    for _ in peers:
        loop.advance(CHECK_SECONDS)
        served = [peer for peer in peers if peer.granted and peer.accounted]
        assert len(served) == 1
        served[0].finish()
    assert all(peer.granted for peer in peers)
    assert budget.held == 0


def test_the_oldest_and_the_newest_take_turns(loop: Loop, budget: Budget) -> None:
    shared = fill(budget)
    first = favour(budget)
    crowd = [Peer(budget) for _ in range(10)]
    for peer in crowd:
        assert not peer.ask(MIB)
        loop.advance(0.001)
    first.finish()
    for peer in shared[:3]:
        peer.finish()
    assert [peer.granted for peer in crowd] == [True] * 2 + [False] * 6 + [True] * 2


def test_a_crowd_gets_its_memory_in_pieces(loop: Loop, budget: Budget) -> None:
    shared = fill(budget)
    favour(budget)
    crowd = [Peer(budget) for _ in range(40)]
    for peer in crowd:
        assert not peer.ask(MIB)
    for peer in shared:
        peer.finish()
    assert sum(peer.granted for peer in crowd) == AT_ONCE // MIB
    loop.advance(CHECK_SECONDS)
    assert sum(peer.granted for peer in crowd) == 2 * AT_ONCE // MIB
    loop.advance(1)
    assert all(peer.granted for peer in crowd)


def test_without_a_limit_memory_is_never_tight(loop: Loop) -> None:
    budget = Budget(cast("AbstractEventLoop", loop), -1)
    assert all(Peer(budget).ask(2**40) for _ in range(100))
    assert not budget.is_tight


def test_connections_that_leave_while_they_wait_are_forgotten_quickly(loop: Loop, budget: Budget) -> None:
    fill(budget)
    favour(budget)
    crowd = [Peer(budget) for _ in range(20_000)]
    for peer in crowd:
        assert not peer.ask(MIB)
    began = time.thread_time()
    for peer in reversed(crowd):
        peer.leave()
    assert time.thread_time() - began < 1
    assert budget.waiting == 0


def test_a_search_among_many_holders_takes_a_tenth_of_the_time(
    loop: Loop, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0

    def pace(self: Peer, now: float, more: int = 0) -> float:
        nonlocal searched
        searched += 1
        return 10.0 * MIB

    monkeypatch.setattr(Peer, "pace", pace)
    monkeypatch.setattr("kafkawire.broker._net.budget.perf_counter", lambda: searched / 1000)
    holders = [Peer(budget) for _ in range(10_000)]
    for peer in holders:
        peer.hold(SMALL + 1000)
    favoured = Peer(budget)
    favoured.ask(SHARED)
    assert not Peer(budget).ask(MIB)
    searched = 0
    budget._search(loop.now, 1.0)
    assert searched >= 10_000
    assert budget._next_search == loop.now + 10 * searched / 1000
