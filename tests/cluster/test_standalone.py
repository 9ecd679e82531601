"""A standalone cluster of two workers: tables, streams and writes, with executors that got kafkawire as an archive."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from tests.cluster.processes import HOME, environment, run
from tests.spark.output_tables import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]
_SMALL = ["--conf", "spark.driver.memory=1g", "--conf", "spark.executor.memory=600m", "--conf", "spark.cores.max=2"]
_EVERYTHING = [(0, n) for n in range(30)] + [(1, n) for n in range(20)]
JOB = """
import json, sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

servers, root = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()


def topic(name):
    return spark.read.format("kafkawire").options(**{"kafka.bootstrap.servers": servers, "subscribe": name}).load()


@udf("string")
def form(_):
    import kafkawire
    from kafkawire._native import describe

    return f"{describe()} from {kafkawire.__file__}"


rows = topic("t")
forms = sorted(row[0] for row in rows.select(form("offset")).distinct().collect())
to = {"kafka.bootstrap.servers": servers}
rows.select("key", "value").write.format("kafkawire").mode("append").options(topic="written", **to).save()
stream = spark.readStream.format("kafkawire").options(subscribe="t", startingOffsets="earliest", **to).load()
query = (
    stream.select("key", "value").writeStream.format("kafkawire")
    .options(topic="streamed", deliveryGuarantee="exactly-once", checkpointLocation=root + "/checkpoint", **to)
    .trigger(availableNow=True).start()
)
query.awaitTermination()
counts = [topic(name).count() for name in ("t", "written", "streamed")]
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
print("found", json.dumps({"counts": counts, "forms": forms, "executors": executors}))
"""


def found_by(printed: str) -> dict[str, object]:
    [line] = [line for line in printed.splitlines() if line.startswith("found ")]
    content: dict[str, object] = json.loads(line.removeprefix("found "))
    return content


def test_a_run_and_a_stream_write_tables_on_two_workers(master: str, broker: FilledBroker, tmp_path: Path) -> None:
    common = ["-b", broker.bootstrap_servers, "t", "--master", master, "--table", "records", *_SMALL]
    program = [sys.executable, "-m", "kafkawire", "pipeline"]
    done = run([*program, "run", "--source", "topic", *common, "--out", str(tmp_path / "run")])
    assert done.returncode == 0, done.stderr
    places = ["--out", str(tmp_path / "stream"), "--checkpoint", str(tmp_path / "checkpoint")]
    streamed = run([*program, "stream", *common, *places, "--trigger", "available-now"])
    assert streamed.returncode == 0, streamed.stderr
    for name in ("run", "stream"):
        rows = read_table(tmp_path / name, "records").select(["partition", "offset"]).to_pylist()
        assert sorted((row["partition"], row["offset"]) for row in rows) == _EVERYTHING
        assert "Traceback" not in (tmp_path / name / "spark.log").read_text()


def test_executors_without_kafkawire_get_it_with_native_code_as_an_archive(
    master: str, broker: FilledBroker, tmp_path: Path
) -> None:
    archive = tmp_path / "kafkawire.tar.gz"
    packed = run([sys.executable, "-m", "kafkawire.spark.archive", str(archive)])
    assert packed.returncode == 0, packed.stderr
    unpacked = tmp_path / "kafkawire"
    unpacked.mkdir()
    assert run(["tar", "-xzf", str(archive), "-C", str(unpacked)]).returncode == 0
    (tmp_path / "job.py").write_text(JOB)
    confs = ["--conf", "spark.python.unix.domain.socket.enabled=true", "--conf", "spark.log.level=ERROR"]
    python = str(unpacked / "bin" / "python")
    used = environment(
        PYSPARK_PYTHON="./kafkawire/bin/python", PYSPARK_DRIVER_PYTHON=python, KAFKAWIRE_PYTHON=base_python()
    )
    submit = [str(HOME / "bin" / "spark-submit"), "--master", master, "--archives", f"{archive}#kafkawire", *confs]
    words = [*_SMALL, "job.py", broker.bootstrap_servers, str(tmp_path)]
    done = run(["env", "-C", str(tmp_path), *submit, *words], used)
    assert done.returncode == 0, done.stderr[-5000:]
    found = found_by(done.stdout)
    assert found["counts"] == [50, 50, 50]
    assert found["executors"] == 2
    forms = found["forms"]
    assert isinstance(forms, list)
    for form in forms:
        assert form.startswith("compiled from "), form
        assert "/kafkawire/lib/kafkawire/__init__.py" in form, "another kafkawire than that of the archive"


def base_python() -> str:
    """The interpreter below this virtual environment, which has no kafkawire."""
    program: str = sys._base_executable  # type: ignore[attr-defined]
    return program
