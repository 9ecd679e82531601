"""Count the files that a request, a record or a capture passes on its way: `python -m tools.journeys`.

Rules:
- A file counts if one of its functions runs. Imports do not count, nor do the first requests, which fill caches.
- Files that define values and their bytes do not count: those of `messages`, `records` and `_codec`. Every journey uses
  them, and a reader who follows one knows them. `-v` prints them in brackets.
- A compiled module counts with the file that calls it. The `__init__` of a package does not count.
- Brokers run in a process of their own, unless the broker's files are counted. Then the broker runs in a thread of this
  process, without a test's interceptor, and lines of the log below WARNING are off.
- Of Spark, the driver's part runs here, and the executors' part is called here as Spark calls it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import io
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import kafkawire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType, FrameType

ROOT = Path(kafkawire.__file__).parent
VALUES = ("messages/", "records/", "_codec/")
NOT_CALLS = {"<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"}


class Trace:
    """The files whose functions run while it is on, in the order of their first call.

    The callback does little, because a broker that is slowed down reports slow requests.
    """

    def __init__(self) -> None:
        self._codes: dict[CodeType, None] = {}
        self._is_on = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if self._is_on and event == "call":
            self._codes.setdefault(frame.f_code)

    @property
    def files(self) -> list[str]:
        paths = (Path(code.co_filename) for code in self._codes if _is_function(code))
        inside = (path.relative_to(ROOT).as_posix() for path in paths if path.is_relative_to(ROOT))
        return list(dict.fromkeys(path for path in inside if not path.endswith("__init__.py")))

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False


def _is_function(code: CodeType) -> bool:
    return code.co_name not in NOT_CALLS and bool(code.co_flags & inspect.CO_NEWLOCALS)


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of a broker in another process."""
    command = [sys.executable, "-m", "kafkawire", "serve", "--memory", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.kill()
        process.communicate()


def ask(peer: socket.socket, frame: bytes) -> bytes:
    peer.sendall(frame)
    head = peer.recv(4, socket.MSG_WAITALL)
    return peer.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)


@contextlib.contextmanager
def broker_in_thread(data: str) -> Iterator[int]:
    """The port of a broker in a thread of this process, as `kafkawire serve` runs it, with the topic `orders`.

    It has nothing left to import, so that its requests run alone.
    """
    from kafkawire.broker import Broker
    from kafkawire.broker._ops import loading

    for _ in loading.load_everything():
        pass
    loading.DELAY_SECONDS = 3600.0  # type: ignore[misc]  # the broker would look for more in the middle of a journey
    started: Future[int] = Future()
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def run() -> None:
        async with Broker(data, port=0) as broker:
            broker.node.create_topic("orders", 1)
            started.set_result(broker.port)
            await stopping.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        yield started.result(30)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        loop.close()


def to_broker(trace: Trace, frames: Sequence[bytes]) -> None:
    """Frames to a broker that keeps its data on disk, three times each; the third time of the last one counts."""
    with (
        tempfile.TemporaryDirectory() as data,
        broker_in_thread(data) as port,
        socket.create_connection(("127.0.0.1", port), 10) as peer,
    ):
        for content in frames:
            for _ in range(2):
                ask(peer, content)
            last = content
            if content is not frames[-1]:
                ask(peer, content)
        with trace.on():
            ask(peer, last)


def produce_frame() -> bytes:
    from kafkawire.messages import ProduceRequest
    from kafkawire.records import BatchBuilder
    from kafkawire.wire import encode_request

    builder = BatchBuilder()
    builder.append(b"key", b"value" * 1000, timestamp=int(time.time() * 1000))
    batch = builder.build()
    part = ProduceRequest.PartitionProduceData(index=0, records=batch)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[part])
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    return bytes(encode_request(request, version=9, correlation_id=1, client_id="journeys"))


def fetch_frame() -> bytes:
    from kafkawire.messages import FetchRequest
    from kafkawire.wire import encode_request

    part = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchRequest.FetchTopic(topic="orders", partitions=[part])
    request = FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, topics=[topic])
    return bytes(encode_request(request, version=12, correlation_id=1, client_id="journeys"))


def send(trace: Trace) -> None:
    """`await producer.send(...)`, and its acknowledgement."""
    from kafkawire.client import Producer

    async def run(address: str) -> None:
        async with Producer(bootstrap_servers=address) as producer:
            for _ in range(2):
                await (await producer.send("orders", b"value", key=b"key"))
            with trace.on():
                await (await producer.send("orders", b"value", key=b"key"))

    with served() as address:
        asyncio.run(run(address))


def diagnose(trace: Trace, capture: Path | None) -> None:
    """`kafkawire diagnose CAPTURE`; without a capture, of a producer and a consumer through the proxy."""
    from kafkawire.cli.main import main

    with contextlib.ExitStack() as stack:
        if capture is None:
            capture = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "traffic.pcapng"
            record(capture)
        _diagnose(trace, capture, main)


def record(capture: Path) -> None:
    from kafkawire.client.blocking import Consumer, Producer

    with served() as address:
        proxy = [sys.executable, "-m", "kafkawire", "proxy", "--quiet", "--listen", "0", "--upstream", address]
        with subprocess.Popen([*proxy, "--record", str(capture)], stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            port = running.stderr.readline().split("port ")[1].split(";")[0]
            with Producer(bootstrap_servers=f"localhost:{port}") as producer:
                producer.send_and_wait("orders", b"value", key=b"key")
            with Consumer(
                "orders", bootstrap_servers=f"localhost:{port}", group_id="g", auto_offset_reset="earliest"
            ) as consumer:
                consumer.getmany(timeout_ms=5000)
            running.terminate()


def _diagnose(trace: Trace, capture: Path, main: Callable[[list[str]], int]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["diagnose", str(capture)])
        with trace.on():
            main(["diagnose", str(capture)])


def pipeline(trace: Trace) -> None:
    """`kafkawire pipeline run` over a topic: the driver's job with its report, and the tasks of both tables."""
    from kafkawire.client import Producer
    from kafkawire.spark import Job, OutputDirectory, TopicsDataSource, TopicsInput, build_session, topic_options

    async def fill(address: str) -> None:
        async with Producer(bootstrap_servers=address) as producer:
            for number in range(10):
                await producer.send("orders", b"value", key=b"key-%d" % number)

    def read_as_tasks_do(options: dict[str, str]) -> None:
        source = TopicsDataSource(options)
        reader = source.reader(source.schema())
        for partition in reader.partitions():
            list(reader.read(partition))

    with served() as address, tempfile.TemporaryDirectory() as out:
        asyncio.run(fill(address))
        options = topic_options(address, ["orders"])
        spark = build_session("local[1]", settings={"spark.log.level": "OFF"})
        for number in range(2):
            job = Job(
                spark, TopicsInput(options), OutputDirectory.claim(Path(out) / str(number)), ("batches", "records")
            )
            with trace.on() if number else contextlib.nullcontext():
                job.run()
                for table in ("batches", "records"):
                    read_as_tasks_do({**options, "table": table})
        spark.stop()


def spark_read(trace: Trace) -> None:
    """`spark.read.format("kafkawire")`: the plan of the driver, and the rows of the tasks as Spark calls them."""
    from kafkawire.client import Producer
    from kafkawire.spark import TopicsDataSource, topic_options

    async def fill(address: str) -> None:
        async with Producer(bootstrap_servers=address) as producer:
            await producer.send_and_wait("orders", b"value", key=b"key")

    with served() as address:
        asyncio.run(fill(address))
        options = topic_options(address, ["orders"])
        for number in range(2):
            with trace.on() if number else contextlib.nullcontext():
                source = TopicsDataSource(options)
                reader = source.reader(source.schema())
                for partition in reader.partitions():
                    list(reader.read(partition))


def count(journey: Callable[[Trace], None]) -> list[str]:
    """The files that a journey passes, in the order of their first call."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        journey(trace)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(trace.files)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tools.journeys", description="Count the files of kafkawire that a request, a record or a capture passes."
    )
    parser.add_argument(
        "capture", nargs="?", type=Path, help="the capture of `kafkawire diagnose` (default: a small one)"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print the files, in the order of their first call"
    )
    parser.add_argument("--only", default="", metavar="WORD", help="only the journeys whose title contains WORD")
    options = parser.parse_args(arguments)
    journeys: dict[str, Callable[[Trace], None]] = {
        "Produce: from the socket to the disk and back": lambda trace: to_broker(trace, [produce_frame()]),
        "Fetch with sendfile": lambda trace: to_broker(trace, [produce_frame(), fetch_frame()]),
        "Producer.send to acknowledgement": send,
        "diagnose of a capture": lambda trace: diagnose(trace, options.capture),
        "Spark's read of a topic, driver and tasks": spark_read,
        "pipeline run over a topic, driver and tasks": pipeline,
    }
    for title, journey in journeys.items():
        if options.only not in title:
            continue
        files = count(journey)
        values = [file for file in files if file.startswith(VALUES)]
        sys.stdout.write(f"{len(files) - len(values):3} {title} (and {len(values)} of values)\n")
        if options.verbose:
            sys.stdout.writelines(f"      [{file}]\n" if file in values else f"      {file}\n" for file in files)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
