"""The core, without the libraries of any extra: it works, and a missing extra is an error with the pip command."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kafkawire._extras import EXTRAS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BLOCKED = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an interpreter that has no library of any extra."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCKED)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "error"}


def run(core: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], env=core, text=True, capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def command(core: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    return run(core, "-c", "from kafkawire.cli.main import main; raise SystemExit(main())", *arguments)


def extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found: dict[str, list[str]] = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [re.split(r"[^\w-]", each)[0] for each in listed] for extra, listed in found.items()}


def test_the_core_depends_on_no_library_of_an_extra() -> None:
    assert set(extras()[""]) & set(EXTRAS) == set()


def test_errors_name_the_extra_that_has_the_library() -> None:
    declared = extras()
    assert {"arrow", "codecs", "server", "spark", "ui", "all"} <= set(declared)
    for library, extra in EXTRAS.items():
        assert library in declared[extra] or library == "py4j"  # which pyspark installs


def test_a_broker_serves_a_client_and_compacts_without_any_extra(core: dict[str, str]) -> None:
    assert run(core, str(HERE / "round_trip.py")) == (0, "offset 0, key b'k', value b'hello'\n", "")
    assert run(core, str(HERE / "compacting.py")) == (0, "[(9, b'a', b'9')]\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--version"], ["--help"], ["inspect", "--help"], ["diagnose", "--help"], ["pipeline", "--help"]),
        *(["api", "list"], ["errors", "3"], ["decode", "0000000c001200000000000100026d65"]),
    ],
    ids=" ".join,
)
def test_commands_of_the_core(core: dict[str, str], arguments: list[str]) -> None:
    code, _, errors = command(core, *arguments)
    assert (code, errors.replace("kafkawire: taken as a request\n", "")) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["inspect", "x.pcap"], "arrow"),
        (["diagnose", "x.pcap"], "arrow"),
        (["pipeline", "run", "--source", "topic", "x", "--out", "x"], "arrow|spark"),
        (["demo", "--out", "x"], "arrow|spark"),
    ],
)
def test_a_command_without_its_extra_prints_the_pip_command(
    core: dict[str, str], arguments: list[str], extra: str
) -> None:
    code, _, errors = command(core, *arguments)
    assert code == 1
    assert re.search(rf"^kafkawire: .*: pip install 'kafkawire\[({extra})\]'\n$", errors), errors


def test_every_public_name_is_there_or_names_its_extra(core: dict[str, str]) -> None:
    program = """
import importlib, json
from kafkawire.exceptions import MissingExtraError
found = {}
for door in ("messages", "wire", "records", "log", "broker", "client", "inspect", "testing", "spark"):
    package = importlib.import_module(f"kafkawire.{door}")
    for name in package.__all__:
        try:
            getattr(package, name)
        except MissingExtraError as error:
            found[f"{door}.{name}"] = str(error)
print(json.dumps(found))
"""
    code, printed, errors = run(core, "-c", program)
    assert (code, errors) == (0, "")
    missing: dict[str, str] = json.loads(printed)
    assert "pip install 'kafkawire[arrow]'" in missing["records.to_arrow"]
    assert "pip install 'kafkawire[spark]'" in missing["spark.LagListener"] or "arrow" in missing["spark.LagListener"]
    assert {name.partition(".")[0] for name in missing} <= {"records", "client", "inspect", "spark"}
    assert "client.Consumer" not in missing


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["api", "--help"], "usage: kafkawire api [-h] list|show|matrix ...\r\n"),
        (
            ["errors", "74"],
            "  meaning  The client has an older leader epoch of this partition; fetch metadata first.\r\n",
        ),
        (["api", "matrix", "Heartbeat"], "Heartbeat"),
    ],
    ids=["help", "fields", "table"],
)
def test_a_terminal_without_rich_shows_plain_lines(core: dict[str, str], arguments: list[str], expected: str) -> None:
    code = "from kafkawire.cli.main import main; raise SystemExit(main())"
    control, terminal = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=core, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(control, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(control)
    assert process.wait(60) == 0, shown
    assert expected in shown.decode()
