"""The causes for which brokers do not know a topic.

Rules:
- The other responses about a topic give the cause: recreated, too few partitions, metadata still propagating, missing.
- A topic was new if each broker that refused it knew it soon, had not known it before, and refused it no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.evidence import SECOND, grouped, when

if TYPE_CHECKING:
    from kafkawire.inspect._diagnose.evidence import Row
    from kafkawire.inspect._diagnose.thresholds import Thresholds

METADATA: Final = 3
_UNKNOWN, _UNKNOWN_ID, _INCONSISTENT_ID = 3, 100, 103
MISSING: Final = (_UNKNOWN, _UNKNOWN_ID, _INCONSISTENT_ID)
"""The errors of brokers about topics and partitions that they do not have."""


def was_new(rows: list[Row], limits: Thresholds) -> bool:
    """Whether each broker that did not know a topic knew it soon, as it happens with a topic that is just created."""
    for answers in grouped(rows, lambda row: row["exchange"]["connection"]["server"]).values():
        refusals = [when(row["exchange"]) for row in answers if row["error_code"] in MISSING]
        known = [when(row["exchange"]) for row in answers if row["error_code"] == 0]
        if refusals and not (known and min(known) > max(refusals)):
            return False
        if refusals and min(known) - min(refusals) > limits.new_topic_s * SECOND:
            return False
    return True


def cause_of(rows: list[Row], refused: list[Row]) -> tuple[str, str]:
    """Why brokers do not know a topic, as far as the other responses about it show, and what to do."""
    described = [row for row in rows if row["api_key"] == METADATA]
    known = [row for row in described if row["error_code"] == 0 and row["partition"] == -1]
    ids = {row["topic_id"] for row in rows if row["topic_id"] is not None}
    if len(ids) > 1 or any(row["error_code"] in (_UNKNOWN_ID, _INCONSISTENT_ID) for row in refused):
        return "it was deleted and recreated with another id", "Restart or upgrade the client that holds the old id."
    partitions = {row["partition"] for row in described if row["partition"] >= 0 and row["error_code"] == 0}
    beyond = sorted({row["partition"] for row in refused if row["partition"] >= 0} - partitions)
    if known and partitions and beyond and all(row["api_key"] != METADATA for row in refused):
        return (
            f"it has {len(partitions)} partitions, and the client uses partition {beyond[0]}",
            "Fix the partitioner or the partition count that the client assumes.",
        )
    if known:
        yes = sorted({row["exchange"]["connection"]["server"] for row in known})
        no = sorted({row["exchange"]["connection"]["server"] for row in refused})
        return (
            f"{', '.join(yes)} know it, {', '.join(no)} do not (yet)",
            "The metadata is still propagating: wait and retry. If it persists, check the brokers that do not know it.",
        )
    barred = any(row["exchange"]["auto_create"] is False for row in described)
    return (
        "no broker knows it" + (", and the client does not request its creation" if barred else ""),
        "Create the topic, or fix its name.",
    )
