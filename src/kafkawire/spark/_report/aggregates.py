"""Aggregates of several chapters: sums over time, percentiles, largest values, and the size under each codec.

Rules:
- Spark computes them. The driver receives at most about 60 steps, a few dozen rows, or a sample of records.
- A percentile is a value that occurs; beyond ten thousand values it is approximate. Those of the sizes of records are
  exact, see `sizes.py`.
- Keys are shown as text if they are text, else as hex, and are shortened.
- The sample for codecs has about 200 records per topic, of at most 16 KiB each and without headers. Batches have 100
  records, at the default level of each codec. A codec whose library is not installed has no number.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.records import BatchBuilder, RecordsError
from kafkawire.spark._report.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire._look.series import Steps

SHOWN: Final = 25
OTHER: Final = "other"
_SERIES: Final = 7
_CELLS: Final = 20_000
_KEY: Final = 48
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
SAMPLE: Final = 200
TOPICS: Final = 10
_LARGEST: Final = 16 * 1024
_BATCH: Final = 100


def sums_over_time(frame: DataFrame, time: Column, steps: Steps, sums: dict[str, Column]) -> dict[str, list[int]]:
    """Sums by step of a time in milliseconds; rows outside the steps do not count."""
    rows = _stepped(frame, time, steps).groupBy("step").agg(*(F.sum(each).alias(name) for name, each in sums.items()))
    series = {name: [0] * steps.count for name in sums}
    for row in rows.collect():
        for name in sums:
            series[name][row["step"]] = row[name] or 0
    return series


def counts_over_time(frame: DataFrame, time: Column, steps: Steps, key: str) -> dict[str, list[int]]:
    """Counts of rows by step and key, the most frequent keys first; all keys after the seventh are one series."""
    counted = _stepped(frame, time, steps).groupBy(F.col(key).cast("string").alias("series"), "step").count()
    rows = counted.filter(F.col("series").isNotNull()).orderBy(F.desc("count")).limit(_CELLS).collect()
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["series"]] += row["count"]
    most = sorted(totals, key=lambda name: (-totals[name], name))[:_SERIES]
    series: dict[str, list[int]] = {name: [0] * steps.count for name in most}
    for row in rows:
        name = row["series"] if row["series"] in series else OTHER
        series.setdefault(name, [0] * steps.count)[row["step"]] += row["count"]
    return series


def percentiles(column: str, shares: Sequence[float] = (0.5, 0.9, 0.99)) -> Column:
    """Percentiles of a column, as an array."""
    return F.percentile_approx(column, [float(share) for share in shares], 10_000)


def readable_key(key: bytes | None) -> str | None:
    """A key for people.

    >>> readable_key(b"order-1"), readable_key(bytes([255, 0])), readable_key(None)
    ('order-1', '0xff00', None)
    """
    if key is None:
        return None
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (key and not text):
        text = f"0x{key[:_KEY].hex()}"
    return text if len(text) <= _KEY else text[: _KEY - 1] + "\u2026"


def top_keys(records: DataFrame, size: Column, totals: Mapping[str | None, int]) -> list[list[Any]]:
    """The keys with the most records, given the number of records of each topic.

    A row has topic, key, records, bytes, and the share of the topic's records.
    """
    keyed = records.filter(F.col("key").isNotNull()).groupBy("topic", "key")
    counted = keyed.agg(F.count(F.lit(1)).alias("records"), F.sum(size).alias("bytes"))
    most = counted.orderBy(F.desc("records"), F.desc("bytes"), "topic", "key").limit(SHOWN)
    return [
        [row.topic, readable_key(bytes(row.key)), row.records, row.bytes, row.records / totals[row.topic]]
        for row in most.collect()
    ]


def packed_sizes(records: Sequence[tuple[bytes | None, bytes | None]]) -> dict[str, int | None]:
    """The bytes of records in batches, by codec.

    >>> packed_sizes([(b"key", b"value" * 100)] * 100)["none"]
    51297
    """
    return {codec: _packed_size(records, codec) for codec in CODECS}


def _packed_size(records: Sequence[tuple[bytes | None, bytes | None]], codec: str) -> int | None:
    size = 0
    for start in range(0, len(records), _BATCH):
        builder = BatchBuilder(compression=codec)
        for key, value in records[start : start + _BATCH]:
            builder.append(key, value, 0)
        try:
            size += len(builder.build())
        except (RecordsError, ImportError):
            return None
    return size


def compression_chapter(records: DataFrame, which: Sequence[Column], why_not: str = "") -> Chapter:
    """The size of a sample of records under each codec; each condition of `which` selects the records of a topic."""
    columns = headings(
        "topic | records tried:count | uncompressed:bytes | gzip:share | snappy:share | lz4:share | zstd:share"
    )
    text = (
        f"The size of a sample of {SAMPLE} records in batches of {_BATCH}, as a share of the uncompressed size."
        f" The {TOPICS} topics with the most records are sampled."
    )
    rows = [] if why_not else what_if(records, which)
    return Chapter("Compression tried", text, [Grid("what_if", columns, rows, empty=why_not or "no records to try")])


def what_if(records: DataFrame, which: Sequence[Column]) -> list[list[Any]]:
    """For each topic: its name, the records tried, their bytes uncompressed, and the share of these by codec."""
    if not which:
        return []
    small = records.filter(F.coalesce(F.length("value"), F.lit(0)) + F.coalesce(F.length("key"), F.lit(0)) <= _LARGEST)
    parts = [small.filter(own).select("topic", "key", "value").limit(SAMPLE) for own in which[:TOPICS]]
    found: dict[str | None, list[tuple[bytes | None, bytes | None]]] = {}
    for row in reduce(lambda one, other: one.unionByName(other), parts).collect():
        key, value = (None if each is None else bytes(each) for each in (row["key"], row["value"]))
        found.setdefault(row["topic"], []).append((key, value))
    return [_codec_row(topic, own) for topic, own in found.items()]


def _codec_row(topic: str | None, records: Sequence[tuple[bytes | None, bytes | None]]) -> list[Any]:
    sizes = packed_sizes(records)
    plain = sizes["none"] or 1
    shares = [None if (size := sizes[codec]) is None else size / plain for codec in CODECS[1:]]
    return [topic, len(records), plain, *shares]


def _stepped(frame: DataFrame, time: Column, steps: Steps) -> DataFrame:
    step = F.floor((time - F.lit(steps.start)) / F.lit(steps.step))
    return frame.withColumn("step", step).filter(F.col("step").between(0, steps.count - 1))
