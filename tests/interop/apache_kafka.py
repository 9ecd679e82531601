"""Apache Kafka itself, fetched from Maven Central: its dump tool, and a broker of one node.

Rules:
- The jars are fetched once, into build/interop, and found there afterwards.
- What is missing to do so is said by name.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POM = Path(__file__).with_name("pom.xml")
JARS = Path(__file__).parents[2] / "build" / "interop" / "kafka"
CLUSTER = "kafkawireInteropTests0"
COMPLAINTS = ("isvalid: false", "ismatch", "not found in the log", "out of order", "rror")


class ApacheKafka:
    """The jars, and what can be run from them."""

    def __init__(self) -> None:
        missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
        if missing:
            pytest.fail(f"these tests run Apache Kafka's own classes; not on the PATH: {', '.join(missing)}")
        if not list(JARS.glob("kafka_2.13-*.jar")):
            command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
            fetched = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            if fetched.returncode:
                pytest.fail(f"mvn could not fetch Apache Kafka's jars: {fetched.stdout[-2000:]}")

    def run(self, main: str, *arguments: str) -> str:
        """Run a class with a main method; all that it says."""
        command = ["java", "-cp", f"{JARS}/*", main, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def dump(self, files: Sequence[Path], *options: str) -> str:
        """DumpLogSegments over files; it must not complain."""
        text = self.run("kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), *options)
        found = [line for line in text.splitlines() if any(word in line for word in COMPLAINTS)]
        assert not found, "\n".join(found)
        return text

    @contextmanager
    def broker(self, directory: Path) -> Iterator[str]:
        """A broker on fresh ports that keeps its logs under a directory; stopped cleanly at the end."""
        client, controller = _free_port(), _free_port()
        properties = directory / "server.properties"
        properties.write_text(
            f"""
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={directory}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
log.cleaner.backoff.ms=200
"""
        )
        if not (directory / "data").exists():
            options = ("-t", CLUSTER, "-c", str(properties), "--standalone")
            self.run("kafka.tools.StorageTool", "format", *options)
        command = ["java", "-Xmx512m", "-cp", f"{JARS}/*", "kafka.Kafka", str(properties)]
        with (directory / "broker.out").open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
            try:
                _wait_for(client, process)
                yield f"127.0.0.1:{client}"
            finally:
                process.terminate()
                process.wait(60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, "the broker stopped"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the broker did not listen within 90 s")
