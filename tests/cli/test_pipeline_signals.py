"""`kafkawire pipeline run` under SIGTERM and Ctrl-C, to the process or to its whole group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.shared_session import SETTINGS, spark

from kafkawire.testing.sample_logs import write_sample

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["spark"]


@pytest.mark.usefixtures("spark")  # skips without Java
@pytest.mark.parametrize(("number", "to_group"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_a_signal_ends_a_run_in_order(tmp_path: Path, number: signal.Signals, to_group: bool) -> None:
    write_sample(tmp_path / "logs", scale=1)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "kafkawire", "pipeline", "run", "--source", "segments", str(tmp_path / "logs")]
    command += [text for name, value in SETTINGS.items() for text in ("--conf", f"{name}={value}")]
    running = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        end = time.monotonic() + 120
        while not (out / "batches").exists():  # Spark has begun to write
            assert time.monotonic() < end
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        (os.killpg if to_group else os.kill)(running.pid, number)
        _, problems = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    assert (manifest["state"], manifest.get("problem")) == ("failed", "interrupted"), problems
    assert b"Traceback" not in problems
    assert running.returncode == 130
