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
    from pyspark.sql.types import DataType, StructType

    from kafkawire.spark._topics.lookup import OffsetRange
    from kafkawire.spark._topics.options import TopicOptions
    from kafkawire.values import ValueColumns

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

    _values: ValueColumns | None = None
    _knows_values = False

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark._columns import topic_schema
        from kafkawire.spark._topics.options import includes_headers, wanted_table

        schema = topic_schema(wanted_table(self.options), include_headers=includes_headers(self.options))
        values = self._get_values()
        if values is None:
            return schema
        from kafkawire.spark._columns import as_struct
        from kafkawire.spark._topics.values import value_types

        return as_struct({field.name: field.dataType for field in schema.fields} | value_types(values))

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark._columns import check_projection
        from kafkawire.spark._topics.options import TopicOptions

        options = TopicOptions.parse(self.options, is_stream=False)
        values = self._get_values()
        check_projection(options.table, self._columns_of(options.table), schema)
        return TopicsReader(options, tuple(schema.names), values)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from kafkawire.exceptions import KafkaWireError
        from kafkawire.spark._columns import check_projection
        from kafkawire.spark._topics.options import TopicOptions
        from kafkawire.spark._topics.stream import RefusedStreamReader, TopicsStreamReader

        try:
            options = TopicOptions.parse(self.options, is_stream=True)
            values = self._get_values()
            check_projection(options.table, self._columns_of(options.table), schema)
            return TopicsStreamReader(options, tuple(schema.names), values)
        except KafkaWireError as error:
            return RefusedStreamReader(error)

    def _get_values(self) -> ValueColumns | None:
        """The decoders of this read. They stay the same once they were looked up, as the schema of the read does."""
        if not self._knows_values:
            from kafkawire.spark._topics.values import parse_values

            self._values, self._knows_values = parse_values(self.options), True
        return self._values

    def _columns_of(self, table: str) -> dict[str, DataType]:
        from kafkawire.spark._columns import TOPIC_TABLES
        from kafkawire.spark._topics.values import value_types

        values = self._get_values()
        return {**TOPIC_TABLES[table], **(value_types(values) if values is not None else {})}

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

    def __init__(self, options: TopicOptions, columns: tuple[str, ...], values: ValueColumns | None = None) -> None:
        self._options = options
        self._columns = columns
        self._values = values

    def __getstate__(self) -> dict[str, object]:
        """The state for tasks. Each task unpickles it, so with all offsets a plan would cost the square of its size."""
        return {**vars(self), "_options": self._options.without_offsets()}

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark._topics.lookup import plan_batch

        return list(as_partitions(plan_batch(self._options)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._columns, self._options, self._values)


def as_partitions(ranges: list[OffsetRange]) -> list[TopicPartitionRange]:
    """The partitions of tasks. There is always one, because Spark adds a partition of its own to an empty list."""
    return [TopicPartitionRange(each) for each in ranges] or [TopicPartitionRange(None)]


def read_partition(
    partition: InputPartition, columns: tuple[str, ...], options: TopicOptions, values: ValueColumns | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of one task."""
    from kafkawire.spark._topics.tasks import read_range

    assert isinstance(partition, TopicPartitionRange)
    return iter(()) if partition.range is None else read_range(partition.range, columns, options, values)
