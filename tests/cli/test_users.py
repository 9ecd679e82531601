"""`kafkawire users` against a running broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kafkawire.cli.main import main

if TYPE_CHECKING:
    import pytest

    from kafkawire.testing import RunningBroker


def users(broker: RunningBroker, *words: str) -> int:
    return main(["users", *words, "-b", broker.bootstrap_servers])


def test_users_are_set_listed_and_deleted(
    kafka_broker: RunningBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKAWIRE_PASSWORD", "a-secret-word")
    assert users(kafka_broker, "set", "ann") == 0
    assert users(kafka_broker, "set", "ann", "--mechanism", "scram-sha-256", "--iterations", "8192") == 0
    capsys.readouterr()
    assert users(kafka_broker, "list", "--json") == 0
    printed = capsys.readouterr().out
    assert [json.loads(line) for line in printed.splitlines()] == [
        {"user": "ann", "mechanism": "SCRAM-SHA-256", "iterations": 8192},
        {"user": "ann", "mechanism": "SCRAM-SHA-512", "iterations": 4096},
    ]
    assert "a-secret-word" not in printed
    assert users(kafka_broker, "delete", "ann") == 0
    assert users(kafka_broker, "delete", "ann") != 0
    assert "RESOURCE_NOT_FOUND" in capsys.readouterr().err


def test_a_password_is_not_taken_from_the_command_line(
    kafka_broker: RunningBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKAWIRE_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert users(kafka_broker, "set", "ann") == 2
    assert "KAFKAWIRE_PASSWORD" in capsys.readouterr().err
