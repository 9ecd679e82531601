"""`kafkawire pipeline stream`: topics into tables, stopped, killed, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.filled_broker import FilledBroker
from tests.spark.output_tables import read_table
from tests.spark.shared_session import spark
from tests.spark.simulated_file_sink import SimulatedSink

from kafkawire.cli._support.pipeline.compaction import interval_for
from kafkawire.cli.main import main
from kafkawire.spark import LocalStorage, OutputDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["spark"]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t", 2)
        broker.fill("t", 30)
        broker.fill("t", 20, partition=1)
        yield broker


def arguments(broker: FilledBroker, root: Path, *more: str) -> list[str]:
    places = ["--out", str(root / "out"), "--checkpoint", str(root / "checkpoint")]
    fetch = ["-X", "fetch.max.wait.ms=50"]
    return ["pipeline", "stream", "-b", broker.bootstrap_servers, "t", *fetch, *places, *more]


def offsets(root: Path) -> list[tuple[int, int]]:
    """The rows that every reader of the records table finds, in order; one that was read twice is there twice."""
    table = read_table(root / "out", "records").select(["partition", "offset"])
    return sorted((row["partition"], row["offset"]) for row in table.to_pylist())


def manifest(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / "out" / "manifest.json").read_text())
    return content


@pytest.mark.usefixtures("spark")
def test_a_stream_ends_with_what_there_is_and_goes_on_from_there(
    tmp_path: Path, broker: FilledBroker, capsys: Capture
) -> None:
    now = ("--trigger", "available-now", "--json")
    assert main(arguments(broker, tmp_path, *now, "--option", "maxOffsetsPerTrigger=20")) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["records"], first["offsets"], first["batches"]) == (50, 50, 2)
    broker.fill("t", 5, first=30)
    assert main(arguments(broker, tmp_path, *now)) == 0
    second = json.loads(capsys.readouterr().out)
    assert (second["records"], second["batches"], second["findings"]) == (55, 3, {"error": 0, "warning": 0, "info": 0})
    assert offsets(tmp_path) == [(0, n) for n in range(35)] + [(1, n) for n in range(20)]
    told = manifest(tmp_path)
    assert (told["state"], told["tables"]["records"]["rows"], told["checkpoint"]) == (
        "complete",
        55,
        str(tmp_path / "checkpoint"),
    )
    assert "<h1>Kafka topics</h1>" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.usefixtures("spark")
def test_nothing_to_read_is_not_a_failure(tmp_path: Path, capsys: Capture) -> None:
    with FilledBroker() as broker:
        broker.create_topic("t")
        assert main(arguments(broker, tmp_path, "--trigger", "once", "--table", "records")) == 0
    assert "partitions  1" in capsys.readouterr().out


@pytest.mark.usefixtures("spark")
def test_a_stream_stops_on_request_and_repeats_an_interrupted_batch_once(
    tmp_path: Path, broker: FilledBroker, capsys: Capture
) -> None:
    """The second half makes the files look as a kill leaves them: written, and neither counted nor committed."""
    log, commits = tmp_path / "out" / "records" / "_spark_metadata", tmp_path / "checkpoint" / "records" / "commits"

    def write_more_then_stop() -> None:
        try:
            wait_until((commits / "0").exists)
            broker.fill("t", 10, first=30)
            wait_until((commits / "1").exists)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=write_more_then_stop)
    thread.start()
    assert main(arguments(broker, tmp_path, "--trigger", "200ms", "--table", "records")) == 0
    thread.join()
    everything = [(0, n) for n in range(40)] + [(1, n) for n in range(20)]
    assert offsets(tmp_path) == everything
    captured = capsys.readouterr()
    assert "records     60" in captured.out
    assert "records 60, " in captured.err
    for file in (log / "1", log / ".1.crc", commits / "1", commits / ".1.crc"):
        file.unlink()
    assert main(arguments(broker, tmp_path, "--trigger", "available-now", "--table", "records")) == 0
    assert offsets(tmp_path) == everything


@pytest.mark.usefixtures("spark")
def test_tables_without_their_checkpoint_and_the_reverse_are_refused(
    tmp_path: Path, broker: FilledBroker, capsys: Capture
) -> None:
    assert main(arguments(broker, tmp_path, "--trigger", "once", "--table", "batches")) == 0
    (tmp_path / "checkpoint").rename(tmp_path / "aside")
    assert main(arguments(broker, tmp_path, "--trigger", "once", "--table", "batches")) == 1
    assert "a new read would repeat its rows" in capsys.readouterr().err
    (tmp_path / "aside").rename(tmp_path / "checkpoint")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert main(arguments(broker, tmp_path, "--trigger", "once", "--table", "batches")) == 1
    assert "continuing would lose its rows" in capsys.readouterr().err


def is_committed(checkpoint: Path, end: int) -> bool:
    """Whether the last committed batch ends at this offset of the first partition."""
    last = max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=None)
    return (
        last is not None
        and json.loads((checkpoint / "offsets" / str(last)).read_text().splitlines()[2])["t"]["0"] == end
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.skipif(sys.platform != "linux", reason="needs the call that exchanges two directories")
def test_a_running_stream_merges_its_small_files_and_goes_on(
    tmp_path: Path, broker: FilledBroker, spark: SparkSession, capsys: Capture
) -> None:
    """Of more than ten batches few files are left, and the log of the sink has passed its first compact entry."""
    commits = tmp_path / "checkpoint" / "records" / "commits"
    files = tmp_path / "out" / "records" / "topic=t"

    def write_then_stop() -> None:
        try:
            for number in range(13):
                wait_until((commits / str(number)).exists)
                broker.fill("t", 5, first=30 + 5 * number)
            wait_until(lambda: any(files.glob("merged-*")), 200)
            broker.fill("t", 5, first=95)
            wait_until(lambda: is_committed(tmp_path / "checkpoint" / "records", 100), 200)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=write_then_stop, daemon=True)
    thread.start()
    merging = ("--trigger", "100ms", "--table", "records", "--compact-every", "3s")
    assert main(arguments(broker, tmp_path, *merging)) == 0
    thread.join()
    assert offsets(tmp_path) == [(0, n) for n in range(100)] + [(1, n) for n in range(20)]
    broker.fill("t", 5, first=100)
    ending = ("--trigger", "available-now", "--table", "records", "--compact-every", "1h")
    assert main(arguments(broker, tmp_path, *ending)) == 0
    everything = [(0, n) for n in range(105)] + [(1, n) for n in range(20)]
    assert offsets(tmp_path) == everything
    assert len(list(files.glob("*.parquet"))) < 6
    rows = spark.read.parquet(str(tmp_path / "out" / "records")).select("partition", "offset").collect()
    assert sorted(tuple(row) for row in rows) == everything
    capsys.readouterr()
    assert main(["pipeline", "compact", str(tmp_path / "out"), "--json"]) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert offsets(tmp_path) == everything


@pytest.mark.skipif(sys.platform != "linux", reason="needs the call that exchanges two directories")
def test_compact_merges_what_a_stream_has_left_unless_it_runs(tmp_path: Path, capsys: Capture) -> None:
    OutputDirectory.resume(LocalStorage(tmp_path), "/checkpoint").storage.unlock()
    told = (tmp_path / "manifest.json").read_text()
    sinks = [SimulatedSink(tmp_path, Random(1), table=table) for table in ("batches", "records")]
    for sink in sinks:
        for _ in range(12):
            sink.add_batch()
    held = LocalStorage(tmp_path)
    held.lock()
    assert main(["pipeline", "compact", str(tmp_path)]) == 1
    assert "another run writes to" in capsys.readouterr().err
    held.unlock()
    assert main(["pipeline", "compact", str(tmp_path), "--table", "nothing"]) == 2
    assert f"--table nothing: {tmp_path} has batches, records" in capsys.readouterr().err
    assert main(["pipeline", "compact", str(tmp_path), "--table", "records", "--json"]) == 0
    [done] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (done["table"], done["format"], done["after"]) == ("records", "parquet", 2)
    assert done["before"] > 20
    assert main(["pipeline", "compact", str(tmp_path)]) == 0
    assert "batches" in capsys.readouterr().out
    assert main(["pipeline", "compact", str(tmp_path)]) == 0
    assert "no table has small files" in capsys.readouterr().out
    assert (tmp_path / "manifest.json").read_text() == told
    for sink in sinks:
        assert sink.rows_by_log() == sink.rows_by_listing() == sorted(sink.committed)
    assert len(list(tmp_path.rglob("*.parquet"))) == 4


@pytest.mark.parametrize(
    ("text", "table_format", "seconds"),
    [
        (None, "parquet", None),
        (None, "delta", 3600),
        (None, "iceberg", 3600),
        ("3s", "parquet", 3),
        ("never", "delta", None),
    ],
)
def test_a_stream_compacts_parquet_only_if_asked_to(
    text: str | None, table_format: str, seconds: float | None, tmp_path: Path
) -> None:
    assert interval_for(text, LocalStorage(tmp_path), table_format) == seconds


def test_compact_of_another_directory_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert main(["pipeline", "compact", str(tmp_path / "absent")]) == 1
    assert "does not hold an earlier run" in capsys.readouterr().err
    assert not (tmp_path / "absent").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    assert main(["pipeline", "compact", str(tmp_path / "other")]) == 1
    assert "is not empty and does not hold an earlier run" in capsys.readouterr().err
    assert main(["pipeline", "compact", "s3a://bucket/out"]) == 2
    assert "--format is needed for a URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "code", "problem"),
    [
        (("--trigger", "soon"), 1, "--trigger is 'soon', expected a duration"),
        (("--option", "endingOffsets=latest"), 1, "because a stream has no end"),
        (("--set", "lagg=5"), 2, "no threshold 'lagg'; did you mean lag?"),
        (("--set", "lag=many"), 2, "--set lag=many: expected a whole number"),
        (("--compact-every", "often"), 1, "--compact-every is 'often', expected a duration"),
        (("--compact-every", "0s"), 2, "--compact-every '0s': expected a time such as 10m, or never"),
        (("--file-size", "0"), 1, "--file-size is '0', expected a number of at least 1"),
        (("--format", "delta"), 1, "--format delta: no release of Delta for PySpark"),
    ],
)
def test_nonsense_is_refused_before_spark_starts(
    tmp_path: Path, broker: FilledBroker, capsys: Capture, more: tuple[str, ...], code: int, problem: str
) -> None:
    assert main(arguments(broker, tmp_path, *more)) == code
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "checkpoint").exists()


def wait_until(is_so: Callable[[], bool], seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
