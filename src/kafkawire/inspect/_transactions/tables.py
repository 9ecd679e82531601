"""The table of transactions, from the other tables of captures and from the logs of directories.

Rules:
- The table of captures is made from the exchanges, partitions and batches that belong to transactions. Captures without
  transactions cost one filter.
- The transaction log of a directory names the transactional ids of producers in its other logs.
- The newest time in the logs is the horizon of open transactions, because directories are inspected long after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._diagnose.evidence import Evidence
from kafkawire.inspect._tables.rows import Rows
from kafkawire.inspect._tables.schemas import TRANSACTIONS
from kafkawire.inspect._transactions.model import transactions_table
from kafkawire.inspect._transactions.state_log import TRANSACTION_LOG, TransactionHistory
from kafkawire.inspect._transactions.stored import PartitionTransactions
from kafkawire.inspect._transactions.traffic import APIS, BEGINNING, MARKERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect._transactions.model import Transaction
    from kafkawire.log import LogFile

_LATEST: Final = (2**63 - 1) // 1000


def traffic_table(tables: Mapping[str, pa.Table]) -> pa.Table:
    """The transactions of captures."""
    exchanges = tables["exchanges"]
    keys = pa.array([*BEGINNING, MARKERS], pa.int16())
    with_id = pc.is_valid(exchanges["transactional_id"])
    chosen = exchanges.filter(pc.or_(pc.is_in(exchanges["api_key"], keys), with_id))
    chosen = chosen.filter(pc.is_in(chosen["api_key"], pa.array(APIS, pa.int16())))
    if not len(chosen):
        return TRANSACTIONS.empty_table()
    partitions = tables["exchange_partitions"]
    batches = tables["batches"]
    evidence = Evidence(
        {
            "connections": tables["connections"],
            "exchanges": chosen,
            "exchange_partitions": partitions.filter(pc.is_in(partitions["api_key"], pa.array(APIS, pa.int16()))),
            "batches": batches.filter(
                pc.and_(batches["is_transactional"], pc.equal(batches["source"], pa.scalar("request")))
            ),
        }
    )
    last = max((row["t_last"] or 0 for row in evidence.connections.values()), default=None)
    return transactions_table(evidence.transactions, last)


def follower_of(topic: str | None, partition: int | None) -> PartitionTransactions | TransactionHistory:
    """The follower of the batches of a partition."""
    return TransactionHistory() if topic == TRANSACTION_LOG else PartitionTransactions(topic, partition)


class StoredTransactions:
    """Collects the transactions of log directories."""

    def __init__(self) -> None:
        self._rows = Rows(TRANSACTIONS)
        self._open: list[Transaction] = []
        self._ids: dict[int, str] = {}
        self._newest: int | None = None

    def read(self, topic: str, partition: int, logs: Sequence[LogFile]) -> None:
        """Every log of a partition, in the order of offsets."""
        for log in logs:
            times = np.asarray(log.columns["max_timestamp"])
            sound = np.frombuffer(log.is_sound, np.bool_)
            self._see(times[sound])
        follower = follower_of(topic, partition)
        for log in logs:
            for each in follower.add(log.columns, log.view, np.frombuffer(log.is_sound, np.bool_)):
                self._rows.add(each.row())
        self._open += follower.still_open()
        if isinstance(follower, TransactionHistory):
            self._ids |= follower.ids

    def table(self) -> pa.Table:
        """All transactions, the earliest first."""
        for each in self._open:
            self._rows.add(each.row(self._newest))
        self._open = []
        table = _named(self._rows.table(), self._ids)
        return table.sort_by([("begin", "ascending"), ("producer_id", "ascending")])

    def _see(self, milliseconds: NDArray[Any]) -> None:
        known = milliseconds[(milliseconds >= 0) & (milliseconds <= _LATEST)]
        if len(known):
            self._newest = max(self._newest or 0, int(known.max()) * 1000)


def _named(table: pa.Table, ids: Mapping[int, str]) -> pa.Table:
    """Transactions with the transactional ids of their producers."""
    if not ids:
        return table
    place = table.schema.get_field_index("transactional_id")
    found: Any = pc.index_in(table["producer_id"].combine_chunks(), pa.array(list(ids), pa.int64()))
    names = pc.coalesce(
        table["transactional_id"].combine_chunks(), pa.array(list(ids.values()), pa.string()).take(found)
    )
    return table.set_column(place, TRANSACTIONS.field(place), names)
