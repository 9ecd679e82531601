"""Clients of other languages, each in a process of its own that gets its commands as lines of JSON.

Rules:
- A driver does one thing at a time; the members of its groups poll beside it.
- Java sources are compiled, and Node's packages installed, once under build/interop, and again when they have changed.
- The error names what is missing to do so.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import CODECS, Sent
from tests.interop.apache_kafka import HEAP
from tests.interop.maven import BUILD, fetch_jars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HERE = Path(__file__).parent
CLIENT_JARS = BUILD / "clients"
PATIENCE = 60.0


class Driver:
    """A client library behind a pipe."""

    codecs: Sequence[str] = CODECS

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **(environment or {})},
            )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._members = 0

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Let the driver do something; what comes of it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"call": name, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._answers.get(timeout=PATIENCE)
        assert line, f"the driver ended: {self._log.read_text()[-2000:]}"
        answer = json.loads(line)
        if "error" in answer:
            raise DriverError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """End it; groups that it is still a member of notice by themselves."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it as a failing machine would."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def produce(self, bootstrap: str, topic: str, records: Iterable[Sent], **how: Any) -> None:
        """Send records to partition 0 and wait until all are acknowledged."""
        self.call("produce", bootstrap=bootstrap, topic=topic, records=[*map(_to_json, records)], **self.producer(how))

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Sent]:
        """The first records of partition 0."""
        found = self.call("consume", bootstrap=bootstrap, topic=topic, count=count, group=f"reader of {topic}")
        return [*map(_from_json, found)]

    def join(
        self, bootstrap: str, group: str, topics: Sequence[str], *, pattern: str | None = None, **settings: str
    ) -> Member:
        """A new member of a group; with a pattern, Java's consumer lets the broker find the topics."""
        self._members += 1
        name = f"member {self._members}"
        asked = {"name": name, "bootstrap": bootstrap, "topics": [*topics], "pattern": pattern}
        self.call("join", **asked, **self.member(group, settings))
        return Member(self, name)

    def producer(self, how: dict[str, Any]) -> dict[str, Any]:
        """`codec`, `idempotent` and `pause` in the words of the library."""
        raise NotImplementedError

    def member(self, group: str, settings: dict[str, str]) -> dict[str, Any]:
        """A group's id and settings in the words of the library."""
        raise NotImplementedError


class DriverError(Exception):
    """The error that the client library raised."""


class Member:
    """A member of a group that polls all the time."""

    def __init__(self, driver: Driver, name: str) -> None:
        self._driver = driver
        self._name = name

    def partitions(self) -> set[tuple[str, int]]:
        """The partitions that it is assigned now."""
        return {(topic, partition) for topic, partition in self._driver.call("assignment", name=self._name)}

    def values(self) -> list[bytes | None]:
        """All that it has received."""
        return [_from_text(value) for value in self._driver.call("values", name=self._name)]

    def commit(self) -> None:
        """Commit what it has received."""
        self._driver.call("commit", name=self._name)

    def leave(self) -> None:
        """Leave the group."""
        self._driver.call("leave", name=self._name)


class Sharer:
    """A member of a share group that polls and accepts all the time."""

    def __init__(self, driver: Driver, name: str) -> None:
        self._driver = driver
        self._name = name

    def values(self) -> list[bytes | None]:
        """All that it has accepted."""
        return [_from_text(value) for value in self._driver.call("shared", name=self._name)]

    def leave(self) -> None:
        """Leave the group."""
        self._driver.call("stop sharing", name=self._name)


class JavaClients(Driver):
    """Apache Kafka's own clients."""

    def __init__(self, log: Path, machine: Sequence[str] = ()) -> None:
        fetch_jars(HERE / "clients_pom.xml", CLIENT_JARS, "Apache Kafka's clients")
        java, *rest = _compiled("Driver", HERE / "java", BUILD / "java", CLIENT_JARS)
        super().__init__([java, *machine, *rest], log)

    def producer(self, how: dict[str, Any]) -> dict[str, Any]:
        settings = {
            "enable.idempotence": how.get("idempotent", True),
            "compression.type": how.get("codec", "none"),
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 50,
            "retry.backoff.ms": 10,
        }
        return {"settings": settings, "pause": how.get("pause", 0)}

    def member(self, group: str, settings: dict[str, str]) -> dict[str, Any]:
        quick = {"heartbeat.interval.ms": "100", "session.timeout.ms": "6000", "metadata.max.age.ms": "1000"}
        if settings.get("group.protocol") == "consumer":
            quick = {"metadata.max.age.ms": "1000"}  # the broker sets the others
        return {"settings": {"group.id": group, "client.id": "java", **quick, **settings}}

    def share(self, bootstrap: str, group: str, topics: Sequence[str], *, releases: int = 0) -> Sharer:
        """A new member of a share group, which releases the first delivery of so many records."""
        self._members += 1
        name = f"sharer {self._members}"
        settings = {"group.id": group, "client.id": "java"}
        self.call("share", name=name, bootstrap=bootstrap, topics=[*topics], releases=releases, settings=settings)
        return Sharer(self, name)


class JavaCoordinator(Driver):
    """Parts of Apache Kafka's group coordinator, from the jars of its broker."""

    def __init__(self, jars: Path, log: Path) -> None:
        super().__init__(_compiled("Coordinator", HERE / "java" / "coordinator", BUILD / "java-coordinator", jars), log)


class KafkaJs(Driver):
    """kafkajs, the client of Node."""

    def __init__(self, log: Path) -> None:
        missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
        if missing:
            pytest.fail(f"these tests run kafkajs; not on the PATH: {', '.join(missing)} (Node.js, 18 or newer)")
        place, wanted = BUILD / "node", HERE / "node" / "package.json"
        if not _is_newer(place / "installed", [wanted]):
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(wanted, place / "package.json")
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode:
                pytest.fail(f"npm could not install kafkajs: {done.stderr[-2000:]}")
            (place / "installed").touch()
        environment = {"NODE_PATH": str(place / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
        super().__init__(["node", "--no-deprecation", str(HERE / "node" / "driver.js")], log, environment)

    def producer(self, how: dict[str, Any]) -> dict[str, Any]:
        return how

    def member(self, group: str, settings: dict[str, str]) -> dict[str, Any]:
        assert not settings, "the driver of kafkajs takes none"
        return {"group": group}


def _compiled(main: str, sources: Path, classes: Path, jars: Path) -> list[str]:
    """The command that runs a class, which is compiled if its sources have changed."""
    if shutil.which("javac") is None:
        pytest.fail("these tests compile drivers of Apache Kafka's classes; not on the PATH: javac (a JDK, 17+)")
    found = sorted(sources.glob("*.java"))
    if not _is_newer(classes / f"{main}.class", [*found, HERE / "releases.py"]):
        command = ["javac", "-d", str(classes), "-cp", f"{jars}/*", *map(str, found)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
    return ["java", *HEAP, "-cp", f"{classes}:{jars}/*", main]


def _is_newer(made: Path, sources: Iterable[Path]) -> bool:
    return made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def _to_json(record: Sent) -> dict[str, Any]:
    return {
        "key": _to_text(record.key),
        "value": _to_text(record.value),
        "headers": [[name, _to_text(value)] for name, value in record.headers],
        "timestamp": record.timestamp,
        "partition": 0,
    }


def _from_json(found: dict[str, Any]) -> Sent:
    headers = [(name, b64decode(data)) for name, data in found["headers"]]
    return Sent(_from_text(found["key"]), _from_text(found["value"]), headers, found["timestamp"])


def _to_text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _from_text(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
