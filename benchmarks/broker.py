"""The broker against bare loops that do nothing but move the same bytes, each in a process of its own.

The same generator loads both, with the same frames over as many sockets; both append to files that grow, in pages that
were made warm before. Rounds take turns, and the best of each counts.
Cost is linear if a hundred times the bytes, connections or requests take a hundred times the processor time.
A row has the cost per unit at 100x, relative to the least of those at 1x and 10x. Below 1, units share a fixed cost.
`python -m benchmarks.broker sendfile|receive PATH` runs a bare loop; it prints its port.
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.log import warm
from benchmarks.report import Row
from kafkawire.messages import ApiVersionsRequest, CreateTopicsRequest, FetchRequest, Message, ProduceRequest
from kafkawire.records import BatchBuilder, crc32c
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEGABYTE = 1 << 20
ROUNDS = 3
SECONDS = 1.0
MOST_GROWTH = 1.5
"""The growth of costs that counts as linear; the rest is noise."""
GREETING = ApiVersionsRequest(client_software_name="bench", client_software_version="1")


class Started(NamedTuple):
    """A server process, where it listens, and how long it took to say so."""

    process: subprocess.Popen[str]
    port: int
    seconds: float

    def processor_seconds(self) -> float:
        """The processor time that all its threads have used so far."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads) / 1e9

    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else float("nan")


@contextmanager
def server(*command: str) -> Iterator[Started]:
    start = perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=quiet, text=True)
    assert process.stdout is not None
    found = re.search(r"(\d+)(?: |$)", process.stdout.readline().rpartition(":")[2])
    assert found is not None
    try:
        with socket.create_connection(("127.0.0.1", int(found[1]))) as first:
            if command[0] == "kafkawire":
                call(first, GREETING, 3)
            taken = perf_counter() - start
        yield Started(process, int(found[1]), taken)
    finally:
        process.terminate()
        process.wait()


def broker(*arguments: str) -> str | tuple[str, ...]:
    return ("kafkawire", "serve", "--port", "0", *arguments)


def call(connection: socket.socket, request: Message, version: int) -> int:
    """Send a request and swallow its answer; the size of the answer."""
    connection.sendall(encode_request(request, version=version, correlation_id=1, client_id="bench"))
    return swallow(connection)


def swallow(connection: socket.socket) -> int:
    head = connection.recv(4, socket.MSG_WAITALL)
    size = int.from_bytes(head, "big")
    left = size
    while left:
        left -= len(connection.recv(min(left, MEGABYTE)))
    return size + 4


def rate(port: int, frame: bytes, answer: int, *, connections: int, depth: int, seconds: float = SECONDS) -> float:
    """Answers a second, with that many connections that each keep that many requests under way."""
    burst, expected = frame * depth, answer * depth
    waiting = selectors.DefaultSelector()
    left: dict[socket.socket, int] = {}
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(burst)
        waiting.register(connection, selectors.EVENT_READ)
        left[connection] = expected
    room = bytearray(4 * MEGABYTE)
    answered, start = 0, perf_counter()
    while perf_counter() - start < seconds:
        for key, _ in waiting.select():
            connection = key.fileobj  # type: ignore[assignment]  # only sockets are registered
            left[connection] -= connection.recv_into(room, min(len(room), left[connection]))
            if not left[connection]:
                answered += depth
                left[connection] = expected
                connection.sendall(burst)
    taken = perf_counter() - start
    for connection in left:
        connection.close()
    return answered / taken


def best(*contenders: Callable[[], float]) -> list[float]:
    """The best rate of each, taken in turns."""
    found = [0.0] * len(contenders)
    for _ in range(ROUNDS):
        found = [max(old, work()) for old, work in zip(found, contenders, strict=True)]
    return found


def batch(size: int, count: int) -> bytes:
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(None, os.urandom(size // count - 10), timestamp=1_700_000_000_000)
    return builder.build()


def produce(records: bytes) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name="bench", partition_data=[data])
    return ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic])


def create_topic(connection: socket.socket) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name="bench", num_partitions=1, replication_factor=1)
    call(connection, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4)


def fetch(offset: int) -> FetchRequest:
    wanted = FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=MEGABYTE)
    topic = FetchRequest.FetchTopic(topic="bench", partitions=[wanted])
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=MEGABYTE, topics=[topic])


def small_rows() -> Iterator[Row]:
    frame = encode_request(GREETING, version=3, correlation_id=1, client_id="bench")
    with server(*broker("--memory")) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            size = call(connection, GREETING, 3)
        (found,) = best(lambda: rate(running.port, frame, size, connections=8, depth=10))
    yield Row("ApiVersions, 8 connections, 10 deep", "requests/s", found, 60_000)


def fetch_rows(directory: Path) -> Iterator[Row]:
    with server(*broker("--data", str(directory))) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            create_topic(connection)
            for _ in range(80):
                call(connection, produce(batch(100_000, 10)), 9)
            frame = encode_request(fetch(0), version=12, correlation_id=1, client_id="bench")
            size = call(connection, fetch(0), 12)
        (log,) = directory.glob("bench-0/*.log")
        with server("benchmarks.broker", "sendfile", str(log)) as bare:
            ours, theirs = best(
                lambda: rate(running.port, frame, size, connections=1, depth=2),
                lambda: rate(bare.port, frame, MEGABYTE, connections=1, depth=2),
            )
    note = f"{ours * size / 1e9:.2f} GB/s against {theirs * MEGABYTE / 1e9:.2f} GB/s"
    yield Row("fetch of stored 1 MB ranges, one connection", "x bare sendfile", ours / theirs, 0.6, note=note)


def produce_rows(directory: Path) -> Iterator[Row]:
    warm(directory / "warm", 3 << 30)
    frame = encode_request(produce(batch(16_384, 100)), version=9, correlation_id=1, client_id="bench")
    with server(*broker("--data", str(directory))) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            create_topic(connection)
            size = call(connection, produce(batch(16_384, 100)), 9)
        with server("benchmarks.broker", "receive", str(directory / "bare")) as bare:
            ours, theirs = best(
                lambda: rate(running.port, frame, size, connections=4, depth=5, seconds=0.5),
                lambda: rate(bare.port, frame, 50, connections=4, depth=5, seconds=0.5),
            )
    note = f"{ours * len(frame) / 1e9:.2f} GB/s against {theirs * len(frame) / 1e9:.2f} GB/s"
    yield Row("produce of 16 KB batches, acks=1, 4 x 5 under way", "x bare receive", ours / theirs, 0.6, note=note)


def cost(running: Started, frame: bytes, answer: int, *, connections: int = 4, depth: int, seconds: float) -> float:
    """The broker's seconds of processor time per request."""
    before = running.processor_seconds()
    answers = rate(running.port, frame, answer, connections=connections, depth=depth, seconds=seconds) * seconds
    return (running.processor_seconds() - before) / answers


def least(*rounds: list[float]) -> list[float]:
    """The least of each place in some rounds."""
    return [min(each) for each in zip(*rounds, strict=True)]


def growth_rows(directory: Path) -> Iterator[Row]:
    """Ten and a hundred times the bytes of a batch, the connections, and the requests."""
    frames = {size: produce_frame(size) for size in (1_600, 16_000, 160_000)}
    with server(*broker("--data", str(directory))) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            create_topic(connection)
            answer = call(connection, produce(batch(1_600, 10)), 9)
        small = frames[1_600]
        rounds = [
            (
                [cost(running, frames[size], answer, depth=1, seconds=0.3) / size for size in frames],
                [cost(running, small, answer, connections=count, depth=1, seconds=0.5) for count in (4, 40, 400)],
                [cost(running, small, answer, depth=5, seconds=seconds) for seconds in (0.05, 0.5, 5)],
            )
            for _ in range(ROUNDS)
        ]
    by_size, by_connection, by_request = (least(*kind) for kind in zip(*rounds, strict=True))
    for work, costs, unit in (
        ("a hundred times the bytes of a batch", by_size, "ns per byte"),
        ("a hundred times the connections", by_connection, "us per request"),
        ("a hundred times the requests", by_request, "us per request"),
    ):
        scale = 1e9 if unit.startswith("ns") else 1e6
        note = f"{', '.join(f'{each * scale:.1f}' for each in costs)} {unit}"
        yield Row(f"produce, {work}", "x linear", costs[-1] / min(costs[:-1]), MOST_GROWTH, at_most=True, note=note)


def produce_frame(size: int) -> bytes:
    return encode_request(produce(batch(size, size // 160)), version=9, correlation_id=1, client_id="bench")


def crowd_rows() -> Iterator[Row]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    frame = encode_request(GREETING, version=3, correlation_id=1, client_id="bench")
    with server(*broker("--memory", "-c", "socket.listen.backlog.size=1024")) as running:
        idle = []
        for _ in range(1000):
            connection = socket.create_connection(("127.0.0.1", running.port))
            size = call(connection, GREETING, 3)
            idle.append(connection)
        found = rate(running.port, frame, size, connections=50, depth=1)
        sleep(0.1)
        memory = running.memory()
        for connection in idle:
            connection.close()
    yield Row("50 busy beside 1000 idle connections", "requests/s", found, None)
    yield Row("resident with 1050 connections", "MB", memory, 300, at_most=True)


def rows() -> Iterator[Row]:
    yield from small_rows()
    with tempfile.TemporaryDirectory() as directory:
        yield from fetch_rows(Path(directory))
    with tempfile.TemporaryDirectory() as directory:
        yield from produce_rows(Path(directory))
    with tempfile.TemporaryDirectory() as directory:
        yield from growth_rows(Path(directory))
    yield from crowd_rows()


def bare(kind: str, path: Path) -> None:
    """Serve connections with nothing but the system calls that the work needs."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(f":{listening.getsockname()[1]}", flush=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    ready = selectors.DefaultSelector()
    ready.register(listening, selectors.EVENT_READ)
    held: dict[socket.socket, bytearray] = {}
    room = memoryview(bytearray(MEGABYTE))
    position = 0

    def send_file(connection: socket.socket, _: memoryview) -> None:
        sent = 0
        while sent < MEGABYTE:
            sent += os.sendfile(connection.fileno(), file, sent, MEGABYTE - sent)

    def keep(connection: socket.socket, frame: memoryview) -> None:
        nonlocal position
        crc32c(frame)
        position += os.pwrite(file, frame, position)
        connection.send(bytes(50))

    serve = send_file if kind == "sendfile" else keep
    while True:
        for key, _ in ready.select():
            if key.fileobj is listening:
                connection, _ = listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(connection, selectors.EVENT_READ)
                held[connection] = bytearray()
                continue
            connection = key.fileobj  # type: ignore[assignment]  # only sockets are registered
            try:
                count = connection.recv_into(room)
                waiting = held[connection]
                waiting += room[:count]
                while len(waiting) >= 4 and len(waiting) >= (end := 4 + int.from_bytes(waiting[:4], "big")):
                    with memoryview(waiting) as view:
                        serve(connection, view[:end])
                    del waiting[:end]
            except ConnectionError:
                count = 0
            if not count:
                ready.unregister(connection)
                connection.close()


if __name__ == "__main__":
    bare(sys.argv[1], Path(sys.argv[2]))
