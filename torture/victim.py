"""`kafkawire serve` as a process of its own, started and killed as often as it takes.

Rules:
- Brokers are forked from one process that has everything imported, so that a restart costs a recovery, and not the
  start of an interpreter. They die with that process, and it dies with the harness.
- A victim keeps its port: it is bound and never listened on by the harness, so that nobody else is given it.
- Its output to stderr goes to a file; `faults` are the lines there that no request and no disk may cause.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Self
from urllib.request import urlopen

from kafkawire.testing._running import claim_port
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORKING: Final = """
import ctypes, faulthandler, json, os, resource, signal, sys
import kafkawire.broker._broker, kafkawire.broker._ops.process, kafkawire.broker._metrics.http
import kafkawire.broker._config.sources
import kafkawire.cli.commands.serve
from kafkawire.broker._ops.loading import load_everything
from kafkawire.cli.main import main

libc = ctypes.CDLL(None)
libc.prctl(1, signal.SIGKILL)
kafkawire.broker._ops.process.new_loop().close()
list(load_everything())
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        libc.prctl(1, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        place = os.open(order["stderr"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(place, 2)
        os.close(place)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        if order["descriptors"]:
            resource.setrlimit(resource.RLIMIT_NOFILE, (order["descriptors"], order["descriptors"]))
        faulthandler.register(signal.SIGUSR1, file=2)
        print(os.getpid(), flush=True)
        os._exit(main(order["command"]))
"""
STARTS_WITHIN: Final = 60.0
ENDS_WITHIN: Final = 20.0
_FAULT: Final = re.compile(r"Traceback|CRITICAL|UNKNOWN_SERVER_ERROR|a fault of this broker")
_LOOP_STEP: Final = re.compile(r"^kafkawire_loop_longest_step_seconds(?:\{.*\})? ([0-9.e+-]+)$", re.MULTILINE)


class DidNotStartError(Exception):
    """A broker that ended, or was killed, before it listened."""


class Victim:
    """A broker process on one port."""

    def __init__(self, work: Path, settings: Mapping[str, str] | None = None, *, memory: bool = False) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.data = work / "data"
        self.log = work / "broker.log"
        self.settings = {"group.initial.rebalance.delay.ms": "0", **(settings or {})}
        self.pid = 0
        self._memory = memory
        self.descriptor_limit = 0
        self._metrics_port = 0
        self.port = claim_port(self)
        self._forking = subprocess.Popen([sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._heard = b""
        self._looked_at = 0
        self._faults: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._forking.communicate()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it listens; DidNotStartError if it ended before."""
        self.launch()
        self.await_start()

    def launch(self) -> None:
        """Start it."""
        where = ["--memory"] if self._memory else ["--data", str(self.data)]
        command = ["serve", *where, "--port", str(self.port), "--metrics-port", "0"]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        order = {"command": command, "stderr": str(self.log), "descriptors": self.descriptor_limit}
        assert self._forking.stdin is not None
        self._forking.stdin.write(json.dumps(order).encode() + b"\n")
        self._forking.stdin.flush()
        line = self._hear()
        while not line.isdigit():  # what a broker that was killed at its start still wrote
            line = self._hear()
        self.pid = int(line)

    def await_start(self) -> None:
        while not (line := self._hear(b"metrics on ")).startswith("metrics on "):
            pass
        self._metrics_port = int(line.rpartition("/")[0].rpartition(":")[2])

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._await_end()

    def terminate(self) -> float:
        """SIGTERM, and wait until it is gone; the seconds that took."""
        start = monotonic()
        os.kill(self.pid, signal.SIGTERM)
        self._await_end()
        return monotonic() - start

    @property
    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def faults(self) -> list[str]:
        """Lines of the log that tell of a fault of the broker, each with what follows it."""
        if not self.log.exists():
            return []
        with self.log.open(errors="replace") as log:
            log.seek(self._looked_at)
            lines = log.read().splitlines()
            self._looked_at = log.tell()
        faulty = [number for number, line in enumerate(lines) if _FAULT.search(line)]
        self._faults += ["\n".join(lines[max(0, number - 1) : number + 40]) for number in faulty]
        return self._faults

    def resident_mb(self) -> float:
        with suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
            return int(found[1]) / 1024 if found else 0.0
        return 0.0

    def descriptors(self) -> int:
        with suppress(OSError):
            return sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())
        return 0

    def longest_step_ms(self) -> float:
        """The longest step on the broker's loop, if its metrics tell it, else 0."""
        with suppress(OSError), urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics", timeout=10) as page:
            found = _LOOP_STEP.findall(page.read().decode())
            return max((float(each) * 1000 for each in found), default=0.0)
        return 0.0

    def _await_end(self) -> None:
        end = monotonic() + ENDS_WITHIN
        while self.is_alive:
            if monotonic() > end:
                os.kill(self.pid, signal.SIGUSR1)  # its threads write where they are to the log
                sleep(0.5)
                os.kill(self.pid, signal.SIGKILL)
                raise BrokenPromiseError(f"a broker ends within {ENDS_WITHIN:.0f} s", f"it did not; see {self.log}")
            sleep(0.001)
        self.pid = 0

    def _hear(self, wanted: bytes = b"") -> str:
        """The next line of a broker; DidNotStartError if it ended without one."""
        assert self._forking.stdout is not None
        end = monotonic() + STARTS_WITHIN
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._forking.stdout], [], [], 0.05)
            if ready:
                self._heard += os.read(self._forking.stdout.fileno(), 1 << 16)
            elif wanted and not self.is_alive:
                raise DidNotStartError("the broker ended before it listened")
            elif monotonic() > end:
                raise TimeoutError(f"the broker did not listen within {STARTS_WITHIN:.0f} s")
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()
