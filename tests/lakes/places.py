"""The releases of PySpark, the jars and the readers that the formats need, fetched once into build/lakes.

Rules:
- Neither Delta nor Iceberg runs on every release of PySpark, so each has the newest that its jar is made for. It comes
  before the installed one on the path of a process.
- Jars are files here, as on a machine without a network. One test lets Spark fetch them itself.
- An error names the package that cannot be fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.spark._pipeline.table_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

BUILD: Final = Path(__file__).parents[2] / "build" / "lakes"
PYSPARK: Final = {"parquet": "", "delta": "4.2.1", "iceberg": "4.1.4"}
"""The PySpark of each format; empty for the installed one."""
READERS: Final = ("polars==2.1.0", "deltalake==1.6.6", "pyiceberg==0.12.0")
_STORAGE: Final = "io.delta:delta-storage:4.4.0"


class NotFetchedError(Exception):
    """Something that the tests need could not be fetched."""


def package_of(table_format: str) -> str:
    """The package of a format for its PySpark; empty if it needs none."""
    release = PYSPARK[table_format].rpartition(".")[0]
    return FORMATS[table_format].packages.get(release, "")


def jars_of(table_format: str) -> list[Path]:
    """The files of the jars that a format needs."""
    packages = {"parquet": [], "delta": [package_of("delta"), _STORAGE], "iceberg": [package_of("iceberg")]}
    return [_jar(each) for each in packages[table_format]]


def environment_of(table_format: str) -> dict[str, str]:
    """The environment of a process that runs the pipeline with the PySpark of a format."""
    paths = [os.fspath(_pyspark(PYSPARK[table_format]))] if PYSPARK[table_format] else []
    return _with_path(paths) | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def environment_of_readers() -> dict[str, str]:
    """The environment of a process that reads tables without Spark."""
    directory = BUILD / "readers"
    if not (directory / "fetched").exists():
        pip_into(directory, READERS, "the readers of Delta and Iceberg")
        (directory / "fetched").touch()
    return _with_path([os.fspath(directory)])


def _with_path(paths: Sequence[str]) -> dict[str, str]:
    """This environment, with more places for packages before its own."""
    kept = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", "SPARK_HOME"}}
    given = os.environ.get("PYTHONPATH", "")
    wanted = os.pathsep.join([*paths, *([given] if given else [])])
    return {**kept, "PYTHONPATH": wanted} if wanted else kept


def _pyspark(release: str) -> Path:
    directory = BUILD / f"pyspark-{release}"
    if not (directory / "fetched").exists():
        pip_into(directory, ["--no-deps", f"pyspark=={release}"], f"PySpark {release}")
        (directory / "fetched").touch()
    return directory


def pip_into(directory: Path, wanted: Sequence[str], what: str) -> None:
    """Install packages into a directory of their own."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
    done = subprocess.run(
        [*command, "--target", os.fspath(directory), *wanted], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotFetchedError(f"pip could not fetch {what}: {done.stderr.strip()[-1000:]}")


def _jar(package: str) -> Path:
    _, name, release = package.split(":")
    file = BUILD / "jars" / f"{name}-{release}.jar"
    if not file.exists():
        if shutil.which("mvn") is None:
            raise NotFetchedError(f"{package} is fetched with Maven; not on the PATH: mvn")
        draft = BUILD / f"fetched-{os.getpid()}"
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={package}", f"-DoutputDirectory={draft}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            raise NotFetchedError(f"mvn could not fetch {package}: {done.stdout[-1000:]}")
        file.parent.mkdir(parents=True, exist_ok=True)
        (draft / file.name).rename(file)
        shutil.rmtree(draft)
    return file
