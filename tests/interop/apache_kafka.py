"""Apache Kafka itself, fetched from Maven Central: its tools, and a broker of one node.

Rules:
- There are two releases of the broker (`releases`): the newest, and the last that serves the versions of old clients.
- The jars are fetched once, into build/interop, and again only when a pom or a release has changed.
- The error names what is missing to do so.
- A broker keeps its port through restarts; what it says is in `broker.out` beside its data.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from tests.broker.raw_connection import Peer
from tests.interop.maven import BUILD, fetch_jars
from tests.interop.releases import MODULES, REMOVED

from kafkawire.messages import MetadataRequest
from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

JARS = BUILD / "kafka"
CLUSTER = "kafkawireInteropTests0"
COMPLAINTS = ("isvalid: false", "ismatch", "are not found in", "out of order", "rror")
HEAP = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class Release(NamedTuple):
    """A release of Apache Kafka, and where its jars come from and go to."""

    version: str
    pom: str
    jars: Path
    settings: Mapping[str, str] = {}


NEWEST: Final = Release(MODULES, "pom.xml", JARS)
PREVIOUS: Final = Release(
    REMOVED,
    "previous_pom.xml",
    BUILD / "kafka-previous",
    {"log.message.timestamp.after.max.ms": "3600000"},  # the default since 4.0 (KIP-1030)
)
every_release = pytest.fixture(scope="session", params=[NEWEST, PREVIOUS], ids=lambda release: release.version)


class ApacheKafka:
    """The jars of a release, and what can be run from them."""

    def __init__(self, release: Release = NEWEST) -> None:
        if shutil.which("java") is None:
            pytest.fail("these tests run Apache Kafka's own classes; not on the PATH: java (a JDK, 17 or newer)")
        self.release = release
        self.class_path = f"{release.jars}/*"
        fetch_jars(Path(__file__).with_name(release.pom), release.jars, f"Apache Kafka {release.version}")

    def run(
        self, main: str, *arguments: str, stdin: str = "", timeout: float = 120, machine: Sequence[str] = ()
    ) -> str:
        """Run a class with a main method; all that it says."""
        command = ["java", *HEAP, *machine, "-cp", self.class_path, main, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=timeout)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def dump(self, files: Sequence[Path], *options: str) -> str:
        """DumpLogSegments over files; it must not complain."""
        text = self.run("org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), *options)
        found = [line for line in text.splitlines() if any(word in line for word in COMPLAINTS)]
        assert not found, "\n".join(found)
        return text

    @contextmanager
    def broker(self, directory: Path) -> Iterator[str]:
        """The address of a broker that keeps its logs under a directory; stopped cleanly at the end."""
        broker = ApacheBroker(self, directory)
        broker.start()
        try:
            yield broker.bootstrap
        finally:
            broker.stop()


class ApacheBroker:
    """A broker of one node in KRaft mode, on ports of its own, with its data under a directory."""

    def __init__(
        self,
        kafka: ApacheKafka,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        virtual_machine: Sequence[str] = HEAP,
    ) -> None:
        self.data_dir = directory / "data"
        self._kafka = kafka
        self._out = directory / "broker.out"
        self._properties = directory / "server.properties"
        self._virtual_machine = virtual_machine
        self._process: subprocess.Popen[bytes] | None = None
        client, controller = claim_port(self), claim_port(self)
        self.bootstrap = f"127.0.0.1:{client}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.backoff.ms": "200",
            **kafka.release.settings,
            **(settings or {}),
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def start(self) -> None:
        """Format the directory if it is new, start, and wait until requests are answered."""
        if not self.data_dir.exists():
            options = ("-t", CLUSTER, "-c", str(self._properties), "--standalone")
            self._kafka.run("kafka.tools.StorageTool", "format", *options)
        machine, jars = self._virtual_machine, self._kafka.class_path
        command = ["java", *machine, "-cp", jars, "kafka.Kafka", str(self._properties)]
        with self._out.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        deadline = time.monotonic() + 90
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"Apache Kafka did not start: {self._out.read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop as an operator would; the data stays."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    @property
    def bootstrap_servers(self) -> str:
        """As other brokers of tests call it."""
        return self.bootstrap

    @property
    def release(self) -> Release:
        return self._kafka.release

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process while it runs."""
        assert self._process is not None, "the broker is not running"
        return self._process

    def kill(self) -> None:
        """Stop as a failing machine would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def restart(self) -> None:
        """Stop and start again, at the same address with the same data."""
        self.stop()
        self.start()

    def _answers(self) -> bool:
        try:
            with Peer(self, 5) as peer:
                return len(peer.call(MetadataRequest(topics=[]), 12).brokers) == 1
        except (OSError, EOFError):
            return False
