"""The data source `kafkawire`: topics of a live cluster, with the options and columns of Spark's own Kafka connector.

Options: docs/spark-topics.md, and `topic_options.py` for reading.

Rules:
- This module is imported wherever Spark looks for data sources, so it imports nothing heavy before it is used.
- A batch read looks up its offsets once a `load`: a second action on the same DataFrame reads the same ranges.
- Filters are not pushed down: Spark keeps one plan a DataFrame and would use one query's filters for the next.
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

    from kafkawire.spark.topic_options import TopicOptions
    from kafkawire.spark.topic_ranges import OffsetRange

FORMAT: Final = "kafkawire"


@dataclass
class TopicPartitionRange(InputPartition):
    """What one task reads: a range, or nothing where there is nothing to read."""

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
        from kafkawire.spark.topic_options import includes_headers, wanted_table
        from kafkawire.spark.topic_rows import topic_schema

        return topic_schema(include_headers=includes_headers(self.options), table=wanted_table(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark.topic_options import TopicOptions
        from kafkawire.spark.topic_rows import check_projection

        options = TopicOptions.parse(self.options, is_stream=False)
        check_projection(schema, options.table)
        return TopicsReader(options, tuple(schema.names))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from kafkawire.spark.topic_options import TopicOptions
        from kafkawire.spark.topic_rows import check_projection
        from kafkawire.spark.topic_stream import TopicsStreamReader

        options = TopicOptions.parse(self.options, is_stream=True)
        check_projection(schema, options.table)
        return TopicsStreamReader(options, tuple(schema.names))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from kafkawire.spark.errors import SourceOptionError
        from kafkawire.spark.topic_writer import TopicsWriter, WriteOptions

        if overwrite:
            raise SourceOptionError("mode overwrite: a topic cannot be overwritten; use mode append")
        return TopicsWriter(WriteOptions.parse(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from kafkawire.spark.topic_writer import TopicsStreamWriter, WriteOptions

        return TopicsStreamWriter(WriteOptions.parse(self.options, schema))


class TopicsReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: TopicOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark.topic_batch import plan_batch

        return list(as_partitions(plan_batch(self._options)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._columns, self._options)


def as_partitions(ranges: list[OffsetRange]) -> list[TopicPartitionRange]:
    """What tasks are given; Spark makes a partition of its own out of none, so that there is always one."""
    return [TopicPartitionRange(each) for each in ranges] or [TopicPartitionRange(None)]


def read_partition(
    partition: InputPartition, columns: tuple[str, ...], options: TopicOptions
) -> Iterator[pa.RecordBatch]:
    """The rows that one task was given."""
    from kafkawire.spark.topic_tasks import read_range

    assert isinstance(partition, TopicPartitionRange)
    return iter(()) if partition.range is None else read_range(partition.range, columns, options)
