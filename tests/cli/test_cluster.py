"""`kafkawire cluster` on a running broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kafkawire.cli.main import main

if TYPE_CHECKING:
    import pytest
    from tests.client.topics import Topics


def rows(broker: Topics, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["cluster", *arguments, "-b", broker.bootstrap, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_brokers(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    (node,) = rows(broker, capsys)
    assert f"{node['host']}:{node['port']}" == broker.bootstrap
    assert main(["cluster", "-b", broker.bootstrap]) == 0
    assert capsys.readouterr().out.startswith(f"cluster {node['cluster']}\n")


def test_the_apis_that_are_served(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    by_name = {row["api"]: row for row in rows(broker, capsys, "--apis")}
    assert by_name["Metadata"]["key"] == 3
    assert by_name["Metadata"]["used"] in (12, 13)  # of Kafka 3.9, and of later ones


def test_the_directories(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    broker.create_topic("sized")
    broker.fill("sized", 3)
    sizes = {row["topic"]: row["bytes"] for row in rows(broker, capsys, "--logs")}
    assert sizes["sized"] > 0
