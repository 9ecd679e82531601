"""A transaction as the inspector sees it, and the table of transactions.

Rules:
- `source` says where it was seen: in the traffic of its producer, in the log of one partition (segment), or in
  `__transaction_state` (transaction_log). A source leaves out what it cannot know.
- `outcome` is committed, aborted, fenced, timed_out, open or unknown. The broker aborts fenced and timed-out
  transactions: another producer took over the transactional id, or the timeout passed.
- Times are microseconds since 1970. The duration of an open transaction ends with the last time of its source.
- A transaction keeps at most MOST_NAMED of its partitions, groups and exchanges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkawire.inspect._tables.rows import Rows
from kafkawire.inspect._tables.schemas import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

MOST_NAMED: Final = 1000
Outcome = Literal["committed", "aborted", "fenced", "timed_out", "open", "unknown"]
Source = Literal["traffic", "segment", "transaction_log"]
Place = tuple[str | None, int]


@dataclass(slots=True)
class Transaction:
    """One transaction, in all its partitions or in one."""

    source: Source
    producer_id: int
    producer_epoch: int
    transactional_id: str | None = None
    begin: int | None = None
    last: int | None = None
    end: int | None = None
    timeout_ms: int | None = None
    outcome: Outcome = "open"
    ended_by: str | None = None
    fenced_by: str | None = None
    error_code: int | None = None
    state: str | None = None
    client: str | None = None
    client_id: str | None = None
    conn_id: int | None = None
    batches: int = 0
    records: int = 0
    bytes: int = 0
    partitions: dict[Place, list[int | None]] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    exchanges: list[tuple[int, int]] = field(default_factory=list)

    def touch(self, topic: str | None, partition: int, first: int | None = None, last: int | None = None) -> None:
        """Add a partition, or offsets of it."""
        known = self.partitions.get((topic, partition))
        if known is None:
            if len(self.partitions) < MOST_NAMED:
                self.partitions[topic, partition] = [first, last]
        elif first is not None and last is not None:
            known[0] = first if known[0] is None else min(first, known[0])
            known[1] = last if known[1] is None else max(last, known[1])

    def row(self, horizon: int | None = None) -> dict[str, Any]:
        """The row of the table; `horizon` is the last time of the source."""
        until = self.end if self.end is not None else horizon
        return {
            "source": self.source,
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "outcome": self.outcome,
            "begin": self.begin,
            "last": self.last,
            "end": self.end,
            "duration_us": None if self.begin is None or until is None else max(0, until - self.begin),
            "timeout_ms": self.timeout_ms,
            "ended_by": self.ended_by,
            "fenced_by": self.fenced_by,
            "error_code": self.error_code,
            "state": self.state,
            "client": self.client,
            "client_id": self.client_id,
            "conn_id": self.conn_id,
            "partitions": [
                {"topic": topic, "partition": partition, "first_offset": first, "last_offset": last}
                for (topic, partition), (first, last) in sorted(self.partitions.items(), key=_by_place)
            ],
            "groups": list(self.groups),
            "batches": self.batches if self.source != "transaction_log" else None,
            "records": self.records if self.source != "transaction_log" else None,
            "bytes": self.bytes if self.source != "transaction_log" else None,
            "exchanges": [{"conn_id": conn, "seq": seq} for conn, seq in self.exchanges],
        }


def _by_place(item: tuple[Place, object]) -> tuple[str, int]:
    (topic, partition), _ = item
    return topic or "", partition


def transactions_table(transactions: Iterable[Transaction], horizon: int | None = None) -> pa.Table:
    """Transactions as their Arrow table, the earliest first."""
    rows = Rows(TRANSACTIONS)
    for each in sorted(transactions, key=lambda each: (each.begin is not None, each.begin or 0, each.producer_id)):
        rows.add(each.row(horizon))
    return rows.table()
