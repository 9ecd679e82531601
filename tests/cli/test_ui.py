"""`kafkawire ui`: the address, the end, wrong usage; and `decode --diff`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kafkawire.cli.main import main
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ONE = "0000000c001200000000000100026d65"
TWO = "0000000d001200000000000200036d6565"


def test_the_address_is_printed_and_interrupting_ends_the_server() -> None:
    command = [sys.executable, "-m", "kafkawire", "ui", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = urlsplit(json.loads(running.stdout.readline())["address"])
        connection = HTTPConnection(address.netloc, timeout=30)
        connection.request("GET", "/api/about", headers={"authorization": f"Bearer {address.fragment[6:]}"})
        assert connection.getresponse().status == 200
        connection.close()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0


def test_a_secured_broker_is_shown_with_the_settings_of_a_file(tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    with RunningBroker(security="SASL_PLAINTEXT", users={"alice": "secret"}) as broker:
        settings.write_text(broker.java_properties("alice"), "utf-8")
        broker.create_topic("orders")
        place = ["ui", broker.bootstrap_servers, "--no-browser", "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "kafkawire", *place, "-F", str(settings)], stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            address = urlsplit(json.loads(running.stdout.readline())["address"])
            token = address.fragment[6:].partition("/")[0]
            connection = HTTPConnection(address.netloc, timeout=30)
            connection.request("GET", "/api/brokers/b1/topics", headers={"authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            shown = answer.read().decode()
            connection.close()
            running.send_signal(signal.SIGINT)
            assert running.wait(30) == 0
    assert (answer.status, "orders" in shown, "secret" in shown) == (200, True, False)


def test_settings_without_a_broker_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["ui", "--no-browser", str(tmp_path), "-X", "security.protocol=SSL"]) == 2
    assert "name it as HOST:PORT" in capsys.readouterr().err


def test_another_host_without_encryption_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--no-browser", "--host", "0.0.0.0"]) != 0
    assert "--insecure" in capsys.readouterr().err


def test_a_certificate_needs_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--no-browser", "--certificate", "x.pem"]) == 2
    assert "--key" in capsys.readouterr().err


def test_differences_are_printed_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", ONE, "--diff", TWO]) == 1
    shown = capsys.readouterr().out
    assert shown.splitlines()[:3] == ["header.correlation_id", "  - 8  1", "  + 8  2"]


def test_differences_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", ONE, "--diff", TWO, "--json"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["kind"], row["path"], row["before"], row["after"]) for row in rows] == [
        ("changed", "header.correlation_id", "1", "2"),
        ("changed", "header.client_id", '"me"', '"mee"'),
    ]


def test_equal_frames_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", ONE, "--diff", ONE]) == 0
    assert capsys.readouterr().out == "no differences\n"


def test_other_numbers_of_frames_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", ONE + ONE, "--diff", ONE]) == 2
    assert "2 frames here and 1 there" in capsys.readouterr().err
