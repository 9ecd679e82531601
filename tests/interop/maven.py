"""Jars fetched with Maven: once for each pom, and again only when it or a release that it may name has changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from tests.interop.releases import PROPERTIES

BUILD: Final = Path(__file__).parents[2] / "build" / "interop"
_FETCHED: Final = "fetched.txt"


def are_fetched(jars: Path) -> bool:
    """Whether a directory has jars of any release."""
    return (jars / _FETCHED).exists()


def fetch_jars(pom: Path, jars: Path, what: str) -> None:
    """The dependencies of a pom, in a directory; what is missing to fetch them is said by name."""
    text = pom.read_text()
    wanted = json.dumps({name: value for name, value in PROPERTIES.items() if f"${{{name}}}" in text}) + text
    fetched = jars / _FETCHED
    if fetched.exists() and fetched.read_text() == wanted:
        return
    if shutil.which("mvn") is None:
        pytest.fail(f"the jars of {what} are fetched with Maven; not on the PATH: mvn")
    shutil.rmtree(jars, ignore_errors=True)
    releases = [f"-D{name}={value}" for name, value in PROPERTIES.items()]
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={jars}",
        *releases,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        pytest.fail(f"mvn could not fetch the jars of {what}: {done.stdout[-2000:]}")
    fetched.write_text(wanted)
