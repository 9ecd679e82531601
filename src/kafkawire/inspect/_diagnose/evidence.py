"""The tables of a run as rows, joined and grouped in the ways that rules need.

Rules:
- Times are microseconds since 1970. Rows are in the order of time.
- A row of partitions or batches has its exchange, and an exchange has its connection.
- A client is an address without port and a client id. It may have many connections.
- Rules select rows by columns. A row is made when a rule looks at it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._diagnose.aggregates import (
    DamagedLog,
    LogFiles,
    LoggedTransaction,
    LogTransactions,
    OldFormat,
    WrongIndex,
)
from kafkawire.inspect._tables.rows import LazyRows
from kafkawire.inspect._transactions.traffic import APIS, BEGINNING, INIT, PRODUCE, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._transactions.model import Transaction

    Places = NDArray[np.int64]

Row = dict[str, Any]
K = TypeVar("K")
SECOND = 1_000_000


class Evidence:
    """The traffic of captures, for rules.

    `connections` are rows by id; `exchanges`, `partitions` and `batches` are sequences of rows. The columns of the rows
    are those of `SCHEMAS`; a row also has its `exchange` or `connection`. A rule that needs few rows selects them with
    `where`, so that the others are never made.
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.connections: dict[int, Row] = {row["conn_id"]: row for row in _rows(tables["connections"])}
        self.gaps = _rows(tables["gaps"]) if "gaps" in tables else []
        exchanges = tables["exchanges"]
        times = _numbers(pc.coalesce(*(exchanges[name].cast(pa.int64()) for name in ("ts_req", "ts_resp"))))
        order = np.argsort(times, kind="stable")
        self.times: Places = times[order]
        """The time of each exchange, as `when` gives it."""
        self.exchanges = LazyRows(exchanges, order, ("connection", self._connections_at))
        self._by_name = _Places(_numbers(exchanges["conn_id"])[order], _numbers(exchanges["seq"])[order])
        self.partitions, self._exchange_of_partition = self._joined(tables["exchange_partitions"])
        self.batches, _ = self._joined(tables["batches"])

    def _connections_at(self, places: Places) -> list[Row]:
        return [self.connections[number] for number in self._by_name.conn_id[places].tolist()]

    def _joined(self, table: pa.Table) -> tuple[LazyRows, Places]:
        """The rows of a table that belong to an exchange, and the places of their exchanges."""
        owner = self._by_name.find(_numbers(table["conn_id"]), _numbers(table["seq"]))
        known = np.flatnonzero(owner >= 0)
        order = known[np.argsort(self.times[owner[known]], kind="stable")]
        places = owner[order]
        return LazyRows(table, order, ("exchange", lambda own: self.exchanges.at(places[own]))), places

    def exchange(self, conn_id: int, seq: int) -> Row:
        """An exchange by its name."""
        return self.exchanges[int(self._by_name.find(np.array([conn_id]), np.array([seq]))[0])]

    @cached_property
    def by_connection(self) -> RowGroups[int]:
        """The exchanges of each connection."""
        return RowGroups(self.exchanges, self._by_name.conn_id, lambda row: row["conn_id"])

    @cached_property
    def by_client(self) -> RowGroups[tuple[str, str | None]]:
        """The exchanges of each client."""
        addresses: dict[str, int] = {}
        for row in self.connections.values():
            addresses.setdefault(_address(row), len(addresses))
        known = {number: addresses[_address(row)] for number, row in self.connections.items()}
        numbers, inverse = np.unique(self._by_name.conn_id, return_inverse=True)
        codes: Any = self.exchanges.column("client_id").dictionary_encode()
        clients = _numbers(codes.indices) + 1
        address = np.array([known[number] for number in numbers.tolist()], np.int64)[inverse]
        return RowGroups(self.exchanges, address * (len(codes.dictionary) + 1) + clients, client_of)

    def extent(self, places: Places) -> dict[str, int]:
        """The number of some exchanges and the time of their end, for a finding that shows only the first of them."""
        answered = self.exchanges.numbers("ts_resp", 0)[places]
        ends = np.where(answered != 0, answered, self.times[places])
        return {"count": len(places), "t1": int(ends.max())}

    @cached_property
    def fetches(self) -> dict[tuple[int, str, int], list[Row]]:
        """Answered fetches of consumers, by connection, topic and partition."""
        rows = (
            row
            for row in self.partitions.where(api_key=1)
            if row["exchange"]["ts_resp"] is not None and not row["exchange"]["connection"]["inter_broker"]
        )
        return grouped(rows, lambda row: (row["conn_id"], topic_of(row), row["partition"]))

    @cached_property
    def commits(self) -> dict[tuple[str | None, str, int], list[Row]]:
        """Committed offsets, by group, topic and partition."""
        rows = (row for row in self.partitions.where(api_key=8, error_code=0) if row["committed_offset"] is not None)
        return grouped(rows, lambda row: (row["exchange"]["group_id"], topic_of(row), row["partition"]))

    @cached_property
    def produced(self) -> list[tuple[Row, Row | None]]:
        """Batches of producers, each with the row of its partition in the same exchange."""
        sent = self.batches.where(source="request")
        verdicts = {
            (row["conn_id"], row["seq"], topic_of(row), row["partition"]): row
            for row in (self.partitions.where(api_key=0) if sent else ())
        }
        return [(row, verdicts.get((row["conn_id"], row["seq"], row["topic"], row["partition"]))) for row in sent]

    @cached_property
    def transactions(self) -> list[Transaction]:
        """The transactions of producers, by their beginning."""
        batches = self.batches.where(is_transactional=True, source="request")
        if not batches and not self.exchanges.where(api_key=BEGINNING):
            return []
        keys = APIS if batches else tuple(key for key in APIS if key != PRODUCE)
        exchanges = self.exchanges.where(api_key=keys)
        return follow(exchanges, self.partitions.where(api_key=keys) if exchanges else (), batches)

    @cached_property
    def claims(self) -> dict[str, list[Row]]:
        """Accepted InitProducerIds, by transactional id."""
        accepted = self.exchanges.where(api_key=INIT, error_code=0)
        named = (row for row in accepted if row["transactional_id"] is not None)
        return grouped(named, lambda row: row["transactional_id"])

    def of_exchange(self, exchange: Row) -> list[Row]:
        """The partitions of an exchange."""
        place = self._by_name.find(np.array([exchange["conn_id"]]), np.array([exchange["seq"]]))[0]
        order, owners = self._partitions_by_exchange
        return self.partitions.at(order[slice(*np.searchsorted(owners, (place, place + 1)))])

    @cached_property
    def _partitions_by_exchange(self) -> tuple[Places, Places]:
        order = np.argsort(self._exchange_of_partition, kind="stable")
        return order, self._exchange_of_partition[order]

    def of_topics(self, names: Collection[str]) -> list[Row]:
        """The rows of partitions whose topics have these names, as `topic_of` gives them."""
        rows = self.partitions
        unnamed = rows.places(topic=(None, ""), topic_id=[*names, None, ""])
        found = rows.at(np.union1d(rows.places(topic=[*names]), unnamed))
        return [row for row in found if topic_of(row) in names]

    def is_late(self, conn_id: int) -> bool:
        """Whether the capture lacks the beginning of a connection."""
        connection = self.connections.get(conn_id)
        return connection is not None and connection["t_syn"] is None

    def is_broken(self, conn_id: int, t0: int | None, t1: int | None) -> bool:
        """Whether a connection has a gap between two times."""
        return any(
            gap["conn_id"] == conn_id
            and (gap["t"] is None or ((t0 is None or gap["t"] >= t0 - SECOND) and (t1 is None or gap["t"] <= t1)))
            for gap in self.gaps
        )


class _Places:
    """The places of exchanges by their names; of two with one name, the last."""

    def __init__(self, conn_id: Places, seq: Places) -> None:
        self.conn_id, self.seq = conn_id, seq
        self._span = int(seq.max(initial=0)) + 1
        keys = conn_id * self._span + seq
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, conn_id: Places, seq: Places) -> Places:
        """The place of each name, or -1."""
        if not len(self._keys):
            return np.full(len(conn_id), -1, np.int64)
        nearest = np.searchsorted(self._keys, conn_id * self._span + seq, "right") - 1
        found = self._order[np.maximum(nearest, 0)]
        same = (nearest >= 0) & (self.conn_id[found] == conn_id) & (self.seq[found] == seq)
        return np.where(same, found, -1)


class RowGroups(Mapping[K, list[Row]]):
    """Rows by a key, in the order of the first row of each; `codes` has one number per row and key."""

    def __init__(self, rows: LazyRows, codes: Places, key: Callable[[Row], K]) -> None:
        self._rows = rows
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        members = (
            np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1]) if len(codes) else []
        )
        names = rows.at(first)
        self.places: dict[K, Places] = {key(names[number]): members[number] for number in np.argsort(first).tolist()}
        """The places of the rows of each key."""

    def __getitem__(self, key: K) -> list[Row]:
        return self._rows.at(self.places[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def when(row: Row) -> int:
    """The time of the request of an exchange, or of its response if the capture has no request."""
    time: int | None = row["ts_req"] if row["ts_req"] is not None else row["ts_resp"]
    return -1 if time is None else time


def topic_of(row: Row) -> str:
    """The name of a topic, or its id if the name is not known."""
    return str(row["topic"] or row.get("topic_id") or "?")


def partition_name(row: Row) -> str:
    """A topic and partition, such as orders-3."""
    return topic_of(row) if row["partition"] < 0 else f"{topic_of(row)}-{row['partition']}"


def client_of(exchange: Row) -> tuple[str, str | None]:
    """The client of an exchange: address and client id."""
    return _address(exchange["connection"]), exchange["client_id"]


def _address(connection: Row) -> str:
    return str(connection["client"]).rpartition(":")[0]


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by a key, in their order."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def log_files(tables: Mapping[str, pa.Table]) -> LogFiles:
    """The files of log directories in which something is wrong, from the tables of `read_directories`."""
    damaged = [
        DamagedLog(f"{row['topic']}-{row['partition']}", row["file"], row["fault"], is_tail=row["state"] == "cut")
        for row in _rows(tables["segment_files"])
        if row["kind"] == "log" and row["state"] in ("damaged", "cut")
    ]
    errors = grouped(_rows(tables["index_errors"]), lambda row: (row["file"], row["kind"]))
    indexes = [
        WrongIndex(file, kind, rows[0]["problem"], None if len(rows) == 1 and rows[0]["entry"] is None else len(rows))
        for (file, kind), rows in errors.items()
    ]
    return LogFiles(damaged, indexes, list(_old_formats(tables["batches"])) if "batches" in tables else [])


def _old_formats(batches: pa.Table) -> Iterator[OldFormat]:
    old = batches.filter(pc.and_(pc.less(batches["magic"], pa.scalar(2, pa.int8())), pc.is_null(batches["conn_id"])))
    counted = old.group_by(["topic", "partition", "magic"]).aggregate([("size", "count"), ("size", "sum")])
    for row in counted.to_pylist():
        yield OldFormat(f"{row['topic']}-{row['partition']}", row["magic"], row["size_count"], row["size_sum"])


def log_transactions(tables: Mapping[str, pa.Table]) -> LogTransactions:
    """The transactions of log directories, from the tables of `read_directories`."""
    rows = [row for row in _rows(tables["transactions"]) if row["source"] != "traffic"]
    ends: dict[str, int] = {}
    for row in _rows(tables["segment_files"]):
        if row["kind"] == "log" and row["last_offset"] is not None:
            place = f"{row['topic']}-{row['partition']}"
            ends[place] = max(ends.get(place, -1), row["last_offset"])
    return LogTransactions(
        [logged_transaction(row) for row in rows if row["source"] == "segment" and row["outcome"] == "open"],
        [logged_transaction(row) for row in rows if row["source"] == "transaction_log"],
        ends,
    )


def logged_transaction(row: Row) -> LoggedTransaction:
    """A row of the transactions of logs, with times in microseconds."""
    parts = row["partitions"] if row["source"] == "segment" else ()
    return LoggedTransaction(
        *(f"{parts[0]['topic']}-{parts[0]['partition']}" if parts else "", row["transactional_id"]),
        *(row["producer_id"], row["producer_epoch"], row["outcome"], row["begin"], row["last"], row["end"]),
        *(row["duration_us"], row["timeout_ms"], parts[0]["first_offset"] if parts else None),
    )


def _rows(table: pa.Table) -> list[Row]:
    return list(LazyRows(table, np.arange(len(table))))


def _numbers(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> Places:
    """A column of whole numbers, with -1 in place of null."""
    filled: Any = column.cast(pa.int64())
    found: Places = np.asarray(filled.fill_null(-1))
    return found
