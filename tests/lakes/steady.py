"""Streams at a steady rate into each format, killed again and again, and then counted by other engines.

`python -m tests.lakes.steady --minutes 60 --rate 1000 --kills 10 --work DIR --json FILE` (`make steady`)

Rules:
- A broker in its own process, one producer at a steady rate, one stream for each format, side by side.
- A kill ends the driver with its JVM and its workers, at a random moment after it has completed a batch. The last half
  of the time runs without one, so that memory can be seen to stay flat.
- Each JVM has its whole heap from the start, so growth of its resident memory is growth outside of the heap. Spark
  collects the heap every two minutes, and what is left then, as the JVM logs it, is the heap in use. Once a minute the
  JVM says what the rest is used for.
- At the end each stream reads what is left. Each partition must have every offset once, as two other engines count.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from tests.lakes.native_memory import TRACKED, of_driver
from tests.lakes.streams import ENGINES, SETTINGS, Stream, memory, read_back

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin, Producer
from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPIC: Final = "t"
PARTITIONS: Final = 4
SAMPLE: Final = 15.0
HEAP: Final = "512m"
_NATIVE: Final = 60.0
_VALUE: Final = b"v" * 100
_COLLECTED: Final = re.compile(r"^\[([\d.]+)s\].* Pause Full .* \d+M->(\d+)M\(", re.MULTILINE)


@dataclass
class Load:
    """Records at a steady rate, in turn to all partitions."""

    servers: str
    rate: float
    sent: int = 0
    _over: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._over.set()
        self._thread.join()
        return self.sent

    def _run(self) -> None:
        started = time.monotonic()
        with Producer(bootstrap_servers=self.servers) as producer:
            while not self._over.wait(0.1):
                due = int((time.monotonic() - started) * self.rate)
                while self.sent < due:
                    producer.send(TOPIC, _VALUE, partition=self.sent % PARTITIONS)
                    self.sent += 1
            producer.flush()


class Broker:
    """`kafkawire serve` on a free port."""

    def __init__(self, directory: Path) -> None:
        port = claim_port(self)
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "kafkawire", "serve", "--port", str(port), "--data", str(directory / "broker")]
        with (directory / "broker.txt").open("ab") as printed:
            self._process = subprocess.Popen(command, stdout=printed, stderr=printed, start_new_session=True)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError((directory / "broker.txt").read_text())

    @property
    def pid(self) -> int:
        return self._process.pid

    def resident_mb(self) -> int:
        return memory(self.pid)["python"]

    def stop(self) -> None:
        os.kill(self._process.pid, signal.SIGTERM)
        self._process.wait(60)


@dataclass
class Watched:
    """A stream, the moments at which it is killed, and its samples of memory: seconds, MB of Java and of Python."""

    stream: Stream
    kills_at: list[float]
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    heap: list[tuple[float, int]] = field(default_factory=list)
    native: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    """Seconds, and the KB of the JVM by kind, once a minute."""
    killed_at: list[float] = field(default_factory=list)
    restarts_of_its_own: int = 0
    _done_before: int = 0

    def tick(self, now: float, *, sample: bool) -> None:
        pid, name = self.stream.pid, self.stream.table_format
        if pid is None:
            self.restarts_of_its_own += 1
            print(f"{now:6.0f} s  {name} ended by itself: {self.stream.printed()[-500:]}", flush=True)
            self.stream.start()
            return
        if sample:
            used = memory(pid)
            self.samples.append((round(now), used["java"], used["python"]))
            if not self.native or now - self.native[-1][0] >= _NATIVE:
                self.native.append((now, of_driver(pid)))
        done = self.batches()
        if self.kills_at and now >= self.kills_at[0] and done > self._done_before:
            self.kills_at.pop(0)
            self._done_before = done
            self.stream.kill()
            self.killed_at.append(round(now, 1))
            print(f"{now:6.0f} s  {name} killed after {done} batches", flush=True)
            self.stream.start()

    def batches(self) -> int:
        """How many batches are done. Spark's log keeps only the last hundred, by number."""
        return max(self.stream.done(), default=-1) + 1

    def result(self, counts: list[int]) -> dict[str, Any]:
        wanted = [[TOPIC, number, count, count, 0, count - 1] for number, count in enumerate(counts)]
        table_format = self.stream.table_format
        found = {each: read_back(table_format, each, self.stream.table) for each in ENGINES[table_format]}
        last = max(self.killed_at, default=0.0)
        calm = [sample for sample in self.samples if sample[0] > last + 120]
        return {
            "exactly_once": all(rows == wanted for rows in found.values()),
            "found": found,
            "batches": self.batches(),
            "kills": self.stream.kills,
            "killed_at": self.killed_at,
            "ended_by_itself": self.restarts_of_its_own,
            "files": sum(1 for _ in self.stream.table.rglob("*.parquet")),
            "calm_minutes": round((calm[-1][0] - calm[0][0]) / 60, 1) if calm else 0,
            "java_mb": _ends([sample[1] for sample in calm]),
            "python_mb": _ends([sample[2] for sample in calm]),
            "heap_mb": _ends([used for after, used in self.heap if after > 120]),
            "native_kb": _growth([kinds for after, kinds in self.native if after > last + 120]),
            "heap": self.heap,
            "samples": self.samples,
        }


def _ends(series: Sequence[float]) -> list[float]:
    """The medians of the first and of the last quarter."""
    quarter = max(1, len(series) // 4)
    return [median(series[:quarter]), median(series[-quarter:])] if series else []


def _growth(samples: Sequence[dict[str, int]]) -> dict[str, list[int]]:
    """The first and the last KB of each kind of memory."""
    return {kind: [samples[0].get(kind, 0), size] for kind, size in samples[-1].items()} if samples else {}


def settings_for(root: Path) -> dict[str, str]:
    """The settings of a stream whose heap can be watched in `gc.txt`."""
    logged = f"-Xlog:gc:file={root / 'gc.txt'}:uptime:filecount=0"
    given = SETTINGS["spark.driver.extraJavaOptions"]
    return {
        **SETTINGS,
        "spark.driver.memory": HEAP,
        "spark.driver.extraJavaOptions": f"{given} -Xms{HEAP} -XX:+AlwaysPreTouch {TRACKED} {logged}",
        "spark.cleaner.periodicGC.interval": "2min",
    }


def heap_in_use(log: str) -> list[tuple[float, int]]:
    """The MB left after each full collection, and the seconds of the JVM at which it was.

    >>> heap_in_use("[120.500s] GC(7) Pause Full (System.gc()) 201M->80M(495M) 310.2ms\\n")
    [(120.5, 80)]
    """
    return [(float(after), int(left)) for after, left in _COLLECTED.findall(log)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lakes.steady", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="records per second")
    parser.add_argument("--kills", type=int, default=10, help="of each stream")
    parser.add_argument("--formats", default=",".join(ENGINES))
    parser.add_argument("--trigger", default="10s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True, help="an empty directory, removed at the end unless --keep")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    chosen.work.mkdir(parents=True)
    random, seconds = Random(chosen.seed), 60 * chosen.minutes
    broker = Broker(chosen.work)
    watched: list[Watched] = []
    brokers: list[int] = []
    try:
        with Admin(bootstrap_servers=broker.address) as admin:
            admin.create_topics([NewTopic(name=TOPIC, num_partitions=PARTITIONS)])
        load = Load(broker.address, chosen.rate)
        for name in chosen.formats.split(","):
            moments = sorted(random.uniform(0.02 * seconds, 0.5 * seconds) for _ in range(chosen.kills))
            root = (chosen.work / name).absolute()
            stream = Stream(name, broker.address, root, trigger=chosen.trigger, settings=settings_for(root))
            stream.start()
            watched.append(Watched(stream, moments))
        started = sampled = time.monotonic()
        while (now := time.monotonic()) - started < seconds:
            due = now - sampled >= SAMPLE
            for each in watched:
                each.tick(now - started, sample=due)
            if due:
                brokers.append(broker.resident_mb())
                sampled = now
            time.sleep(0.2)
        sent = load.stop()
        counts = [len(range(number, sent, PARTITIONS)) for number in range(PARTITIONS)]
        results: dict[str, Any] = {
            "sent": sent,
            "minutes": chosen.minutes,
            "rate": chosen.rate,
            "broker_mb": _ends(brokers),
        }
        for each in watched:
            each.heap = heap_in_use((each.stream.root / "gc.txt").read_text())
            code = each.stream.stop()
            assert code in (0, 1), each.stream.printed()
            each.stream.finish()
            results[each.stream.table_format] = each.result(counts)
            shown = {
                key: value for key, value in results[each.stream.table_format].items() if key not in {"samples", "heap"}
            }
            print(each.stream.table_format, json.dumps(shown), flush=True)
    finally:
        for each in watched:
            each.stream.close()
        broker.stop()
    if chosen.json:
        chosen.json.write_text(json.dumps(results))
    if not chosen.keep:
        shutil.rmtree(chosen.work)
    formats = chosen.formats.split(",")
    return 0 if all(results[name]["exactly_once"] for name in formats) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
