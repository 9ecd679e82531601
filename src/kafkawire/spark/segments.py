"""The data source `kafkawire-segments`: Kafka's log files as tables.

Options, besides the path or paths of `load`:
- `table`: `records` (default), `batches`, `segment_files` or `index_errors`, see `tables.py`. A schema that the user
  gives is a projection of it.
- `mode`: what to do about bytes that cannot be read. `FAILFAST` (default) fails with file and position, `PERMISSIVE`
  gives a row whose `fault` says what is wrong, `DROPMALFORMED` leaves them out. The tables about files count faults
  instead.
- `verify`: whether CRCs are checked (default true).
- `includeControl`: whether the records table has transaction markers and other control records (default false).
- `maxPartitionBytes`: how much a task reads at most (default 128 MiB); `minPartitions`: how many tasks there should be
  at least, if there are 4 MiB for each (default: the processors of the driver).

Rules:
- This module is imported wherever Spark looks for data sources, so it imports nothing heavy before it is used.
- Files are listed and cut when a query is planned; a file that grows afterwards is read up to its size then.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkawire.spark.options import choice, flag, known_options, paths_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.spark.splits import FileRange

FORMAT: Final = "kafkawire-segments"
Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
_MODES: Final = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
_TABLES: Final = ("records", "batches", "segment_files", "index_errors")
_NAMES: Final = ("table", "mode", "verify", "includeControl", "maxPartitionBytes", "minPartitions")


@dataclass(frozen=True)
class Options:
    """The options of a read, checked."""

    paths: tuple[str, ...]
    table: str = "records"
    mode: Mode = "FAILFAST"
    verify: bool = True
    include_control: bool = False
    max_partition_bytes: int = 128 * 2**20
    min_partitions: int = 1

    @property
    def is_about_files(self) -> bool:
        return self.table in ("segment_files", "index_errors")

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """The options that Spark hands over, whose keys are in lower case or compare so."""
        options = known_options(given, _NAMES, FORMAT)
        return cls(
            paths=paths_of(options, FORMAT, "/var/lib/kafka/orders-0"),
            table=choice("table", options.get("table", "records").lower(), _TABLES),
            mode=cast("Mode", choice("mode", options.get("mode", "FAILFAST").upper(), _MODES)),
            verify=flag("verify", options.get("verify", "true")),
            include_control=flag("includeControl", options.get("includecontrol", "false")),
            max_partition_bytes=size("maxPartitionBytes", options.get("maxpartitionbytes", "128m")),
            min_partitions=size("minPartitions", options.get("minpartitions", str(os.cpu_count() or 1))),
        )


@dataclass
class SegmentPartition(InputPartition):
    """What one task reads."""

    ranges: tuple[FileRange, ...]


class SegmentsDataSource(DataSource):
    """Kafka's log files as a table of records or of batches.

    >>> spark.read.format("kafkawire-segments").load("/var/lib/kafka/orders-0").count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark.tables import table_schema

        return table_schema(Options.parse(self.options).table)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark.tables import check_projection

        options = Options.parse(self.options)
        check_projection(options.table, schema)
        return SegmentsReader(options, tuple(schema.names))


class SegmentsReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: Options, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark.listing import list_segments
        from kafkawire.spark.splits import plan_tasks, plan_whole_files

        options = self._options
        files = list_segments(options.paths)
        if options.is_about_files:
            tasks = plan_whole_files(files, max_bytes=options.max_partition_bytes)
        else:
            tasks = plan_tasks(files, max_bytes=options.max_partition_bytes, min_tasks=options.min_partitions)
        # Spark makes one partition without a value out of no partitions.
        return [SegmentPartition(tuple(task)) for task in tasks or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkawire.spark.reading import read_ranges

        assert isinstance(partition, SegmentPartition)
        return read_ranges(partition.ranges, self._columns, self._options)
