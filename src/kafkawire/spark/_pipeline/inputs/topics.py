"""Live topics as the input of a pipeline run.

Rules:
- Offsets are looked up once, at the start, by one reader. Every table has the same ranges, even if records arrive.
- `batches` and `records` have the columns that they have from log files, so that both can be compared. `file` and
  `position` are null.
- Options are those of the format `kafkawire`. The manifest omits those of the client (`kafka.*`) and of the Schema
  Registry, because they may contain passwords.
- Decoded keys and values are columns of `records` beside the bytes: `decoded_key`, `decoded_value`. Unless `mode` says
  otherwise, `key_fault` and `value_fault` have the reasons of those that cannot be decoded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.client import BulkReader, TopicPartition
from kafkawire.inspect import TopicAggregates, apply_rules
from kafkawire.spark._columns import COLUMNS, TABLES, TOPIC_TABLES
from kafkawire.spark._pipeline.group_offsets import GroupOffsets, read_group_offsets
from kafkawire.spark._pipeline.summary import LogSummary, Summary, batch_measures, record_measures
from kafkawire.spark._pipeline.totals import (
    add_up,
    add_up_records,
    batch_aggregates,
    formats_of,
    record_aggregates,
)
from kafkawire.spark._report.logs import topic_chapters
from kafkawire.spark._topics.lookup import TopicLookup, as_json, whole_ranges
from kafkawire.spark._topics.options import FORMAT, STRATEGIES, TopicOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.inspect import BatchTotals, Finding, PartitionRecords, Thresholds
    from kafkawire.spark._pipeline.output import WrittenTables
    from kafkawire.spark._report.chapters import Planned

_BOUNDS: Final = re.compile(r"(?:starting|ending)(?:timestamp|offsets|offsetsbytimestamp|offsetsbytimestampstrategy)")
_SECRET: Final = ("kafka.", "schema.registry.")
_OF_VALUES: Final = re.compile(r"(?:key|value|schema\.registry)\..+|mode", re.IGNORECASE)
_OF_THE_FORMAT: Final = frozenset(TOPIC_TABLES["records"])
_RENAMED: Final = {"timestamp_type": "timestampType"}


class ReadRange(NamedTuple):
    """The offsets that are read of a partition, and those of its log."""

    topic: str
    partition: int
    log_start: int
    start: int
    end: int
    log_end: int

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass
class TopicsSummary(LogSummary):
    """The numbers of a run over topics."""

    offsets: int = 0
    groups: int | None = None

    def take(self, table: str, measured: dict[str, Any]) -> None:
        super().take(table, measured)
        if table == "batches":
            self.bytes = measured["bytes"] or 0


@dataclass
class TopicsInput:
    """Topics of a cluster, by the options of `spark.read.format("kafkawire")`."""

    options: Mapping[str, str]
    is_stream: bool = False
    kind: str = "topic"
    listed: str = "ranges"
    unit: Literal["bytes", "items"] = "items"
    choices: Sequence[str] = ("batches", "records")
    default: Sequence[str] = ("batches", "records")
    _ranges: list[ReadRange] | None = None
    _groups: GroupOffsets = field(default_factory=GroupOffsets)
    _batches: list[BatchTotals] = field(default_factory=list)
    _records: list[PartitionRecords] = field(default_factory=list)

    def files(self) -> list[dict[str, Any]]:
        if self._ranges is None:
            self._ranges = self._look_up()
        return [each._asdict() for each in self._ranges]

    def amount(self) -> int:
        return sum(each.end - each.start for each in self._ranges or ())

    def look(self) -> bool:
        """Whether there is a partition to read; raises if a topic does not exist."""
        options = self._parsed()
        with BulkReader(config=dict(options.client)) as reader:
            reader.connect()
            return bool(TopicLookup(options, reader).partitions())

    def nothing(self) -> str:
        return f"no topic matches {self._parsed().topics[0]!r}"

    def describe(self) -> dict[str, Any]:
        parsed = self._parsed()
        shown = {name: text for name, text in self.options.items() if not name.lower().startswith(_SECRET)}
        topics = sorted({each.topic for each in self._ranges or ()})
        servers = dict(parsed.client)["bootstrap.servers"]
        return {"kind": self.kind, "topics": topics, "servers": servers, "options": shown}

    def summary(self) -> TopicsSummary:
        ranges = self._ranges or []
        return TopicsSummary(
            topics=len({each.topic for each in ranges}),
            partitions=len(ranges),
            offsets=self.amount(),
            groups=None if self._groups.problem else self._groups.groups,
        )

    def read(self, spark: SparkSession, table: str, tasks: int) -> DataFrame:
        ranges = self._ranges or []
        numbers: dict[str, list[int]] = {}
        for each in ranges:
            numbers.setdefault(each.topic, []).append(each.partition)
        own = {
            "minPartitions": str(tasks),
            "includeHeaders": "true",
            **{name: text for name, text in self._options_for(table).items() if not _is_bound(name)},
            "table": table,
            "assign": json.dumps(numbers),
            "startingOffsets": json.dumps(as_json({each.place: each.start for each in ranges})),
            "endingOffsets": json.dumps(as_json({each.place: each.end for each in ranges})),
        }
        return _as_from_files(spark.read.format(FORMAT).options(**own).load(), table)

    def read_stream(self, spark: SparkSession, table: str) -> DataFrame:
        """The rows of a table as a stream, from the start offsets of the options."""
        own = {"startingOffsets": "earliest", "includeHeaders": "true", **self._options_for(table), "table": table}
        return self.valid_rows(_as_from_files(spark.readStream.format(FORMAT).options(**own).load(), table))

    def look_at(self, tables: WrittenTables) -> None:
        """Take the ranges from the tables of a stream, and look up the current logs and groups."""
        read: dict[TopicPartition, tuple[int, int]] = {}
        for name, lowest, highest in (("batches", "base_offset", "last_offset"), ("records", "offset", "offset")):
            if tables.has(name):
                spans = tables.frame(name).groupBy("topic", "partition").agg(F.min(lowest), F.max(highest) + 1)
                read |= {TopicPartition(row[0], row[1]): (row[2], row[3]) for row in spans.collect()}
        options = self._parsed()
        with BulkReader(config=dict(options.client)) as reader:
            bounds = log_bounds(TopicLookup(options, reader), reader)
        self._groups = read_group_offsets(dict(options.client), bounds)
        self._ranges = [
            ReadRange(*place, first, *read.get(place, (first, first)), end) for place, (first, end) in bounds.items()
        ]

    def valid_rows(self, rows: DataFrame) -> DataFrame:
        return rows.drop("fault")

    def measures(self, table: str) -> list[Column]:
        return record_measures() if table == "records" else [*batch_measures(), F.sum("size").alias("bytes")]

    def partitioning(self, table: str) -> Sequence[str]:
        return ("topic",) if table in self.choices else ()

    def extra_tables(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        assert isinstance(summary, TopicsSummary)
        summary.formats = formats_of(self._batches)
        if self._groups.problem:
            return {}
        summary.rows["group_offsets"] = len(self._groups.rows)
        return {"group_offsets": self._groups.frame(tables.spark)}

    def diagnose(self, table: str, tables: WrittenTables, limits: Thresholds) -> list[Finding]:
        if table == "group_offsets":
            return apply_rules(TopicAggregates(groups=self._groups.rows), limits)
        rows = tables.frame(table)
        if table == "batches":
            self._batches = add_up(rows)
            return apply_rules(batch_aggregates(rows, self._batches), limits)
        self._records = add_up_records(rows)
        partitions = Counter(each.topic for each in self._ranges or ())
        return apply_rules(record_aggregates(rows, self._records, partitions), limits)

    def chapters(self, tables: WrittenTables, summary: Summary) -> Iterable[Planned]:
        assert isinstance(summary, TopicsSummary)
        return topic_chapters(tables, summary, self._ranges or [], self._records, self._groups)

    def _options_for(self, table: str) -> dict[str, str]:
        """The options for a table; only records have decoded columns."""
        if table != "records":
            return {name: text for name, text in self.options.items() if not _OF_VALUES.fullmatch(name)}
        given = {name.lower() for name in self.options}
        sides = [side for side in ("key", "value") if f"{side}.format" in given]
        own = {"mode": "PERMISSIVE"} if sides and "mode" not in given else {}
        own |= {f"{side}.column": f"decoded_{side}" for side in sides}
        return {**self.options, **own}

    def _parsed(self) -> TopicOptions:
        return TopicOptions.parse(self.options, is_stream=self.is_stream)

    def _look_up(self) -> list[ReadRange]:
        options = self._parsed()
        with BulkReader(config=dict(options.client)) as reader:
            reader.connect()
            lookup = TopicLookup(options, reader)
            bounds = log_bounds(lookup, reader)
            kept = {TopicPartition(each.topic, each.partition): each for each in whole_ranges(lookup, options)}
        self._groups = read_group_offsets(dict(options.client), bounds)
        ranges = []
        for place, (first, end) in bounds.items():
            found = kept.get(place)
            read = (found.start, found.end) if found else (end, end)
            ranges.append(ReadRange(*place, first, *read, max(end, read[1])))
        return ranges


def topic_options(servers: str, topics: Sequence[str], more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The options for topics; a name that begins with ^ is a pattern.

    >>> topic_options("k:9092", ["orders", "payments"])
    {'kafka.bootstrap.servers': 'k:9092', 'subscribe': 'orders,payments'}
    >>> topic_options("k:9092", ["^order", "audit.log"])["subscribePattern"]
    '^order|^audit\\\\.log$'
    """
    options = {"kafka.bootstrap.servers": servers}
    if any(topic.startswith("^") for topic in topics):
        patterns = (topic if topic.startswith("^") else f"^{re.escape(topic)}$" for topic in topics)
        options["subscribePattern"] = "|".join(patterns)
    elif topics:
        options["subscribe"] = ",".join(topics)
    return options | dict(more or {})


def log_bounds(lookup: TopicLookup, reader: BulkReader) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset and the end of each log, including open transactions."""
    partitions = lookup.partitions()
    first = lookup.earliest(partitions)
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    ends = {topic: reader.latest(topic, wanted, isolation="read_uncommitted") for topic, wanted in numbers.items()}
    return {place: (first[place], ends[place.topic][place.partition]) for place in partitions}


def _is_bound(name: str) -> bool:
    lower = name.lower()
    return lower in (each.lower() for each in STRATEGIES) or _BOUNDS.fullmatch(lower) is not None


def _as_from_files(rows: DataFrame, table: str) -> DataFrame:
    columns = []
    for name in TABLES[table]:
        given = _RENAMED.get(name, name)
        found = F.col(given) if given in rows.columns else F.lit(None)
        columns.append(found.cast(COLUMNS[name]).alias(name))
    decoded = [name for name in rows.columns if table == "records" and name not in _OF_THE_FORMAT]
    return rows.select(*columns, *decoded)
