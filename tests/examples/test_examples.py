"""Every example runs and prints its results: each in a process of its own, but for those in `test_on_spark`."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.examples.test_on_spark import PRINTS as IN_SESSION
from tests.spark.shared_session import SETTINGS

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
LONGEST: Final = 40
PRINTS: Final = {
    "capture_to_arrow.py": [
        "{'api': 'Produce', ",
        "{'topic': 'orders', 'partition': 0, 'key': b'k', 'value': b'hello'}",
    ],
    "custom_rule.py": ["warning anonymous-client 127.0.0.1:"],
    "decode_frame.py": [
        "7 me {'topics': [{'topicId'",
        "MetadataRequest v12",
        "header.client_id",
        "body.topics[0].name",
    ],
    "exactly_once.py": ["aborted: the program fails before the commit\n", "b'invoice for order 0'\n"],
    "produce_and_consume.py": ["b'customer-0' b'order 9'", "b'customer-2' b'order 8'"],
    "segments_to_duckdb.py": ["customer-6 │    142", "lz4"],
    "survive_faults.py": [
        "5 Produce requests for 2 records\n",
        "0 b'after two refusals'\n1 b'after a lost connection'\n",
    ],
    "topics_on_spark.py": ["b'customer-0' b'950'\n", "b'customer-4' b'1030'\n"],
}
PROGRAMS: Final = sorted(EXAMPLES.rglob("*.py"))


@pytest.fixture(scope="session")
def spark_defaults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's configuration of Spark that makes short programs faster, as the other tests on Spark have it."""
    file = tmp_path_factory.mktemp("spark-conf") / "spark.properties"
    file.write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()), encoding="utf-8")
    return file


def run(*arguments: str, spark_conf: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    if spark_conf is not None:
        environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {spark_conf} pyspark-shell"
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", *arguments]
    return subprocess.run(command, env=environment, cwd=EXAMPLES, encoding="utf-8", capture_output=True, timeout=600)


def test_every_program_is_tested() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(PRINTS.keys() | IN_SESSION.keys())


@pytest.mark.parametrize("name", sorted(PRINTS))
def test_an_example_prints_what_it_is_for(name: str, spark_defaults: Path) -> None:
    done = run(name, spark_conf=spark_defaults)
    assert done.returncode == 0, done.stderr
    assert [line for line in PRINTS[name] if line not in done.stdout] == []
    if "spark" not in (EXAMPLES / name).read_text(encoding="utf-8"):  # its daemon may end with a broken pipe
        assert "Traceback" not in done.stderr


def test_the_pytest_project_passes() -> None:
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "pytest_project")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_example_is_short_and_says_what_it_does(path: Path) -> None:
    source = path.read_text("utf-8")
    assert len(source.splitlines()) <= LONGEST
    assert ast.get_docstring(ast.parse(source))
