"""`kafkawire diagnose`: findings first, and an exit code that scripts can trust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS

from kafkawire.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def capture(tmp_path: Path, name: str) -> str:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge(INCIDENTS[name].shows()), nanoseconds=True))
    return str(path)


def test_findings_come_first_with_advice_and_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path, "hanging transaction")
    assert main(["diagnose", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "error  stuck-hanging-transaction"
    assert lines[2].split()[:4] == ["advice", "An", "open", "transaction"]
    assert lines[5].split()[:4] == ["evidence", "exchanges", "0/1,", "0/2,"]
    assert lines[5].endswith("(kafkawire inspect --tree 0/1)")
    assert main(["inspect", path, "--tree", "0/1"]) == 0
    assert capsys.readouterr().out.startswith("FetchRequest")


@pytest.mark.parametrize(
    ("name", "level", "code"),
    [("idle", "warning", 0), ("idle", "info", 1), ("refetching", "warning", 1), ("refetching", "error", 0)],
)
def test_the_exit_code_follows_the_level(tmp_path: Path, name: str, level: str, code: int) -> None:
    assert main(["diagnose", capture(tmp_path, name), "--level", level]) == code


def test_a_level_selects_the_findings_that_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path, "refetching")
    assert main(["diagnose", path]) == 1
    assert "warning  " in capsys.readouterr().out
    assert main(["diagnose", path, "--level", "error"]) == 0
    assert capsys.readouterr().out.startswith("no findings of level error or worse\n")
    assert main(["diagnose", path, "--level", "error", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_json_is_one_finding_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", capture(tmp_path, "fenced"), "--json"])
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["rule"], row["entity"], row["evidence"][0]) == ("fenced", "tx", {"conn_id": 0, "seq": 2})


def test_thresholds_can_be_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path, "slow")
    assert main(["diagnose", path, "--set", "slow_ms=5000"]) == 0
    assert "no findings" in capsys.readouterr().out
    assert main(["diagnose", path, "--set", "speed=1"]) == 2
    assert main(["diagnose", path, "--set", "slow_ms=fast"]) == 2
