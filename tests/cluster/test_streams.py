"""`kafkawire pipeline stream` that is signalled, killed, started twice, or has no space left.

Rules:
- Each stream is a process, as users start it. Triggers are small, so that a signal comes while one runs or commits.
- The restart of a stream leaves every record once, after any end of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest
from tests.spark.filled_broker import FilledBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]
RECORDS = 2_000
KEPT = {"retention.ms": -1}  # the records are old, and a busy machine may outlast a round of retention
SECONDS = 500.0


@pytest.fixture(scope="module")
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t", 2, KEPT)
        for partition in (0, 1):
            broker.fill("t", RECORDS // 2, partition=partition)
        yield broker


def command(broker: FilledBroker, root: Path, trigger: str = "0s", per_trigger: int = 100) -> list[str]:
    places = ["--out", str(root / "out"), "--checkpoint", str(root / "checkpoint"), "--table", "records"]
    limit = ["--option", f"maxOffsetsPerTrigger={per_trigger}", "--trigger", trigger]
    program = [sys.executable, "-W", "ignore", "-m", "kafkawire", "pipeline", "stream", "t"]
    return [*program, "-b", broker.bootstrap_servers, *places, *limit, "--conf", "spark.driver.memory=1g"]


@contextmanager
def started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def wait_for_commits(root: Path, wanted: int, *running: subprocess.Popen[str]) -> None:
    end = time.monotonic() + SECONDS
    commits = root / "checkpoint" / "records" / "commits"
    while not commits.is_dir() or sum(name.name.isdigit() for name in commits.iterdir()) < wanted:
        assert time.monotonic() < end, "no commits"
        assert any(each.poll() is None for each in running), [each.communicate() for each in running]
        time.sleep(0.02)


def manifest(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / "out" / "manifest.json").read_text())
    return content


def rows(root: Path) -> list[tuple[int, int]]:
    table = ds.dataset(root / "out" / "records", format="parquet", partitioning="hive").to_table()
    return sorted((row["partition"], row["offset"]) for row in table.select(["partition", "offset"]).to_pylist())


def finish(broker: FilledBroker, root: Path) -> None:
    """Restart the stream until it has read everything, and compare the records."""
    done = subprocess.run(
        command(broker, root, "available-now", 5_000), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert manifest(root)["state"] == "complete"
    assert rows(root) == [(partition, offset) for partition in (0, 1) for offset in range(RECORDS // 2)]


@pytest.mark.parametrize("to_group", [False, True])
def test_sigterm_ends_a_stream_between_two_triggers(broker: FilledBroker, tmp_path: Path, to_group: bool) -> None:
    with started(command(broker, tmp_path)) as running:
        wait_for_commits(tmp_path, 2, running)
        (os.killpg if to_group else os.kill)(running.pid, signal.SIGTERM)
        _, problems = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, problems
    assert "Traceback" not in problems
    assert "Traceback" not in (tmp_path / "out" / "spark.log").read_text()
    assert manifest(tmp_path)["state"] == "complete"
    finish(broker, tmp_path)


def test_of_two_streams_with_one_output_one_ends_and_the_lock_ends_with_a_kill(
    broker: FilledBroker, tmp_path: Path
) -> None:
    with started(command(broker, tmp_path)) as one, started(command(broker, tmp_path)) as other:
        wait_for_commits(tmp_path, 2, one, other)
        ended = next(each for each in (one, other) if each.poll() is not None)
        assert ended.returncode == 1
        assert "another run writes to" in ended.communicate()[1]
        going = other if ended is one else one
        assert going.poll() is None
        going.kill()
    assert manifest(tmp_path)["state"] == "running", "a kill leaves no time for the manifest"
    finish(broker, tmp_path)


@pytest.fixture
def little_space(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(directory)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs the right to mount one")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_full_disk_is_named_and_the_manifest_says_failed(broker: FilledBroker, little_space: Path) -> None:
    topic = f"large-{time.time_ns()}"
    broker.create_topic(topic, 1, KEPT)
    broker.fill(topic, 30_000)
    program = [sys.executable, "-W", "ignore", "-m", "kafkawire", "pipeline", "run", "--source", "topic"]
    words = [topic, "-b", broker.bootstrap_servers, "--out", str(little_space / "out"), "--table", "records"]
    done = subprocess.run([*program, *words], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 1, done.stderr
    assert "the disk is full: free some space" in done.stderr
    assert "Traceback" not in done.stderr
    content = json.loads((little_space / "out" / "manifest.json").read_text())
    assert content["state"] == "failed"
    assert "the disk is full" in content["problem"]
