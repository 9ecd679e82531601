"""Write rows to topics, in batches and in streams.

Columns: `value` (required) and `key`, string or binary; `topic`, unless the option is set; `partition` int, null if the
key selects it; `headers`. Names are case-sensitive. Other columns are ignored.

Rules:
- A task succeeds when the brokers have acknowledged each of its rows. A rejected row fails the task with the error.
- Delivery is at least once: a retried task writes its rows again. Within a task no row is written twice. With
  `deliveryGuarantee` exactly-once, tasks write in transactions and the driver commits them (`_exactly_once`).
- A process keeps writers with their connections and producer ids. One task at a time uses a writer. A writer that
  failed is not used again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from kafkawire.client import BulkWriter
from kafkawire.client.options import ProducerOptions
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._columns import COLUMNS
from kafkawire.spark._exactly_once.cluster_sink import abort_on_cluster, commit_on_cluster
from kafkawire.spark._exactly_once.options import OPTIONS as SINK_OPTIONS
from kafkawire.spark._exactly_once.options import SinkOptions
from kafkawire.spark._exactly_once.task import PartMessage, place_of_stream, write_part
from kafkawire.spark._topics.options import as_typed, client_config, without_unknown
from kafkawire.spark._workers import tune_worker
from kafkawire.spark.errors import SourceOptionError, SparkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from kafkawire.spark._exactly_once.decision import Part

_TYPES: Final[Mapping[str, tuple[DataType, ...]]] = {
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "topic": (StringType(),),
    "partition": (IntegerType(),),
    "headers": (COLUMNS["headers"],),
}
_SENT: Final = ("key", "value", "partition", "headers")
_REFUSED: Final = {
    "key.serializer": "keys are strings or binary; cast or encode the column",
    "value.serializer": "values are strings or binary; cast or encode the column",
    "partitioner": "Java classes are not supported; compute the partition column",
    "partitioner.class": "Java classes are not supported; compute the partition column",
    "transactional.id": "tasks need ids of their own; set deliveryGuarantee=exactly-once, and transactionalIdPrefix",
}
_OPTIONS: Final = ("topic", "includeHeaders", *SINK_OPTIONS)
_OF_SPARK: Final = ("path", "checkpointlocation", "queryname", "outputmode")
_idle: dict[tuple[tuple[str, str], ...], list[BulkWriter]] = {}


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write, checked against the columns of the rows."""

    client: tuple[tuple[str, str], ...] = field(repr=False)  # contains passwords
    topic: str | None
    columns: tuple[str, ...]
    sink: SinkOptions | None
    """The options of exactly-once; None if delivery is at least once."""

    @classmethod
    def parse(cls, given: Mapping[str, str], schema: StructType, *, is_stream: bool = False) -> WriteOptions:
        options = {key.lower(): value for key, value in given.items()}
        known = {name.lower(): name for name in _OPTIONS}
        for key in options:
            if not key.startswith("kafka.") and key not in known and key not in _OF_SPARK:
                close = get_close_matches(key, known, n=1)
                hint = f"; did you mean {known[close[0]]}?" if close else ""
                raise SourceOptionError(f"kafkawire has no option {key!r} for writing{hint}")
        client = without_unknown(ProducerOptions, client_config(options, _REFUSED))
        sink = SinkOptions.parse(options, client, is_stream=is_stream)
        try:
            BulkWriter(config=client, transactional_id=None if sink is None else sink.prefix).close()
        except KafkaWireError as error:
            raise SourceOptionError(as_typed(str(error), client)) from error
        topic = options.get("topic")
        if topic is not None and not topic.strip():
            raise SourceOptionError(f"topic is {topic!r}, expected the name of a topic")
        return cls(tuple(sorted(client.items())), topic, _check_columns(schema, has_topic=topic is not None), sink)


@dataclass
class WriteResult(WriterCommitMessage):
    """The result of a task, for the driver."""

    rows: int


class TopicsWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query. The plan creates it, so tasks and driver have the same run."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._run = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]  # as in its base
        sink = self._options.sink
        if sink is None:
            return write_rows(iterator, self._options)
        return _write_part(iterator, self._options, sink, sink.sink or self._run, self._run)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        sink = self._options.sink
        if sink is not None:
            commit_on_cluster(sink, sink.sink, sink.batch, self._run, _parts(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        sink = self._options.sink
        if sink is not None:
            abort_on_cluster(sink, sink.sink, sink.batch, self._run, _parts(messages))


class TopicsStreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each trigger. Driver and tasks have writers of their own, so the tasks report the run."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]  # as in its base
        sink = self._options.sink
        if sink is None:
            return write_rows(iterator, self._options)
        return _write_part(iterator, self._options, sink, *place_of_stream(sink))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        sink = self._options.sink
        if sink is not None:
            for named, run in _places(messages):
                commit_on_cluster(sink, named, batchId, run, _parts(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        sink = self._options.sink
        if sink is not None:
            for named, run in _places(messages):
                abort_on_cluster(sink, named, batchId, run, _parts(messages))


def _write_part(
    batches: Iterator[pa.RecordBatch], options: WriteOptions, sink: SinkOptions, named: str, run: str
) -> PartMessage:
    def send(writer: BulkWriter, batch: pa.RecordBatch) -> None:
        for topic, rows in _by_topic(batch, options):
            writer.write(topic, rows)

    tune_worker()
    return write_part((batch.select(list(options.columns)) for batch in batches), sink, named, run, send)


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[Part]:
    return [each.part for each in messages if isinstance(each, PartMessage) and each.part is not None]


def _places(messages: Sequence[WriterCommitMessage | None]) -> set[tuple[str, str]]:
    """Sink and run of a batch; none if all of its tasks failed."""
    return {(each.sink, each.run) for each in messages if isinstance(each, PartMessage)}


def write_rows(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> WriteResult:
    """Write all rows and wait until the brokers have acknowledged them."""
    tune_worker()
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
    return WriteResult(count)


def _by_topic(batch: pa.RecordBatch, options: WriteOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    sent = batch.select([name for name in options.columns if name in _SENT])
    if options.topic is not None:
        yield options.topic, sent
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise SparkError("a row has no topic: its topic column is null, and the option topic is not set")
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
        if not any(_is_same(kind, each) for each in _TYPES[name]):
            expected = " or ".join(each.simpleString() for each in _TYPES[name])
            raise SourceOptionError(f"column {name!r} is {kind.simpleString()}, expected {expected}")
    if "value" not in found:
        raise SourceOptionError(f"rows need a column 'value'; they have {', '.join(schema.names) or 'none'}")
    if "topic" not in found and not has_topic:
        raise SourceOptionError("rows need a column 'topic', or the option topic must be set")
    return tuple(found)


def _is_same(found: DataType, expected: DataType) -> bool:
    """Whether two types are the same, apart from what may be null: an array of literals has no nulls."""
    if isinstance(expected, ArrayType):
        return isinstance(found, ArrayType) and _is_same(found.elementType, expected.elementType)
    if isinstance(expected, StructType):
        return (
            isinstance(found, StructType)
            and found.names == expected.names
            and all(_is_same(*pair) for pair in zip(_types(found), _types(expected), strict=True))
        )
    return found == expected


def _types(kind: StructType) -> list[DataType]:
    return [field.dataType for field in kind.fields]
