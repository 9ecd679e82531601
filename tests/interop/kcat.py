"""kcat: its own librdkafka, driven by files and options."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Kcat:
    """Runs kcat against one broker."""

    def __init__(self, bootstrap: str) -> None:
        if shutil.which("kcat") is None:
            pytest.fail("these tests run kcat; not on the PATH: kcat (Debian and Ubuntu: apt-get install kcat)")
        self._bootstrap = bootstrap

    def command(self, *options: str) -> list[str]:
        return ["kcat", "-b", self._bootstrap, *options]

    def run(self, *options: str, stdin: str = "") -> str:
        """What it prints."""
        command = self.command(*options)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def produce(self, topic: str, *options: str, lines: str = "") -> None:
        """Send each line, or each file that is named."""
        self.run("-P", "-t", topic, "-p", "0", *options, stdin=lines)

    def consume(self, topic: str, *options: str) -> list[dict[str, Any]]:
        """All records of partition 0, from its JSON."""
        text = self.run("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-J", *options)
        return [json.loads(line) for line in text.splitlines()]

    def metadata(self) -> Any:
        """Its description of the cluster."""
        return json.loads(self.run("-L", "-J"))


class KcatMember:
    """A member of a group, as long as it runs; what it read is committed when it leaves."""

    def __init__(self, kcat: Kcat, group: str, topic: str, log: Path) -> None:
        quick = ("-X", "heartbeat.interval.ms=100", "-X", "session.timeout.ms=6000", "-X", "auto.offset.reset=earliest")
        self.values: list[str] = []
        self._log = log
        self._errors = log.open("wb")
        self._process = subprocess.Popen(
            kcat.command("-G", group, *quick, "-u", topic), stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.values.append(line.strip())

    def partitions(self) -> set[int]:
        """The partitions that it is assigned now, from its lines about rebalances."""
        said = re.findall(r"assigned: (.*)", self._log.read_text())
        lost = self._log.read_text().rstrip().rpartition("\n")[2].find("revoked") >= 0
        return set() if lost or not said else {int(each) for each in re.findall(r"\[(\d+)\]", said[-1])}

    def leave(self) -> None:
        """Stop as with control-C."""
        self._process.terminate()
        self._process.wait(20)
        self._thread.join(20)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()
