"""Log directories: damaged batches, and indexes that do not agree with their logs.

Rules:
- A log with bytes that are no batch, or with a wrong checksum, is damaged; leftover bytes at the end of the last
  segment alone may be a write in progress, and are suspected only.
- An index that disagrees costs lookups, not data: brokers rebuild it. So they do with snapshots and epochs. Aborted
  transactions that are not listed rightly show consumers what they must not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import grouped
from kafkawire.inspect.diagnose.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_ADVICE: Final = {
    "log": "Offsets in a log never go back: segments were mixed up or written by two processes.",
    "txnindex": "Stop the broker, delete the partition's indexes and the clean-shutdown mark: recovery makes them.",
    "snapshot": "Stop the broker and delete the snapshot: it is made anew from the log, or from an older one.",
    "checkpoint": "Stop the broker and restore it from a replica, or delete it: recovery fills it from the batches.",
    "metadata": "Write the topic's id, which other partitions of the topic have, or restore the file from a replica.",
}


def damaged_logs(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Segments whose bytes are not what was written."""
    for row in evidence.files:
        if row["kind"] == "log" and row["state"] in ("damaged", "cut"):
            name = f"{row['topic']}-{row['partition']}"
            cut = row["state"] == "cut"
            yield Finding(
                "corruption",
                "warning" if cut else "error",
                f"{name}: {row['file']}: {row['fault']}",
                "Stop the broker before you touch it; a replica has the data, or recovery cuts the log at the fault.",
                entity=name,
                certainty="suspected" if cut else "proven",
            )


def wrong_indexes(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Indexes, and orders of batches, that cannot be."""
    for (file, kind), rows in grouped(evidence.index_errors, lambda row: (row["file"], row["kind"])).items():
        serious = kind in ("log", "txnindex", "metadata")
        whole = len(rows) == 1 and rows[0]["entry"] is None
        text = f"{file}: {rows[0]['text']}" if whole else f"{file}: {len(rows)} wrong, the first: {rows[0]['text']}"
        advice = _ADVICE.get(kind, "Stop the broker and delete the index: it is rebuilt at the start.")
        yield Finding("wrong-index", "error" if serious else "warning", text, advice, entity=file, count=len(rows))
