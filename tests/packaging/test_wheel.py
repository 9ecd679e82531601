"""A wheel that is installed in a virtual environment of its own works there: `make wheel`."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import kafkawire

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WHEELS = sorted((ROOT / "dist").glob("*.whl"))

pytestmark = [
    pytest.mark.wheel,
    pytest.mark.skipif(not WHEELS, reason="there is no wheel in dist; `make wheel` builds one and runs this"),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of programs of a fresh environment with the wheel and what it depends on."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    (wheel,) = WHEELS
    versions = ("-c", str(ROOT / "requirements.lock"))
    run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *versions, str(wheel))
    return programs


def run(program: Path, *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KAFKAWIRE"))}
    done = subprocess.run(
        [program, *arguments], cwd=program.parent, env=clean, text=True, capture_output=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_wheel_has_the_version_of_the_checkout(scripts: Path) -> None:
    printed = run(scripts / "kafkawire", "--version")
    assert printed.startswith(f"kafkawire {kafkawire.__version__} (")


def test_the_wheel_has_its_native_modules(scripts: Path) -> None:
    assert "(compiled), " in run(scripts / "kafkawire", "--version")


def test_the_core_and_its_dependencies_fit_in_25_megabytes(scripts: Path) -> None:
    home = scripts.parent
    library = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    parts = [each for each in library.iterdir() if not each.name.startswith(("pip", "setuptools", "pkg_resources"))]
    files = [path for part in parts for path in (part.rglob("*") if part.is_dir() else [part]) if path.is_file()]
    assert {part.name for part in parts} & {"numpy", "pyarrow"} == set()
    assert sum(path.stat().st_size for path in files) < 25_000_000


def test_a_broker_serves_a_client(scripts: Path) -> None:
    assert run(scripts / "python", str(HERE / "round_trip.py")) == "offset 0, key b'k', value b'hello'\n"
