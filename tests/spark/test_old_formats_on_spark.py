"""Records of magic 0 and 1 on Spark: the sizes of `log stats`, as a table and in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.test_log_what_if import built, write
from tests.spark.test_transactions_on_spark import block

from kafkawire.log import available_codecs, collect_stats
from kafkawire.spark._pipeline.inputs.segments import SegmentsInput
from kafkawire.spark._pipeline.job import Job
from kafkawire.spark._pipeline.output import OutputDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_run_over_old_logs_says_what_magic_2_saves(spark: SparkSession, tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", built(1, 100), built(0, 20, "gzip", first=100), built(2, 10, first=120))
    write(logs, built(2, 10), partition="new-0")
    source = SegmentsInput([str(logs)])
    job = Job(spark, source, OutputDirectory.claim(tmp_path / "out"), source.default)
    summary = job.run()
    stats = collect_stats([logs / "orders-0" / f"{0:020}.log"], codecs=available_codecs())
    (row,) = spark.read.parquet(str(tmp_path / "out" / "old_formats")).collect()
    expected = stats.old_formats
    assert (row.topic, row.records, row.stored_bytes) == ("orders", 120, expected.stored)
    assert (row.old_bytes, row.new_bytes) == (expected.old_size, expected.new_size)
    saved = [row[name] for name in row.asDict() if name.startswith("saved_")]
    assert sum(saved) == row.old_bytes - row.new_bytes
    assert row.gzip_bytes < row.new_bytes
    assert summary.rows["old_formats"] == 1
    assert [each.entity for each in job.found if each.rule == "old-format"] == ["orders-0"]
    assert block(tmp_path / "out" / "report.html", "old_formats")[0][:3] == ["orders", 120, expected.stored]
    assert block(tmp_path / "out" / "report.html", "old_format_fields")[-1][1] == row.old_bytes - row.new_bytes
