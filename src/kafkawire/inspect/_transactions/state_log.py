"""Transactions in `__transaction_state`, the log of the transaction coordinators.

Rules:
- Every change of a transactional id is one record: its state, producer, timeout, start, and all partitions.
- Compaction keeps at least the last record of an id, so older transactions may be missing or lack their beginning.
- A transaction ends with PrepareCommit or PrepareAbort. It is complete with CompleteCommit or CompleteAbort, when every
  partition has its marker. Its end is the time of the last of these.
- An abort after the timeout is that of the broker's timer. Before it, an abort that raises the epoch of a client of the
  first protocol is the broker's too: another producer took over the id. The record that begins a transaction has the
  protocol of the client; an abort of the broker has that of the cluster. With KIP-890 every end raises the epoch, so
  the log does not show a fence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._tables.rows import microseconds
from kafkawire.inspect._transactions.model import Transaction
from kafkawire.log.internal_topics import InternalMessage, decode_record
from kafkawire.records import RecordsError, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.records import Record

TRANSACTION_LOG: Final = "__transaction_state"
_KIP_890: Final = 2
_COMMITS: Final = ("PrepareCommit", "CompleteCommit")
_ABORTS: Final = ("PrepareAbort", "CompleteAbort")


class TransactionHistory:
    """Follows the transactional ids of a partition of the transaction log."""

    def __init__(self) -> None:
        self._open: dict[str, Transaction] = {}
        self._protocols: dict[str, int] = {}
        self.ids: dict[int, str] = {}
        """The transactional id of each producer id."""

    def add(self, columns: Mapping[str, Any], data: memoryview, sound: Any = None) -> Iterator[Transaction]:
        """The transactions that end in these batches; positions are those in `data`."""
        places = zip(columns["position"], columns["size"], strict=True)
        for number, (position, size) in enumerate(places):
            if sound is None or sound[number]:
                for record in _records(data[position : position + size]):
                    yield from self.add_record(record)

    def add_record(self, record: Record) -> Iterator[Transaction]:
        """The transactions that a record completes, or after which nothing more is known of them."""
        key, value = decode_record(TRANSACTION_LOG, record, is_control=False)
        if not isinstance(key, InternalMessage):
            return
        name = str(key.fields["transactionalId"])
        if not isinstance(value, InternalMessage):
            yield from self._taken(name)
            return
        fields = value.fields
        for number in (fields["producerId"], fields.get("previousProducerId", -1)):
            if number >= 0:
                self.ids[number] = name
        state = fields["transactionStatus"]
        if state == "Ongoing":
            self._protocols[name] = fields.get("clientTransactionVersion", 0)
            _fill(self._open.setdefault(name, _transaction(name, fields)), fields)
        elif state in _COMMITS or state in _ABORTS:
            yield from self._finish(name, fields)
        elif state == "Empty":
            yield from self._taken(name)

    def still_open(self) -> list[Transaction]:
        """The transactions that are not complete."""
        return list(self._open.values())

    def _finish(self, name: str, fields: dict[str, Any]) -> Iterator[Transaction]:
        state = fields["transactionStatus"]
        current = self._open.setdefault(name, _transaction(name, fields))
        if state in _COMMITS:
            current.outcome = "committed"
        elif current.outcome == "open":
            _abort(current, fields, self._protocols.get(name, fields.get("clientTransactionVersion", 0)))
        current.end = microseconds(fields["transactionLastUpdateTimestampMs"])
        _fill(current, fields)
        if state.startswith("Complete"):
            yield from self._taken(name)

    def _taken(self, name: str) -> Iterator[Transaction]:
        found = self._open.pop(name, None)
        self._protocols.pop(name, None)
        if found is not None:
            yield found


def _records(batch: memoryview) -> list[Record]:
    try:
        return [record for each in read_batches(batch, verify=False) for record in each.records()]
    except RecordsError:
        return []


def _abort(current: Transaction, fields: dict[str, Any], protocol: int) -> None:
    now, start = fields["transactionLastUpdateTimestampMs"], fields["transactionStartTimestampMs"]
    is_new = protocol >= _KIP_890
    if start >= 0 and now - start > fields["transactionTimeoutMs"]:
        current.outcome, current.ended_by = "timed_out", "broker"
    elif not is_new and fields["producerEpoch"] > current.producer_epoch:
        current.outcome, current.ended_by = "fenced", "broker"
    else:
        current.outcome = "aborted"


def _transaction(name: str, fields: dict[str, Any]) -> Transaction:
    start = fields["transactionStartTimestampMs"]
    return Transaction(
        "transaction_log",
        fields["producerId"],
        fields["producerEpoch"],
        name,
        begin=microseconds(start) if start >= 0 else None,
        timeout_ms=fields["transactionTimeoutMs"],
    )


def _fill(current: Transaction, fields: dict[str, Any]) -> None:
    current.state = fields["transactionStatus"]
    current.last = microseconds(fields["transactionLastUpdateTimestampMs"])
    for topic in fields["transactionPartitions"] or ():
        for partition in topic["partitionIds"]:
            current.touch(topic["topic"], partition)
