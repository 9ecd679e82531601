"""Sessions: what they are started with, and how data sources get known."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark import java_gateway
from pyspark.errors import PySparkRuntimeError
from tests.spark.segment_files import batches, write_segment

from kafkawire.spark import SessionError, build_session, session
from kafkawire.spark.session import LITTLE_DATA, default_master, running_session, settings_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_only_a_local_master_writes_its_checkpoints_for_a_local_disk() -> None:
    setting = "spark.sql.streaming.checkpointFileManagerClass"
    assert settings_for("local[1]")[setting].endswith("FileSystemBasedCheckpointFileManager")
    assert setting not in settings_for("spark://host:7077")


def test_only_a_local_master_is_kept_to_this_machine() -> None:
    assert settings_for("local[1]")["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings_for("spark://host:7077")
    assert "spark.driver.host" not in settings_for(None)


def test_an_error_of_the_jvm_is_its_innermost_exception() -> None:
    said = "a.ClientException: pods is forbidden: User x cannot create resource. Received status: Status(code=403)"
    lines = [
        "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.",
        ": org.apache.spark.SparkException: External scheduler cannot be instantiated",
        "\tat a.b.C",
        f"Caused by: {said}",
    ]
    assert session._causes(lines)[-1] == "a.ClientException: pods is forbidden: User x cannot create resource."
    assert session._causes(["no error of Py4J"]) == []


def test_on_kubernetes_driver_and_executors_run_the_python_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "/usr/bin")
    session._choose_python("k8s://https://host:6443")
    assert (os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"]) == ("python3", "python3")
    assert shutil.which("python3") == str(Path(sys.executable).parent / "python3")


@pytest.mark.parametrize(
    ("master", "given", "python"),
    [
        ("spark://host:7077", {}, sys.executable),
        ("k8s://https://host:6443", {"PYSPARK_PYTHON": "/opt/python"}, "/opt/python"),
    ],
)
def test_elsewhere_and_by_wish_another_python_runs(
    monkeypatch: pytest.MonkeyPatch, master: str, given: dict[str, str], python: str
) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    session._choose_python(master)
    assert os.environ["PYSPARK_PYTHON"] == python


def test_settings_of_the_caller_go_before_ours(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.python.unix.domain.socket.enabled") == "true"
    assert conf.get("spark.sql.maxConcurrentOutputFileWriters") == "7", "see the settings of the session under test"


def test_settings_of_an_administrator_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    ours = settings_for("local[1]", LITTLE_DATA)
    assert ours.items() >= LITTLE_DATA.items()
    lines = [
        "# spark.ui.enabled true",
        "spark.driver.defaultJavaOptions -Dsite=1",
        "",
        "spark.sql.session.timeZone=CET",
    ]
    (tmp_path / "spark-defaults.conf").write_text("\n".join([*lines, "  spark.sql.shuffle.partitions : 9"]))
    left = settings_for("local[1]", LITTLE_DATA)
    assert ours.keys() - left.keys() == {
        "spark.driver.defaultJavaOptions",
        "spark.sql.session.timeZone",
        "spark.sql.shuffle.partitions",
    }


def test_under_spark_submit_the_master_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_master() == "local[*]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert default_master() is None


def test_without_pyspark_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(SessionError, match=r"pip install 'kafkawire\[spark\]'"):
        build_session()


def test_why_spark_did_not_start_is_taken_from_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: object, **__: object) -> None:
        words = 'Exception in thread "main" org.apache.spark.SparkException: Master must be local\n\tat x.scala\n'
        (tmp_path / "spark.log").write_text(f"WARN of no interest\n{words}")
        raise PySparkRuntimeError("Java gateway process exited before sending its port number.")

    monkeypatch.setattr(java_gateway, "launch_gateway", launch)
    monkeypatch.setattr(session, "_is_running", lambda: False)
    with pytest.raises(SessionError, match=r"^Spark did not start: Master must be local; see .*spark\.log$"):
        build_session("nonsense://x", log_file=tmp_path / "spark.log")


@pytest.mark.parametrize(
    "module", ["kafkawire.spark", "kafkawire.cli.commands.pipeline", "kafkawire.cli.commands.demo"]
)
def test_importing_does_not_import_spark(module: str) -> None:
    check = f"import sys, {module}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_module_that_spark_looks_into_is_light() -> None:
    check = (
        "import sys, pyspark_kafkawire_segments; sys.exit(any(name in sys.modules for name in ('pyarrow', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_session_that_is_running_is_used_and_left_running(spark: SparkSession) -> None:
    with running_session("local[2]") as same:
        assert same.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3


def test_workers_run_the_interpreter_of_the_driver(spark: SparkSession) -> None:
    [executable] = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert executable == sys.executable


def test_every_format_is_found_without_registration(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", batches(2))
    other = spark.newSession()
    assert other.read.format("kafkawire-segments").load(str(tmp_path)).count() == 20
    assert "api" in other.read.format("kafkawire-captures").load(str(tmp_path)).columns
    topics = other.read.format("kafkawire").option("kafka.bootstrap.servers", "localhost:1").option("subscribe", "t")
    assert "timestampType" in topics.load().columns
