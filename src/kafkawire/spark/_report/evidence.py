"""The chapter about the exchanges that prove the findings.

Rules:
- It has each exchange once, in the order of time, with the address that findings link to.
- A finding names at most LISTED exchanges, so the chapter has no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire._look.findings import LISTED
from kafkawire.messages.errors import error
from kafkawire.spark._report.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kafkawire.spark._pipeline.output import WrittenTables


def evidence_chapters(tables: WrittenTables, findings: Sequence[Mapping[str, Any]] | None) -> Iterator[Chapter]:
    """The chapter, if findings have exchanges as evidence."""
    places = {
        f"{each['conn_id']}/{each['seq']}"
        for finding in findings or ()
        for each in (finding["evidence"] or [])[:LISTED]
    }
    if not places or not tables.has("exchanges"):
        return
    name = F.concat_ws("/", F.col("conn_id").cast("string"), F.col("seq").cast("string"))
    wanted = tables.frame("exchanges").withColumn("name", name).filter(F.col("name").isin(*sorted(places)))
    rows = (
        wanted.withColumn("at", F.unix_millis(F.coalesce("ts_req", "ts_resp")))
        .orderBy("at", "conn_id", "seq")
        .collect()
    )
    columns = headings("exchange:exchange | time:ms | client | API | version | answered after:us | error | state")
    shown = [
        [
            *(row.name, row.at, row.client_id, row.api, row.version, row.wait_us),
            f"{error(row.error_code).name} ({row.error_code})" if row.error_code else None,
            row.state,
        ]
        for row in rows
    ]
    text = "The exchanges that prove the findings. `kafkawire inspect FILE --tree N/M` explains every byte of one."
    yield Chapter("Evidence", text, [Grid("evidence", columns, shown)])
