"""Each format of tables: written, streamed with kills of the driver, and read back by other engines."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.lakes.places import environment_of, package_of
from tests.lakes.streams import ENGINES, Stream, numbers, pipeline, read_back, wait_for
from tests.spark.filled_broker import FilledBroker

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.lakes, pytest.mark.timeout(1800)]
_KILLS = 4
_KEPT = {"retention.ms": -1}  # the records are old, and a test on a busy machine may outlast a round of retention


def run(table_format: str, *words: str, jars: list[Path] | None = None) -> subprocess.CompletedProcess[str]:
    command = pipeline(table_format, *words, "--master", "local[2]", jars=jars)
    return subprocess.run(
        command, env=environment_of(table_format), capture_output=True, text=True, check=False, timeout=600
    )


def compact(table_format: str, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(table_format, "compact", str(root / "out"), *words)


def test_a_run_writes_what_other_engines_read_and_replaces_it(table_format: str, tmp_path: Path) -> None:
    with FilledBroker() as broker:
        broker.create_topic("t", 2, _KEPT)
        broker.fill("t", 30)
        broker.fill("t", 20, partition=1)
        words = ["run", "--source", "topic", "-b", broker.bootstrap_servers, "t", "--out", str(tmp_path / "out")]
        for more in ([], ["--overwrite"]):
            done = run(table_format, *words, *more)
            assert done.returncode == 0, done.stderr
    for engine in ENGINES[table_format]:
        found = read_back(table_format, engine, tmp_path / "out" / "records")
        assert found == [["t", 0, 30, 30, 0, 29], ["t", 1, 20, 20, 0, 19]], engine


def test_a_stream_killed_again_and_again_leaves_every_record_once(table_format: str, tmp_path: Path) -> None:
    """Each kill comes while a batch is planned and not committed, which is when a row could be lost or repeated.

    Small files are merged all the while.
    """
    with FilledBroker() as broker:
        broker.create_topic("t", 2, _KEPT)
        stream = Stream(
            table_format, broker.bootstrap_servers, tmp_path, trigger="100ms", more=["--compact-every", "2s"]
        )
        try:
            written = 0
            for _ in range(_KILLS):
                stream.start()
                for _ in range(2):
                    for partition in (0, 1):
                        broker.fill("t", 100, partition=partition, first=written)
                    written += 100
                    batches = max(stream.done(), default=-1)
                    wait_for(lambda last=batches: max(stream.done(), default=-1) > last, stream.printed())
                for partition in (0, 1):
                    broker.fill("t", 100, partition=partition, first=written)
                written += 100
                wait_for(lambda: numbers(stream.plans) - stream.done() or stream.pid is None, "a planned batch", 60)
                stream.kill()
            stream.finish()
        finally:
            stream.close()
    assert stream.kills == _KILLS
    before = len(list(stream.table.rglob("*.parquet")))
    done = compact(table_format, tmp_path)
    assert done.returncode == 0, done.stderr
    if table_format == "parquet":  # the others keep old files
        assert before < 12
    for engine in ENGINES[table_format]:
        found = read_back(table_format, engine, stream.table)
        assert found == [["t", partition, written, written, 0, written - 1] for partition in (0, 1)], engine


def test_compact_merges_the_files_of_a_stream_and_every_engine_reads_the_same(
    table_format: str, tmp_path: Path
) -> None:
    with FilledBroker() as broker:
        broker.create_topic("t", 2, _KEPT)
        limit = ["--option", "maxOffsetsPerTrigger=20", "--compact-every", "never"]
        if table_format == "iceberg":  # its PySpark has no limit of a trigger
            limit = limit[2:]
        stream = Stream(table_format, broker.bootstrap_servers, tmp_path, more=limit)
        for number in range(3):
            for partition in (0, 1):
                broker.fill("t", 50, partition=partition, first=50 * number)
            stream.finish()
        expected = [["t", partition, 150, 150, 0, 149] for partition in (0, 1)]
        done = compact(table_format, tmp_path, "--json")
        assert done.returncode == 0, done.stderr
        [found] = [json.loads(line) for line in done.stdout.splitlines() if '"records"' in line]
        assert (found["format"], found["after"]) == (table_format, 1)
        assert found["before"] >= 3
        for engine in ENGINES[table_format]:
            assert read_back(table_format, engine, stream.table) == expected, engine
        broker.fill("t", 50, first=150)
        stream.finish()
    expected[0] = ["t", 0, 200, 200, 0, 199]
    for engine in ENGINES[table_format]:
        assert read_back(table_format, engine, stream.table) == expected, engine


def test_without_the_jar_the_error_says_how_to_name_it(table_format: str, tmp_path: Path) -> None:
    if table_format == "parquet":
        return
    (tmp_path / "none.jar").write_bytes(b"PK\x05\x06" + bytes(18))  # an archive without files
    with FilledBroker() as broker:
        broker.create_topic("t", 1, _KEPT)
        broker.fill("t", 3)
        words = ["run", "--source", "topic", "-b", broker.bootstrap_servers, "t", "--out", str(tmp_path / "out")]
        done = run(table_format, *words, jars=[tmp_path / "none.jar"])
    assert done.returncode == 1
    assert f"this Spark has no jar of {table_format.capitalize()}" in done.stderr
    assert package_of(table_format) in done.stderr
    assert "--conf spark.jars=FILE.jar" in done.stderr


def test_spark_fetches_the_package_by_itself_and_says_what_to_do_if_it_cannot(
    table_format: str, tmp_path: Path
) -> None:
    if table_format == "parquet":
        return
    with FilledBroker() as broker:
        broker.create_topic("t", 1, _KEPT)
        broker.fill("t", 3)
        words = ["run", "--source", "topic", "-b", broker.bootstrap_servers, "t", "--table", "records"]
        ivy = ["--conf", f"spark.jars.ivy={tmp_path / 'ivy'}"]
        done = run(table_format, *words, "--out", str(tmp_path / "out"), *ivy, jars=[])
        assert done.returncode == 0, done.stderr
        missing = ["--conf", "spark.jars.packages=io.example:absent:1.0", "--conf", f"spark.jars.ivy={tmp_path / 'i'}"]
        failed = run(table_format, *words, "--out", str(tmp_path / "other"), *missing, jars=[])
    for engine in ENGINES[table_format]:
        assert read_back(table_format, engine, tmp_path / "out" / "records") == [["t", 0, 3, 3, 0, 2]]
    assert failed.returncode == 1
    assert "io.example#absent" in failed.stderr
    assert "--conf spark.jars=" in failed.stderr
    assert (tmp_path / "other" / "spark.log").exists()
