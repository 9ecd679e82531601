"""The pipeline in processes of its own: killed, stopped by a signal, on a cluster, by spark-submit, found by Spark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.spark.filled_broker import FilledBroker
from tests.spark.output_tables import read_table, rows_in_order
from tests.spark.segment_files import batches, write_segment

from kafkawire.spark.java import find_java, java_home_for_spark
from kafkawire.testing.sample_logs import write_sample

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
SOURCES = Path(__file__).parents[2] / "src"
JOB = """
import sys
from kafkawire.cli.main import main

sys.exit(main(["pipeline", "run", *sys.argv[1:]]))
"""
FRESH = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").getOrCreate()
assert not any(name.startswith("kafkawire") for name in sys.modules)
servers, logs, capture = sys.argv[1:]
topic = spark.read.format("kafkawire").option("kafka.bootstrap.servers", servers).option("subscribe", "t").load()
stored = spark.read.format("kafkawire-segments").load(logs)
seen = spark.read.format("kafkawire-captures").load(capture)
print("counted", topic.count(), stored.count(), seen.count())
"""


def wait_until(is_so: Callable[[], bool], seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_stream_that_was_killed_and_then_stopped_has_every_record_once(tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    everything = [(0, n) for n in range(300)]
    with FilledBroker() as broker:
        broker.create_topic("t")
        for first in range(0, 300, 10):
            broker.fill("t", 10, first=first)
        command = [sys.executable, "-m", "kafkawire", "pipeline", "stream", "-b", broker.bootstrap_servers, "t"]
        command += ["--out", str(out), "--checkpoint", str(checkpoint), "--trigger", "50ms", "--table", "records"]
        slowly = ["--option", "maxOffsetsPerTrigger=20"]
        with subprocess.Popen([*command, *slowly], start_new_session=True) as killed:
            wait_until(lambda: (checkpoint / "records" / "offsets" / "3").exists() or killed.poll() is not None)
            os.killpg(killed.pid, signal.SIGKILL)
        assert killed.returncode == -signal.SIGKILL
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as stopped:  # type: ignore[call-overload]
            wait_until(lambda: committed(checkpoint) == 300 or stopped.poll() is not None)
            stopped.send_signal(signal.SIGTERM)
            printed, errors = stopped.communicate(timeout=200)
    assert stopped.returncode == 0, errors
    assert "records     300" in printed
    found = read_table(out, "records").select(["partition", "offset"]).to_pylist()
    assert sorted((row["partition"], row["offset"]) for row in found) == everything


def committed(checkpoint: Path) -> int:
    """How far the batches reach that are done."""
    try:
        last = max(int(file.name) for file in (checkpoint / "records" / "commits").iterdir() if file.name.isdecimal())
        reached = (checkpoint / "records" / "offsets" / str(last)).read_text().splitlines()[-1]
    except (OSError, ValueError):
        return 0
    return int(json.loads(reached)["t"]["0"])


def test_executors_in_processes_of_their_own_write_the_same_tables(tmp_path: Path) -> None:
    sample = write_sample(tmp_path / "logs", scale=1)
    command = [sys.executable, "-m", "kafkawire", "pipeline", "run", "--source", "segments", str(tmp_path / "logs")]
    subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--master", "local-cluster[1,1,1024]"], check=True, timeout=400
    )
    found = rows_in_order(read_table(tmp_path / "out", "records"), sample.expected.schema.names)
    assert found == rows_in_order(sample.expected)


def test_spark_submit_takes_the_package_as_an_archive_and_its_settings_go_before_ours(tmp_path: Path) -> None:
    """The archive is made of the sources, and the interpreter that runs it has no kafkawire of its own."""
    events = tmp_path / "events"
    events.mkdir()
    submitted = {
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.maxConcurrentOutputFileWriters": "9",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    sample = write_sample(tmp_path / "logs", scale=1)
    archive = shutil.make_archive(str(tmp_path / "kafkawire"), "zip", SOURCES)
    (tmp_path / "job.py").write_text(JOB)
    bare = bare_interpreter(tmp_path)
    environment = {**os.environ, "JAVA_HOME": str(java_home_for_spark(find_java())), "PYSPARK_PYTHON": str(bare)}
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
    submit += [part for name, value in submitted.items() for part in ("--conf", f"{name}={value}")]
    options = ["--master", "local-cluster[1,1,1024]", "--py-files", archive, str(tmp_path / "job.py")]
    arguments = ["--source", "segments", str(tmp_path / "logs"), "--out", str(tmp_path / "out")]
    subprocess.run([*submit, *options, *arguments], check=True, timeout=400, env=environment)
    found = rows_in_order(read_table(tmp_path / "out", "records"), sample.expected.schema.names)
    assert found == rows_in_order(sample.expected)
    [log] = events.iterdir()
    told = [json.loads(line) for line in log.read_text().splitlines()]
    [used] = [each["Spark Properties"] for each in told if each["Event"] == "SparkListenerEnvironmentUpdate"]
    assert used.items() >= submitted.items()
    assert used["spark.sql.codegen.wholeStage"] == "false", "of ours, what nobody has said"


def bare_interpreter(root: Path) -> Path:
    """An interpreter with everything that is installed here, but for kafkawire."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "bare")], check=True)
    [packages] = (root / "bare" / "lib").glob("python*/site-packages")
    for installed in Path(pyspark.__file__).parents[1].iterdir():
        if "kafkawire" not in installed.name:
            (packages / installed.name).symlink_to(installed)
    return root / "bare" / "bin" / "python"


def test_a_fresh_session_finds_every_format_by_itself(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", batches(2))
    capture = tmp_path / "x.pcap"
    capture.write_bytes(write_pcap(merge(INCIDENTS["duplicates"].shows()), nanoseconds=True))
    environment = {**os.environ, "JAVA_HOME": str(java_home_for_spark(find_java())), "PYSPARK_PYTHON": sys.executable}
    with FilledBroker() as broker:
        broker.create_topic("t")
        broker.fill("t", 7)
        arguments = [broker.bootstrap_servers, str(tmp_path / "t-0"), str(capture)]
        script = [sys.executable, "-c", FRESH, *arguments]
        run = subprocess.run(script, check=True, timeout=400, env=environment, stdout=subprocess.PIPE, text=True)
    assert "counted 7 20 3" in run.stdout
