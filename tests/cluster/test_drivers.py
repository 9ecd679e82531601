"""Drivers that are not Python, or another Python: the formats are found if PYSPARK_PYTHON names the right one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.cluster.processes import HOME, environment, run
from tests.cluster.test_standalone import base_python

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]
_NOTEBOOK = """
import sys
from pyspark.sql import SparkSession
from kafkawire.spark import build_session
spark = build_session("local[1]", settings={"spark.driver.memory": "1g"})
rows = spark.read.format("kafkawire").option("kafka.bootstrap.servers", sys.argv[1]).option("subscribe", "t").load()
print("counted", rows.count())
"""


def query(broker: FilledBroker) -> str:
    options = f"`kafka.bootstrap.servers` '{broker.bootstrap_servers}', subscribe 't'"
    return f"CREATE TEMPORARY VIEW t USING kafkawire OPTIONS ({options}); SELECT 'counted', count(*) FROM t"


def spark_sql(broker: FilledBroker, root: Path, python: str) -> tuple[int, str, str]:
    warehouse = ["--conf", f"spark.sql.warehouse.dir={root / 'warehouse'}", "--conf", "spark.ui.enabled=false"]
    catalog = ["--conf", "spark.sql.catalogImplementation=in-memory", "--driver-memory", "1g"]
    command = [str(HOME / "bin" / "spark-sql"), "--master", "local[1]", *warehouse, *catalog, "-e", query(broker)]
    done = run(["env", "-C", str(root), *command], environment(PYSPARK_PYTHON=python))
    return done.returncode, done.stdout, done.stderr


def test_a_driver_on_the_jvm_finds_the_format_by_the_python_that_it_is_given(
    broker: FilledBroker, tmp_path: Path
) -> None:
    code, printed, errors = spark_sql(broker, tmp_path, sys.executable)
    assert code == 0, errors[-5000:]
    assert "counted\t50" in printed


def test_a_python_without_kafkawire_is_the_reason_for_an_unknown_format(broker: FilledBroker, tmp_path: Path) -> None:
    code, _, errors = spark_sql(broker, tmp_path, base_python())
    assert code != 0
    assert "DATA_SOURCE_NOT_FOUND" in errors


def test_a_notebook_whose_path_has_another_python_first_works_by_our_session(
    broker: FilledBroker, tmp_path: Path
) -> None:
    """A kernel runs in one environment, and `python3` on the PATH is another one without kafkawire."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(base_python())
    used = environment()
    del used["PYSPARK_PYTHON"]
    used["PATH"] = f"{tmp_path / 'bin'}:{used['PATH']}"
    done = run([sys.executable, "-W", "ignore", "-c", _NOTEBOOK, broker.bootstrap_servers], used)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "counted 50" in done.stdout
