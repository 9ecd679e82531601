"""The tables of a run as rows, joined and grouped in the ways that rules need.

Rules:
- Times are microseconds since 1970. Rows are in the order of time.
- A row of partitions or batches has its exchange, and an exchange has its connection.
- A client is an address without port and a client id. It may have many connections.
- Rules select rows by columns. A row is made when a rule looks at it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from kafkawire.inspect._diagnose.row_groups import Groups, RowGroups, codes_of
from kafkawire.inspect._tables.rows import LazyRows
from kafkawire.inspect._transactions.traffic import APIS, BEGINNING, INIT, PRODUCE, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect._transactions.model import Transaction

    Places = NDArray[np.int64]

Row = dict[str, Any]
NO_NUMBER = -(2**63)
"""The number that columns have in place of null."""
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
        self.batches, self._exchange_of_batch = self._joined(tables["batches"])

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
        return RowGroups(self.exchanges, self.clients, client_of)

    @cached_property
    def clients(self) -> Places:
        """A number of the client of each exchange."""
        addresses = self._of_connections(_address)
        return codes_of(addresses, self.exchanges.column("client_id"))

    def _of_connections(self, value: Callable[[Row], Any]) -> pa.Array[Any]:
        """A value of the connection of each exchange."""
        numbers, inverse = np.unique(self._by_name.conn_id, return_inverse=True)
        values: pa.Array[Any] = pa.array([value(self.connections[number]) for number in numbers.tolist()])
        return values.take(inverse)

    def extent(self, places: Places) -> dict[str, int]:
        """The number of some exchanges and the time of their end, for a finding that shows only the first of them."""
        answered = self.exchanges.numbers("ts_resp", 0)[places]
        ends = np.where(answered != 0, answered, self.times[places])
        return {"count": len(places), "t1": int(ends.max())}

    @cached_property
    def fetches(self) -> RowGroups[tuple[int, str, int]]:
        """Answered fetches of consumers, by connection, topic and partition."""
        places = self.partitions.places(api_key=1)
        owners = self._exchange_of_partition[places]
        is_answered = self.exchanges.column("ts_resp").is_valid().to_numpy(zero_copy_only=False)
        by_broker = np.array(self._of_connections(lambda row: bool(row["inter_broker"])), np.bool_)
        places = places[(is_answered & ~by_broker)[owners]]
        codes = codes_of(self._by_name.conn_id[self._exchange_of_partition[places]], self._places_of(places))
        return RowGroups(self.partitions, codes, lambda row: (row["conn_id"], topic_of(row), row["partition"]), places)

    @cached_property
    def commits(self) -> RowGroups[tuple[str | None, str, int]]:
        """Committed offsets, by group, topic and partition."""
        places = self.partitions.places(api_key=8, error_code=0)
        places = places[self.partitions.numbers("committed_offset", NO_NUMBER)[places] != NO_NUMBER]
        groups = self.exchanges.column("group_id").take(self._exchange_of_partition[places])
        return RowGroups(
            self.partitions,
            codes_of(groups, self._places_of(places)),
            lambda row: (row["exchange"]["group_id"], topic_of(row), row["partition"]),
            places,
        )

    @cached_property
    def produced(self) -> Produced:
        """The batches of producers, each with the row of its partition in the same exchange."""
        sent = self.batches.places(source="request")
        asked = self.partitions.places(api_key=0) if len(sent) else sent
        topics = pa.concat_arrays([self.batches.column("topic").take(sent), self._topics.take(asked)])
        numbers = [self.batches.numbers("partition", NO_NUMBER)[sent], self.partitions.numbers("partition", 0)[asked]]
        owners = np.concatenate([self._exchange_of_batch[sent], self._exchange_of_partition[asked]])
        codes = codes_of(topics, np.concatenate(numbers), owners)
        last = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
        last[codes[len(sent) :]] = asked
        return Produced(self, sent, last[codes[: len(sent)]], self._exchange_of_batch[sent])

    @cached_property
    def transactions(self) -> list[Transaction]:
        """The transactions of producers, by their beginning."""
        chosen = self.batches.places(is_transactional=True, source="request")
        if not len(chosen) and not len(self.exchanges.places(api_key=BEGINNING)):
            return []
        producing = np.unique(self._exchange_of_batch[chosen])
        keys = tuple(key for key in APIS if key != PRODUCE)
        exchanges = np.union1d(self.exchanges.places(api_key=keys), producing)
        partitions = np.flatnonzero(np.isin(self._exchange_of_partition, exchanges))
        return follow(self.exchanges.at(exchanges), self.partitions.at(partitions), self.batches.at(chosen))

    def batches_of(self, exchanges: Iterable[Row], source: str) -> list[Row]:
        """The batches that requests or responses of exchanges carry."""
        names = [(row["conn_id"], row["seq"]) for row in exchanges]
        conn_ids, seqs = np.array(names, np.int64).reshape(-1, 2).T
        owned = np.isin(self._exchange_of_batch, self._by_name.find(conn_ids, seqs))
        return self.batches.at(np.intersect1d(np.flatnonzero(owned), self.batches.places(source=source)))

    @cached_property
    def _topics(self) -> pa.Array[Any]:
        """The topic of each row of partitions, as `topic_of` gives it."""
        names, ids = self.partitions.column("topic"), self.partitions.column("topic_id")
        empty = pa.scalar("")
        given = [pc.if_else(pc.equal(each, empty), pa.scalar(None, pa.string()), each) for each in (names, ids)]
        found: pa.Array[Any] = pc.coalesce(*given).fill_null("?")
        return found

    def _places_of(self, places: Places) -> Places:
        """A number of the topic and partition of rows of partitions."""
        return codes_of(self._topics.take(places), self.partitions.numbers("partition", NO_NUMBER)[places])

    def by_partition(self, places: Places) -> Groups:
        """Rows of partitions, by the name of the partition."""
        codes = self._places_of(places)
        _, first = np.unique(codes, return_index=True)
        names = [
            topic if number < 0 else f"{topic}-{number}"
            for topic, number in zip(
                self._topics.take(places[first]).to_pylist(),
                self.partitions.numbers("partition", NO_NUMBER)[places[first]].tolist(),
                strict=True,
            )
        ]
        return Groups(codes_of(pa.array(names, pa.string()))[codes], places)

    def times_of(self, places: Places) -> Places:
        """The times of the exchanges of rows of partitions."""
        return self.times[self._exchange_of_partition[places]]

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

    def of_partition(self, topic: str, partition: int) -> Places:
        """The places of the rows of a partition, whose topic is as `topic_of` gives it."""
        named = np.array(pc.equal(self._topics, pa.scalar(topic)), np.bool_)
        return np.flatnonzero(named & (self.partitions.numbers("partition", NO_NUMBER) == partition))

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


class Produced:
    """Batches of producers: their places, those of their partitions (-1 for none), and those of their exchanges."""

    def __init__(self, evidence: Evidence, places: Places, verdicts: Places, owners: Places) -> None:
        self._evidence = evidence
        self.places, self.verdicts, self.owners = places, verdicts, owners

    def numbers(self, name: str, null: int = NO_NUMBER) -> Places:
        """A column of the batches."""
        return self._evidence.batches.numbers(name, null)[self.places]

    def column(self, name: str) -> pa.Array[Any]:
        """A column of the batches, as Arrow has it."""
        return self._evidence.batches.column(name).take(self.places)

    def verdict(self, name: str, null: int = NO_NUMBER) -> Places:
        """A column of the partitions of the batches."""
        found = np.full(len(self.places), null, np.int64)
        known = self.verdicts >= 0
        found[known] = self._evidence.partitions.numbers(name, null)[self.verdicts[known]]
        return found

    def rows(self, chosen: Places) -> list[Row]:
        """Some of the batches."""
        return self._evidence.batches.at(self.places[chosen])

    def pairs(self, groups: Sequence[Places]) -> Iterator[list[tuple[Row, Row | None]]]:
        """Groups of the batches, each batch with the row of its partition."""
        verdicts = [self.verdicts[chosen] for chosen in groups]
        batches = self._evidence.batches.at_each([self.places[chosen] for chosen in groups])
        known = self._evidence.partitions.at_each([places[places >= 0] for places in verdicts])
        for rows, places, others in zip(batches, verdicts, known, strict=True):
            found = iter(others)
            yield [(row, next(found) if place >= 0 else None) for row, place in zip(rows, places.tolist(), strict=True)]

    def by_client(self, chosen: Places) -> Groups:
        """Some of the batches, by their client."""
        return Groups(self._evidence.clients[self.owners[chosen]], chosen)


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
