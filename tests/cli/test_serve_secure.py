"""`kafkawire serve --secure`: one flag, and the printed settings work."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from kafkawire.cli.main import main
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Process = subprocess.Popen[str]


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    return ["--port", "0", "--data", str(tmp_path / "data"), "--secure", str(tmp_path / "secure")]


@pytest.fixture
def started(places: list[str]) -> Iterator[Process]:
    process = start(places)
    yield process
    process.kill()
    process.communicate()


def start(places: list[str]) -> Process:
    command = [sys.executable, "-m", "kafkawire", "serve", *places]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def printed(process: Process) -> tuple[dict[str, str], dict[str, str]]:
    """The settings for Java and for librdkafka."""
    assert process.stdout is not None
    blocks: list[dict[str, str]] = []
    for line in process.stdout:
        if line.startswith("for "):
            blocks.append({})
        if line.startswith("  "):
            name, _, value = line.strip().partition("=")
            blocks[-1][name] = value
        if line.startswith("for the command line"):
            break
    return blocks[0], blocks[1]


def test_the_printed_settings_work_and_survive_a_restart(
    started: Process, places: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    java, librdkafka = printed(started)
    with Admin(librdkafka) as admin:
        assert [each.name for each in admin.describe_users()] == ["admin", "admin"]
    with Admin(java) as admin:
        assert admin.list_topics() == []
    assert AdminClient({**librdkafka}).list_topics(timeout=30).brokers
    file = tmp_path / "secure" / "client.properties"
    assert main(["topics", "create", "t", "-F", str(file)]) == 0
    assert main(["topics", "list", "-F", str(tmp_path / "secure" / "librdkafka.conf")]) == 0
    for name in ("client.properties", "librdkafka.conf", "ca-key.pem", "server.pem"):
        assert stat.S_IMODE((tmp_path / "secure" / name).stat().st_mode) == 0o600
    started.send_signal(signal.SIGTERM)
    _out, errors = started.communicate(timeout=60)
    assert java["sasl.jaas.config"] not in errors
    again = start(places)
    try:
        with Admin(librdkafka | {"bootstrap.servers": printed(again)[1]["bootstrap.servers"]}) as admin:
            assert admin.list_topics() == ["t"]
    finally:
        again.kill()
        again.communicate()


def test_listeners_and_secure_exclude_each_other(places: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *places, "-c", "listeners=PLAINTEXT://:1"]) == 2
    assert "--secure" in capsys.readouterr().err
