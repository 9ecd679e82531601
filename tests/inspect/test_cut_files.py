"""Mapped files that another process cuts off, in processes of their own, because the old behaviour ends them."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import write_pcap
from tests.inspect.cluster_traffic import cluster_traffic

from kafkawire.inspect._capture.files import outlive_cuts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not outlive_cuts(), reason="a handler of SIGBUS needs the native modules")

READ = """
import os, sys
from kafkawire.inspect import map_file, outlive_cuts
path = sys.argv[1]
open(path, "wb").write(b"x" * 100_000)
data = map_file(path)
if sys.argv[2] == "outlives":
    assert outlive_cuts() and outlive_cuts()
os.truncate(path, 10)
assert data[70_000] == 0 and data[90_000] == 0
assert bytes(data[:10].data) == b"x" * 10
print("alive")
"""

PAGE = """
import os, sys, time
from pathlib import Path
from kafkawire import inspect
from kafkawire.web import CaptureSource
path, whole = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()
read_tables, cut = inspect.read_tables, []
def while_it_is_cut(*args, **options):
    if not cut:
        cut.append(os.truncate(path, 5_000))
    return read_tables(*args, **options)
inspect.read_tables = while_it_is_cut
source = CaptureSource([path])
until = time.monotonic() + 60
while not cut or source.phase != "whole":
    assert time.monotonic() < until
    time.sleep(0.02)
path.write_bytes(whole)
expected = len(inspect.read_captures([path]).tables["exchanges"])
while len(source.exchanges) != expected or source.reading.faults:
    assert time.monotonic() < until, (len(source.exchanges), expected)
    time.sleep(0.02)
source.close()
print("alive")
"""


def ended(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_file_that_is_cut_off_reads_as_zeros_behind_its_end(tmp_path: Path) -> None:
    found = ended(READ, str(tmp_path / "cut"), "outlives")
    assert (found.returncode, found.stdout) == (0, "alive\n"), found.stderr


def test_without_the_handler_such_a_read_ends_the_process(tmp_path: Path) -> None:
    assert ended(READ, str(tmp_path / "cut"), "").returncode == -signal.SIGBUS


def test_a_capture_that_is_cut_off_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(write_pcap(cluster_traffic(10, 20, payload=2_000).packets))
    found = ended(PAGE, str(path))
    assert (found.returncode, found.stdout) == (0, "alive\n"), found.stderr
