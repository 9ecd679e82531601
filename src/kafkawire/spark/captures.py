"""The data source `kafkawire-captures`: packet captures as tables.

Options, besides the path or paths of `load`:
- `table`: `exchanges` (default), `connections`, `gaps`, `exchange_partitions`, `batches`, `records`, whose columns the
  inspector defines, or `capture_files`. A schema that the user gives is a projection of it.
- `values`: whether records have their values (default false: keys, headers and lengths only).
- `minPartitions`: how many tasks there should be at least, if there are so many clients (default: the processors of
  the driver).

Rules:
- This module is imported wherever Spark looks for data sources, so it imports nothing heavy before it is used.
- The driver reads packet headers and plans which task reads which connections; tasks read payloads from the files. No
  payload is shuffled.
- Connections have the numbers that a single reader gives them, whatever the number of tasks.
- What a schema does not ask for is not decoded: headers alone give most of `exchanges` and `connections`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkawire.spark.options import choice, flag, known_options, paths_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from uuid import UUID

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.inspect.plan import Part

FORMAT: Final = "kafkawire-captures"
TABLES: Final = (
    *("exchanges", "connections", "gaps", "exchange_partitions", "batches", "records"),
    "capture_files",
)
_NAMES: Final = ("table", "values", "minPartitions")
_WITH_TOPICS: Final = ("exchange_partitions", "batches", "records")


@dataclass(frozen=True)
class Options:
    """The options of a read, checked."""

    paths: tuple[str, ...]
    table: str = "exchanges"
    values: bool = False
    min_partitions: int = 1

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """The options that Spark hands over."""
        options = known_options(given, _NAMES, FORMAT)
        return cls(
            paths=paths_of(options, FORMAT, "/var/captures/kafka.pcap"),
            table=choice("table", options.get("table", "exchanges").lower(), TABLES),
            values=flag("values", options.get("values", "false")),
            min_partitions=size("minPartitions", options.get("minpartitions", str(os.cpu_count() or 1))),
        )


@dataclass
class CapturePartition(InputPartition):
    """What one task reads: connections of a file, knowing the topic ids that any of the files tells."""

    part: Part | None
    topics: Mapping[UUID, str] = field(default_factory=dict)


class CapturesDataSource(DataSource):
    """Packet captures as tables of connections, exchanges, batches and records.

    >>> spark.read.format("kafkawire-captures").load("kafka.pcap").groupBy("api").count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark.capture_tables import table_schema

        return table_schema(Options.parse(self.options).table)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark.capture_tables import check_projection

        options = Options.parse(self.options)
        check_projection(options.table, schema)
        return CapturesReader(options, tuple(schema.names))


class CapturesReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: Options, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.inspect.plan import Part, capture_topics, plan_captures
        from kafkawire.spark.capture_files import list_captures

        files = list_captures(self._options.paths)
        names = [file.name for file in files]
        if self._options.table == "capture_files":
            parts = [Part(file.name, 0, (), file.size) for file in files]
        else:
            parts = plan_captures(names, self._options.min_partitions)
        named = self._options.table in _WITH_TOPICS and "topic" in self._columns
        topics = capture_topics(names) if named else {}
        # Spark makes one partition without a value out of no partitions.
        return [CapturePartition(part, topics) for part in parts] or [CapturePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkawire.spark.capture_tables import read_capture

        assert isinstance(partition, CapturePartition)
        if partition.part is None:
            return iter(())
        return read_capture(partition.part, partition.topics, self._options, self._columns)
