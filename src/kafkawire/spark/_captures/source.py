"""The data source `kafkawire-captures`: packet captures as tables.

Options, besides the path or paths of `load`:
- `table`: `exchanges` (default), `connections`, `gaps`, `exchange_partitions`, `batches`, `records`, whose columns the
  inspector defines, or `capture_files`. A schema from the user is a projection of it.
- `values`: include the values of records (default false: keys, headers and lengths only).
- `maxPartitionBytes`: target size of the file range assigned to one task (default 64 MiB); `minPartitions`: the
  smallest number of tasks, if there is a MiB for each (default: the processors of the driver).
- `oldNames`: column names of before 0.2, for one release (default false).

Rules:
- Spark imports this module whenever it looks for data sources, so heavy imports are deferred until use.
- The driver reads the headers of packets and frames and plans which task reads which exchanges; tasks read payloads
  from the files. No payload is shuffled, and a connection may be read by many tasks.
- Connections and exchanges have the numbers that a single reader gives them, for any number of tasks.
- Only the columns of a schema are decoded. Headers alone give most columns of `exchanges` and `connections`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkawire.spark._options import choice, flag, known_options, paths_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.inspect import PackedPart
    from kafkawire.spark._captures.files import CaptureFile

FORMAT: Final = "kafkawire-captures"
TABLES: Final = (
    *("exchanges", "connections", "gaps", "exchange_partitions", "batches", "records"),
    "capture_files",
)
_NAMES: Final = ("table", "values", "maxPartitionBytes", "minPartitions", "oldNames")
_SMALLEST_TASK: Final = 1 << 20
_WITH_TOPICS: Final = ("exchange_partitions", "batches", "records")


@dataclass(frozen=True)
class Options:
    """The checked options of a read."""

    paths: tuple[str, ...]
    table: str = "exchanges"
    values: bool = False
    max_partition_bytes: int = 64 * 2**20
    min_partitions: int = 1
    old_names: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """Parse the options from Spark."""
        options = known_options(given, _NAMES, FORMAT)
        return cls(
            paths=paths_of(options, FORMAT, "/var/captures/kafka.pcap"),
            table=choice("table", options.get("table", "exchanges").lower(), TABLES),
            values=flag("values", options.get("values", "false")),
            max_partition_bytes=size("maxPartitionBytes", options.get("maxpartitionbytes", "64m")),
            min_partitions=size("minPartitions", options.get("minpartitions", str(os.cpu_count() or 1))),
            old_names=flag("oldNames", options.get("oldnames", "false")),
        )


def part_bytes(files: Sequence[CaptureFile], most: int, tasks: int) -> int:
    """The bytes of a task, so that there are as many tasks as requested if there is enough for each."""
    total = sum(file.size for file in files)
    return min(most, max(_SMALLEST_TASK, -(-total // tasks)))


@dataclass
class CapturePartition(InputPartition):
    """The input of one task: a part of the captures, or a whole file."""

    content: PackedPart | CaptureFile | None


class CapturesDataSource(DataSource):
    """Packet captures as tables of connections, exchanges, batches and records.

    >>> spark.read.format("kafkawire-captures").load("kafka.pcap").groupBy("api").count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark._captures.tables import table_schema

        options = Options.parse(self.options)
        return table_schema(options.table, old_names=options.old_names)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark._captures.tables import check_projection

        options = Options.parse(self.options)
        check_projection(options.table, schema)
        return CapturesReader(options, tuple(schema.names))


class CapturesReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: Options, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.inspect import plan_captures
        from kafkawire.spark._captures.files import list_captures, open_whole
        from kafkawire.spark._captures.tables import needs_bodies, needs_sessions

        options, columns = self._options, self._columns
        files = list_captures(options.paths)
        contents: list[PackedPart] | list[CaptureFile] = files
        if options.table != "capture_files":
            contents = plan_captures(
                [file.name for file in files],
                part_bytes(files, options.max_partition_bytes, options.min_partitions),
                whole=options.table == "connections" and needs_bodies(options.table, columns),
                topics=options.table in _WITH_TOPICS and "topic" in columns,
                sessions=needs_sessions(options.table, columns),
                opened=open_whole,
            ).parts
        # Spark replaces an empty list by one partition without a value.
        return [CapturePartition(content) for content in contents] or [CapturePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkawire.inspect import PackedPart
        from kafkawire.spark._captures.tables import read_file, read_part

        assert isinstance(partition, CapturePartition)
        if partition.content is None:
            return iter(())
        if isinstance(partition.content, PackedPart):
            return read_part(partition.content.unpack(), self._options, self._columns)
        return read_file(partition.content, self._columns)
