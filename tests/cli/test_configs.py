"""`kafkawire configs` on a running broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.client.topics import until

from kafkawire.cli.main import main

if TYPE_CHECKING:
    import pytest
    from tests.client.topics import Topics


def configs(broker: Topics, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["configs", *arguments, "-b", broker.bootstrap, "--json"]) == 0
    return {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


def test_configs_are_set_shown_and_taken_back(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    def shown() -> dict[str, str]:
        rows = configs(broker, capsys, "describe", "topic", "configured").values()
        return {row["name"]: row["value"] for row in rows if row["source"] == "topic"}

    broker.create_topic("configured")
    assert shown() == {}
    configs(broker, capsys, "set", "topic", "configured", "retention.ms=5", "cleanup.policy=compact")
    until(lambda: shown() == {"retention.ms": "5", "cleanup.policy": "compact"})
    configs(broker, capsys, "unset", "topic", "configured", "retention.ms")
    until(lambda: shown() == {"cleanup.policy": "compact"})
    assert "segment.bytes" in configs(broker, capsys, "describe", "topic", "configured", "--all")


def test_configs_of_a_broker(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    assert "message.max.bytes" in configs(broker, capsys, "describe", "broker", "1", "-a")


def test_a_value_that_the_broker_refuses(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    broker.create_topic("refusing")
    assert main(["configs", "set", "topic", "refusing", "retention.ms=long", "-b", broker.bootstrap]) == 1
    assert "INVALID_CONFIG" in capsys.readouterr().err


def test_arguments_that_are_not_a_change_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "set", "topic", "t", "retention.ms"]) == 2
    assert "expected NAME=VALUE" in capsys.readouterr().err


def test_topics_are_named_by_lists_and_patterns(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    def shown() -> set[tuple[str, str]]:
        assert main(["configs", "describe", "topic", "listed-*", "-b", broker.bootstrap, "--json"]) == 0
        rows = list(map(json.loads, capsys.readouterr().out.splitlines()))
        return {(row["topic"], row["value"]) for row in rows if row["name"] == "retention.ms"}

    for name in ("listed-a", "listed-b", "listed-c"):
        broker.create_topic(name)
    configs(broker, capsys, "set", "topic", "listed-[ab]", "retention.ms=7")
    until(lambda: shown() == {("listed-a", "7"), ("listed-b", "7")})
    configs(broker, capsys, "unset", "topic", "listed-a,listed-c", "retention.ms")
    until(lambda: shown() == {("listed-b", "7")})
    assert main(["configs", "describe", "topic", "no-such-*", "-b", broker.bootstrap]) == 1
    assert "no topic 'no-such-*'" in capsys.readouterr().err
