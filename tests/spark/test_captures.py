"""`format("kafkawire-captures")` on a running Spark: the inspector's tables, whatever the number of tasks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.inspect.traffic import cluster_traffic, impaired

from kafkawire.inspect.capture import read_captures
from kafkawire.spark.capture_files import list_captures
from kafkawire.spark.captures import Options
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


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
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("table", ["connections", "gaps", "exchanges", "exchange_partitions", "batches", "records"])
def test_tables_are_those_of_the_inspector(
    spark: SparkSession, captures: Path, expected: dict[str, pa.Table], table: str
) -> None:
    frame = load(spark, captures, table=table, values="true", minPartitions="5")
    found = frame.toArrow()
    assert found.schema.names == expected[table].schema.names
    assert rows(found.cast(expected[table].schema)) == rows(expected[table])
    assert expected[table].num_rows > 0


def test_connections_are_divided_among_tasks(spark: SparkSession, captures: Path) -> None:
    frame = load(spark, captures / "lossy.pcap", minPartitions="4")
    assert frame.rdd.getNumPartitions() == 4


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
def test_what_makes_no_sense_is_refused_in_words(
    spark: SparkSession, captures: Path, options: dict[str, str], schema: str | None, problem: str
) -> None:
    with pytest.raises(PySparkException, match=problem):
        load(spark, captures, schema, **options).count()


def test_a_file_that_is_no_capture_is_named(spark: SparkSession, captures: Path) -> None:
    with pytest.raises(PySparkException, match=r"notes\.txt"):
        load(spark, captures / "notes.txt").count()


def test_a_directory_is_searched_for_captures_only(captures: Path) -> None:
    assert [file.name for file in list_captures([str(captures)])] == [
        str(captures / name) for name in ("duplicates.pcap", "lossy.pcap", "storm.pcap")
    ]


def test_captures_elsewhere_and_nowhere_are_refused() -> None:
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
