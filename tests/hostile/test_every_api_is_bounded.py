"""No request keeps the broker busy: every API, asked for as much as 1 MB can ask for.

Bounds, with 2 000 partitions and 200 groups on the broker, whose process collects garbage as that of `kafkawire serve`:
- No step on the loop takes more than STEP of processor time. Wall time would measure the machine's other work too.
- A neighbour is answered within NEIGHBOUR meanwhile.
- An answer has at most ANSWER_PER_BYTE times the bytes of its request, and STATE for what the broker has to tell.
- The process grows by MEMORY at most.
- Four times the request takes less than RATIO times the processor time.

A fault repeats; a stall of the machine does not. So a case fails if each of ATTEMPTS measurements exceeds a bound.
"""

from __future__ import annotations

import gc
import os
import struct
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.broker.raw_connection import Peer
from tests.hostile.heavy_requests import GROUPS, PARTITIONS, TOPICS, Case, cases, frame

from kafkawire.broker._ops.process import COLLECTIONS
from kafkawire.messages import ApiVersionsRequest, OffsetCommitRequest
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

STEP: Final = 0.05
NEIGHBOUR: Final = 2.0
ANSWER_PER_BYTE: Final = 12
STATE: Final = 24_000_000
MEMORY: Final = 500_000_000
RATIO: Final = 8
ATTEMPTS: Final = 3
SMALL, LARGE = 256 * 1024, 1024 * 1024
LEAST: Final = 0.1  # seconds; shorter work is measured too badly to be compared
GREETING = ApiVersionsRequest(client_software_name="neighbour", client_software_version="1")


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    patch = pytest.MonkeyPatch()
    for module in ("dispatcher", "registry", "turns"):
        patch.setattr(f"kafkawire.broker._dispatch.{module}.perf_counter", time.thread_time)
    patch.setattr("kafkawire.broker._ops.watchdog.time.perf_counter", time.thread_time)
    with RunningBroker(config={"offsets.topic.num.partitions": "4"}) as running:
        fill(running)
        dispatcher = running.broker.dispatcher
        running.call(lambda: setattr(dispatcher, "interceptor", None))  # it remembers requests, which takes memory
        gc.collect()
        gc.freeze()  # the objects of other tests are not what a collection costs here
        thresholds = gc.get_threshold()
        gc.set_threshold(*COLLECTIONS)  # as in a process of the broker's own
        yield running
        gc.set_threshold(*thresholds)
        gc.unfreeze()
    patch.undo()


def fill(broker: RunningBroker) -> None:
    for number in range(TOPICS):
        broker.create_topic(f"topic-{number}", PARTITIONS, {"retention.ms": str(10**9 + number)})
    place = OffsetCommitRequest.OffsetCommitRequestPartition
    topics = [
        OffsetCommitRequest.OffsetCommitRequestTopic(
            name=f"topic-{number}",
            partitions=[place(partition_index=0, committed_offset=1, committed_metadata="x" * 99)],
        )
        for number in range(10)
    ]
    with Peer(broker) as peer:
        for number in range(GROUPS):
            for name in ("group", "doomed"):
                peer.call(OffsetCommitRequest(group_id=f"{name}-{number}", topics=topics), 8)
    broker.produce("topic-0", b"one")


@pytest.fixture(scope="module")
def ids(broker: RunningBroker) -> list[UUID]:
    node = broker.broker.node
    return broker.call(lambda: [node.topics.get(f"topic-{number}").id for number in range(TOPICS)])


class Neighbour:
    """A client that asks for little, again and again, while others ask for much."""

    def __init__(self, broker: RunningBroker) -> None:
        self.longest = 0.0
        self.memory = 0
        self._broker = broker
        self._is_done = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield
        finally:
            self._is_done.set()
            thread.join()

    def _ask(self) -> None:
        with Peer(self._broker) as peer:
            while not self._is_done.wait(0.005):
                began = time.monotonic()
                peer.call(GREETING, 3)
                self.longest = max(self.longest, time.monotonic() - began)
                self.memory = max(self.memory, resident())


def resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def ask(broker: RunningBroker, request: bytes) -> int:
    """The bytes of the answer, which is not looked at; 0 if the connection was closed."""
    with Peer(broker) as peer:
        peer.socket.sendall(request)
        try:
            size = struct.unpack(">i", peer.socket.recv(4, 0x100))[0]
        except struct.error:
            return 0
        left = size
        while left:
            received = len(peer.socket.recv(min(left, 1 << 20)))
            assert received, "the answer ends too early"
            left -= received
        return int(size)


@dataclass(frozen=True)
class Cost:
    """The cost of a small and a large request for the broker and its neighbour."""

    step: float
    blocked: dict[str, int]
    wait: float
    memory: int
    used: tuple[float, float]
    growth: float

    def check(self) -> None:
        assert self.step < STEP
        assert not self.blocked, "the loop stood still between two steps"
        assert self.wait < NEIGHBOUR
        assert self.memory < MEMORY
        assert self.used[1] < max(RATIO * self.used[0], LEAST) * self.growth


def measure(broker: RunningBroker, small: bytes, large: bytes) -> Cost:
    watchdog = broker.broker.dispatcher.watchdog
    neighbour = Neighbour(broker)
    used = []
    before = resident()
    watchdog.longest = 0.0
    watchdog.blocked.clear()
    with neighbour.watching():
        for request in (small, large):
            began = time.process_time()
            size = ask(broker, request)
            used.append(time.process_time() - began)
            assert size <= ANSWER_PER_BYTE * len(request) + STATE
    return Cost(
        step=watchdog.longest,
        blocked=dict(watchdog.blocked),
        wait=neighbour.longest,
        memory=neighbour.memory - before,
        used=(used[0], used[1]),
        growth=max(1.0, len(large) / len(small) / 4),
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases()])
def test_a_request_of_a_megabyte_keeps_nobody_waiting(broker: RunningBroker, ids: list[UUID], case: Case) -> None:
    small, large = frame(case, SMALL, ids), frame(case, LARGE, ids)
    for _ in range(ATTEMPTS - 1):
        with suppress(AssertionError):
            return measure(broker, small, large).check()
    return measure(broker, small, large).check()
