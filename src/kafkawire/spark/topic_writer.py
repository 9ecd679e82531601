"""Writing rows to topics, in batches and in streams.

Columns: `value` (required), `key`, both string or binary; `topic` where the option does not say it; `partition` int,
null for the one that the key says; `headers`. Names are case-sensitive, other columns are left out.

Rules:
- A task is done when the brokers have acknowledged each of its rows; what they refuse fails the task with their error.
- At least once: a task that fails and is run again writes its rows again. Within a task nothing is written twice.
- A writer, with its connections and producer id, is kept by the process and used by one task at a time; one that failed
  is not used again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType

from kafkawire.client.bulk_write import BulkWriter
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark.errors import SourceOptionError, SparkError
from kafkawire.spark.topic_rows import HEADERS
from kafkawire.spark.topic_security import client_config
from kafkawire.spark.workers import settle_once

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

_TYPES: Final[Mapping[str, tuple[DataType, ...]]] = {
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "topic": (StringType(),),
    "partition": (IntegerType(),),
    "headers": (HEADERS,),
}
_SENT: Final = ("key", "value", "partition", "headers")
_REFUSED: Final = {
    "key.serializer": "keys are strings or binary; cast or encode the column",
    "value.serializer": "values are strings or binary; cast or encode the column",
    "partitioner": "there are no Java classes here; compute the partition column",
    "partitioner.class": "there are no Java classes here; compute the partition column",
}
_OPTIONS: Final = ("topic", "includeHeaders")
_OF_SPARK: Final = ("path", "checkpointlocation", "queryname", "outputmode")
_idle: dict[tuple[tuple[str, str], ...], list[BulkWriter]] = {}


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write, checked against the rows' columns."""

    client: tuple[tuple[str, str], ...] = field(repr=False)  # there are passwords in it
    topic: str | None
    columns: tuple[str, ...]

    @classmethod
    def parse(cls, given: Mapping[str, str], schema: StructType) -> WriteOptions:
        options = {key.lower(): value for key, value in given.items()}
        known = {name.lower(): name for name in _OPTIONS}
        for key in options:
            if not key.startswith("kafka.") and key not in known and key not in _OF_SPARK:
                close = get_close_matches(key, known, n=1)
                hint = f"; did you mean {known[close[0]]}?" if close else ""
                raise SourceOptionError(f"kafkawire has no option {key!r} for writing{hint}")
        client = client_config(options, _REFUSED)
        try:
            BulkWriter(config=client).close()
        except KafkaWireError as error:
            raise SourceOptionError(f"kafka.*: {error}") from error
        topic = options.get("topic")
        return cls(tuple(sorted(client.items())), topic, _check_columns(schema, has_topic=topic is not None))


@dataclass
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    rows: int


class TopicsWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as in its base
        return write_rows(iterator, self._options)


class TopicsStreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each trigger."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as in its base
        return write_rows(iterator, self._options)


def write_rows(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Written:
    """Write all rows and wait until they are written."""
    settle_once()
    idle = _idle.setdefault(options.client, [])
    writer = idle.pop() if idle else BulkWriter(config=dict(options.client))
    count = 0
    try:
        for batch in batches:
            count += batch.num_rows
            for topic, rows in _by_topic(batch, options):
                writer.write(topic, rows)
        writer.flush()
    except BaseException:
        writer.close()
        raise
    idle.append(writer)
    return Written(count)


def _by_topic(batch: pa.RecordBatch, options: WriteOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    sent = batch.select([name for name in options.columns if name in _SENT])
    if options.topic is not None:
        yield options.topic, sent
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise SparkError("a row has no topic: its topic column is null, and there is no option topic")
    encoded = topics.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield str(names[0]), sent
        return
    numbers = encoded.indices.to_numpy()
    for number, name in enumerate(names):
        (rows,) = (numbers == number).nonzero()
        yield str(name), sent.take(rows)


def _check_columns(schema: StructType, *, has_topic: bool) -> tuple[str, ...]:
    found = {field.name: field.dataType for field in schema.fields if field.name in _TYPES}
    for name, kind in found.items():
        if kind not in _TYPES[name]:
            expected = " or ".join(each.simpleString() for each in _TYPES[name])
            raise SourceOptionError(f"column {name!r} is {kind.simpleString()}, expected {expected}")
    if "value" not in found:
        raise SourceOptionError(f"rows need a column 'value'; they have {', '.join(schema.names) or 'none'}")
    if "topic" not in found and not has_topic:
        raise SourceOptionError("rows need a column 'topic', or the option topic must say where they go")
    return tuple(found)
