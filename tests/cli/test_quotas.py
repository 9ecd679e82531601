"""`kafkawire quotas`: quotas are set, listed and removed on a broker; wrong usage is explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main

if TYPE_CHECKING:
    from tests.client.topics import Topics


def listed(broker: Topics, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["quotas", "list", "--json", *options, "-b", broker.bootstrap]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_quotas_are_set_listed_and_removed(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("-b", broker.bootstrap)
    assert main(["quotas", "set", "--user", "alice", "producer_byte_rate=1048576", *where]) == 0
    assert main(["quotas", "set", "--user-default", "--client-id", "app", "request_percentage=12.5", *where]) == 0
    assert listed(broker, capsys) == [
        {"entity": "client-id app, user <default>", "key": "request_percentage", "value": "12.5"},
        {"entity": "user alice", "key": "producer_byte_rate", "value": "1048576"},
    ]
    assert len(listed(broker, capsys, "--user", "alice")) == 1
    assert main(["quotas", "remove", "--user", "alice", "producer_byte_rate", *where]) == 0
    assert main(["quotas", "remove", "--user-default", "--client-id", "app", "request_percentage", *where]) == 0
    assert listed(broker, capsys) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "producer_byte_rate=1"), "name an entity"),
        (("set", "--user", "a", "producer_byte_rate"), "expected KEY=NUMBER"),
        (("set", "--user", "a", "producer_byte_rate=much"), "expected KEY=NUMBER"),
        (("remove", "--user", "a", "producer_byte_rate=1"), "expected a key"),
    ],
)
def test_wrong_usage_is_explained(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str) -> None:
    assert main(["quotas", *arguments, "-b", "127.0.0.1:1"]) == 2
    assert words in capsys.readouterr().err


def test_a_quota_that_the_broker_refuses_is_an_error(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quotas", "set", "--ip", "127.0.0.1", "producer_byte_rate=1", "-b", broker.bootstrap]) == 1
    assert "INVALID_REQUEST" in capsys.readouterr().err
