"""`--web` opens the view of what the command would print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS

from kafkawire.cli._support import pages
from kafkawire.cli.main import main
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkawire.web import Workspace


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Workspace]]:
    found: list[Workspace] = []

    def show(workspace: Workspace) -> int:
        found.append(workspace)
        return 0

    monkeypatch.setattr(pages, "show_in_browser", show)
    yield found
    for workspace in found:
        workspace.close()


def test_decode(opened: list[Workspace]) -> None:
    assert main(["decode", "0000000c001200000000000100026d65", "--web"]) == 0
    assert opened[0].start == "/bytes/given"
    assert opened[0].given is not None
    assert [frame.title for frame in opened[0].given.frames] == ["ApiVersionsRequest v0"]


def test_inspect_and_diagnose(opened: list[Workspace], tmp_path: Path) -> None:
    capture = tmp_path / "x.pcap"
    capture.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows()), nanoseconds=True))
    assert main(["inspect", str(capture), "--api", "Fetch", "--web"]) == 0
    assert main(["diagnose", str(capture), "--web"]) == 0
    assert [each.start for each in opened] == ["/c1/exchanges?filter=api+in+%28%22Fetch%22%29", "/c1/findings"]
    assert len(opened[0].sources["c1"].exchanges) > 0


def test_log_dump_and_consume(opened: list[Workspace], tmp_path: Path) -> None:
    with RunningBroker(tmp_path) as broker:
        broker.create_topic("orders")
        broker.produce("orders", b"one")
        assert main(["consume", "orders", "-b", broker.bootstrap_servers, "--web"]) == 0
    assert main(["log", "dump", str(tmp_path), "--web"]) == 0
    assert [each.start for each in opened] == ["/b1/topic/orders", "/d1"]


def test_api_show(opened: list[Workspace]) -> None:
    assert main(["api", "show", "Fetch", "--version", "12", "--web"]) == 0
    assert opened[0].start == "/protocol/FetchRequest?version=12"
