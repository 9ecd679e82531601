"""The package imports, and the broker serves, without the calls that macOS and Windows lack."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkawire import _platforms as platforms

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ON_WINDOWS = os.name == "nt"
ONLY_IN_PLATFORMS = re.compile(
    r"^\s*(?:import|from) (?:fcntl|resource|msvcrt|termios)\b"
    r"|\bos\.(?:sendfile|fdatasync|pread|preadv|pwrite|pwritev|sysconf|O_CLOEXEC|O_DIRECTORY|register_at_fork)\b"
    r"|\bsocket\.MSG_MORE\b|\bmmap\.MAP_|\badd_signal_handler\b|\bremove_reader\b|\bSO_REUSEADDR\b",
    re.MULTILINE,
)
GUARDED = {Path("broker/_net/send_queue.py"): {"os.sendfile"}}  # reached only where _platforms.SENDS_FILES says so
IMPORT_ALL = """
import pkgutil, importlib, kafkawire
for module in pkgutil.walk_packages(kafkawire.__path__, "kafkawire."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
import os, socket
assert not hasattr(os, "pwritev") and not hasattr(socket.socket, "sendmsg")
"""


def environment() -> Mapping[str, str]:
    paths = [ROOT / "src"] if ON_WINDOWS else [HERE / "windows", ROOT / "src"]  # Windows itself lacks these calls
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONWARNDEFAULTENCODING": "1"}


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    strict = [sys.executable, "-W", "error::EncodingWarning:kafkawire", *arguments]
    return subprocess.run(strict, env=environment(), cwd=ROOT, text=True, capture_output=True, timeout=300)


def test_every_module_imports_without_calls_of_linux() -> None:
    done = python("-c", IMPORT_ALL)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broker_serves_without_calls_of_linux(tmp_path: Path) -> None:
    done = python(str(HERE / "round_trip.py"), str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(ON_WINDOWS, reason="Windows sends no signal to one process alone")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_stops_cleanly_where_loops_take_no_signals(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "kafkawire", "serve", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as broker:
        assert broker.stdout is not None
        assert broker.stderr is not None
        assert "listens on" in broker.stdout.readline()
        broker.send_signal(number)
        assert broker.wait(30) == 0
        assert "broker stopped" in broker.stderr.read()


class FakeLibrary:
    """A C library whose `syncfs` fails."""

    def __init__(self, *_: object, **__: object) -> None:
        self.syncfs = self._fail

    def _fail(self, descriptor: int) -> int:
        os.fstat(descriptor)
        ctypes.set_errno(errno.EIO)
        return -1


@pytest.fixture
def syncs_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system on which everything speaks for `syncfs`."""
    if sys.platform != "linux":
        pytest.skip("syncfs is a call of Linux")
    monkeypatch.setattr(platforms, "_release", lambda: (5, 8))
    monkeypatch.setattr(platforms, "_file_system", lambda _: "ext4")
    monkeypatch.setattr(platforms, "_dirty_kb", lambda: 0)


@pytest.mark.usefixtures("syncs_as_a_whole")
def test_a_file_system_is_synced_by_one_call(tmp_path: Path) -> None:
    sync = platforms.file_system_sync(tmp_path)
    assert sync is not None
    sync()


@pytest.mark.usefixtures("syncs_as_a_whole")
def test_a_sync_of_a_file_system_reports_lost_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", FakeLibrary)
    sync = platforms.file_system_sync(tmp_path)
    assert sync is not None
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync()


@pytest.mark.usefixtures("syncs_as_a_whole")
@pytest.mark.parametrize(
    ("name", "value"), [("_release", (5, 7)), ("_file_system", "overlay"), ("_dirty_kb", 1024 * 1024)]
)
def test_a_file_system_is_not_synced_as_a_whole_where_that_is_unsafe_or_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(platforms, name, lambda *_: value)
    assert platforms.file_system_sync(tmp_path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_system_names_its_file_systems_and_what_waits_to_be_written(tmp_path: Path) -> None:
    assert platforms._file_system(Path("/proc")) == "proc"
    assert platforms._file_system(tmp_path) != "proc"
    assert platforms._dirty_kb() >= 0
    assert platforms._release() > (2, 6)


def test_calls_of_one_system_are_named_in_one_module() -> None:
    source = ROOT / "src" / "kafkawire"
    found = {}
    for path in source.rglob("*.py"):
        names = {each.strip() for each in ONLY_IN_PLATFORMS.findall(path.read_text("utf-8"))}
        names -= GUARDED.get(path.relative_to(source), set())
        if names and path.name != "_platforms.py":
            found[str(path.relative_to(source))] = names
    assert found == {}
