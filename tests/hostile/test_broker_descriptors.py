"""More connections than descriptors: open ones are served, new ones wait, and the log says why."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer

from kafkawire.messages import ApiVersionsRequest, CreateTopicsRequest, FetchRequest, ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GREETING = ApiVersionsRequest(client_software_name="peer", client_software_version="1")
LIMIT = 100
LOOPS = {"uvloop": "", "asyncio": "sys.modules['uvloop'] = None; "}
MAIN = "from kafkawire.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Serving:
    """A broker in a process of its own with few descriptors."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None, log.read_text()
        self.bootstrap_servers = found[0]

    @property
    def log(self) -> str:
        return self._log.read_text()


@contextmanager
def serving(path: Path, loop: str, limit: int, *arguments: str) -> Iterator[Serving]:
    """`kafkawire serve` on one of the loops, with a limit of descriptors."""
    process = start(path, loop, limit, *arguments)
    try:
        yield Serving(process, path / "log")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def start(path: Path, loop: str, limit: int, *arguments: str) -> subprocess.Popen[str]:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    command = [sys.executable, "-c", f"import sys; {LOOPS[loop]}{MAIN}", "serve", "--port", "0", *arguments]
    with (path / "log").open("w") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=lower)


class Client:
    """A client that writes records of a megabyte and reads each of them back."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._count = 0
        topic = CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        peer.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4)

    def check(self) -> None:
        sent = batch(os.urandom(1_000_000))
        data = ProduceRequest.PartitionProduceData(index=0, records=sent)
        topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
        answered = self._peer.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
        assert answered.responses[0].partition_responses[0].base_offset == self._count
        asked = FetchRequest.FetchPartition(fetch_offset=self._count, partition_max_bytes=1 << 21)
        topics = [FetchRequest.FetchTopic(topic="orders", partitions=[asked])]
        fetched = self._peer.call(FetchRequest(topics=topics, max_bytes=1 << 21), 12).responses[0].partitions[0]
        assert values(fetched.records) == values(sent)
        self._count += 1


def answers(peer: Peer, seconds: float) -> bool:
    peer.socket.settimeout(seconds)
    try:
        return bool(peer.receive((18, 3, 1)).error_code == 0)
    except TimeoutError:
        return False


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_with_all_descriptors_taken_open_connections_are_served(loop: str, where: str, tmp_path: Path) -> None:
    data = ["--memory"] if where == "memory" else ["--data", str(tmp_path / "data")]
    with serving(tmp_path, loop, LIMIT, *data, "-c", "socket.listen.backlog.size=500") as broker:
        with Peer(broker) as first, ExitStack() as stack:
            client = Client(first)
            client.check()
            crowd = [stack.enter_context(Peer(broker)) for _ in range(2 * LIMIT)]
            for peer in crowd:
                peer.send(GREETING, 3)
            assert answers(crowd[0], 30)
            for _ in range(20):
                client.check()
            assert not answers(crowd[-1], 0.5)
            assert broker.process.poll() is None
            assert "descriptors taken" in broker.log
            for peer in crowd[: LIMIT + LIMIT // 2]:
                peer.socket.close()
            assert answers(crowd[-1], 30)
            client.check()
        with Peer(broker) as late:
            late.send(GREETING, 3)
            assert answers(late, 30)
        log = broker.log
    assert "Traceback" not in log
    told = [line for line in log.splitlines() if "descriptors taken" in line]
    assert 1 <= len(told) <= 3
    used = re.search(rf"used=(\d+) limit={LIMIT} advice=.*ulimit -n", told[0])
    assert used is not None
    assert LIMIT - 12 <= int(used[1]) <= LIMIT


@pytest.mark.parametrize("loop", LOOPS)
def test_a_slow_reader_of_a_large_answer_needs_no_further_descriptor(loop: str, tmp_path: Path) -> None:
    config = ("-c", "socket.listen.backlog.size=500")
    with serving(tmp_path, loop, LIMIT, "--data", str(tmp_path / "data"), *config) as broker, ExitStack() as stack:
        first = stack.enter_context(Peer(broker))
        client = Client(first)
        for _ in range(8):
            client.check()
        readers = [stack.enter_context(Peer(broker)) for _ in range(40)]
        for reader in readers:
            reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        asked = FetchRequest.FetchPartition(fetch_offset=0, partition_max_bytes=1 << 23)
        topics = [FetchRequest.FetchTopic(topic="orders", partitions=[asked])]
        for reader in readers:
            reader.send(FetchRequest(topics=topics, max_bytes=1 << 23), 12)
        time.sleep(0.5)
        crowd = [stack.enter_context(Peer(broker)) for _ in range(LIMIT)]
        client.check()
        sizes = {len(reader.receive((1, 12, 1)).responses[0].partitions[0].records) for reader in readers}
        assert len(sizes) == 1
        assert sizes.pop() >= 7_000_000
        assert len(crowd) == LIMIT
        assert "sending failed" not in broker.log


def wait_for_line(broker: Serving, words: str) -> None:
    """Wait until a thread of the broker has written a line of its log; the caller checks the line."""
    gives_up = time.monotonic() + 30
    while words not in broker.log and time.monotonic() < gives_up:
        time.sleep(0.01)


def test_few_descriptors_are_pointed_out(tmp_path: Path) -> None:
    with serving(tmp_path, "uvloop", 64, "--memory") as broker:
        with Peer(broker) as peer:
            assert peer.call(GREETING, 3).error_code == 0
        wait_for_line(broker, "few descriptors")
        assert re.search(r"few descriptors limit=64 advice=.*allow at least 1024 \(ulimit -n\)", broker.log)


def test_too_few_descriptors_are_refused(tmp_path: Path) -> None:
    process = start(tmp_path, "uvloop", 32, "--memory")
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "the limit is 32 open files, but a broker needs at least 64" in (tmp_path / "log").read_text()
