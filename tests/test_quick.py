"""`make quick` runs the tests of what changed, within its budget."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.quick import ROOT, chosen_tests

if TYPE_CHECKING:
    from pathlib import Path

SLOW = """
import time, pytest

@pytest.mark.parametrize("number", range(50))
def test_slow(number):
    time.sleep(0.2)
"""


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("src/kafkawire/log/files.py", ["tests/log/test_files.py", "tests/log"]),
        ("src/kafkawire/broker/apis/fetch.py", ["tests/broker/apis/test_fetch.py", "tests/broker"]),
        ("src/kafkawire/schemas/api/001_fetch.api", ["tests/messages"]),
        ("src/kafkawire/implementation.py", ["tests/test_implementation.py"]),
        ("tests/wire/test_frames.py", ["tests/wire/test_frames.py"]),
        ("tests/log/batches.py", ["tests/log"]),
        ("pyproject.toml", ["tests/packaging"]),
        ("LICENSE", []),
    ],
)
def test_a_changed_file_leads_to_its_tests(changed: str, chosen: list[str]) -> None:
    assert [path for path in chosen_tests([changed]) if path != "tests/property"] == chosen


def test_every_choice_exists() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()
    assert [path for path in chosen_tests(tracked) if not (ROOT / path).exists()] == []


def test_a_run_ends_with_its_budget(tmp_path: Path) -> None:
    (tmp_path / "test_slow.py").write_text(SLOW, "utf-8")
    code = (
        "import pytest, sys; from tests.quick import Budget;"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(tmp_path)!r}], plugins=[Budget(1.0)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, timeout=60)
    assert "1 s are over" in done.stdout
    assert "were left out" in done.stdout
