"""`kafkawire serve` as a process: what it prints, what it serves, how it stops."""

from __future__ import annotations

import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kafkawire.cli._support import log_output
from kafkawire.cli.main import main
from kafkawire.log import LogDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Process = subprocess.Popen[str]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Process]:
    command = [sys.executable, "-m", "kafkawire", "serve", "--port", "0", "--data", str(tmp_path / "data")]
    command += ["--metrics-port", "0", "-c", "num.partition=3", "--log-format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_it_prints_its_address_serves_metrics_and_stops_on_a_signal(started: Process, tmp_path: Path) -> None:
    assert started.stdout is not None
    listens = re.match(r"kafkawire listens on 127.0.0.1:(\d+) \(data in .*data\)", started.stdout.readline())
    assert listens is not None
    address = re.search(r"http://\S+", started.stdout.readline())
    assert address is not None
    with urlopen(address[0], timeout=60) as page:
        assert "kafkawire_connections 0" in page.read().decode()
    with pytest.raises(HTTPError, match="404"):
        urlopen(address[0] + "/other", timeout=60)
    with socket.create_connection(("127.0.0.1", int(listens[1])), 60) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert not stranger.recv(1)
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 0
    lines = [json.loads(line) for line in errors.splitlines()]
    assert lines[0]["message"] == "num.partition is not a setting of this broker; did you mean num.partitions?"
    assert [line["event"] for line in lines[1:]] == ["broker started", "connection closed", "broker stopped"]
    assert (lines[1]["topics"], lines[1]["clean"]) == (0, False)
    assert lines[2]["kind"] == "request"
    assert "HTTP on a Kafka port" in lines[2]["reason"]
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_standard_error_that_nobody_reads_delays_no_client(started: Process) -> None:
    assert started.stdout is not None
    listens = re.match(r"kafkawire listens on 127.0.0.1:(\d+) ", started.stdout.readline())
    assert listens is not None
    for _ in range(1500):
        with socket.create_connection(("127.0.0.1", int(listens[1])), 10) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert not stranger.recv(1)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=20) == 0
    assert started.stderr is not None
    assert "connection closed" in started.stderr.readline() + started.stderr.readline() + started.stderr.readline()


def test_log_lines_that_were_dropped_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    gate, entered = threading.Event(), threading.Event()

    def write(_: int, data: memoryview) -> int:
        entered.set()
        gate.wait(60)
        written.append(bytes(data))
        return len(data)

    monkeypatch.setattr("kafkawire.cli._support.log_output.os.write", write)
    handler = log_output.ThreadedLines(logging.Formatter("%(message)s"))
    emit = partial(logging.LogRecord, "test", logging.INFO, "", 0, args=None, exc_info=None)
    handler.emit(emit(msg="first"))
    assert entered.wait(60)
    for number in range(log_output.WAITING + 5):
        handler.emit(emit(msg=f"line {number}"))
    gate.set()
    while len(written) < log_output.WAITING:
        entered.wait(0.01)
    handler.emit(emit(msg="last"))
    handler.finish()
    lines = b"".join(written).decode().splitlines()
    assert lines[0] == "first"
    assert lines[-3:] == [
        f"line {log_output.WAITING - 1}",
        "5 log lines were dropped, because standard error was blocked",
        "last",
    ]


def test_a_bad_setting_is_one_line_and_exit_code_two() -> None:
    command = [sys.executable, "-m", "kafkawire", "serve", "--memory", "-c", "num.partitions=many"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "kafkawire: num.partitions: expected int, found 'many'\n")


@pytest.fixture
def process_restored() -> Iterator[None]:
    """Serving sets up logging and threads for a process of its own."""
    root, interval = logging.getLogger(), sys.getswitchinterval()
    handlers, level, of_asyncio = root.handlers[:], root.level, logging.getLogger("asyncio").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("asyncio").setLevel(of_asyncio)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("process_restored")
@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--memory", "--port", "{taken}"], "127.0.0.1:{taken}: another process listens there", 1),
        (["--memory", "--port", "0", "--metrics-port", "{taken}"], "127.0.0.1:{taken}: another process listens", 1),
        (["--memory", "--host", "192.0.2.1", "--port", "0"], "192.0.2.1:0: the host is not an address of this", 1),
        (["--memory", "--port", "99999"], "'99999' is not a port: expected 0 to 65535", 2),
        (["--port", "0", "--data", "{data}"], "another broker uses it (.lock is locked)", 1),
        (["--memory", "--data", "{data}"], "argument --data: not allowed with argument --memory", 2),
        (["--memory", "-c", "advertised.listeners=PLAINTEXT://0.0.0.0:1"], "no client can connect to 0.0.0.0", 2),
    ],
    ids=["port", "metrics port", "host", "no port", "directory", "both", "advertised"],
)
def test_an_obstacle_is_reported_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str, code: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, closing(LogDirectory(tmp_path)):
        names = {"taken": str(taken.getsockname()[1]), "data": str(tmp_path)}
        assert main(["serve", *(each.format(**names) for each in arguments)]) == code
    assert words.format(**names) in capsys.readouterr().err
