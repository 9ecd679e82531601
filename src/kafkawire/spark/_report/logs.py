"""The chapters of a report about log files or live topics.

Rules:
- A report has a chapter if it has the tables of the chapter.
- The first chapter describes the input. The others read batches and records, and are the same for files and topics.
- The values of records are read twice: for all sizes, and for the keys with the most records.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire._look.series import Bars, OverTime, Steps
from kafkawire.spark._pipeline.totals import known_sum, known_time
from kafkawire.spark._report.aggregates import SHOWN, compression_chapter, percentiles, sums_over_time, top_keys
from kafkawire.spark._report.chapters import Chapter, Grid, Planned, headings
from kafkawire.spark._report.old_formats import old_format_chapters
from kafkawire.spark._report.sizes import RecordSizes, measure_records
from kafkawire.spark._report.transactions import transaction_chapters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from kafkawire._look.amounts import Unit
    from kafkawire.inspect import BatchTotals, GroupOffset, PartitionRecords
    from kafkawire.spark._pipeline.group_offsets import GroupOffsets
    from kafkawire.spark._pipeline.inputs.topics import ReadRange
    from kafkawire.spark._pipeline.output import WrittenTables
    from kafkawire.spark._pipeline.summary import LogSummary, SegmentsSummary
    from kafkawire.spark._report.chapters import Block
    from kafkawire.spark._report.sizes import TopicRecords
    from kafkawire.spark._segments.files import SegmentFile

_ROWS: Final = 4 * SHOWN
_BATCHED: Final = 2  # since this magic, uncompressed records share a batch too


def segment_chapters(
    tables: WrittenTables, summary: SegmentsSummary, files: Iterable[SegmentFile], totals: Iterable[BatchTotals]
) -> list[Planned]:
    """All chapters of a report about log files, except the findings."""
    return [
        Planned("files", lambda: [_file_input(tables, summary, files, totals)]),
        *log_chapters(tables, summary),
        Planned("old formats", lambda: old_format_chapters(tables)),
        Planned("transactions", lambda: transaction_chapters(tables)),
    ]


def topic_chapters(
    tables: WrittenTables,
    summary: LogSummary,
    ranges: Sequence[ReadRange],
    read: Sequence[PartitionRecords],
    groups: GroupOffsets,
) -> list[Planned]:
    """All chapters of a report about topics, except the findings."""
    return [
        Planned("partitions", lambda: [_topic_input(tables, ranges, read, groups)]),
        *log_chapters(tables, summary),
        Planned("groups", lambda: [_groups(groups)]),
    ]


def log_chapters(tables: WrittenTables, summary: LogSummary) -> Iterator[Planned]:
    """The chapters about batches and records, of files or topics."""
    first, last = summary.first_timestamp, summary.last_timestamp
    steps = None if first is None or last is None else Steps.over(first, last)
    sizes: list[RecordSizes] = []
    if tables.has("records"):
        yield Planned("throughput", lambda: _measured(tables.frame("records"), steps, sizes))
    elif tables.has("batches") and steps is not None:
        yield Planned("throughput", lambda: [_throughput_of_batches(tables.frame("batches"), steps)])
    if tables.has("batches"):
        yield Planned("batches", lambda: _of_batches(summary, tables.frame("batches")))
    if tables.has("records"):
        yield Planned("records", lambda: _of_records(tables.frame("records"), sizes[0].by_topic))


def _measured(records: DataFrame, steps: Steps | None, sizes: list[RecordSizes]) -> list[Chapter]:
    """Measure records for this chapter and later ones."""
    sizes.append(measure_records(records, steps))
    return [] if steps is None else [_throughput_of_records(sizes[0].over_time, steps)]


def _of_batches(summary: LogSummary, batches: DataFrame) -> list[Chapter]:
    return [_space(summary), _fill(batches), _producers(batches)]


def _of_records(records: DataFrame, by_topic: Sequence[TopicRecords]) -> Iterator[Chapter]:
    yield _sizes(by_topic)
    yield compression_chapter(records, [F.col("topic").eqNullSafe(F.lit(row.topic)) for row in by_topic])
    yield _keys(records, by_topic)


def _file_input(
    tables: WrittenTables, summary: SegmentsSummary, files: Iterable[SegmentFile], totals: Iterable[BatchTotals]
) -> Chapter:
    chapter = Chapter(
        "The input", "The files that were read, empty ones included, and the bytes that could not be read."
    )
    if tables.has("batches"):
        columns = headings(
            "topic | partitions:count | files:count | batches:count | records:count | bytes:bytes | first:ms | last:ms"
        )
        chapter.blocks.append(Grid("topics", columns, _topic_rows(files, totals)[:_ROWS], "Topics"))
    faults = [[row["file"], row["position"], row["size"], row["fault"]] for row in summary.fault_examples]
    columns_lost = headings("file | at byte:count | bytes:bytes | why")
    title = f"Not read: the first {len(faults)} of {summary.faults}" if len(faults) < summary.faults else "Not read"
    chapter.blocks.append(
        Grid(
            "faults",
            columns_lost,
            faults,
            title,
            "no damage; an unfinished batch at the end of a file is skipped",
        )
    )
    return chapter


def _topic_rows(files: Iterable[SegmentFile], totals: Iterable[BatchTotals]) -> list[list[Any]]:
    """Topic, partitions, files, batches, records, bytes, first and last time; the largest topic first.

    Partitions and files are all that were read, empty ones included.
    """
    listed: defaultdict[str | None, list[int | None]] = defaultdict(list)
    for file in files:
        listed[file.topic].append(file.partition)
    found: dict[str | None, list[BatchTotals]] = {topic: [] for topic in listed}
    for each in totals:
        found.setdefault(each.topic, []).append(each)
    rows: list[list[Any]] = [
        [
            topic,
            len(set(listed[topic]) - {None}),
            len(listed[topic]),
            sum(each.batches for each in own),
            known_sum([each.records for each in own]),
            sum(each.bytes for each in own),
            min((each.first for each in own if each.first is not None), default=None),
            max((each.last for each in own if each.last is not None), default=None),
        ]
        for topic, own in found.items()
    ]
    return sorted(rows, key=lambda row: (-row[5], row[0] or ""))


def _topic_input(
    tables: WrittenTables, ranges: Sequence[ReadRange], read: Sequence[PartitionRecords], groups: GroupOffsets
) -> Chapter:
    counted = {(each.topic, each.partition): each[2:] for each in read}
    grid = []
    for each in sorted(ranges, key=lambda each: (each.start - each.end, each))[:_ROWS]:
        offsets = each.end - each.start
        records, first, last = counted.get((each.topic, each.partition), (0, None, None))
        known = (records, offsets - records, first, last) if tables.has("records") else (None, None, None, None)
        grid.append([*each, offsets, *known])
    columns = headings(
        "topic | partition | log begins:count | read from:count | read to:count | log ends:count | offsets:count"
        " | records:count | offsets without a record:count | first:ms | last:ms"
    )
    lost = headings("what | offsets:count | why")
    blocks: list[Block] = [
        Grid("partitions", columns, grid, "Partitions"),
        Grid("not_read", lost, list(_not_read(ranges, groups))[:_ROWS], "Not read", "nothing: all that the logs held"),
    ]
    text = (
        "Offsets as they were when the run began. Offsets without a record are those of transaction markers, of aborted"
        " transactions where only committed records are read, and of what compaction took."
    )
    return Chapter("The input", text, blocks)


def _not_read(ranges: Sequence[ReadRange], groups: GroupOffsets) -> Iterator[list[Any]]:
    for each in ranges:
        if each.start > each.log_start:
            yield [f"{each.topic}-{each.partition}", each.start - each.log_start, f"before offset {each.start}"]
        if each.end < each.log_end:
            why = f"from offset {each.end} on: after the requested end, or in open transactions"
            yield [f"{each.topic}-{each.partition}", each.log_end - each.end, why]
    if groups.problem:
        yield ["consumer groups", None, groups.problem]


def _groups(groups: GroupOffsets) -> Chapter:
    text = "The committed offsets of groups for these topics, and their lag at the start of the run."
    rows = sorted(groups.rows, key=lambda row: (-(row.lag or 0), row.group, row.topic, row.partition))
    behind: dict[str, int] = {}
    for row in rows:
        behind[row.group] = behind.get(row.group, 0) + (row.lag or 0)
    blocks: list[Block] = []
    if any(behind.values()):
        most = sorted(behind.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
        blocks.append(Bars("lag_bars", "Offsets behind, by group", "count", most))
    columns = headings(
        "group | state | topic | partition | committed:count | log ends:count | behind:count | member | client | host"
    )
    empty = groups.problem or "no group has committed an offset of these topics, and no member reads them"
    blocks.append(Grid("group_offsets", columns, [_group_row(row) for row in rows[:_ROWS]], empty=empty))
    return Chapter("Groups", text, blocks)


def _group_row(row: GroupOffset) -> list[Any]:
    where = [row.group, row.state, row.topic, row.partition, row.committed, row.log_end, row.lag]
    return [*where, row.member, row.client, row.host]


def _throughput_of_records(over_time: dict[str, list[int]], steps: Steps) -> Chapter:
    text = "Records by their own time; bytes are those of keys and values."
    return Chapter("Throughput over time", text, _over_time(over_time, steps, " of keys and values"))


def _throughput_of_batches(batches: DataFrame, steps: Steps) -> Chapter:
    frame, time = batches.filter("magic > 0"), F.unix_millis("base_timestamp")
    counted = sums_over_time(frame, time, steps, {"records": F.col("record_count"), "bytes": F.col("size")})
    text = "Batches by the time of their first record; bytes are as stored."
    return Chapter("Throughput over time", text, _over_time(counted, steps))


def _over_time(counted: dict[str, list[int]], steps: Steps, of: str = "") -> list[Block]:
    names: tuple[tuple[str, str, Unit], ...] = (("records", "Records", "count"), ("bytes", f"Bytes{of}", "bytes"))
    return [
        OverTime(f"{name}_over_time", title, unit, steps, {name: counted[name]}, is_rate=True)
        for name, title, unit in names
    ]


def _space(summary: LogSummary) -> Chapter:
    formats = sorted(summary.formats, key=lambda row: -row["bytes"])
    names = ("magic", "codec", "batches", "records", "bytes")
    grid = [[row[name] for name in names] for row in formats]
    columns = headings("magic | codec | batches:count | records:count | bytes:bytes")
    items = [(f"magic {row['magic']}, {row['codec']}", row["bytes"]) for row in formats]
    blocks: list[Any] = [Bars("space_bars", "Bytes by magic and codec", "bytes", items)] if items else []
    blocks.append(Grid("space", columns, grid))
    text = "Batches as they are stored; the headers of compressed ones of magic 0 and 1 do not count their records."
    return Chapter("Formats and space", text, blocks)


def _fill(batches: DataFrame) -> Chapter:
    data = batches.filter((F.col("magic") == _BATCHED) & ~F.col("is_control") & (F.col("record_count") > 0))
    rows = (
        data.groupBy("topic")
        .agg(
            F.count(F.lit(1)).alias("batches"),
            (F.sum("record_count") / F.count(F.lit(1))).alias("mean"),
            percentiles("record_count", (0.5, 0.99)).alias("counts"),
            percentiles("size", (0.5, 0.99)).alias("sizes"),
        )
        .orderBy("mean", "topic")
        .limit(_ROWS)
        .collect()
    )
    grid = [[row.topic, row.batches, round(row.mean, 1), *row.counts, *row.sizes] for row in rows]
    columns = headings(
        "topic | batches:count | records per batch:count | p50:count | p99:count | bytes, p50:bytes | bytes, p99:bytes"
    )
    text = "How many records producers put into a batch of magic 2: few make logs large and brokers busy."
    return Chapter("Batch fill", text, [Grid("fill", columns, grid)])


def _producers(batches: DataFrame) -> Chapter:
    known = batches.filter(F.col("producer_id") >= 0)
    rows = (
        known.groupBy("producer_id")
        .agg(
            F.max("producer_epoch").alias("epoch"),
            F.countDistinct("topic", "partition").alias("partitions"),
            F.count(F.when(~F.col("is_control"), 1)).alias("batches"),
            F.sum(F.when(~F.col("is_control"), F.col("record_count"))).alias("records"),
            F.count(F.when(F.col("is_control"), 1)).alias("markers"),
            F.max(known_time("max_timestamp")).alias("last"),
        )
        .orderBy(F.desc("batches"), "producer_id")
        .limit(SHOWN)
        .collect()
    )
    columns = headings(
        "producer id | epoch:count | partitions:count | batches:count | records:count"
        " | transaction markers:count | last:ms"
    )
    grid = Grid("producers", columns, [list(row) for row in rows], empty="no batch has a producer id")
    return Chapter("Producers", "Idempotent and transactional producers, by what they stored.", [grid])


def _sizes(by_topic: Sequence[TopicRecords]) -> Chapter:
    largest = sorted(by_topic, key=lambda row: (-(row.values or 0), row.topic or ""))
    grid = [[row.topic, row.records, row.keys, row.values, *row.key_sizes, *row.value_sizes] for row in largest[:_ROWS]]
    columns = headings(
        "topic | records:count | keys:bytes | values:bytes | key, p50:bytes | p99:bytes | largest:bytes"
        " | value, p50:bytes | p99:bytes | largest:bytes"
    )
    return Chapter("Record sizes", "Keys and values as they are unpacked.", [Grid("sizes", columns, grid)])


def _keys(records: DataFrame, by_topic: Sequence[TopicRecords]) -> Chapter:
    size = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
    columns = headings("topic | records:count | with a key:count | distinct keys, about:count | tombstones:count")
    top = headings("topic | key:code | records:count | bytes:bytes | of the topic:share")
    totals = {row.topic: row.records for row in by_topic}
    most = top_keys(records, size, totals) if any(row.keyed for row in by_topic) else []
    keys = Grid("keys", top, most, "The keys with the most records", "no record has a key")
    text = "A key with a large share makes its partition larger than the others."
    keyed = [row[:5] for row in by_topic[:_ROWS]]
    return Chapter("Keys", text, [Grid("keyed", columns, keyed, "Keys by topic"), keys])
