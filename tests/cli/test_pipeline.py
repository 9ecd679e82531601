"""`kafkawire pipeline run`: tables, summaries, refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import dataset
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.spark.output_tables import read_table, rows_in_order
from tests.spark.segment_files import batch, batches, damage, write_index, write_segment
from tests.spark.shared_session import spark

from kafkawire.cli.main import main
from kafkawire.testing.sample_logs import write_sample

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["spark"]

Capture = pytest.CaptureFixture[str]


def pipeline(*arguments: str | Path) -> int:
    return main(["pipeline", "run", "--source", "segments", *map(str, arguments)])


@pytest.mark.usefixtures("spark")
def test_tables_hold_every_record_and_the_summary_counts_them(tmp_path: Path, capsys: Capture) -> None:
    sample = write_sample(tmp_path / "logs", scale=1)
    assert pipeline(tmp_path / "logs", "--out", tmp_path / "tables", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    found = rows_in_order(read_table(tmp_path / "tables", "records"), sample.expected.schema.names)
    assert found == rows_in_order(sample.expected)
    tombstones = sum(row["value"] is None for row in sample.expected.select(["value"]).to_pylist())
    counted = {
        name: summary[name] for name in ("files", "topics", "records", "tombstones", "control_batches", "faults")
    }
    assert counted == {
        "files": 6,
        "topics": 5,
        "records": sample.expected.num_rows,
        "tombstones": tombstones,
        "control_batches": 2,
        "faults": 0,
    }
    assert {(row["magic"], row["codec"]) for row in summary["formats"]} >= {(0, "gzip"), (1, "lz4"), (2, "zstd")}
    times = [row["timestamp"].timestamp() * 1000 for row in sample.expected.to_pylist() if row["timestamp_type"] >= 0]
    assert (summary["first_timestamp"], summary["last_timestamp"]) == (min(times), max(times))
    rows = dataset.dataset(tmp_path / "tables" / "batches", partitioning="hive").count_rows()
    assert rows == summary["batches"] == sum(row["batches"] for row in summary["formats"])
    manifest = read_manifest(tmp_path / "tables")
    assert manifest["state"] == "complete"
    assert manifest["tables"]["records"]["rows"] == sample.expected.num_rows
    assert len(manifest["files"]) == 6


@pytest.mark.usefixtures("spark")
def test_faults_are_printed_and_in_a_table_and_in_the_exit_code(tmp_path: Path, capsys: Capture) -> None:
    data = batches(4)
    file = write_segment(tmp_path / "orders-0", [data[0], damage(data[1], 100), *data[2:]])
    out = tmp_path / "tables"
    assert pipeline(file.name, "--out", out) == 1
    printed = capsys.readouterr().out
    assert "stated CRC 0x" in printed
    assert f"{file.name}" in printed
    assert read_table(out, "records").num_rows == 30
    [fault] = dataset.dataset(out / "faults").to_table().to_pylist()
    assert (fault["topic"], fault["position"], fault["size"]) == ("orders", len(data[0]), len(data[1]))
    assert read_manifest(out)["summary"]["faults"] == 1


@pytest.mark.usefixtures("spark")
def test_failfast_fails_in_one_line_that_names_the_place(tmp_path: Path, capsys: Capture) -> None:
    file = write_segment(tmp_path / "orders-0", damage(batch(0), 100))
    assert pipeline(file.name, "--out", tmp_path / "tables", "--mode", "failfast") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"kafkawire: {file.name}, batch at byte 0: stated CRC 0x")
    manifest = read_manifest(tmp_path / "tables")
    assert (manifest["state"], line) == ("failed", f"kafkawire: {manifest['problem']}")


@pytest.mark.usefixtures("spark")
def test_a_single_table_may_be_asked_for_and_an_earlier_run_replaced(tmp_path: Path, capsys: Capture) -> None:
    write_segment(tmp_path / "orders-0", batches(3))
    out = tmp_path / "tables"
    arguments = (tmp_path / "orders-0", "--out", out, "--table", "batches")
    assert pipeline(*arguments) == 0
    assert not (out / "records").exists()
    assert pipeline(*arguments) == 1
    assert "holds an earlier run; give another directory, or --overwrite" in capsys.readouterr().err
    assert pipeline(*arguments, "--overwrite", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["batches"], summary["records"]) == (3, None)


@pytest.mark.usefixtures("spark")
def test_logs_without_a_record_give_tables_without_a_row(tmp_path: Path, capsys: Capture) -> None:
    write_segment(tmp_path / "orders-0", b"")
    out = tmp_path / "tables"
    assert pipeline(tmp_path / "orders-0", "--out", out, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["files"], summary["batches"], summary["records"], summary["formats"]) == (1, 0, 0, [])
    assert "offset" in dataset.dataset(out / "records").schema.names
    assert dataset.dataset(out / "batches").count_rows() == 0


@pytest.mark.usefixtures("spark")
def test_tables_about_files_come_when_asked_for(tmp_path: Path, capsys: Capture) -> None:
    file = write_segment(tmp_path / "orders-0", batches(4))
    write_index(file, [(5, 1)])
    out = tmp_path / "tables"
    assert pipeline(file.name, "--out", out, "--table", "segment_files", "--table", "index_errors", "--json") == 1
    summary = json.loads(capsys.readouterr().out)
    [row] = dataset.dataset(out / "segment_files", partitioning="hive").to_table().to_pylist()
    assert (row["topic"], row["entries"], row["records"], row["size"]) == ("orders", 4, 40, file.size)
    errors = dataset.dataset(out / "index_errors", partitioning="hive").to_table().to_pylist()
    assert summary["index_errors"] == len(errors)
    assert "no batch starts at position 1" in [error["problem"] for error in errors]


def test_a_directory_without_segments_is_refused_before_spark_starts(tmp_path: Path, capsys: Capture) -> None:
    assert pipeline(tmp_path, "--out", tmp_path / "tables") == 2
    assert "no segment files in" in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()


def test_a_path_that_is_not_there_and_a_bad_setting_are_refused(tmp_path: Path, capsys: Capture) -> None:
    assert pipeline(tmp_path / "absent", "--out", tmp_path / "tables") == 1
    assert "no such file or directory" in capsys.readouterr().err
    assert pipeline(tmp_path, "--out", tmp_path / "tables", "--conf", "x") == 2
    assert "--conf 'x': expected NAME=VALUE" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_captures_give_tables_findings_and_a_report(tmp_path: Path, capsys: Capture) -> None:
    capture, out = tmp_path / "x.pcap", tmp_path / "tables"
    capture.write_bytes(write_pcap(merge(INCIDENTS["duplicates"].shows()), nanoseconds=True))
    assert main(["pipeline", "run", "--source", "captures", str(capture), "--out", str(out)]) == 1
    printed = capsys.readouterr().out
    assert "error    duplicates: orders-3: the same batch of 2 records was stored at offsets 5 and 7" in printed
    assert str(out / "report.html") in printed
    page = (out / "report.html").read_text()
    assert (page.count("<article"), page.count("run again with --values")) == (1, 2)
    manifest = read_manifest(out)
    assert (manifest["state"], manifest["source"]["kind"], manifest["summary"]["findings"]["error"]) == (
        "complete",
        "captures",
        1,
    )
    assert manifest["tables"]["exchanges"]["rows"] == dataset.dataset(out / "exchanges").count_rows() == 3


@pytest.mark.usefixtures("spark")
def test_captures_without_the_tables_that_rules_look_at_are_not_judged(tmp_path: Path, capsys: Capture) -> None:
    capture, out = tmp_path / "x.pcap", tmp_path / "tables"
    capture.write_bytes(write_pcap(merge(INCIDENTS["duplicates"].shows()), nanoseconds=True))
    arguments = ["pipeline", "run", "--source", "captures", str(capture), "--out", str(out), "--table", "connections"]
    assert main(arguments) == 0
    assert "findings: no rules ran" in capsys.readouterr().out
    assert not (out / "findings").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--source", "captures", "--table", "index_errors"),
            "--table index_errors: the tables of captures are capture_files",
        ),
        (("--source", "captures", "--mode", "failfast"), "--mode is for segments"),
        (("--source", "segments", "--values"), "--values is for captures"),
        (("--source", "captures"), "no captures in"),
        (("--source", "segments", "--set", "plainbytes=1"), "no threshold 'plainbytes'; did you mean plain_bytes?"),
    ],
)
def test_tables_that_a_source_does_not_have_are_refused(
    tmp_path: Path, capsys: Capture, arguments: tuple[str, ...], problem: str
) -> None:
    assert main(["pipeline", "run", str(tmp_path), "--out", str(tmp_path / "tables"), *arguments]) == 2
    assert problem in capsys.readouterr().err


def read_manifest(directory: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    return content


@pytest.mark.usefixtures("spark")
def test_results_go_to_a_url_of_hadoop_and_files_may_come_from_one(tmp_path: Path, capsys: Capture) -> None:
    write_segment(tmp_path / "orders-0", batches(3))
    out = f"file://{tmp_path}/lake/tables"
    assert pipeline(f"file://{tmp_path}/orders-*", "--out", out) == 0
    assert f"report: {out}/report.html" in " ".join(capsys.readouterr().out.split())
    lake = tmp_path / "lake" / "tables"
    assert read_table(lake, "records").num_rows == 30
    assert read_manifest(lake)["state"] == "complete"
    assert (lake / "report.html").read_text().startswith("<!doctype html>")
    assert pipeline(tmp_path / "orders-0", "--out", out) == 1
    assert "holds an earlier run" in capsys.readouterr().err
    assert (
        pipeline(tmp_path / "orders-0", "--out", out, "--overwrite", "--table", "batches", "--set", "plain_bytes=9")
        == 0
    )
    assert "info     inefficiency: orders: " in capsys.readouterr().out
    assert not (lake / "records").exists()


def test_a_format_that_is_not_installed_says_what_to_install(tmp_path: Path, capsys: Capture) -> None:
    write_segment(tmp_path / "orders-0", batches(1))
    assert pipeline(tmp_path / "orders-0", "--out", tmp_path / "tables", "--format", "delta") == 1
    assert "run: pip install 'pyspark==" in capsys.readouterr().err.replace("Run", "run")
    assert not (tmp_path / "tables").exists()
