"""The chapters of a report about log files, and those that any source of batches and records has.

A chapter is there if the tables that it is made of are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.spark.aggregates import SHOWN, percentiles, sums_over_time, top_keys
from kafkawire.spark.chapters import Bars, Chapter, Grid, OverTime, Steps, headings
from kafkawire.spark.what_if import SAMPLE, TOPICS, what_if

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kafkawire.spark.summary import LogSummary, SegmentsSummary
    from kafkawire.spark.written import WrittenTables

_BATCHED: Final = 2  # the magic since which records share a batch whether they are compressed or not


def segment_chapters(tables: WrittenTables, summary: SegmentsSummary) -> list[Chapter]:
    """Everything that a report tells of log files besides the findings."""
    return [_input(tables, summary), *log_chapters(tables, summary)]


def log_chapters(tables: WrittenTables, summary: LogSummary) -> list[Chapter]:
    """What batches and records tell, whether they were on disk or came from a broker."""
    chapters = []
    first, last = summary.first_timestamp, summary.last_timestamp
    if first is not None and last is not None and (tables.has("records") or tables.has("batches")):
        chapters.append(_throughput(tables, Steps.over(first, last)))
    if tables.has("batches"):
        chapters += [_space(summary), _fill(tables.frame("batches")), _producers(tables.frame("batches"))]
    if tables.has("records"):
        records = tables.frame("records")
        by_topic = _keyed(records)
        topics = [row[0] for row in by_topic]
        chapters += [_sizes(records), _compression(records, topics), _keys(records, by_topic)]
    return chapters


def _input(tables: WrittenTables, summary: SegmentsSummary) -> Chapter:
    chapter = Chapter("The input", "What was read, and what of it could not be.")
    if tables.has("batches"):
        rows = (
            tables.frame("batches")
            .groupBy("topic")
            .agg(
                F.countDistinct("partition").alias("partitions"),
                F.countDistinct("file").alias("files"),
                F.count(F.lit(1)).alias("batches"),
                F.when(F.min("record_count") >= 0, F.sum("record_count")).alias("records"),
                F.sum("size").alias("bytes"),
                F.min(known_time("base_timestamp")).alias("first"),
                F.max(known_time("max_timestamp")).alias("last"),
            )
            .orderBy(F.desc("bytes"), "topic")
            .limit(4 * SHOWN)
            .collect()
        )
        columns = headings(
            "topic | partitions:count | files:count | batches:count | records:count | bytes:bytes | first:ms | last:ms"
        )
        chapter.blocks.append(Grid("topics", columns, [list(row) for row in rows], "Topics"))
    faults = [[row["file"], row["position"], row["size"], row["fault"]] for row in summary.fault_examples]
    columns_lost = headings("file | at byte:count | bytes:bytes | why")
    title = f"Not read: the first {len(faults)} of {summary.faults}" if len(faults) < summary.faults else "Not read"
    chapter.blocks.append(
        Grid(
            "faults",
            columns_lost,
            faults,
            title,
            "no damage; a batch that is unfinished at the end of a file is left out",
        )
    )
    return chapter


def known_time(column: str) -> Column:
    """A time in milliseconds, where there is one: magic 0 has none, nor has an emptied batch."""
    millis = F.unix_millis(column)
    return F.when((F.col("magic") > 0) & (millis >= 0), millis)


def _throughput(tables: WrittenTables, steps: Steps) -> Chapter:
    if tables.has("records"):
        frame, time = tables.frame("records").filter("timestamp_type >= 0"), F.unix_millis("timestamp")
        size = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
        counted = sums_over_time(frame, time, steps, {"records": F.lit(1), "bytes": size})
        text, of = "Records by their own time; bytes are those of keys and values.", "of keys and values "
    else:
        frame, time = tables.frame("batches").filter("magic > 0"), F.unix_millis("base_timestamp")
        counted = sums_over_time(frame, time, steps, {"records": F.col("record_count"), "bytes": F.col("size")})
        text, of = "Batches by the time of their first record; bytes are as stored.", ""
    return Chapter(
        "Throughput over time",
        text,
        [
            OverTime(
                f"{name}_over_time",
                f"{name.capitalize()} {of if name == 'bytes' else ''}a second",
                "bytes" if name == "bytes" else "count",
                steps,
                {name: counted[name]},
                per_second=True,
            )
            for name in ("records", "bytes")
        ],
    )


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
        .limit(4 * SHOWN)
        .collect()
    )
    grid = [[row.topic, row.batches, round(row.mean, 1), *row.counts, *row.sizes] for row in rows]
    columns = headings(
        "topic | batches:count | records a batch:count | p50:count | p99:count | bytes, p50:bytes | bytes, p99:bytes"
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


def _sizes(records: DataFrame) -> Chapter:
    key, value = F.length("key"), F.length("value")
    rows = (
        records.select("topic", key.alias("key"), value.alias("value"))
        .groupBy("topic")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.sum("key").alias("keys"),
            F.sum("value").alias("values"),
            percentiles("key", (0.5, 0.99, 1.0)).alias("of_keys"),
            percentiles("value", (0.5, 0.99, 1.0)).alias("of_values"),
        )
        .orderBy(F.desc("values"), "topic")
        .limit(4 * SHOWN)
        .collect()
    )
    none = (None, None, None)
    grid = [[*row[:4], *(row.of_keys or none), *(row.of_values or none)] for row in rows]
    columns = headings(
        "topic | records:count | keys:bytes | values:bytes | key, p50:bytes | p99:bytes | largest:bytes"
        " | value, p50:bytes | p99:bytes | largest:bytes"
    )
    return Chapter("Record sizes", "Keys and values as they are unpacked.", [Grid("sizes", columns, grid)])


def _compression(records: DataFrame, topics: list[str | None]) -> Chapter:
    columns = headings(
        "topic | records tried:count | uncompressed:bytes | gzip:share | snappy:share | lz4:share | zstd:share"
    )
    text = (
        f"What a sample of {SAMPLE} records of each of the {TOPICS} topics with the most takes in batches of 100,"
        " by codec, as a share of what it takes uncompressed."
    )
    grid = Grid("what_if", columns, what_if(records, topics), empty="no records to try")
    return Chapter("Compression tried", text, [grid])


def _keyed(records: DataFrame) -> list[list[Any]]:
    """Topic, records, records with a key, distinct keys, tombstones."""
    rows = (
        records.groupBy("topic")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.count("key").alias("keyed"),
            F.approx_count_distinct("key").alias("distinct"),
            F.count(F.when(F.col("key").isNotNull() & F.col("value").isNull(), 1)).alias("tombstones"),
        )
        .orderBy(F.desc("records"), "topic")
        .limit(4 * SHOWN)
        .collect()
    )
    return [list(row) for row in rows]


def _keys(records: DataFrame, by_topic: list[list[Any]]) -> Chapter:
    size = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
    columns = headings("topic | records:count | with a key:count | distinct keys, about:count | tombstones:count")
    top = headings("topic | key:code | records:count | bytes:bytes | of the topic:share")
    keys = Grid("keys", top, top_keys(records, size), "The keys with the most records", "no record has a key")
    text = "A key with a large share makes its partition larger than the others."
    return Chapter("Keys", text, [Grid("keyed", columns, by_topic, "Keys by topic"), keys])
