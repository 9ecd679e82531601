"""How much space each codec would take, tried on a sample of every large topic.

Rules:
- The sample is some 200 records a topic that are not larger than 16 KiB, whichever Spark finds first; what comes to the
  driver is bounded by that.
- They are packed as a producer would, in batches of 100 at each codec's usual level, without headers.
- A codec whose library is not installed has no number.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.records import BatchBuilder, RecordsError
from kafkawire.spark.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
SAMPLE: Final = 200
TOPICS: Final = 10
_LARGEST: Final = 16 * 1024
_BATCH: Final = 100


def packed_sizes(records: Sequence[tuple[bytes | None, bytes | None]]) -> dict[str, int | None]:
    """The bytes that records take in batches, by codec.

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
    """What a sample of the records takes under each codec; each condition of `which` chooses those of a topic."""
    columns = headings(
        "topic | records tried:count | uncompressed:bytes | gzip:share | snappy:share | lz4:share | zstd:share"
    )
    text = (
        f"What a sample of {SAMPLE} records of each of the {TOPICS} topics with the most takes in batches of {_BATCH},"
        " by codec, as a share of what it takes uncompressed."
    )
    rows = [] if why_not else what_if(records, which)
    return Chapter("Compression tried", text, [Grid("what_if", columns, rows, empty=why_not or "no records to try")])


def what_if(records: DataFrame, which: Sequence[Column]) -> list[list[Any]]:
    """For each topic: its name, how many records were tried, their bytes uncompressed, and the share of it by codec."""
    if not which:
        return []
    small = records.filter(F.coalesce(F.length("value"), F.lit(0)) + F.coalesce(F.length("key"), F.lit(0)) <= _LARGEST)
    parts = [small.filter(own).select("topic", "key", "value").limit(SAMPLE) for own in which[:TOPICS]]
    found: dict[str | None, list[tuple[bytes | None, bytes | None]]] = {}
    for row in reduce(lambda one, other: one.unionByName(other), parts).collect():
        key, value = (None if each is None else bytes(each) for each in (row["key"], row["value"]))
        found.setdefault(row["topic"], []).append((key, value))
    return [_row(topic, own) for topic, own in found.items()]


def _row(topic: str | None, records: Sequence[tuple[bytes | None, bytes | None]]) -> list[Any]:
    sizes = packed_sizes(records)
    plain = sizes["none"] or 1
    shares = [None if (size := sizes[codec]) is None else size / plain for codec in CODECS[1:]]
    return [topic, len(records), plain, *shares]
