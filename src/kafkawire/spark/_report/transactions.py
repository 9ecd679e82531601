"""The chapter of a report about transactions, of captures and of log files.

Rules:
- A transaction of several partitions is one row in captures and in the transaction log, and one row per partition in
  the logs of partitions. Rows of different sources are counted apart.
- The producers with the most transactions that were not committed come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.spark._report.aggregates import SHOWN, percentiles
from kafkawire.spark._report.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from kafkawire.spark._pipeline.output import WrittenTables

_OUTCOMES: Final = ("committed", "aborted", "fenced", "timed_out", "open", "unknown")
_SEEN: Final = {"traffic": "traffic", "segment": "partition logs", "transaction_log": "transaction log"}


def transaction_chapters(tables: WrittenTables) -> list[Chapter]:
    """The chapter, if the run has a table of transactions with rows."""
    if not tables.has("transactions"):
        return []
    counts = [F.count(F.when(F.col("outcome") == name, 1)).alias(name) for name in _OUTCOMES]
    rows = (
        tables.frame("transactions")
        .groupBy("source", "transactional_id", "producer_id")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            *counts,
            percentiles("duration_us").alias("took"),
            F.max("duration_us").alias("longest"),
            F.max(F.size("partitions")).alias("partitions"),
            F.sum("records").alias("records"),
        )
        .orderBy(F.desc(F.col("rows") - F.col("committed")), F.desc("rows"), "source", "producer_id")
        .limit(4 * SHOWN)
        .collect()
    )
    if not rows:
        return []
    grid = [
        [
            *(_SEEN[row.source], row.transactional_id, row.producer_id, row.rows),
            *(row[name] for name in _OUTCOMES),
            *(row.took[0] if row.took else None, row.longest, row.partitions, row.records),
        ]
        for row in rows
    ]
    columns = headings(
        "seen in | transactional id | producer | transactions:count | committed:count | aborted:count | fenced:count"
        " | timed out:count | open:count | unknown:count | p50:us | longest:us | most partitions:count | records:count"
    )
    text = (
        "Transactions by producer. Fenced: another producer took over the transactional id. Timed out: the broker"
        " aborted it after its timeout. Open: nothing shows its end."
    )
    return [Chapter("Transactions", text, [Grid("transactions", columns, grid)])]
