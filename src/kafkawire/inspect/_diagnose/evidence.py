"""The tables of a run as rows, joined and grouped in the ways that rules need.

Rules:
- Times are microseconds since 1970. Rows are in the order of time.
- A row of partitions or batches has its exchange, and an exchange has its connection.
- A client is an address without port and a client id. It may have many connections.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

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
from kafkawire.inspect._transactions.traffic import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kafkawire.inspect._transactions.model import Transaction

Row = dict[str, Any]
SECOND = 1_000_000


class Evidence:
    """The traffic of captures, for rules.

    `connections` are rows by id; `exchanges`, `partitions` and `batches` are lists of rows. The columns of the rows are
    those of `SCHEMAS`; a row also has its `exchange` or `connection`.
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.connections: dict[int, Row] = {row["conn_id"]: row for row in _rows(tables["connections"])}
        self.exchanges = sorted(_rows(tables["exchanges"]), key=when)
        self.gaps = _rows(tables["gaps"]) if "gaps" in tables else []
        by_name: dict[tuple[int, int], Row] = {}
        for row in self.exchanges:
            row["connection"] = self.connections[row["conn_id"]]
            by_name[row["conn_id"], row["seq"]] = row
        self.partitions = _joined(tables["exchange_partitions"], by_name)
        self.batches = _joined(tables["batches"], by_name)

    @cached_property
    def by_connection(self) -> dict[int, list[Row]]:
        return grouped(self.exchanges, lambda row: row["conn_id"])

    @cached_property
    def fetches(self) -> dict[tuple[int, str, int], list[Row]]:
        """Answered fetches of consumers, by connection, topic and partition."""
        rows = (
            row
            for row in self.partitions
            if row["api_key"] == 1
            and row["exchange"]["ts_resp"] is not None
            and not row["exchange"]["connection"]["inter_broker"]
        )
        return grouped(rows, lambda row: (row["conn_id"], topic_of(row), row["partition"]))

    @cached_property
    def commits(self) -> dict[tuple[str | None, str, int], list[Row]]:
        """Committed offsets, by group, topic and partition."""
        rows = (
            row
            for row in self.partitions
            if row["api_key"] == 8 and row["error_code"] == 0 and row["committed_offset"] is not None
        )
        return grouped(rows, lambda row: (row["exchange"]["group_id"], topic_of(row), row["partition"]))

    @cached_property
    def produced(self) -> list[tuple[Row, Row | None]]:
        """Batches of producers, each with the row of its partition in the same exchange."""
        verdicts = {
            (row["conn_id"], row["seq"], topic_of(row), row["partition"]): row
            for row in self.partitions
            if row["api_key"] == 0
        }
        return [
            (row, verdicts.get((row["conn_id"], row["seq"], row["topic"], row["partition"])))
            for row in self.batches
            if row["source"] == "request"
        ]

    @cached_property
    def transactions(self) -> list[Transaction]:
        """The transactions of producers, by their beginning."""
        return follow(self.exchanges, self.partitions, self.batches)

    @cached_property
    def _by_exchange(self) -> dict[tuple[int, int], list[Row]]:
        return grouped(self.partitions, lambda row: (row["conn_id"], row["seq"]))

    def of_exchange(self, exchange: Row) -> list[Row]:
        """The partitions of an exchange."""
        return self._by_exchange.get((exchange["conn_id"], exchange["seq"]), [])

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
    return exchange["connection"]["client"].rpartition(":")[0], exchange["client_id"]


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
    plain = [
        table[field.name].cast(pa.int64()) if pa.types.is_timestamp(field.type) else table[field.name]
        for field in table.schema
    ]
    names = table.schema.names
    columns = [repeat(None, len(table)) if each.null_count == len(table) else each.to_pylist() for each in plain]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _joined(table: pa.Table, exchanges: Mapping[tuple[int, int], Row]) -> list[Row]:
    found = []
    for row in _rows(table):
        exchange = row["exchange"] = exchanges.get((row["conn_id"], row["seq"]))
        if exchange is not None:
            found.append((when(exchange), row))
    return [row for _, row in sorted(found, key=itemgetter(0))]
