"""The chapters of a report about captures.

Rules:
- A report has a chapter if it has the tables of the chapter.
- Service time (`service_us`) ends with the first byte of the response. It starts with the last byte of its request, or
  with the end of the response before it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire._look.series import Bars, OverTime, Ranges, Steps
from kafkawire.messages.errors import ErrorCode, error
from kafkawire.spark._report.aggregates import (
    OTHER,
    SHOWN,
    compression_chapter,
    counts_over_time,
    percentiles,
    sums_over_time,
    top_keys,
)
from kafkawire.spark._report.chapters import Chapter, Grid, Planned, headings
from kafkawire.spark._report.transactions import transaction_chapters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire.spark._pipeline.output import WrittenTables
    from kafkawire.spark._pipeline.summary import Summary

_WHY: Final = {
    "tls": "encrypted: decrypt it elsewhere, or record with kafkawire proxy",
    "http": "HTTP, not Kafka",
    "empty": "no payload",
    "unknown": "no request recognised",
}
_STATES: Final = {
    "unanswered": "request without an answer",
    "request_missing": "answer whose request is not in the capture",
    "gap": "bytes missing where the answer would be",
    "sasl_token": "raw SASL token, not decoded",
}
_STEPS: Final = (
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
"""Codes by which a coordinator leads a member through a join; a healthy group has them."""


def capture_chapters(tables: WrittenTables, summary: Summary, *, values: bool) -> Iterator[Planned]:
    """All chapters of a report about captures, except the findings."""
    first, last = summary.first_timestamp, summary.last_timestamp
    steps = None if first is None or last is None else Steps.over(first, last)
    yield Planned("files", lambda: [_input(tables)])
    if tables.has("exchanges") and steps is not None:
        yield Planned("exchanges", lambda: _of_exchanges(tables.frame("exchanges"), steps))
    if tables.has("batches"):
        yield Planned("batches", lambda: _of_batches(tables.frame("batches")))
    if tables.has("records"):
        yield Planned("records", lambda: _records(tables.frame("records"), values))
    if tables.has("exchanges", "connections"):
        yield Planned("clients", lambda: _of_clients(tables, steps))
    yield Planned("transactions", lambda: transaction_chapters(tables))


def _of_exchanges(exchanges: DataFrame, steps: Steps) -> list[Chapter]:
    return [_throughput(exchanges, steps), _latency(exchanges), _errors(exchanges, steps)]


def _of_batches(batches: DataFrame) -> list[Chapter]:
    sent = _sent(batches)
    return [_space(sent), _topics(sent)]


def _of_clients(tables: WrittenTables, steps: Steps | None) -> Iterator[Chapter]:
    exchanges = tables.frame("exchanges")
    if steps is not None:
        yield _groups(exchanges, steps)
    yield _clients(tables.frame("connections"), exchanges)


def _input(tables: WrittenTables) -> Chapter:
    chapter = Chapter("The input", "The files that were read, and the parts that could not be decoded.")
    if tables.has("capture_files"):
        rows = [
            [row.file, row.bytes, row.packets, row.connections, "; ".join(row.faults) or None]
            for row in tables.frame("capture_files").orderBy("file").collect()
        ]
        columns = headings("file | bytes:bytes | TCP packets:count | connections:count | wrong with it")
        chapter.blocks.append(Grid("capture_files", columns, rows, "Files"))
    lost = sorted(_not_decoded(tables), key=lambda row: (row[0], -row[2]))
    columns_lost = headings("what | why | count:count | bytes:bytes")
    everything = "everything in the captures was decoded"
    chapter.blocks.append(Grid("not_decoded", columns_lost, lost, "Not decoded", everything))
    return chapter


def _not_decoded(tables: WrittenTables) -> Iterator[list[Any]]:
    """Rows with the kind, the reason, the count and the bytes."""
    if tables.has("connections"):
        others = tables.frame("connections").filter(F.col("kind") != "kafka").groupBy("kind")
        size = F.sum(F.col("bytes_c") + F.col("bytes_s")).alias("bytes")
        for row in others.agg(F.count(F.lit(1)).alias("rows"), size).collect():
            yield ["connections", _WHY.get(row.kind, row.kind), row.rows, row.bytes]
    if tables.has("gaps"):
        skipped = tables.frame("gaps").groupBy("reason").agg(F.count(F.lit(1)).alias("rows"), F.sum("bytes").alias("b"))
        for row in skipped.collect():
            yield ["bytes in no frame", row.reason, row.rows, row.b]
    if tables.has("exchanges"):
        size = F.sum(F.coalesce("req_bytes", F.lit(0)) + F.coalesce("resp_bytes", F.lit(0))).alias("bytes")
        lost = tables.frame("exchanges").filter(F.col("state").isin(*_STATES) | F.col("fault").isNotNull())
        why = F.coalesce("fault", "state").alias("why")
        counted = lost.groupBy(why).agg(F.count(F.lit(1)).alias("rows"), size)
        for row in counted.orderBy(F.desc("rows")).limit(SHOWN).collect():
            yield ["exchanges", _STATES.get(row.why, row.why), row.rows, row.bytes]


def _throughput(exchanges: DataFrame, steps: Steps) -> Chapter:
    asked = sums_over_time(
        exchanges, F.unix_millis("ts_req"), steps, {"requests": F.col("req_bytes"), "exchanges": F.lit(1)}
    )
    answered = sums_over_time(exchanges, F.unix_millis("ts_resp"), steps, {"responses": F.col("resp_bytes")})
    sent, counted = {"requests": asked["requests"]}, {"exchanges": asked["exchanges"]}
    return Chapter(
        "Throughput over time",
        "Frames by the time of their first byte.",
        [
            OverTime("bytes_over_time", "Bytes", "bytes", steps, sent | answered, is_rate=True),
            OverTime("exchanges_over_time", "Requests", "count", steps, counted, is_rate=True),
        ],
    )


def _latency(exchanges: DataFrame) -> Chapter:
    failed = F.count(F.when(_is_error(), 1))
    rows = (
        exchanges.filter(F.col("api").isNotNull())
        .groupBy("api")
        .agg(
            F.count(F.lit(1)).alias("exchanges"),
            failed.alias("errors"),
            percentiles("service_us").alias("served"),
            F.max("service_us").alias("longest"),
            F.sum("req_bytes").alias("sent"),
            F.sum("resp_bytes").alias("received"),
        )
        .orderBy(F.desc("exchanges"), "api")
        .collect()
    )
    grid = [
        [row.api, row.exchanges, row.errors, *(row.served or [None] * 3), row.longest, row.sent, row.received]
        for row in rows
    ]
    columns = headings(
        "API | exchanges:count | with errors:count | p50:us | p90:us | p99:us | max:us"
        " | requests:bytes | responses:bytes"
    )
    items = [(row.api, [*row.served, row.longest]) for row in rows if row.served]
    text = (
        "How long brokers took, from the request's last byte or the end of the answer before it to the answer's first"
        " byte. A Fetch may wait for data up to the time its client allows; joins and syncs wait for other members."
    )
    blocks: list[Any] = [Ranges("latency_ranges", "Service time by API", "us", items)] if items else []
    blocks.append(Grid("latency", columns, grid))
    return Chapter("Latency by API", text, blocks)


def _is_error() -> Column:
    """Whether a response carries an error, not only a step of a handshake."""
    negotiates = (F.col("api") == "ApiVersions") & (F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION))
    is_step = F.col("error_code").isin(*map(int, _STEPS)) | negotiates
    return (F.col("error_code") != 0) & ~is_step


def _errors(exchanges: DataFrame, steps: Steps) -> Chapter:
    failed = exchanges.filter(_is_error())
    chapter = Chapter(
        "Errors over time",
        "Answers that carry an error: their own, or the first of a partition in them. Steps of joining a group"
        " (MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS) and of agreeing on a version are not counted.",
    )
    counts = (
        failed.groupBy("error_code", "api")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.unix_millis(F.min("ts_resp")).alias("first"),
            F.unix_millis(F.max("ts_resp")).alias("last"),
        )
        .orderBy(F.desc("rows"), "error_code", "api")
        .limit(4 * SHOWN)
        .collect()
    )
    if counts:
        series = counts_over_time(failed, F.unix_millis("ts_resp"), steps, "error_code")
        named = {name if name == OTHER else _named(int(name)): values for name, values in series.items()}
        chapter.blocks.append(OverTime("errors_over_time", "Answers with errors", "count", steps, named, stacked=True))
    rows = [[_named(row.error_code), row.api, row.rows, row.first, row.last] for row in counts]
    columns = headings("error | API | answers:count | first:ms | last:ms")
    chapter.blocks.append(Grid("errors", columns, rows, empty="no answer carries an error"))
    return chapter


def _named(code: int) -> str:
    return f"{error(code).name} ({code})"


class SentBatches(NamedTuple):
    """Batches of a partition that were sent in one format, by requests or by responses."""

    source: str
    magic: int
    codec: str
    topic: str | None
    partition: int | None
    batches: int
    records: int | None
    bytes: int


def _sent(batches: DataFrame) -> list[SentBatches]:
    kinds = batches.groupBy("source", "magic", "codec", "topic", "partition")
    counted = F.when(F.col("record_count") >= 0, F.col("record_count"))
    return [SentBatches(*row) for row in kinds.agg(F.count(F.lit(1)), F.sum(counted), F.sum("size")).collect()]


def _space(sent: Sequence[SentBatches]) -> Chapter:
    found: dict[tuple[str, int, str], list[SentBatches]] = {}
    for each in sent:
        found.setdefault((each.source, each.magic, each.codec), []).append(each)
    grid: list[list[Any]] = [
        [*kind, sum(each.batches for each in own), _total(own, "records"), _total(own, "bytes")]
        for kind, own in found.items()
    ]
    grid.sort(key=lambda row: (row[0], -row[5]))
    columns = headings("carried by | magic | codec | batches:count | records:count | bytes:bytes")
    items = [(f"{row[0]}s, magic {row[1]}, {row[2]}", row[5]) for row in grid]
    blocks: list[Any] = [Bars("space_bars", "Bytes by magic and codec", "bytes", items)] if items else []
    blocks.append(Grid("space", columns, grid, empty="no batches in these captures"))
    return Chapter("Formats and space", "Record batches as they were sent, by format and compression.", blocks)


def _topics(sent: Sequence[SentBatches]) -> Chapter:
    found: dict[str | None, list[SentBatches]] = {}
    for each in sent:
        found.setdefault(each.topic, []).append(each)
    largest = sorted(found.items(), key=lambda item: (-(_total(item[1], "bytes") or 0), item[0] or ""))
    grid = []
    for topic, own in largest[: 4 * SHOWN]:
        ways = [[each for each in own if each.source == source] for source in ("request", "response")]
        sums = [_total(way, name) for way in ways for name in ("records", "bytes")]
        grid.append([topic, len({each.partition for each in own}), *sums])
    columns = headings(
        "topic | partitions:count | records produced:count | bytes produced:bytes"
        " | records fetched:count | bytes fetched:bytes"
    )
    return Chapter(
        "Topics", "Records and bytes that were written to topics and read from them.", [Grid("topics", columns, grid)]
    )


def _total(sent: Sequence[SentBatches], name: Literal["records", "bytes"]) -> int | None:
    """The sum of the known numbers; None if none is known."""
    known = [number for each in sent if (number := getattr(each, name)) is not None]
    return sum(known) if known else None


def _records(records: DataFrame, values: bool) -> list[Chapter]:
    counted = records.groupBy("topic", "source").agg(F.count(F.lit(1)).alias("records")).collect()
    totals: Counter[str | None] = Counter()
    for row in counted:
        totals[row.topic] += row.records
    produced = {row.topic for row in counted if row.source == "request"}
    which = [_one_way(topic, "request" if topic in produced else "response") for topic, _ in totals.most_common()]
    why_not = "" if values else "not tried, for these tables have no values: run again with --values"
    return [compression_chapter(records, which, why_not), _keys(records, totals)]


def _one_way(topic: str | None, source: str) -> Column:
    """The records of a topic in one direction; otherwise records that were produced and fetched would count twice."""
    return F.col("topic").eqNullSafe(F.lit(topic)) & (F.col("source") == source)


def _keys(records: DataFrame, totals: Mapping[str | None, int]) -> Chapter:
    size = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce("value_len", F.lit(0))
    columns = headings("topic | key:code | records:count | bytes:bytes | of the topic:share")
    text = "The keys with the most records; a record that was both produced and fetched counts twice."
    most = top_keys(records, size, totals)
    return Chapter("Keys", text, [Grid("keys", columns, most, empty="no record has a key")])


def _groups(exchanges: DataFrame, steps: Steps) -> Chapter:
    of_groups = exchanges.filter(F.col("group_id").isNotNull())

    def calls(name: str) -> Column:
        return F.count(F.when(F.col("api") == name, 1))

    rows = (
        of_groups.groupBy("group_id")
        .agg(
            F.countDistinct("member_id").alias("members"),
            F.max("generation").alias("generation"),
            *(calls(name).alias(name) for name in ("JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit")),
            F.count(F.when(F.col("api").isin("Heartbeat", "ConsumerGroupHeartbeat"), 1)).alias("beats"),
            F.count(F.when(_is_error(), 1)).alias("errors"),
        )
        .orderBy("group_id")
        .limit(4 * SHOWN)
        .collect()
    )
    columns = headings(
        "group | members:count | generation:count | joins:count | syncs:count | leaves:count"
        " | commits:count | heartbeats:count | with errors:count"
    )
    chapter = Chapter("Groups", "Requests between members and their coordinators.")
    if rows:
        series = counts_over_time(of_groups, F.unix_millis("ts_req"), steps, "api")
        chapter.blocks.append(
            OverTime("groups_over_time", "Requests of group members", "count", steps, series, stacked=True)
        )
    empty = "no consumer group in these captures"
    chapter.blocks.append(Grid("groups", columns, [list(row) for row in rows], empty=empty))
    return chapter


def _clients(connections: DataFrame, exchanges: DataFrame) -> Chapter:
    own = connections.select(
        "conn_id",
        F.regexp_replace("client", ":[0-9]+$", "").alias("address"),
        F.concat_ws(" ", "software_name", "software_version").alias("software"),
    )
    rows = (
        exchanges.join(F.broadcast(own), "conn_id")
        .groupBy("address", "client_id")
        .agg(
            F.max("software").alias("software"),
            F.countDistinct("conn_id").alias("connections"),
            F.count(F.lit(1)).alias("exchanges"),
            F.sum("req_bytes").alias("sent"),
            F.sum("resp_bytes").alias("received"),
        )
        .orderBy(F.desc("exchanges"), "address", "client_id")
        .limit(4 * SHOWN)
        .collect()
    )
    grid = [[row[0], row[1], row[2] or None, *row[3:]] for row in rows]
    columns = headings(
        "address | client id | software | connections:count | exchanges:count | bytes sent:bytes | bytes received:bytes"
    )
    return Chapter("Clients", "", [Grid("clients", columns, grid)])
