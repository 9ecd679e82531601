"""Examples that run in the Spark session of the tests. `topics_on_spark.py` starts Spark in a process of its own."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Final

import pytest
from tests.spark.shared_session import spark

__all__ = ["spark"]
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
PRINTS: Final = {
    "stream_with_checkpoint.py": ["after the first run: 100\n", "after the second run: 150\n"],
}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", sorted(PRINTS))
def test_an_example_prints_its_results(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.stop", lambda self: None)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    assert [line for line in PRINTS[name] if line not in printed] == []
