"""The data source `kafkawire-segments`: Kafka's log files as tables.

Options, besides the path or paths of `load`:
- `table`: `records` (default), `batches`, `segment_files`, `index_errors`, `transactions` or `old_formats`, see
  `_columns.py`. A schema from the user is a projection of it.
- `mode`: the handling of unreadable bytes. `FAILFAST` (default) fails with file and position, `PERMISSIVE` gives a row
  whose `fault` states the problem, `DROPMALFORMED` gives no row. The tables about files count faults instead.
- `verify`: check CRCs (default true).
- `includeControl`: include transaction markers and other control records in the records table (default false).
- `maxPartitionBytes`: the largest number of bytes per task (default 128 MiB); `minPartitions`: the smallest number of
  tasks, if there are 4 MiB for each (default: the processors of the driver).
- `oldNames`: column names of before 0.2, for one release (default false).

Rules:
- Spark imports this module whenever it looks for data sources, so heavy imports are deferred until use.
- Files are listed and split when a query is planned. A file that grows later is read up to its size at that time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkawire.spark._options import choice, flag, known_options, paths_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.spark._segments.splits import FileRange

FORMAT: Final = "kafkawire-segments"
Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
_MODES: Final = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
_TABLES: Final = ("records", "batches", "segment_files", "index_errors", "transactions", "old_formats")
_NAMES: Final = ("table", "mode", "verify", "includeControl", "maxPartitionBytes", "minPartitions", "oldNames")


@dataclass(frozen=True)
class Options:
    """The checked options of a read."""

    paths: tuple[str, ...]
    table: str = "records"
    mode: Mode = "FAILFAST"
    verify: bool = True
    include_control: bool = False
    max_partition_bytes: int = 128 * 2**20
    min_partitions: int = 1
    old_names: bool = False

    @property
    def is_about_files(self) -> bool:
        return self.table in ("segment_files", "index_errors", "old_formats")

    @property
    def is_about_partitions(self) -> bool:
        return self.table == "transactions"

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """Parse the options from Spark, whose keys may have any case."""
        options = known_options(given, _NAMES, FORMAT)
        return cls(
            paths=paths_of(options, FORMAT, "/var/lib/kafka/orders-0"),
            table=choice("table", options.get("table", "records").lower(), _TABLES),
            mode=cast("Mode", choice("mode", options.get("mode", "FAILFAST").upper(), _MODES)),
            verify=flag("verify", options.get("verify", "true")),
            include_control=flag("includeControl", options.get("includecontrol", "false")),
            max_partition_bytes=size("maxPartitionBytes", options.get("maxpartitionbytes", "128m")),
            min_partitions=size("minPartitions", options.get("minpartitions", str(os.cpu_count() or 1))),
            old_names=flag("oldNames", options.get("oldnames", "false")),
        )


@dataclass
class SegmentPartition(InputPartition):
    """The ranges of one task."""

    ranges: tuple[FileRange, ...]


class SegmentsDataSource(DataSource):
    """Kafka's log files as a table of records or of batches.

    >>> spark.read.format("kafkawire-segments").load("/var/lib/kafka/orders-0").count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark._columns import table_schema

        options = Options.parse(self.options)
        return table_schema(options.table, old_names=options.old_names)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark._columns import check_segments_projection

        options = Options.parse(self.options)
        check_segments_projection(options.table, schema)
        return SegmentsReader(options, tuple(schema.names))


class SegmentsReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: Options, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def __getstate__(self) -> dict[str, object]:
        """The state for tasks. Each task unpickles it, so it leaves out the paths, of which there may be thousands."""
        return {**vars(self), "_options": replace(self._options, paths=())}

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark._segments.files import list_segments
        from kafkawire.spark._segments.splits import plan_tasks, plan_whole_files, plan_whole_partitions

        options = self._options
        files = list_segments(options.paths)
        if options.is_about_partitions:
            from kafkawire.spark._segments.transactions import partitions_of

            tasks = plan_whole_partitions(partitions_of(files), max_bytes=options.max_partition_bytes)
        elif options.is_about_files:
            tasks = plan_whole_files(files, max_bytes=options.max_partition_bytes)
        else:
            tasks = plan_tasks(files, max_bytes=options.max_partition_bytes, min_tasks=options.min_partitions)
        # Spark replaces an empty list by one partition without a value.
        return [SegmentPartition(tuple(task)) for task in tasks or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkawire.spark._segments.tasks import read_ranges

        assert isinstance(partition, SegmentPartition)
        return read_ranges(partition.ranges, self._columns, self._options)
