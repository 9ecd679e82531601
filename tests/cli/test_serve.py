"""`kafkawire serve` as a process: what it prints, what it serves, how it stops."""

from __future__ import annotations

import json
import logging
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

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


def test_it_says_where_it_listens_serves_metrics_and_stops_when_told(started: Process, tmp_path: Path) -> None:
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
    assert lines[0]["message"] == "num.partition is no setting of this broker; did you mean num.partitions?"
    assert [line["event"] for line in lines[1:]] == ["broker started", "connection closed", "broker stopped"]
    assert (lines[1]["topics"], lines[1]["clean"]) == (0, False)
    assert lines[2]["kind"] == "request"
    assert "HTTP on a Kafka port" in lines[2]["reason"]
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


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
        (["--memory", "--host", "192.0.2.1", "--port", "0"], "192.0.2.1:0: the host is no address of this machine", 1),
        (["--memory", "--port", "99999"], "'99999' is no port: expected 0 to 65535", 2),
        (["--port", "0", "--data", "{data}"], "another broker uses it (.lock is locked)", 1),
        (["--memory", "--data", "{data}"], "argument --data: not allowed with argument --memory", 2),
        (["--memory", "-c", "advertised.listeners=PLAINTEXT://0.0.0.0:1"], "no client can connect to 0.0.0.0", 2),
    ],
    ids=["port", "metrics port", "host", "no port", "directory", "both", "advertised"],
)
def test_what_stands_in_the_way_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str, code: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, closing(LogDirectory(tmp_path)):
        names = {"taken": str(taken.getsockname()[1]), "data": str(tmp_path)}
        assert main(["serve", *(each.format(**names) for each in arguments)]) == code
    assert words.format(**names) in capsys.readouterr().err
