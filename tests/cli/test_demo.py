"""`kafkawire demo`: it proves itself, replaces its own earlier work and nothing else's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.spark.shared_session import spark

from kafkawire._demo import traffic
from kafkawire._demo.incidents import INCIDENTS
from kafkawire.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["spark"]
# kafka-python reads its schemas by a way that Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

Capture = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("spark")
def test_the_demo_proves_itself_and_replaces_an_earlier_one(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "ROLES", [role._replace(amount=role.amount // 8) for role in traffic.ROLES])
    out = tmp_path / "demo"
    stale = out / "topic" / "records" / "stale.parquet"
    stale.parent.mkdir(parents=True)
    stale.write_text("from an earlier demo")
    (out / "kafkawire-demo.json").write_text("{}")
    assert main(["demo", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert all(f"{incident.rule}: " in printed for incident in INCIDENTS)
    for view in ("topic", "segments", "capture"):
        assert json.loads((out / view / "manifest.json").read_text())["state"] == "complete"
        assert str(out / view / "report.html") in printed
    assert not stale.exists()


def test_the_demo_leaves_other_directories_alone(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious").write_text("mine")
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "is not empty and does not contain an earlier demo" in capsys.readouterr().err
    assert (tmp_path / "data" / "precious").read_text() == "mine"
