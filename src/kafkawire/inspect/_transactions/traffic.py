"""Transactions in the traffic of their producers, and the producers that claim their ids.

Rules:
- A transaction begins with the first request that adds to it: AddPartitionsToTxn, AddOffsetsToTxn, or, because
  KIP-890 adds partitions and offsets implicitly, Produce and TxnOffsetCommit. A producer id has one at a time.
- EndTxn ends it. A retried EndTxn ends nothing more. CONCURRENT_TRANSACTIONS (51) and coordinator errors end nothing.
- An InitProducerId with the same transactional id ends an open transaction: the broker fences its producer, answers 51
  and aborts. The client that sent it is the one that fenced. After the timeout the broker has aborted by itself.
- INVALID_PRODUCER_EPOCH (47), INVALID_TXN_STATE (48) and PRODUCER_FENCED (90) mean that the transaction of the producer
  has ended: it timed out if its timeout had passed and no client took over its id, else it was fenced.
- A higher epoch without an end in the capture leaves an outcome that is unknown.
- WriteTxnMarkers for an open transaction ends it: an administrator or the coordinator aborted it.
- A claim is an InitProducerId that the broker accepts. It fences the producer that claimed the id before.
- A takeover is a claim after one of another address, or after one of another connection that was open at the same time.
  A client that reconnects, restarts on its host, or initialises itself again takes nothing over.
- One takeover is a failover, and so is a chain of new addresses. Several takeovers, back and forth, are a war: two
  producers use one id at the same time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._transactions.model import MOST_NAMED, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkawire.inspect._transactions.model import Outcome

    Row = dict[str, Any]

PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT_OFFSETS = 0, 22, 24, 25, 26, 27, 28
APIS: Final = (PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT_OFFSETS)
BEGINNING: Final = (ADD_PARTITIONS, ADD_OFFSETS, END, COMMIT_OFFSETS)
"""The APIs with which a transaction begins or is first seen, beside Produce with transactional batches."""
_CONCURRENT: Final = 51
ENDED_WITHOUT_IT: Final = (47, 48, 90)
BROKER_FORM: Final = 4
"""The version of AddPartitionsToTxn from which only brokers send it."""
CHECK_US: Final = 10_000_000
"""How late a broker may notice a timeout (transaction.abort.timed.out.transaction.cleanup.interval.ms)."""
DEFAULT_TIMEOUT_MS: Final = 60_000
"""The transaction.timeout.ms of clients."""


def follow(exchanges: Iterable[Row], partitions: Iterable[Row], batches: Iterable[Row]) -> list[Transaction]:
    """The transactions of rows of `Evidence`, which are in the order of time."""
    watcher = _Watcher(_by_exchange(partitions), _by_exchange(batches))
    for row in exchanges:
        watcher.see(row)
    return watcher.found


def _by_exchange(rows: Iterable[Row]) -> Mapping[tuple[int, int], list[Row]]:
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row["conn_id"], row["seq"]), []).append(row)
    return found


class _Watcher:
    """Follows the producers of a run."""

    def __init__(
        self, partitions: Mapping[tuple[int, int], list[Row]], batches: Mapping[tuple[int, int], list[Row]]
    ) -> None:
        self.found: list[Transaction] = []
        self._partitions, self._batches = partitions, batches
        self._open: dict[int, Transaction] = {}
        self._last: dict[int, Transaction] = {}
        self._seen: set[tuple[int, int]] = set()
        self._ids: dict[int, str] = {}
        self._claims: dict[str, Row] = {}
        self._timeouts: dict[str, int] = {}

    def see(self, row: Row) -> None:
        key = row["api_key"]
        if key == INIT:
            self._init(row)
        elif key == PRODUCE:
            self._produce(row)
        elif key == ADD_PARTITIONS and (row["version"] or 0) < BROKER_FORM:
            self._add_partitions(row)
        elif key in (ADD_OFFSETS, COMMIT_OFFSETS):
            self._add_group(row)
        elif key == END:
            self._end(row)
        elif key == MARKERS:
            self._markers(row)

    def _init(self, row: Row) -> None:
        name, code = row["transactional_id"], row["error_code"]
        if name is None or code not in (0, _CONCURRENT):
            return
        for number in [number for number, each in self._open.items() if each.transactional_id == name]:
            current = self._open[number]
            if _is_late(current, _time(row)):
                self._close(current, row, "timed_out", "broker")
            else:
                current.fenced_by = row["connection"]["client"]
                self._close(current, row, "fenced", "broker")
        if code == 0:
            self._ids[row["producer_id"]] = name
            self._claims[name] = row
            if row["transaction_timeout_ms"]:
                self._timeouts[name] = row["transaction_timeout_ms"]

    def _produce(self, row: Row) -> None:
        place = row["conn_id"], row["seq"]
        verdicts = {(each["topic"], each["partition"]): each for each in self._partitions.get(place, ())}
        for batch in self._batches.get(place, ()):
            if not batch["is_transactional"] or batch["is_control"] or batch["source"] != "request":
                continue
            verdict = verdicts.get((batch["topic"], batch["partition"]))
            code = None if verdict is None else verdict["error_code"]
            if code:
                self._refused(batch["producer_id"], row, code)
                continue
            current = self._current(row, batch["producer_id"], batch["producer_epoch"])
            base = None if verdict is None else verdict["base_offset"]
            count = batch["last_offset"] - batch["base_offset"] + 1
            known = base is not None and base >= 0
            current.touch(
                batch["topic"], batch["partition"], base if known else None, base + count - 1 if known else None
            )
            current.batches += 1
            current.records += max(batch["record_count"], 0)
            current.bytes += batch["size"]

    def _add_partitions(self, row: Row) -> None:
        if row["producer_id"] is None:
            return
        added = [each for each in self._partitions.get((row["conn_id"], row["seq"]), ()) if not each["error_code"]]
        if row["error_code"]:
            self._refused(row["producer_id"], row, row["error_code"])
        if added:
            current = self._current(row, row["producer_id"], row["producer_epoch"] or 0)
            for each in added:
                current.touch(each["topic"], each["partition"])

    def _add_group(self, row: Row) -> None:
        if row["producer_id"] is None:
            return
        if row["error_code"]:
            self._refused(row["producer_id"], row, row["error_code"])
            return
        current = self._current(row, row["producer_id"], row["producer_epoch"] or 0)
        if row["group_id"] is not None and len(current.groups) < MOST_NAMED:
            current.groups[row["group_id"]] = None

    def _end(self, row: Row) -> None:
        current, code = self._open.get(row["producer_id"]), row["error_code"]
        if code and code in ENDED_WITHOUT_IT:
            self._refused(row["producer_id"], row, code)
        elif code == 0 and current is not None:
            self._close(current, row, "committed" if row["committed"] else "aborted", "client")
        elif code == 0 and row["connection"]["t_syn"] is None and not self._is_repeated(row):
            begun_before = self._start(row, row["producer_id"], row["producer_epoch"] or 0)
            begun_before.begin = None
            self._close(begun_before, row, "committed" if row["committed"] else "aborted", "client")

    def _is_repeated(self, row: Row) -> bool:
        return (row["producer_id"], row["producer_epoch"] or 0) in self._seen

    def _markers(self, row: Row) -> None:
        current = self._open.get(row["producer_id"])
        if current is None or row["error_code"]:
            return
        outcome: Outcome = "committed" if row["committed"] else "aborted"
        if outcome == "aborted" and _is_late(current, _time(row)):
            outcome = "timed_out"
        self._close(current, row, outcome, f"marker of {row['connection']['client']}")

    def _refused(self, producer: int | None, row: Row, code: int) -> None:
        """A request of a producer failed. It may have lost its transaction."""
        if producer is None:
            return
        current = self._open.get(producer)
        if current is None:
            last = self._last.get(producer)
            if last is not None and last.outcome in ("fenced", "timed_out") and code in ENDED_WITHOUT_IT:
                last.error_code = last.error_code or code
                _note(last, row)
            return
        if code not in ENDED_WITHOUT_IT:
            return
        current.error_code = code
        rival = self._claims.get(current.transactional_id or "")
        if rival is not None and rival["conn_id"] != row["conn_id"] and _time(rival) > (current.begin or 0):
            current.fenced_by = rival["connection"]["client"]
            self._close(current, row, "fenced", "broker")
        elif _is_late(current, _time(row), slack=0):
            self._close(current, row, "timed_out", "broker")
        elif code != 48:
            self._close(current, row, "fenced", "broker")

    def _current(self, row: Row, producer: int, epoch: int) -> Transaction:
        """The open transaction of a producer, which may begin with this exchange."""
        current = self._open.get(producer)
        if current is not None and epoch > current.producer_epoch:
            self._close(current, row, "unknown", None)
            current = None
        if current is None:
            current = self._start(row, producer, epoch)
        else:
            _note(current, row)
        current.last = _time(row)
        return current

    def _start(self, row: Row, producer: int, epoch: int) -> Transaction:
        name = row["transactional_id"] or self._ids.get(producer)
        if name is not None:
            self._ids[producer] = name
        begun = Transaction(
            "traffic",
            producer,
            epoch,
            name,
            begin=_time(row),
            last=_time(row),
            timeout_ms=self._timeouts.get(name or ""),
            client=row["connection"]["client"],
            client_id=row["client_id"],
            conn_id=row["conn_id"],
        )
        _note(begun, row)
        self._open[producer] = self._last[producer] = begun
        self._seen.add((producer, epoch))
        self.found.append(begun)
        return begun

    def _close(self, current: Transaction, row: Row, outcome: Outcome, by: str | None) -> None:
        current.outcome, current.ended_by = outcome, by
        current.end = None if outcome == "unknown" else row["ts_resp"] or _time(row)
        if outcome != "unknown":
            _note(current, row)
        self._open.pop(current.producer_id, None)


def _note(current: Transaction, row: Row) -> None:
    if len(current.exchanges) < MOST_NAMED and (row["conn_id"], row["seq"]) not in current.exchanges[-1:]:
        current.exchanges.append((row["conn_id"], row["seq"]))


def _is_late(current: Transaction, now: int, slack: int = CHECK_US) -> bool:
    """Whether the timeout of a transaction has passed, and the broker had the time to notice."""
    timeout = (current.timeout_ms or DEFAULT_TIMEOUT_MS) * 1000
    return current.begin is not None and now - current.begin > timeout + slack


def _time(row: Row) -> int:
    time: int | None = row["ts_req"] if row["ts_req"] is not None else row["ts_resp"]
    return -1 if time is None else time


def is_war(claims: Sequence[Row], least: int) -> bool:
    """Whether producers took an id over from each other back and forth, at least this often."""
    count = takeovers(claims)
    return count >= least and len({_address(row) for row in claims}) <= count


def takeovers(claims: Sequence[Row]) -> int:
    """How often another producer takes over an id."""
    return sum(_takes_over(before, after) for before, after in pairwise(claims))


def _takes_over(before: Row, after: Row) -> bool:
    if before["conn_id"] == after["conn_id"]:
        return False
    if _address(before) != _address(after):
        return True
    opened = after["connection"]["t_syn"] or after["connection"]["t_first"]
    return opened is not None and before["ts_req"] is not None and opened < before["ts_req"]


def _address(row: Row) -> str:
    return str(row["connection"]["client"]).rpartition(":")[0]
