"""A standalone cluster of a master and two workers, and a Spark Connect server, on loopback.

Rules:
- Each is started with the interpreter of the tests, so that driver, executors and server have kafkawire installed.
- Everything ends with the block, by the ids of the processes that were started.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from tests.lakes.places import BUILD, NotFetchedError, pip_into
from tests.lakes.streams import descendants

from kafkawire.spark.java import find_java, java_home_for_spark
from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HOME: Final = Path(pyspark.__file__).parent
_SERVER: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_DAEMON: Final = {"SPARK_DAEMON_MEMORY": "256m"}
_CLIENT: Final = BUILD.parent / "cluster" / "connect"
_WANTED: Final = ("--no-deps", "pandas>=2.2", "grpcio-status>=1.76", "python-dateutil", "six")

__all__ = ["HOME", "NotFetchedError", "connect_server", "environment", "environment_of_client", "run", "standalone"]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process of Spark."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    ours = {
        "JAVA_HOME": str(java_home_for_spark(find_java())),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    return kept | ours | more


def environment_of_client() -> dict[str, str]:
    """The environment of a client of Spark Connect, which needs packages that a driver does not."""
    if not (_CLIENT / "fetched").exists():
        pip_into(_CLIENT, _WANTED, "the client of Spark Connect")
        (_CLIENT / "fetched").touch()
    return environment(PYTHONPATH=str(_CLIENT))


def run(
    command: Sequence[str], more: Mapping[str, str] | None = None, seconds: float = 400
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    used = environment() if more is None else dict(more)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=used)


@contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """A master and two workers with one processor each; the URL of the master."""
    directory.mkdir(parents=True, exist_ok=True)
    program, address = str(HOME / "bin" / "spark-class"), ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        port = claim_port(stack)
        master = f"spark://127.0.0.1:{port}"
        log = directory / "master.log"
        words = ["org.apache.spark.deploy.master.Master", *address, "--port", str(port)]
        stack.enter_context(_process([program, *words], log, _DAEMON))
        wait_for_text(log, "I have been elected leader")
        for number in (1, 2):
            words = ["org.apache.spark.deploy.worker.Worker", *address, "--cores", "1", "--memory", "1g"]
            places = ["--work-dir", str(directory / f"worker-{number}")]
            stack.enter_context(
                _process([program, *words, *places, master], directory / f"worker-{number}.log", _DAEMON)
            )
        for number in (1, 2):
            wait_for_text(directory / f"worker-{number}.log", "Successfully registered with master")
        yield master


@contextmanager
def connect_server(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A Spark Connect server with a local master; its URL."""
    directory.mkdir(parents=True, exist_ok=True)
    stack, log = ExitStack(), directory / "connect.log"
    port = claim_port(stack)
    used = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        **(settings or {}),
    }
    confs = [part for name, value in used.items() for part in ("--conf", f"{name}={value}")]
    words = ["--class", _SERVER, "--driver-memory", "1g", "--master", "local[2]", *confs]
    with stack:
        stack.enter_context(_process([str(HOME / "bin" / "spark-submit"), *words, "spark-internal"], log))
        wait_for_text(log, r"Spark Connect server started at")
        yield f"sc://127.0.0.1:{port}"


def wait_for_text(file: Path, pattern: str, seconds: float = 120) -> None:
    """Wait until a log has a line."""
    deadline = time.monotonic() + seconds
    while not re.search(pattern, file.read_text("utf-8", "replace")):
        assert time.monotonic() < deadline, f"{file.name} does not say {pattern!r}: {file.read_text()[-3000:]}"
        time.sleep(0.1)


@contextmanager
def _process(command: Sequence[str], log: Path, more: Mapping[str, str] | None = None) -> Iterator[None]:
    with log.open("wb") as written:
        process = subprocess.Popen(
            command,
            stdout=written,
            stderr=written,
            env=environment(**(more or {})),
            start_new_session=True,
            cwd=log.parent,
        )
    try:
        yield
    finally:
        started = [process.pid, *descendants(process.pid)]
        for pid in reversed(started):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            for pid in started:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(30)
