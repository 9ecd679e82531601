"""Collects the rows of partitions that are read without objects, as columns.

Rules:
- `read` reads what it can of some exchanges. The reference reads the others, and `join` puts their rows between these.
- Rows are in the order of connections, as they were read, then of exchanges, then as the reference makes them.
- Names of topics are numbers until the columns are made, in runs of some thousands of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from kafkawire import _native as implementation
from kafkawire.inspect._tables import partition_columns as reference
from kafkawire.inspect._tables.body_programs import NULL
from kafkawire.inspect._tables.partition_columns import ROW
from kafkawire.inspect._tables.partition_programs import VALUES, division_program
from kafkawire.inspect._tables.rows import RUN
from kafkawire.inspect._tables.schemas import EXCHANGE_PARTITIONS
from kafkawire.inspect._tables.topics import show_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect._tables.exchanges import Conversation
    from kafkawire.inspect._tables.topics import TopicNames

_native = implementation.load("kafkawire.inspect._tables._partition_columns", reference.__name__)
_BATCHES: Final = ROW.index("batches")
_EXCHANGE, _NAME, _ID, _PARTITION = range(4)


class Records(NamedTuple):
    """Records of a message."""

    source: str
    topic: str | None
    partition: int
    data: memoryview
    row: int


class PartitionRows:
    """Rows of partitions of connections, one after the other."""

    def __init__(self, names: TopicNames) -> None:
        self._topics = names
        self._names: dict[bytes, int] = {}
        self._ids: dict[bytes, int] = {}
        self._blocks: list[NDArray[np.int64]] = []
        self._waiting = 0
        self._runs: list[pa.RecordBatch] = []

    def read(self, talk: Conversation, wanted: NDArray[np.bool_], first: int, last: int) -> dict[int, list[Records]]:
        """Read those wanted of the exchanges from `first` to before `last`; returns those read, with their records.

        The caller counts the batches of the records, and calls `count` with their number.
        """
        requests, responses, matches = talk.connection.requests, talk.connection.responses, talk.matches
        part = slice(first, last)
        raw, carried, done = _native.read_partitions(
            *(requests, responses, matches.request[part], matches.response[part], wanted[part].view(np.uint8)),
            *(division_program, self._names, self._ids),
        )
        found: dict[int, list[Records]] = {first + index: [] for index in done}
        rows = np.array(np.frombuffer(raw, np.int64)).reshape(-1, len(ROW))
        if not len(rows):
            return found
        block = np.empty((len(rows), len(ROW) + 2), np.int64)
        block[:, : len(ROW)] = rows
        block[:, _EXCHANGE] += talk.first + first
        block[:, -2] = talk.conn_id
        asked = matches.request[part][rows[:, _EXCHANGE]]
        block[:, -1] = requests.api_key[asked]
        texts, ids = [*self._names], [*self._ids]
        for row, is_response, data in carried:
            index, name, topic_id, partition = rows[row, :4].tolist()
            topic = self._topics.name(str(texts[name], "utf-8", "replace"), UUID(bytes=ids[topic_id]))
            source = "response" if is_response else "request"
            found[first + index].append(Records(source, topic, partition, memoryview(data), row))
        self._blocks.append(block)
        self._waiting += len(block)
        return found

    def count(self, row: int, batches: int) -> None:
        """Set the number of batches of a row that the last call of `read` made."""
        self._blocks[-1][row, _BATCHES] = batches

    def flush(self) -> None:
        """Make columns of the rows, if they are many."""
        if self._waiting >= RUN:
            self._flush()

    def join(self, others: pa.Table, order: Sequence[int]) -> pa.Table:
        """All rows, with those of the reference; `order` has the connections as they were read."""
        self._flush()
        runs, self._runs = self._runs, []
        if not runs:
            return others
        rows = pa.concat_tables([pa.Table.from_batches(runs), others])
        if not len(others):
            return rows
        rank = np.empty(max(order, default=0) + 1, np.int64)
        rank[list(order)] = np.arange(len(order))
        places = np.lexsort((np.asarray(rows["seq"]), rank[np.asarray(rows["conn_id"])]))
        return rows.take(places)

    def _flush(self) -> None:
        if self._waiting:
            block = np.concatenate(self._blocks)
            self._blocks, self._waiting = [], 0
            self._runs.append(self._columns(block))
            self._names.clear()
            self._ids.clear()

    def _columns(self, block: NDArray[np.int64]) -> pa.RecordBatch:
        names = [str(each, "utf-8", "replace") or None for each in self._names]
        ids = [UUID(bytes=each) for each in self._ids]
        known = pa.array([*names, *(self._topics.name(None, each) for each in ids)], pa.string())
        is_named = np.array([each is not None for each in names], np.bool_)[block[:, _NAME]]
        topics = known.take(np.where(is_named, block[:, _NAME], len(names) + block[:, _ID]))
        made: dict[str, pa.Array[Any]] = {
            "conn_id": pa.array(block[:, -2]),
            "seq": pa.array(block[:, _EXCHANGE]),
            "api_key": pa.array(block[:, -1]),
            "topic": topics,
            "topic_id": pa.array([show_id(each) for each in ids], pa.string()).take(
                np.ascontiguousarray(block[:, _ID])
            ),
            "partition": pa.array(block[:, _PARTITION]),
        }
        for at, name in enumerate(VALUES, _PARTITION + 1):
            column = block[:, at]
            absent = column == NULL
            kind = EXCHANGE_PARTITIONS.field(name).type
            made[name] = pa.nulls(len(block), kind) if absent.all() else pa.array(column, mask=absent)
        arrays = [
            made[field.name].cast(field.type) if field.name in made else pa.nulls(len(block), field.type)
            for field in EXCHANGE_PARTITIONS
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=EXCHANGE_PARTITIONS)
