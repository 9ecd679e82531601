"""Transactions on Spark: the same table as the inspector's, in the data source, the pipeline and the report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.test_stored_transactions import Logs
from tests.inspect.transaction_conversations import Producer

from kafkawire.inspect import find_incidents, read_captures, read_directories
from kafkawire.spark._pipeline.inputs.captures import CapturesInput
from kafkawire.spark._pipeline.inputs.segments import SegmentsInput
from kafkawire.spark._pipeline.job import Job
from kafkawire.spark._pipeline.output import OutputDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stored = Logs(tmp_path_factory.mktemp("logs"))
    for turn in range(20):
        stored.write("orders", 7, turn)
    stored.mark("orders", 7, 30, commit=True)
    stored.write("orders", 9, 31, values=2)
    stored.write("bills", 7, 5)
    stored.mark("bills", 7, 130, commit=False)
    stored.state("payments", "Ongoing", 0, start=0)
    stored.state("payments", "PrepareAbort", 70, start=0, epoch=1)
    stored.state("payments", "CompleteAbort", 71, start=0, epoch=1)
    stored.directory.close()
    return stored.root


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what a task cannot know: names from another log, and the newest time of all logs."""
    for row in rows:
        if row["source"] == "segment":
            row["transactional_id"] = None
        if row["outcome"] == "open":
            row["duration_us"] = None
    return sorted(rows, key=repr)


def block(path: Path, name: str) -> list[list[Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    rows: list[list[Any]] = json.loads(found[1])["blocks"][name]["rows"]
    return rows


def test_the_data_source_has_the_inspectors_rows(spark: SparkSession, logs: Path) -> None:
    frame = spark.read.format("kafkawire-segments").option("table", "transactions").load(str(logs))
    expected = read_directories([logs])["transactions"].to_pylist()
    assert plain(frame.toArrow().to_pylist()) == plain(expected)
    chosen = spark.read.format("kafkawire-segments").option("table", "transactions")
    rows = chosen.schema("outcome string, producer_id bigint").load(str(logs)).collect()
    assert sorted(map(tuple, rows)) == [("aborted", 7), ("committed", 7), ("open", 9), ("timed_out", 7)]


def test_a_run_over_logs_writes_them_and_what_they_show(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    source = SegmentsInput([str(logs)])
    job = Job(spark, source, OutputDirectory.claim(tmp_path / "out"), source.default)
    summary = job.run()
    assert summary.rows["transactions"] == 4
    expected = sorted(each.rule for each in find_incidents(read_directories([logs])))
    assert expected == ["hanging-transaction", "transaction-timeout"]
    assert sorted(each.rule for each in job.found if each.level != "info") == expected
    rows = block(tmp_path / "out" / "report.html", "transactions")
    assert [row[:4] for row in rows if row[1]] == [["transaction log", "payments", 7, 1]]


def test_a_run_without_transactions_has_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    from tests.spark.segment_files import batches, write_segment

    write_segment(tmp_path / "logs" / "orders-0", batches(3))
    source = SegmentsInput([str(tmp_path / "logs")])
    summary = Job(spark, source, OutputDirectory.claim(tmp_path / "out"), source.default).run()
    assert summary.rows["transactions"] == 0
    assert "Fenced:" not in (tmp_path / "out" / "report.html").read_text()


def test_a_run_over_captures_writes_them(spark: SparkSession, tmp_path: Path) -> None:
    old = Producer(0).init().add(0, 1).write(10).wait(20).end(error=90)
    new = Producer(1, at=5_000).init(1).add(1).write(3, partition=1).end()
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge([old.talk, new.talk]), nanoseconds=True))
    source = CapturesInput([str(path)])
    summary = Job(spark, source, OutputDirectory.claim(tmp_path / "out"), source.default).run()
    found = spark.read.parquet(str(tmp_path / "out" / "transactions")).toArrow().to_pylist()
    assert found == read_captures([path]).tables["transactions"].to_pylist()
    assert [row["outcome"] for row in found] == ["fenced", "committed"]
    assert summary.rows["transactions"] == 2
    assert len(block(tmp_path / "out" / "report.html", "transactions")) == 1
