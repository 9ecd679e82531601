"""The chapter of a report about records of magic 0 and 1, beside the same records in magic 2.

Rules:
- The chapter exists only if a log holds such records.
- Shares are of the bytes without compression in the old format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.spark._report.aggregates import SHOWN
from kafkawire.spark._report.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from kafkawire.spark._pipeline.output import WrittenTables

_SIZES: Final = (
    *("records", "stored_bytes", "old_bytes", "new_bytes"),
    *("gzip_bytes", "snappy_bytes", "lz4_bytes", "zstd_bytes"),
)
_SAVED: Final = ("offsets", "timestamps", "checksums", "lengths", "flags", "others")


def old_format_chapters(tables: WrittenTables) -> list[Chapter]:
    """The chapter, if the run has a table of old formats with rows."""
    if not tables.has("old_formats"):
        return []
    sums = [F.sum(name).alias(name) for name in (*_SIZES, *(f"saved_{name}" for name in _SAVED))]
    rows = tables.frame("old_formats").groupBy("topic").agg(*sums).orderBy(F.desc("stored_bytes"), "topic")
    found = rows.limit(4 * SHOWN).collect()
    if not found:
        return []
    sizes = headings(
        "topic | records:count | stored:bytes | uncompressed:bytes | magic 2:bytes | gzip:bytes | snappy:bytes"
        " | lz4:bytes | zstd:bytes"
    )
    fields = headings("field | saved:bytes | of the uncompressed:share")
    total = sum(row.old_bytes for row in found)
    saved = [[name, sum(row[f"saved_{name}"] for row in found)] for name in _SAVED]
    saved.append(["all", sum(row.old_bytes - row.new_bytes for row in found)])
    text = "Records of magic 0 and 1, and the size of the same records in magic 2, without and with each codec."
    return [
        Chapter(
            "Old formats",
            text,
            [
                Grid("old_formats", sizes, [[row.topic, *(row[name] for name in _SIZES)] for row in found]),
                Grid("old_format_fields", fields, [[*row, row[1] / total] for row in saved], "Saved by magic 2"),
            ],
        )
    ]
