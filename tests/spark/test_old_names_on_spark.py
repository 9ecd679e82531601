"""Schemas with column names of before 0.2: they give the old values, with a warning that names the new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from tests.inspect.one_fetch import TIME, write_one_fetch
from tests.inspect.sample_messages import batch

from kafkawire.inspect import OLD_NAMES
from kafkawire.spark._captures.source import CapturesDataSource
from kafkawire.spark._segments.source import SegmentsDataSource
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_one_fetch(tmp_path)


def schema(**columns: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def rows(source: Any, wanted: StructType) -> list[dict[str, Any]]:
    reader = source.reader(wanted)
    parts = [reader.read(partition) for partition in reader.partitions()]
    return pa.Table.from_batches([each for part in parts for each in part]).to_pylist()


def test_a_schema_on_spark_may_have_old_names(capture: Path, tmp_path: Path) -> None:
    source = CapturesDataSource({"path": str(capture), "table": "batches"})
    wanted = schema(topic=StringType(), count=IntegerType(), max_ts=LongType(), record_count=IntegerType())
    with pytest.warns(DeprecationWarning, match="count is now record_count, max_ts is now max_timestamp"):
        found = rows(source, wanted)
    assert found == [{"topic": "orders", "count": 2, "max_ts": TIME, "record_count": 2}]
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(b"a", b"b"))
    files = SegmentsDataSource({"path": str(folder), "table": "segment_files"})
    with pytest.warns(DeprecationWarning, match="batches is now entries"):
        assert rows(files, schema(batches=LongType())) == [{"batches": 1}]


def test_the_option_old_names_gives_the_old_schema(capture: Path) -> None:
    source = CapturesDataSource({"path": str(capture), "table": "batches", "oldNames": "true"})
    assert set(OLD_NAMES["batches"]) <= set(source.schema().names)
    assert "record_count" not in source.schema().names
    with pytest.warns(DeprecationWarning, match="txn is now is_transactional"):
        [row] = rows(source, source.schema())
    assert (row["count"], row["ts_type"], row["source"]) == (2, "append", "response")


def test_old_names_are_those_of_the_source_that_had_them(tmp_path: Path) -> None:
    files = SegmentsDataSource({"path": str(tmp_path), "table": "batches"})
    with pytest.raises(SourceOptionError, match="the batches table has no column 'count'"):
        files.reader(schema(count=IntegerType()))
