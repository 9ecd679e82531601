"""`format("kafkawire-captures")` on a running Spark: the inspector's tables, whatever the number of tasks."""

from __future__ import annotations

import gzip
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import fs
from pyspark.errors import PySparkException
from tests.inspect.captures import merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic, impaired
from tests.inspect.incidents import INCIDENTS

from kafkawire.inspect._capture.packets import CaptureError
from kafkawire.inspect._parallel.part import stream_part
from kafkawire.inspect._parallel.plan import plan_captures
from kafkawire.inspect._tables.read import read_captures
from kafkawire.spark._captures.files import CaptureOpener, hole_of, list_captures, open_ranges, open_whole
from kafkawire.spark._captures.pieces import CapturePieces
from kafkawire.spark._captures.source import Options
from kafkawire.spark._segments import files as listing
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traffic with losses in one file, batches and groups in two others."""
    root = tmp_path_factory.mktemp("captures")
    (root / "lossy.pcap").write_bytes(write_pcap(impaired(cluster_traffic(9, 8, payload=3000), lost=2).packets))
    (root / "duplicates.pcap").write_bytes(write_pcap(merge(INCIDENTS["duplicates"].shows()), nanoseconds=True))
    (root / "storm.pcap").write_bytes(write_pcap(merge(INCIDENTS["rebalance storm"].shows()), nanoseconds=True))
    (root / "notes.txt").write_text("no capture")
    return root


@pytest.fixture(scope="module")
def expected(captures: Path) -> dict[str, pa.Table]:
    return read_captures(sorted(captures.glob("*.pcap")), values=True).tables


def load(spark: SparkSession, path: Path | str, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("kafkawire-captures").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(path))


def rows(table: pa.Table) -> list[str]:
    """Rows that can be compared; on Spark a record without headers has null headers, as in its other tables."""
    plain = [row | {"headers": row["headers"] or None} if "headers" in row else row for row in table.to_pylist()]
    return sorted(map(repr, plain))


def test_unreadable_captures_are_reported_unless_all_are_unreadable(captures: Path, tmp_path: Path) -> None:
    opened = CaptureOpener(3)
    for _ in range(4):  # as often as a plan needs it
        unreadable = opened(str(captures / "notes.txt"))
    assert (len(unreadable.packets), unreadable.flows) == (0, [])
    assert unreadable.faults == ["not a capture: it starts with 6e6f2063, expected pcap or pcapng"]
    assert opened(str(captures / "storm.pcap")).faults == []
    assert opened(str(tmp_path / "gone.pcap")).faults[0].startswith("[Errno 2] No such file")
    with pytest.raises(CaptureError, match=r"notes\.txt: not a capture"):
        CaptureOpener(1)(str(captures / "notes.txt"))


@pytest.mark.parametrize("table", ["connections", "gaps", "exchanges", "exchange_partitions", "batches", "records"])
def test_tables_are_those_of_the_inspector(
    spark: SparkSession, captures: Path, expected: dict[str, pa.Table], table: str
) -> None:
    frame = load(spark, captures, table=table, values="true", maxPartitionBytes="20k")
    found = frame.toArrow()
    assert frame.rdd.getNumPartitions() > 5 or table == "connections"
    assert found.schema.names == expected[table].schema.names
    assert rows(found.cast(expected[table].schema)) == rows(expected[table])
    assert expected[table].num_rows > 0


def test_all_tables_come_out_of_one_pass(spark: SparkSession, captures: Path, expected: dict[str, pa.Table]) -> None:
    pieces = CapturePieces(spark, [str(captures)], [*expected, "capture_files"], values="true", maxPartitionBytes="20k")
    try:
        for name, table in expected.items():
            found = pieces.frame(name).toArrow()
            assert rows(found.cast(table.schema)) == rows(table)
        assert [row.packets > 0 for row in pieces.frame("capture_files").collect()] == [True] * 3
    finally:
        pieces.forget()


def test_one_connection_is_divided_among_tasks(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(cluster_traffic(1, 60, payload=3000).packets))
    frame = load(spark, path, "seq bigint, api string", maxPartitionBytes=str(path.stat().st_size // 10))
    assert frame.rdd.getNumPartitions() == 10
    assert frame.count() == 60


def test_captures_elsewhere_are_read_as_local_ones(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pcap").write_bytes((captures / "duplicates.pcap").read_bytes())
    (tmp_path / "b.pcap.gz").write_bytes(gzip.compress((captures / "storm.pcap").read_bytes()))
    expected = read_captures(sorted(tmp_path.iterdir())).tables
    elsewhere = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(listing, "_resolve", lambda path: (elsewhere, path.removeprefix("far://"), "far://"))
    names = [file.name for file in list_captures(["far:///*.pcap*"])]
    assert [name.rpartition("/")[2] for name in names] == ["a.pcap", "b.pcap.gz"]
    parts = [part.unpack() for part in plan_captures(names, 1000, opened=open_whole).parts]
    assert len(parts) > 2
    pieces = [each for part in parts for each in stream_part(part, opened=open_ranges, hole=hole_of(part.files))]
    for name in ("exchanges", "batches"):
        found = pa.concat_tables([piece[name] for piece in pieces if name in piece])
        assert rows(found) == rows(expected[name])


def test_a_schema_is_a_projection_and_headers_alone_do_not_decode(
    spark: SparkSession, captures: Path, expected: dict[str, pa.Table]
) -> None:
    frame = load(spark, captures, "api string, conn_id bigint, wait_us bigint")
    assert rows(frame.toArrow()) == rows(expected["exchanges"].select(["api", "conn_id", "wait_us"]))


def test_values_are_left_out_unless_asked_for(spark: SparkSession, captures: Path) -> None:
    frame = load(spark, captures / "duplicates.pcap", table="records")
    found: list[Any] = frame.select("value", "value_len").distinct().collect()
    assert {row.value for row in found} == {None}
    assert all(row.value_len > 0 for row in found)


def test_a_row_a_file_says_what_is_wrong_with_it(spark: SparkSession, captures: Path, tmp_path: Path) -> None:
    data = (captures / "storm.pcap").read_bytes()
    (tmp_path / "cut.pcap").write_bytes(data[:-5])
    [row] = load(spark, tmp_path, table="capture_files").collect()
    assert (row.file, row.bytes) == (str(tmp_path / "cut.pcap"), len(data) - 5)
    assert row.connections > 0
    assert len(row.faults) == 1


@pytest.mark.parametrize(
    ("options", "schema", "problem"),
    [
        ({"table": "packets"}, None, "table is 'packets', expected exchanges"),
        ({"tabel": "gaps"}, None, "kafkawire-captures has no option tabel"),
        ({}, "api int", "column 'api' of the exchanges table is string, the schema says int"),
        ({}, "nonsense int", "the exchanges table has no column 'nonsense'"),
    ],
)
def test_nonsense_is_refused_with_a_reason(
    spark: SparkSession, captures: Path, options: dict[str, str], schema: str | None, problem: str
) -> None:
    with pytest.raises(PySparkException, match=problem):
        load(spark, captures, schema, **options).count()


def test_a_file_that_is_not_a_capture_is_named(spark: SparkSession, captures: Path) -> None:
    with pytest.raises(PySparkException, match=r"notes\.txt"):
        load(spark, captures / "notes.txt").count()


def test_a_directory_is_searched_for_captures_only(captures: Path) -> None:
    assert [file.name for file in list_captures([str(captures)])] == [
        str(captures / name) for name in ("duplicates.pcap", "lossy.pcap", "storm.pcap")
    ]


def test_captures_that_are_nowhere_are_refused() -> None:
    with pytest.raises(SourceOptionError, match="no such file or directory"):
        list_captures(["/absent/x.pcap"])
    with pytest.raises(SourceOptionError, match="needs a path"):
        Options.parse({"table": "gaps"})


def test_spark_finds_the_format_by_a_module_that_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pyspark_kafkawire_captures import DefaultSource;"
        "print(DefaultSource.name(), [name for name in ('numpy', 'kafkawire.inspect') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "kafkawire-captures []"
