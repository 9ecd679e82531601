"""Files that derive from the schemas are up to date, and the check names those that are not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tools.generate.derived import main, problems

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]


def test_every_generated_file_is_up_to_date() -> None:
    assert list(problems(ROOT)) == []


def test_the_check_names_what_is_out_of_date_and_what_is_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tests/vectors").mkdir(parents=True)
    shutil.copy(ROOT / "tests/vectors/messages.tsv", tmp_path / "tests/vectors")
    (tmp_path / "src/kafkawire/messages").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    for page in ("inspect.md", "spark-topics.md"):
        shutil.copy(ROOT / "docs" / page, tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "SUPPORTED.md").write_text("old", encoding="utf-8")
    (tmp_path / "docs/protocol/api/999_gone.md").touch()
    assert main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "SUPPORTED.md is out of date: run `make generate`" in said
    assert "docs/protocol/api/999_gone.md is left over" in said
