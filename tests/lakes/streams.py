"""`kafkawire pipeline` in a process of its own, for each format: started, killed with its JVM, measured, read back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tests.lakes.places import environment_of, environment_of_readers, jars_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENGINES: Final = {
    "parquet": ("duckdb", "polars"),
    "delta": ("deltalake", "polars"),
    "iceberg": ("pyiceberg", "polars"),
}
SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
    }
)
_READ_BACK: Final = Path(__file__).with_name("read_back.py")


def pipeline(
    table_format: str, *words: str, jars: Sequence[Path] | None = None, settings: Mapping[str, str] = SETTINGS
) -> list[str]:
    """The command line of a pipeline that writes a format."""
    used = jars_of(table_format) if jars is None else jars
    named = {"spark.jars": ",".join(map(str, used))} if used else {}
    confs = [part for name, value in {**settings, **named}.items() for part in ("--conf", f"{name}={value}")]
    return [sys.executable, "-m", "kafkawire", "pipeline", *words, "--format", table_format, *confs]


@dataclass
class Stream:
    """One stream of a topic into the table `records`, over all its processes."""

    table_format: str
    servers: str
    root: Path
    trigger: str = "10s"
    topic: str = "t"
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)
    more: Sequence[str] = ()
    kills: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def table(self) -> Path:
        return self.root / "out" / "records"

    @property
    def batches(self) -> Path:
        """The directory in which Spark lists the batches that are done."""
        return self.root / "checkpoint" / "records" / "commits"

    @property
    def plans(self) -> Path:
        return self.root / "checkpoint" / "records" / "offsets"

    @property
    def pid(self) -> int | None:
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self, trigger: str | None = None) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        places = ["--out", str(self.root / "out"), "--checkpoint", str(self.root / "checkpoint")]
        words = [
            "stream",
            "-b",
            self.servers,
            self.topic,
            *places,
            "--table",
            "records",
            "--master",
            "local[2]",
            *self.more,
        ]
        command = pipeline(self.table_format, *words, "--trigger", trigger or self.trigger, settings=self.settings)
        with (self.root / "printed.txt").open("ab") as printed:
            self._process = subprocess.Popen(
                command, stdout=printed, stderr=printed, env=environment_of(self.table_format), start_new_session=True
            )

    def kill(self) -> None:
        """End the driver, its JVM and its workers at once, as a power cut of the machine does."""
        assert self.pid is not None, f"the stream ended by itself: {self.printed()}"
        for pid in [self.pid, *descendants(self.pid)]:
            _signal(pid, signal.SIGKILL)
        self._wait()
        self.kills += 1

    def stop(self) -> int:
        """End it as SIGTERM does; its exit code."""
        assert self.pid is not None, f"the stream ended by itself: {self.printed()}"
        _signal(self.pid, signal.SIGTERM)
        return self._wait()

    def finish(self) -> None:
        """Read everything there is, and end."""
        self.start("available-now")
        code = self._wait(1200)
        assert code in (0, 1), f"exit {code}: {self.printed()}"  # 1: with findings

    def close(self) -> None:
        if self.pid is not None:
            self.kill()

    def done(self) -> set[int]:
        return numbers(self.batches)

    def printed(self) -> str:
        return (self.root / "printed.txt").read_text("utf-8", "replace")[-3000:]

    def _wait(self, seconds: float = 600) -> int:
        assert self._process is not None
        code = self._process.wait(seconds)
        self._process = None
        return code


def numbers(directory: Path) -> set[int]:
    """The batches that Spark's log has in a directory."""
    return {int(path.name) for path in directory.glob("*") if path.name.isdigit()} if directory.exists() else set()


def descendants(pid: int) -> list[int]:
    """The processes below one, also those in sessions of their own."""
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        parents.setdefault(parent, []).append(int(place.name))
    found = []
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def memory(pid: int) -> dict[str, int]:
    """The resident MB of a driver: of its JVM, and of all its Python processes."""
    shares = {"java": 0, "python": 0}
    for each in [pid, *descendants(pid)]:
        try:
            status = (Path("/proc") / str(each) / "status").read_text()
        except OSError:
            continue
        size = re.search(r"VmRSS:\s+(\d+)", status)
        name = "java" if "Name:\tjava" in status else "python"
        shares[name] += int(size[1]) // 1024 if size else 0
    return shares


def read_back(table_format: str, engine: str, table: Path) -> list[list[Any]]:
    """Topic, partition, rows, distinct offsets, first and last offset of each partition, as another engine reads it."""
    command = [sys.executable, str(_READ_BACK), table_format, engine, str(table)]
    done = subprocess.run(command, env=environment_of_readers(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def wait_for(is_so: Any, what: str, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
