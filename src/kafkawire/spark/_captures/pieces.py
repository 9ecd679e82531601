"""All tables of captures in one pass: bodies are decoded once, and the rows are kept until their table is written.

Rules:
- A task decodes its part once and yields pieces: rows of a table as an Arrow stream. Spark keeps the pieces on the
  disks of its executors. A table consists of the pieces with its name.
- The columns of connections that come from bodies are summed by Spark over all parts of a connection.
- `capture_files` reports a file that cannot be read, and the others are read. Without that table such a file raises.
- Pieces have some MiB, which bounds memory on both sides. A function over Arrow columns unpacks them, because it does
  not need pandas.
"""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003  # Spark looks at the hints of functions
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType

from kafkawire.inspect import SUMMARIES, plan_captures, stream_part
from kafkawire.spark._captures.files import CaptureOpener, hole_of, list_captures, open_ranges, open_whole
from kafkawire.spark._captures.source import Options, part_bytes
from kafkawire.spark._captures.tables import cut_table, files_table, spark_rows, table_schema
from kafkawire.spark._workers import tune_worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kafkawire.inspect import PackedPart

BY_TOPIC: Final = ("exchange_partitions", "batches", "records")
_FROM_BODIES: Final = ("connections", "exchanges", *BY_TOPIC)
_FORMAT: Final = "kafkawire-capture-pieces"
_SCHEMA: Final = "table string, rows binary"
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [("table", pa.string()), ("rows", pa.binary())]
_PIECE: Final = pa.schema(_COLUMNS)
_SUMMED: Final = tuple(name for name in SUMMARIES.names if name not in ("conn_id", "seq"))


class CapturePieces:
    """The tables of captures, decoded once at the first request.

    The options are those of the format `kafkawire-captures`.
    """

    def __init__(self, spark: SparkSession, paths: Sequence[str], tables: Sequence[str], **options: str) -> None:
        spark.dataSource.register(CapturePiecesSource)
        reader = spark.read.format(_FORMAT).option("tables", ",".join(tables)).options(**options)
        self._pieces = reader.load(list(paths)).persist(StorageLevel.DISK_ONLY)

    def frame(self, table: str) -> DataFrame:
        """A table of the inspector."""
        if table != "connections":
            return self._unpacked(table, table_schema(table))
        known = self._unpacked("connections", table_schema("connections"))
        summaries = self._unpacked("summaries", from_arrow_schema(SUMMARIES))
        added = summaries.groupBy("conn_id").agg(*(_added(name).alias(name) for name in _SUMMED))
        return known.drop(*_SUMMED).join(F.broadcast(added), "conn_id", "left").select(known.columns)

    def forget(self) -> None:
        """Free the disk space."""
        self._pieces.unpersist()

    def _unpacked(self, table: str, schema: StructType) -> DataFrame:
        unpack = arrow_udf(_unpack, ArrayType(schema))  # type: ignore[call-overload]  # by its hints
        return self._pieces.filter(F.col("table") == table).select(F.inline(unpack("rows")))


class CapturePiecesSource(DataSource):
    """The pieces of the tables that the option `tables` names."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return _SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        given = dict(self.options)
        return _PiecesReader(given.pop("tables").split(","), Options.parse(given))


@dataclass
class _PiecesPartition(InputPartition):
    part: PackedPart | None
    files: pa.Table | None = None


class _PiecesReader(DataSourceReader):
    def __init__(self, tables: Sequence[str], options: Options) -> None:
        self._tables, self._options = frozenset(tables), options

    def partitions(self) -> list[InputPartition]:
        files = list_captures(self._options.paths)
        plan = plan_captures(
            [file.name for file in files],
            part_bytes(files, self._options.max_partition_bytes, self._options.min_partitions),
            topics=not self._tables.isdisjoint(BY_TOPIC),
            opened=CaptureOpener(len(files)) if "capture_files" in self._tables else open_whole,
        )
        facts = _PiecesPartition(None, files_table(files, plan.files))
        return [facts, *(_PiecesPartition(part) for part in plan.parts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _PiecesPartition)
        tune_worker()
        if partition.part is None:
            assert partition.files is not None
            yield _packed("capture_files", partition.files)
            return
        part = partition.part.unpack()
        pieces = stream_part(
            part,
            bodies=not self._tables.isdisjoint(_FROM_BODIES),
            partitions=not self._tables.isdisjoint(BY_TOPIC),
            records="records" in self._tables,
            values="records" in self._tables and self._options.values,
            opened=open_ranges,
            hole=hole_of(part.files),
        )
        for piece in pieces:
            for name, table in piece.items():
                if name in self._tables or (name == "summaries" and "connections" in self._tables):
                    for rows in cut_table(spark_rows(name, table, table.schema.names)):
                        yield _packed(name, rows)


def _packed(name: str, rows: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write(rows)
    return pa.RecordBatch.from_pydict({"table": [name], "rows": [sink.getvalue().to_pybytes()]}, _PIECE)


def _unpack(pieces: Iterator[pa.Array]) -> Iterator[pa.Array]:  # type: ignore[type-arg]  # hints that Spark reads
    tune_worker()
    for column in pieces:
        for piece in column:
            table = pa.ipc.open_stream(piece.as_buffer()).read_all().combine_chunks()
            rows = table.to_struct_array().combine_chunks()
            yield pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)


def _added(name: str) -> Column:
    """Combine a column of a connection from several parts."""
    if name == "undecoded":
        return F.sum(name)
    if name == "inter_broker":
        return F.bool_or(name)
    return F.min_by(name, F.when(F.col(name).isNotNull(), F.col("seq")))
