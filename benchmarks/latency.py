"""The latency of a Produce under a steady load, beside Apache Kafka's.

Rules:
- The peak is the rate of requests with as many under way as the broker likes, the best of some rounds. Both brokers
  then get half of the lower of their two peaks.
- The load is open: requests leave at times that are fixed before, whether or not earlier ones are answered. Latency is
  counted from the intended time, so that a broker that stalls is charged for every request that it kept waiting.
- A request has one batch of 1 KB, with acks=1. The sockets are the generator's own, the same for both.
- Rounds take turns; the first ones warm both up and are not counted. The median of the rounds' percentiles counts.
- Apache Kafka is fetched by `make interop`; where it was not, that is said.
"""

from __future__ import annotations

import selectors
import socket
from collections import deque
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from tests.interop.apache_kafka import JARS
from tests.interop.maven import are_fetched

from benchmarks.apache import contenders
from benchmarks.broker import batch, call, create_topic, produce, rate
from benchmarks.report import Row
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.apache import Contender

SIZE, RECORDS = 1_024, 8
CONNECTIONS, DEPTH = 4, 5
WARM_UP, ROUNDS = 3, 7
SECONDS = 2.0
OF_PEAK = 0.5


class Target(NamedTuple):
    """A broker, the request that it gets, and the size of its answer."""

    port: int
    frame: bytes
    answer: int

    def peak(self) -> float:
        return rate(self.port, self.frame, self.answer, connections=CONNECTIONS, depth=DEPTH)


class Latencies(NamedTuple):
    """Percentiles of one round, in milliseconds."""

    half: float
    most: float
    worst: float


def target(contender: Contender) -> Target:
    port = int(contender.address.rpartition(":")[2])
    request = produce(batch(SIZE, RECORDS))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        create_topic(connection)
        answer = call(connection, request, 9)
    return Target(port, encode_request(request, version=9, correlation_id=1, client_id="bench"), answer)


def latencies(where: Target, per_second: float) -> Latencies:
    """Send requests at this rate; their latencies, from the time at which each was to leave."""
    waiting = selectors.DefaultSelector()
    under_way: dict[socket.socket, deque[float]] = {}
    received: dict[socket.socket, int] = {}
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", where.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(connection, selectors.EVENT_READ)
        under_way[connection], received[connection] = deque(), 0
    connections = list(under_way)
    room = bytearray(1 << 16)
    taken: list[float] = []
    total, sent, start = int(per_second * SECONDS), 0, perf_counter() + 0.01
    while len(taken) < total:
        due = start + sent / per_second
        while sent < total and due <= perf_counter():
            connection = connections[sent % CONNECTIONS]
            connection.sendall(where.frame)
            under_way[connection].append(due)
            sent += 1
            due = start + sent / per_second
        left = due - perf_counter() if sent < total else 30
        for key, _ in waiting.select(max(left, 0)):
            connection = key.fileobj  # type: ignore[assignment]  # only sockets are registered
            received[connection] += connection.recv_into(room)
            now = perf_counter()
            answers, received[connection] = divmod(received[connection], where.answer)
            taken.extend(now - under_way[connection].popleft() for _ in range(answers))
    for connection in connections:
        connection.close()
    taken.sort()
    return Latencies(*(taken[min(int(len(taken) * part), len(taken) - 1)] * 1000 for part in (0.5, 0.99, 1)))


def describe(rounds: tuple[Latencies, ...]) -> str:
    half, most = median(each.half for each in rounds), median(each.most for each in rounds)
    return f"p50 {half:.2f}, p99 {most:.2f}, worst {max(each.worst for each in rounds):.1f} ms"


def rows() -> Iterator[Row]:
    if not are_fetched(JARS):
        yield Row("latency beside Apache Kafka", "not fetched", float("nan"), note="make interop fetches it")
        return
    with contenders() as contending:
        targets = [target(each) for each in contending]
        peaks = [max(each.peak() for _ in range(WARM_UP)) for each in targets]
        per_second = min(peaks) * OF_PEAK
        found: list[tuple[Latencies, Latencies]] = []
        for number in range(WARM_UP + ROUNDS):
            round_of_both = latencies(targets[0], per_second), latencies(targets[1], per_second)
            if number >= WARM_UP:
                found.append(round_of_both)
    ratio = median(one.most / other.most for one, other in found)
    ours, theirs = (describe(each) for each in zip(*found, strict=True))
    note = f"{per_second:,.0f} requests/s of {peaks[0]:,.0f} and {peaks[1]:,.0f}; {ours} against {theirs}"
    yield Row("p99 of a produce at half of the peak rate", "x Apache Kafka", ratio, 1.0, at_most=True, note=note)
