"""Captures to matched exchanges: packets a second, against tshark where it is installed, and how much is found."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from tests.inspect.captures import Sent, write_pcap
from tests.inspect.cluster_traffic import Traffic, cluster_traffic, impaired

from benchmarks.report import Row, best_times
from kafkawire.inspect._tables.read import read_captures

if TYPE_CHECKING:
    from collections.abc import Iterator

TSHARK = shutil.which("tshark")
FIELDS = ("frame.number", "kafka.len", "kafka.request_key", "kafka.request.version", "kafka.correlation_id")
_PATIENCE = 40  # times our own time; on chatty captures it takes minutes


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        yield from _speed("bulk", path, cluster_traffic(200, 25, payload=60_000))
        yield from _speed("chatty", path, cluster_traffic(200, 1_500, payload=80))
        yield from _quality(path, impaired(cluster_traffic(200, 25, payload=60_000), lost=23))


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
