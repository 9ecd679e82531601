"""The directory of a run: claimed with care, described by its manifest."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkawire._platforms import HAS_DIRECTORY_LOCKS
from kafkawire.spark._pipeline.output import OutputDirectory
from kafkawire.spark._pipeline.storage import HadoopStorage, LocalStorage
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_new_directory_is_made_and_says_that_a_run_is_under_way(tmp_path: Path) -> None:
    output = OutputDirectory.claim(tmp_path / "deep" / "tables")
    assert output.table("records") == str(tmp_path / "deep" / "tables" / "records")
    manifest = json.loads((tmp_path / "deep" / "tables" / "manifest.json").read_text())
    assert manifest["state"] == "running"
    assert manifest["kafkawire"]


def test_a_directory_with_other_files_is_refused_even_with_overwrite(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    for overwrite in (False, True):
        with pytest.raises(PipelineError, match="is not empty and does not hold an earlier run"):
            OutputDirectory.claim(tmp_path, overwrite=overwrite)
    assert (tmp_path / "records").is_dir()


def test_an_earlier_run_is_replaced_only_with_overwrite_and_nothing_else_is_touched(tmp_path: Path) -> None:
    OutputDirectory.claim(tmp_path)
    (tmp_path / "records").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PipelineError, match="--overwrite to replace it"):
        OutputDirectory.claim(tmp_path)
    OutputDirectory.claim(tmp_path, overwrite=True)
    assert not (tmp_path / "records").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("failure", "problem"), [(PipelineError("no room"), "no room"), (KeyboardInterrupt(), "interrupted")]
)
def test_the_reason_that_ended_a_run_early_is_in_the_manifest(
    tmp_path: Path, failure: BaseException, problem: str
) -> None:
    output = OutputDirectory.resume(LocalStorage(tmp_path), "/here")
    output.write_manifest({"state": "running", "tables": {"records": 7}})
    with pytest.raises(type(failure)), output.recording_failure():
        raise failure
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["state"], manifest["problem"], manifest["tables"]) == ("failed", problem, {"records": 7})
    OutputDirectory.resume(LocalStorage(tmp_path), "/here")
    again = json.loads((tmp_path / "manifest.json").read_text())
    assert (again["state"], again.get("problem")) == ("running", None)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_failure_is_in_the_manifest_also_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    output = OutputDirectory.claim(tmp_path / "out")
    write = Path.write_text

    def full(path: Path, text: str, encoding: str | None = None) -> int:
        write(path, text[:3], encoding)
        raise OSError(number, "no space")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(PipelineError, match="full"), output.recording_failure():
        raise PipelineError("the disk is full")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["state"], manifest["problem"]) == ("failed", "the disk is full")
    assert not list(tmp_path.glob("out/*.new"))


def test_a_failure_that_cannot_be_written_is_the_one_that_is_raised(tmp_path: Path) -> None:
    output = OutputDirectory.claim(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("a file by now")
    with pytest.raises(PipelineError, match="first"), output.recording_failure():
        raise PipelineError("first")


def test_a_file_is_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match="is a file"):
        OutputDirectory.claim(tmp_path / "file")


def test_a_stream_goes_on_only_in_its_own_directory(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "out")
    OutputDirectory.resume(storage, "/here").write_manifest({"state": "complete", "tables": {}})
    OutputDirectory.resume(storage, "/here")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["state"], manifest["checkpoint"], manifest["tables"]) == ("running", "/here", {})
    with pytest.raises(PipelineError, match="holds a stream whose checkpoint is /here"):
        OutputDirectory.resume(storage, "/elsewhere")
    OutputDirectory.claim(tmp_path / "run")
    with pytest.raises(PipelineError, match="holds a run that was not a stream"):
        OutputDirectory.resume(LocalStorage(tmp_path / "run"), "/here")


def test_hadoop_keeps_results_as_a_local_directory_does(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    for storage in (LocalStorage(tmp_path / "local"), HadoopStorage(spark, f"file://{tmp_path}/hadoop/")):
        storage.create()
        storage.write_text("a.txt", "old")
        storage.write_text("a.txt", "n\u00e9w")
        (tmp_path / Path(storage.root).name / "t" / "topic=x").mkdir(parents=True)
        (tmp_path / Path(storage.root).name / "t" / "topic=x" / "f").write_text("")
        seen = (storage.is_file(), storage.read_text("a.txt"), storage.read_text("b.txt"), storage.children("absent"))
        before = storage.children(), storage.files("t"), storage.files("absent")
        storage.remove("t")
        storage.remove("absent")
        found.append((seen, before, [name for name in storage.children() if not name.endswith(".crc")]))
    assert found[0] == found[1]
    assert found[0] == ((False, "n\u00e9w", None, []), (["a.txt", "t"], ["topic=x/f"], []), ["a.txt"])
    with pytest.raises(PipelineError, match="nosuch://x: No FileSystem for scheme"):
        HadoopStorage(spark, "nosuch://x")


@pytest.mark.skipif(not HAS_DIRECTORY_LOCKS, reason="the system has no locks of directories")
def test_a_second_run_into_one_directory_is_refused_before_it_changes_anything(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "out")
    output = OutputDirectory.resume(storage, "/here")
    output.write_manifest({"state": "running", "tables": {"records": 7}})
    before = (tmp_path / "out" / "manifest.json").read_text()
    with pytest.raises(PipelineError, match=r"another run writes to .*out; stop it, or give another directory"):
        OutputDirectory.resume(LocalStorage(tmp_path / "out"), "/here")
    with pytest.raises(PipelineError, match="another run writes to"):
        OutputDirectory.claim(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "manifest.json").read_text() == before
    with output.recording_failure():
        pass
    OutputDirectory.resume(LocalStorage(tmp_path / "out"), "/here")


@pytest.mark.skipif(not HAS_DIRECTORY_LOCKS, reason="the system has no locks of directories")
def test_the_lock_of_a_killed_run_is_gone(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from kafkawire.spark._pipeline.output import OutputDirectory;"
        "held = OutputDirectory.claim(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "out")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"held\n"
        with pytest.raises(PipelineError, match="another run writes to"):
            OutputDirectory.claim(tmp_path / "out", overwrite=True)
        running.kill()
        running.wait()
    OutputDirectory.claim(tmp_path / "out", overwrite=True)
