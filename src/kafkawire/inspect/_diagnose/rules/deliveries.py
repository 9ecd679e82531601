"""Records of share groups that reach their delivery limit (KIP-932).

Rules:
- The delivery count of an acquired record is how often the group got it, this time included. At the limit the record is
  delivered for the last time: if it is released, or its lock ends, the broker archives it unprocessed.
- The limit is `group.share.delivery.count.limit`, or `share.delivery.count.limit` of a group. It is a threshold,
  because a capture does not contain it.
- One finding per group and partition names the first of its records and the client that got it last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.evidence import client_of, grouped, partition_name
from kafkawire.inspect._diagnose.findings import Finding, about
from kafkawire.inspect._diagnose.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect._diagnose.evidence import Evidence
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_SHARE_FETCH: Final = 78
_ADVICE: Final = (
    "The record fails repeatedly, or takes longer than its lock: log it and reject it after a known failure, or raise "
    "share.record.lock.duration.ms."
)


@rule(
    "delivery-limit",
    "warning",
    "records that a share group gets for the last time, because they were not accepted before",
    thresholds=("deliveries",),
)
def delivery_limits(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Records that were delivered as often as the limit allows."""
    last = (
        row
        for row in evidence.partitions.where(api_key=_SHARE_FETCH)
        if row["deliveries"] is not None and row["deliveries"] >= limits.deliveries
    )
    for (group, name), rows in grouped(last, lambda row: (row["exchange"]["group_id"], partition_name(row))).items():
        offsets = sorted({row["base_offset"] for row in rows})
        address, client = client_of(rows[-1]["exchange"])
        others = f" and {len(offsets) - 1} other offsets" if len(offsets) > 1 else ""
        text = (
            f"{group}: offset {offsets[0]} of {name}{others} delivered {max(row['deliveries'] for row in rows)} times, "
            f"the last time to {client or address}; the broker archives records that are not accepted then"
        )
        yield about("delivery-limit", "warning", [row["exchange"] for row in rows], text, _ADVICE, entity=name)
