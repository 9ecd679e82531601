"""Topics that brokers do not know.

Rules:
- One finding a topic, when `unknown_topic` answers or more say UNKNOWN_TOPIC_OR_PARTITION (or its id's errors).
- What the brokers' other answers say of the topic tells why: re-created, too few partitions, still spreading,
  forbidden, or simply not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import grouped, topic_of
from kafkawire.inspect.diagnose.findings import Finding, about

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_UNKNOWN, _FORBIDDEN, _UNKNOWN_ID, _INCONSISTENT_ID = 3, 29, 100, 103
_PRODUCE, _METADATA = 0, 3
_MISSING: Final = (_UNKNOWN, _UNKNOWN_ID, _INCONSISTENT_ID)


def unknown_topics(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Topics that keep being asked for and are not known."""
    for topic, rows in grouped(evidence.partitions, topic_of).items():
        refused = [row for row in rows if row["error_code"] in _MISSING]
        forbidden = [row for row in rows if row["error_code"] == _FORBIDDEN]
        if len(refused) >= limits.unknown_topic:
            why, advice = _cause(rows, refused)
            text = f"{topic}: {len(refused)} answers say it is not known; {why}"
            yield about("unknown-topic", "error", [row["exchange"] for row in refused], text, advice, entity=topic)
        elif len(forbidden) >= limits.unknown_topic:
            text = f"{topic}: {len(forbidden)} answers say that the client may not use it"
            advice = "The topic may exist: grant the client's principal access (kafka-acls), or fix the name."
            yield about("unknown-topic", "error", [row["exchange"] for row in forbidden], text, advice, entity=topic)


def _cause(rows: list[Row], refused: list[Row]) -> tuple[str, str]:
    described = [row for row in rows if row["api_key"] == _METADATA]
    known = [row for row in described if row["error_code"] == 0 and row["partition"] == -1]
    ids = {row["topic_id"] for row in rows if row["topic_id"] is not None}
    if len(ids) > 1 or any(row["error_code"] in (_UNKNOWN_ID, _INCONSISTENT_ID) for row in refused):
        return "it was deleted and made again under another id", "Restart or upgrade the client that holds the old id."
    partitions = {row["partition"] for row in described if row["partition"] >= 0 and row["error_code"] == 0}
    beyond = sorted({row["partition"] for row in refused if row["partition"] >= 0} - partitions)
    if known and partitions and beyond and all(row["api_key"] != _METADATA for row in refused):
        return (
            f"it has {len(partitions)} partitions, and partition {beyond[0]} is asked for",
            "Fix the partitioner or the partition count that the client assumes.",
        )
    if known:
        yes = sorted({row["exchange"]["connection"]["server"] for row in known})
        no = sorted({row["exchange"]["connection"]["server"] for row in refused})
        return (
            f"{', '.join(yes)} know it, {', '.join(no)} do not (yet)",
            "Metadata is still spreading: wait and retry; if it lasts, check the brokers that do not know it.",
        )
    barred = any(row["exchange"]["auto_create"] is False for row in described)
    return (
        "no broker knows it" + (", and the client does not ask to create it" if barred else ""),
        "Create the topic, or fix its name.",
    )
