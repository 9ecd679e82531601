"""The data source `kafkawire`: topics of a live cluster, with the options and columns of Spark's own Kafka connector.

Options: docs/spark-topics.md, and `options.py` for reading.

Rules:
- Spark imports this module whenever it looks for data sources, so heavy imports are deferred until use.
- A batch read looks up its offsets once per `load`: a second action on the same DataFrame reads the same ranges.
- Filters are not pushed down, because Spark has one plan per DataFrame and would use the filters of one query for the
  next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.spark._topics.lookup import OffsetRange
    from kafkawire.spark._topics.options import TopicOptions

FORMAT: Final = "kafkawire"


@dataclass
class TopicPartitionRange(InputPartition):
    """The range of one task; None if there is nothing to read."""

    range: OffsetRange | None


class TopicsDataSource(DataSource):
    """Topics as tables.

    >>> spark.read.format("kafkawire").option("kafka.bootstrap.servers", "localhost:9092").option(
    ...     "subscribe", "orders"
    ... ).load().count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark._columns import topic_schema
        from kafkawire.spark._topics.options import includes_headers, wanted_table

        return topic_schema(wanted_table(self.options), include_headers=includes_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark._columns import TOPIC_TABLES, check_projection
        from kafkawire.spark._topics.options import TopicOptions

        options = TopicOptions.parse(self.options, is_stream=False)
        check_projection(options.table, TOPIC_TABLES[options.table], schema)
        return TopicsReader(options, tuple(schema.names))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from kafkawire.spark._columns import TOPIC_TABLES, check_projection
        from kafkawire.spark._topics.options import TopicOptions
        from kafkawire.spark._topics.stream import TopicsStreamReader

        options = TopicOptions.parse(self.options, is_stream=True)
        check_projection(options.table, TOPIC_TABLES[options.table], schema)
        return TopicsStreamReader(options, tuple(schema.names))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from kafkawire.spark._topics.writer import TopicsWriter, WriteOptions
        from kafkawire.spark.errors import SourceOptionError

        if overwrite:
            raise SourceOptionError("mode overwrite: a topic cannot be overwritten; use mode append")
        return TopicsWriter(WriteOptions.parse(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from kafkawire.spark._topics.writer import TopicsStreamWriter, WriteOptions

        return TopicsStreamWriter(WriteOptions.parse(self.options, schema, is_stream=True))


class TopicsReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: TopicOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark._topics.lookup import plan_batch

        return list(as_partitions(plan_batch(self._options)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._columns, self._options)


def as_partitions(ranges: list[OffsetRange]) -> list[TopicPartitionRange]:
    """The partitions of tasks. There is always one, because Spark adds a partition of its own to an empty list."""
    return [TopicPartitionRange(each) for each in ranges] or [TopicPartitionRange(None)]


def read_partition(
    partition: InputPartition, columns: tuple[str, ...], options: TopicOptions
) -> Iterator[pa.RecordBatch]:
    """The rows of one task."""
    from kafkawire.spark._topics.tasks import read_range

    assert isinstance(partition, TopicPartitionRange)
    return iter(()) if partition.range is None else read_range(partition.range, columns, options)
