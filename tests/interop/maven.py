"""Jars fetched with Maven: once for each pom, and again only when it has changed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def fetch_jars(pom: Path, jars: Path, what: str) -> None:
    """The dependencies of a pom, in a directory; what is missing to fetch them is said by name."""
    fetched = jars / "pom.xml"
    if fetched.exists() and fetched.read_text() == pom.read_text():
        return
    if shutil.which("mvn") is None:
        pytest.fail(f"the jars of {what} are fetched with Maven; not on the PATH: mvn")
    shutil.rmtree(jars, ignore_errors=True)
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        pytest.fail(f"mvn could not fetch the jars of {what}: {done.stdout[-2000:]}")
    shutil.copy(pom, fetched)
