"""The directory of a run: claimed with care, described by its manifest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafkawire.spark.errors import PipelineError
from kafkawire.spark.outputs import OutputDirectory

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_directory_is_made_and_says_that_a_run_is_under_way(tmp_path: Path) -> None:
    output = OutputDirectory.claim(tmp_path / "deep" / "tables")
    manifest = json.loads((output.path / "manifest.json").read_text())
    assert manifest["state"] == "running"
    assert manifest["kafkawire"]


def test_a_directory_with_other_things_is_refused_even_when_told_to_overwrite(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    for overwrite in (False, True):
        with pytest.raises(PipelineError, match="is not empty and holds no earlier run"):
            OutputDirectory.claim(tmp_path, overwrite=overwrite)
    assert (tmp_path / "records").is_dir()


def test_an_earlier_run_is_replaced_only_when_told_to_and_nothing_else_is_touched(tmp_path: Path) -> None:
    OutputDirectory.claim(tmp_path).table("records").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PipelineError, match="--overwrite to replace it"):
        OutputDirectory.claim(tmp_path)
    output = OutputDirectory.claim(tmp_path, overwrite=True)
    assert not output.table("records").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_file_and_a_uri_are_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match="is a file"):
        OutputDirectory.claim(tmp_path / "file")
    with pytest.raises(PipelineError, match="all executors share"):
        OutputDirectory.claim(type(tmp_path)("s3://bucket/x"))
