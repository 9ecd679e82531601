"""Captures to matched exchanges, and the commands over captures, against tshark where it is installed.

The commands run as a user runs them, in processes of their own. tshark prints the same columns. Wall time and processor
time are compared, on captures of four sizes; those of 2, 20 and 200 connections show whether the cost is linear.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from tests.inspect.captures import Sent, write_pcap
from tests.inspect.cluster_traffic import Traffic, cluster_traffic, impaired

from benchmarks.report import Row, best_times, growth
from kafkawire.inspect._tables.read import read_captures

if TYPE_CHECKING:
    from collections.abc import Iterator

TSHARK = shutil.which("tshark")
FIELDS = ("frame.number", "kafka.len", "kafka.request_key", "kafka.request.version", "kafka.correlation_id")
SAME_COLUMNS = (
    *("frame.number", "frame.time_epoch", "kafka.len", "kafka.request_key", "kafka.request.version"),
    *("kafka.correlation_id", "kafka.client_id", "kafka.error", "kafka.throttle_time", "kafka.required_acks"),
    *("kafka.consumer_group", "kafka.member_id", "kafka.transactional_id", "kafka.producer_id", "kafka.replica_id"),
)
_DECADES = (2, 20, 200)
_CONNECTIONS = (2, 5, 20, 200)
_COMMANDS = {"inspect X --json": (["inspect", "--json"], 10), "diagnose X": (["diagnose"], 5)}
_PATIENCE = 40  # times our own time; on chatty captures it takes minutes


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        yield from _speed("bulk", path, cluster_traffic(200, 25, payload=60_000))
        yield from _speed("chatty", path, cluster_traffic(200, 1_500, payload=80))
        yield from _quality(path, impaired(cluster_traffic(200, 25, payload=60_000), lost=23))
        per_exchange: dict[tuple[str, int], float] = {}
        for connections in _CONNECTIONS:
            path.write_bytes(write_pcap(cluster_traffic(connections, 1_500, payload=80).packets))
            yield from _commands(path, connections, per_exchange)
        for name in _COMMANDS:
            yield growth(name, "exchange", {count * 1_500: per_exchange[name, count] for count in _DECADES})


def _speed(name: str, path: Path, traffic: Traffic) -> Iterator[Row]:
    path.write_bytes(write_pcap(traffic.packets))
    size = path.stat().st_size / 1e6
    best = best_times({"ours": lambda: read_captures([path], bodies=False)}, seconds=1.0, rounds=5)["ours"]
    work = f"{name} capture of {size:.0f} MB to matched exchanges"
    note = f"{len(traffic.packets)} packets in {best:.2f} s, {size / best:.0f} MB/s"
    yield Row(work, "k packets/s", len(traffic.packets) / best / 1000, 700, note=note)
    if TSHARK is None:
        yield Row(work, "tshark is not installed", float("nan"))
        return
    options = [word for field in FIELDS for word in ("-e", field)]
    command = [TSHARK, "-r", str(path), "-d", "tcp.port==9092,kafka", "-T", "fields", *options]
    begun = perf_counter()
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=_PATIENCE * best)
        note = ""
    except subprocess.TimeoutExpired:
        note = "stopped there, it had not ended"
    yield Row(work, "x tshark -T fields", (perf_counter() - begun) / best, 20, note=note)


def _quality(path: Path, traffic: Traffic) -> Iterator[Row]:
    path.write_bytes(write_pcap(traffic.packets))
    found: Counter[Sent] = Counter()
    for talk in read_captures([path], bodies=False).conversations:
        one = talk.connection
        for from_client, frames in ((True, one.requests), (False, one.responses)):
            parts = zip(frames.size.tolist(), frames.correlation.tolist(), frames.whole.tolist(), strict=True)
            found.update(Sent(one.client, from_client, size, number) for size, number, whole in parts if whole)
    truth = Counter(traffic.truth)
    right, false = (found & truth).total(), (found - truth).total()
    work = "impaired capture, 23 packets missing"
    yield Row(work, "% frames right", 100 * right / truth.total(), 99.5, note=f"{right} of {truth.total()}")
    yield Row(work, "false frames", false, 0, at_most=True)


class _Cost(NamedTuple):
    wall: float
    processor: float


def _cost(command: list[str]) -> _Cost:
    """The cost of a process that prints to nowhere."""
    before, begun = os.times(), perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = perf_counter() - begun, os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return _Cost(wall, user + system)


def _commands(path: Path, connections: int, per_exchange: dict[tuple[str, int], float]) -> Iterator[Row]:
    """The rows of a capture; puts the processor time per exchange into `per_exchange`."""
    exchanges = connections * 1_500
    size = path.stat().st_size / 1e6
    ours = str(Path(sys.executable).with_name("kafkawire"))
    options = [word for field in SAME_COLUMNS for word in ("-e", field)]
    theirs = TSHARK and _cost([TSHARK, "-r", str(path), "-d", "tcp.port==9092,kafka", "-T", "fields", *options])
    for name, (words, goal) in _COMMANDS.items():
        costs = [_cost([ours, words[0], str(path), *words[1:]]) for _ in range(3 if size < 20 else 1)]
        wall, processor = min(each.wall for each in costs), min(each.processor for each in costs)
        per_exchange[name, connections] = processor / exchanges
        work = f"{name}, {size:.0f} MB, {exchanges} exchanges"
        note = f"{wall:.2f} s, {processor:.2f} s of processor, {processor / exchanges * 1e6:.1f} us per exchange"
        if size < 5:
            yield Row(work, "ms", wall * 1000, 350, at_most=True, note=note)
        if not theirs:
            yield Row(work, "tshark is not installed", float("nan"))
            continue
        least = 1 if size < 5 else goal
        yield Row(work, "x tshark, wall", theirs.wall / wall, least, note=note)
        yield Row(work, "x tshark, processor", theirs.processor / processor, least)
