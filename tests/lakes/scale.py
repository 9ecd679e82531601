"""One run of `kafkawire pipeline run` over much data, with the time and the memory of each kind of process.

`python -m tests.lakes.scale topic --gigabytes 20 --work DIR` (`make scale WHAT=topic GB=20`)

Rules:
- The data are made first, and the directory is removed at the end. The time and the memory are those of the run alone.
- Spark is a standalone cluster with two workers: two executors of 1 GB with one processor each, and a driver of 1 GB.
- Memory is the largest resident size seen in samples. That of Python workers is given for the largest one.
- The rows of the tables must be as many as were written.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from tests.cluster.processes import standalone
from tests.lakes.scale_data import GIGABYTE, write_capture, write_orders
from tests.lakes.steady import Broker
from tests.lakes.streams import descendants

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin

TOPIC: Final = "orders"
SETTINGS: Final = {"spark.driver.memory": "1g", "spark.executor.memory": "1g"}
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_KINDS: Final = (
    ("CoarseGrainedExecutorBackend", "executor"),
    ("SparkSubmit", "driver"),
    ("pyspark.sql.worker", "planner"),
    ("pyspark.daemon", "python worker"),
    ("pyspark", "python worker"),
    ("org.apache.spark.deploy", "cluster"),
    ("-m kafkawire serve", "broker"),
    ("-m kafkawire", "command"),
)


class Watch:
    """Samples of all processes below this one: the largest of each kind, and the processor time of all."""

    def __init__(self) -> None:
        self._over = Event()
        self.largest_mb: dict[str, int] = {}
        self._used: dict[int, tuple[str, float]] = {}
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        self._over.set()
        self._thread.join()
        seconds: dict[str, float] = {}
        for kind, used in self._used.values():
            seconds[kind] = round(seconds.get(kind, 0.0) + used, 1)
        return {"largest_mb": self.largest_mb, "processor_seconds": seconds}

    def _run(self) -> None:
        begun = {pid: _used(pid) for pid in descendants(os.getpid())}
        while not self._over.wait(0.3):
            for pid in descendants(os.getpid()):
                kind, size, used = _kind(pid), _resident_mb(pid), _used(pid)
                if kind and size:
                    self.largest_mb[kind] = max(self.largest_mb.get(kind, 0), size)
                    self._used[pid] = (kind, used - begun.get(pid, 0.0))


def _kind(pid: int) -> str:
    try:
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    return next((kind for mark, kind in _KINDS if mark in words), "other")


def _resident_mb(pid: int) -> int:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", (Path("/proc") / str(pid) / "status").read_text())
    except OSError:
        return 0
    return int(found[1]) // 1024 if found else 0


def _used(pid: int) -> float:
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def run(work: Path, words: list[str]) -> dict[str, Any]:
    """Run `kafkawire pipeline run`; its result and its cost."""
    out, spare = work / "out", work / "spark"
    confs = [f"--conf={name}={value}" for name, value in (SETTINGS | {"spark.local.dir": str(spare)}).items()]
    command = [sys.executable, "-m", "kafkawire", "pipeline", "run", *words, "--out", str(out), "--json", *confs]
    load = os.getloadavg()
    with (
        standalone(work / "cluster") as master,
        (work / "printed.txt").open("wb") as printed,
        (work / "result.json").open("wb") as result,
    ):
        started = time.monotonic()
        watch = Watch()
        code = subprocess.run([*command, "--master", master], check=False, stdout=result, stderr=printed).returncode
        seconds = time.monotonic() - started
        taken = watch.stop()
    text = (work / "result.json").read_text()
    if code not in (0, 1):
        raise SystemExit(f"exit {code}: {(work / 'printed.txt').read_text()[-3000:]}{text[-2000:]}")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    files = sum(1 for _ in out.rglob("*.parquet"))
    facts = {"exit": code, "seconds": round(seconds, 1), "out_mb": size // 1_000_000, "files": files, **taken}
    facts["load"] = [round(each, 1) for each in (load[0], *os.getloadavg())]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["state"] == "complete", manifest
    summary = manifest["summary"]
    shutil.rmtree(out)
    shutil.rmtree(spare, ignore_errors=True)
    shutil.rmtree(work / "cluster", ignore_errors=True)
    return {**facts, "summary": {name: value for name, value in summary.items() if isinstance(value, int)}}


def topics(work: Path, size: int, what: str, partitions: int, *, segment_bytes: int) -> dict[str, Any]:
    """A topic through the broker, its files without the broker, or both."""
    broker = Broker(work)
    results: dict[str, Any] = {}
    try:
        with Admin(bootstrap_servers=broker.address, request_timeout_ms=300_000) as admin:
            settings = {"segment.bytes": str(segment_bytes)}
            many = max(1, partitions // 1_000)
            names = [f"{TOPIC}-{number}" for number in range(many)]
            for name in names:
                admin.create_topics([NewTopic(name, partitions // many, topic_configs=settings)])
        started = time.monotonic()
        each, chunk = partitions // many, max(20_000, 20 * partitions // many)
        count = sum(write_orders(broker.address, name, each, size // many, chunk=chunk) for name in names)
        results["written"] = {"records": count, "seconds": round(time.monotonic() - started, 1)}
        print(json.dumps(results), flush=True)
        if what != "segments":
            words = ["--source", "topic", "-b", broker.address, "orders-*"]
            results["topic"] = run(work, words)
    finally:
        broker.stop()
    if what != "topic" and what != "partitions":
        logs = [str(path) for path in sorted((work / "broker").glob(f"{TOPIC}-*"))]
        results["segments"] = run(work, ["--source", "segments", *logs])
    for kind in {"topic", "segments"} & results.keys():
        assert results[kind]["summary"]["records"] == count, results
    return results


def capture(work: Path, size: int) -> dict[str, Any]:
    path = work / "cluster.pcap"
    packets = write_capture(path, size)
    print(json.dumps({"packets": packets, "bytes": path.stat().st_size}), flush=True)
    results: dict[str, Any] = {"packets": packets, "captures": run(work, ["--source", "captures", str(path)])}
    assert results["captures"]["summary"]["packets"] == packets, results
    return results


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lakes.scale", description=__doc__)
    parser.add_argument("what", choices=["topic", "segments", "both", "files", "partitions", "captures"])
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--work", type=Path, required=True, help="a directory that does not exist; removed at the end")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args(arguments)
    work, size = chosen.work.absolute(), int(chosen.gigabytes * GIGABYTE)
    work.mkdir(parents=True)
    try:
        if chosen.what == "captures":
            results = capture(work, size)
        elif chosen.what == "files":
            results = topics(work, size, "segments", 8, segment_bytes=1_048_576)
        else:
            partitions = 10_000 if chosen.what == "partitions" else 8
            results = topics(work, size, chosen.what, partitions, segment_bytes=1 << 30)
        print(json.dumps(results), flush=True)
    finally:
        if not chosen.keep:
            shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
