"""Read capture files as tables, on one machine.

Rules:
- Topic names are collected from the whole run first, so that all rows of a topic id have its name.
- Connections are read one after the other, in order of appearance; fetch sessions are followed across them.
- `bodies=False` reads headers only, which is many times faster.
- Transactions are made from the other tables, because they span connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._capture.connections import open_capture, read_connections
from kafkawire.inspect._capture.files import map_file
from kafkawire.inspect._tables.batches import BatchRows, Origin, RecordRows
from kafkawire.inspect._tables.exchange_bodies import (
    FETCH,
    ExchangeMessages,
    body_columns,
    read_messages,
    read_request,
    read_response,
    read_session_response,
)
from kafkawire.inspect._tables.exchange_columns import BODY_COLUMNS, ExchangeColumns, Known, Repeats
from kafkawire.inspect._tables.exchanges import (
    Conversation,
    connections_table,
    exchanges_table,
    gaps_table,
    payload_sizes,
)
from kafkawire.inspect._tables.old_names import checked_columns, selected
from kafkawire.inspect._tables.partition_rows import PartitionRows
from kafkawire.inspect._tables.partitions import APIS_OF_PARTITIONS, partition_rows, records_by_partition
from kafkawire.inspect._tables.rows import Block, PlacedRows, Rows
from kafkawire.inspect._tables.schemas import CONNECTIONS, EXCHANGE_PARTITIONS, EXCHANGES
from kafkawire.inspect._tables.topics import TOPIC_ID_APIS, TopicNames, show_id
from kafkawire.wire.fetch_sessions import FIRST_VERSION, ObservedSession, ObservedSessions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from kafkawire.inspect._tables.partition_rows import Records

_RUN_BYTES: Final = 4 << 20
_SUMMARY_COLUMNS = ("undecoded", "software_name", "software_version", "inter_broker")
SUMMARIES = pa.schema(
    [CONNECTIONS.field("conn_id"), EXCHANGES.field("seq"), *(CONNECTIONS.field(name) for name in _SUMMARY_COLUMNS)]
)
"""The columns of a connection that come from the bodies of some of its exchanges."""


@dataclass(slots=True)
class Reading:
    """The result of a read: tables, conversations, and the faults of the files."""

    tables: dict[str, pa.Table]
    conversations: list[Conversation]
    faults: list[str]
    packets: int = 0
    files: int = 0
    topics: TopicNames = field(default_factory=TopicNames)


def read_captures(
    paths: Iterable[str | Path],
    *,
    ports: Collection[int] | None = None,
    bodies: bool = True,
    partitions: bool = True,
    transactions: bool = True,
    records: bool = False,
    values: bool = False,
    topics: TopicNames | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[int], None] | None = None,
    first_bytes: int | None = None,
) -> Reading:
    """Read capture files as tables; `progress` is called with the number of exchanges whose bodies were read.

    With `ports`, only connections that use one of them are read. Without `bodies`, only headers are decoded. Without
    `partitions`, the tables of partitions, batches and transactions are left out, which is many times faster; without
    `transactions`, only the last of them. Records and their values are read on request. `topics` has the names of
    topics that are known by id. `columns` selects columns by table; it accepts names of before 0.2, with a
    DeprecationWarning. `first_bytes` reads only the start of each file.

    >>> sorted(read_captures([], bodies=False).tables)
    ['connections', 'exchanges', 'gaps']
    """
    if columns:
        checked_columns(columns)
    mapped = cache(lambda path: map_file(path)[:first_bytes])
    gathered = read_connections(
        [str(path) for path in paths], lambda path: open_capture(path, ports=ports, mapped=mapped)
    )
    conversations = [found.talk for found in gathered.found]
    faults = [f"{file.path}: {fault}" for file in gathered.files for fault in file.faults]
    packets, files = sum(file.packets for file in gathered.files), len(gathered.files)
    names = topics or TopicNames()
    if bodies:
        if partitions:
            learn_topics(names, conversations)
        tables = read_tables(
            conversations, names, partitions=partitions, records=records, values=values, progress=progress
        )
        if partitions and transactions:
            from kafkawire.inspect._transactions.tables import traffic_table  # Evidence takes long to import

            tables["transactions"] = traffic_table(tables)
    else:
        tables = header_tables(conversations)
    if columns:
        tables = selected(tables, columns)
    return Reading(tables, conversations, faults, packets, files, names)


def header_tables(conversations: Sequence[Conversation]) -> dict[str, pa.Table]:
    """The tables with the columns of headers and packets."""
    return {
        "connections": connections_table(conversations),
        "gaps": gaps_table(conversations),
        "exchanges": exchanges_table(conversations),
    }


def read_tables(
    conversations: Sequence[Conversation],
    names: TopicNames,
    *,
    partitions: bool = True,
    records: bool = False,
    values: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, pa.Table]:
    """All tables of conversations, or without `partitions` those of connections, exchanges and gaps.

    `names` must already have all names of topics.
    """
    tables = header_tables(conversations)
    reader = BodyReader(names, records=records, values=values, partitions=partitions)
    for talk in conversations:
        reader.read(talk)
        if progress is not None:
            progress(len(talk))
    tables |= reader.tables(tables["exchanges"])
    tables["connections"] = with_summaries(tables["connections"], tables.pop("summaries"))
    if not partitions:
        del tables["exchange_partitions"], tables["batches"]
    return tables


def learn_topics(names: TopicNames, conversations: Iterable[Conversation]) -> None:
    """Collect topic ids from all responses that contain some; repeated responses are skipped."""
    known: set[tuple[int, int, int]] = set()
    for talk in conversations:
        requests, responses = talk.connection.requests, talk.connection.responses
        for index in _exchanges_of(talk, TOPIC_ID_APIS):
            asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
            if answered < 0 or not responses.whole[answered]:
                continue
            body = bytes(responses.read(answered)[4:])
            content = (int(requests.api_key[asked]), int(requests.version[asked]), hash(body))
            if content not in known:
                known.add(content)
                names.learn(read_response(talk, index))


def follow_fetches(sessions: ObservedSessions, talk: Conversation, first: int, last: int) -> None:
    """Follow the sessions of a range of exchanges, by requests and the starts of responses."""
    for index in _exchanges_of(talk, {FETCH: FIRST_VERSION}, first, last):
        request = read_request(talk, index)
        if request is not None:
            sessions.follow(talk.connection.broker, request, read_session_response(talk, index))


def _exchanges_of(talk: Conversation, wanted: Mapping[int, int], first: int = 0, last: int | None = None) -> list[int]:
    """The exchanges of some APIs, each from a first version on."""
    requests, asked = talk.connection.requests, talk.matches.request[first:last]
    if not len(requests):
        return []
    keys, versions = requests.api_key[asked], requests.version[asked]
    fits = np.zeros(len(asked), np.bool_)
    for key, version in wanted.items():
        fits |= (keys == key) & (versions >= version)
    found: list[int] = (np.flatnonzero(fits & (asked >= 0)) + first).tolist()
    return found


def _stretches(talk: Conversation) -> list[int]:
    """The ends of runs of exchanges that have some MiB, because the records of a run are in memory at once."""
    runs = np.cumsum(payload_sizes(talk)) // _RUN_BYTES
    return [*(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(talk)]


def with_summaries(connections: pa.Table, summaries: pa.Table) -> pa.Table:
    """Connections with the columns of bodies; both tables have the same order."""
    for name in _SUMMARY_COLUMNS:
        place = connections.schema.get_field_index(name)
        connections = connections.set_column(place, CONNECTIONS.field(name), summaries[name])
    return connections


def _with_undecoded(exchanges: pa.Table) -> pa.Table:
    """Set the state `undecoded` of matched exchanges whose bodies could not be decoded."""
    unread = pc.and_(pc.is_valid(exchanges["fault"]), pc.equal(exchanges["state"], pa.scalar("matched")))
    place = exchanges.schema.get_field_index("state")
    return exchanges.set_column(
        place, EXCHANGES.field("state"), pc.if_else(unread, pa.scalar("undecoded"), exchanges["state"])
    )


class BodyReader:
    """Decodes exchanges and collects the rows of their bodies; without `partitions`, only those of exchanges."""

    def __init__(self, names: TopicNames, *, records: bool, values: bool, partitions: bool = True) -> None:
        self._names = names
        self.sessions = ObservedSessions()
        self._divided, self._wanted = partitions, records or values
        self._summary: dict[str, object] = {}
        self._columns, self._repeats = ExchangeColumns(), Repeats()
        self._summaries = Rows(SUMMARIES)
        self._partitions, self._batches = PlacedRows(EXCHANGE_PARTITIONS, ("conn_id", "seq")), BatchRows()
        self._simple = PartitionRows(names)
        self._order: dict[int, None] = {}
        self._records = RecordRows(values=values)

    def read(self, talk: Conversation) -> None:
        """Decode every exchange of a connection, or of a share of one."""
        self.begin(talk)
        self.read_run(talk)
        self.end()

    def begin(self, talk: Conversation) -> None:
        """Begin a connection, or a share of one, whose exchanges come in runs."""
        self._summary = {"conn_id": talk.conn_id, "seq": talk.first, "undecoded": 0, "inter_broker": False}

    def read_run(self, talk: Conversation) -> None:
        """Decode the next exchanges."""
        left, by_broker = self._columns.read(talk)
        if by_broker:
            self._summary["inter_broker"] = True
        self._order[talk.conn_id] = None
        wanted = set(left)
        dividable = _exchanges_of(talk, APIS_OF_PARTITIONS) if self._divided else []
        chosen = np.zeros(len(talk), np.bool_)
        chosen[[index for index in dividable if index not in wanted]] = True
        simple: Mapping[int, list[Records]] = {}
        edges = iter(_stretches(talk) if chosen.any() else ())
        reached = 0
        for index in sorted(wanted.union(dividable)):
            while chosen[index] and index >= reached:
                first, reached = reached, next(edges)
                simple = self._simple.read(talk, chosen, first, reached)
            if index in simple:
                for each in simple[index]:
                    key = (each.source, each.topic, each.partition)
                    self._simple.count(each.row, self._carried(talk, index, *key, each.data))
                continue
            row = self._read(talk, index, with_columns=index in wanted)
            if index in wanted:
                self._columns.put(index, row)
        self._simple.flush()

    def _read(self, talk: Conversation, index: int, *, with_columns: bool) -> Mapping[str, Any]:
        """Decode an exchange as objects, and add its rows to the other tables; `with_columns` is its own row."""
        key = self._repeats.key(talk, index, len(self._names.names))
        known = None if key is None else self._repeats.find(key)
        if known is None or (with_columns and not known.row):
            messages = read_messages(talk, index)
            row: dict[str, Any] = {}
            if with_columns:
                row = body_columns(messages.request, messages.response)
                row["fault"], row["trailing_bytes"] = messages.fault, messages.trailing
            known = Known(messages, row, Block(self._partition_rows(talk, index, messages, row)))
            if key is not None:
                self._repeats.add(key, known)
        self._partitions.add(known.partitions, talk.conn_id, talk.first + index)
        self._summarise(self._summary, known.messages, known.row)
        return known.row

    def end(self) -> None:
        """End the connection or share, and add its summary."""
        self._summaries.add(self._summary)

    def tables(self, exchanges: pa.Table) -> dict[str, pa.Table]:
        """The exchanges with the columns of bodies, and the other tables, since the last call."""
        columns = self._columns.take()
        for name in BODY_COLUMNS:
            place = exchanges.schema.get_field_index(name)
            exchanges = exchanges.set_column(place, EXCHANGES.field(name), columns[name])
        tables = {
            "exchanges": _with_undecoded(exchanges),
            "exchange_partitions": self._simple.join(self._partitions.take(), [*self._order]),
            "batches": self._batches.take(),
            "summaries": self._summaries.take(),
        }
        self._order.clear()
        return tables | ({"records": self._records.take()} if self._wanted else {})

    def _partition_rows(
        self, talk: Conversation, index: int, messages: ExchangeMessages, row: dict[str, object]
    ) -> list[dict[str, Any]]:
        """The rows of the partitions of an exchange, without the name of the exchange."""
        if messages.request is None and messages.response is None:
            return []
        session = self._session(talk, index, messages, row)
        if not self._divided:
            return []
        rows = partition_rows(messages.request, messages.response, session)
        carried = {
            key: self._carried(talk, index, source, self._names.name(*key[:2]), key[2], data)
            for source, message in (("request", messages.request), ("response", messages.response))
            for key, data in records_by_partition(message)
        }
        api_key = int(talk.connection.requests.api_key[talk.matches.request[index]])
        for (name, topic_id, partition), columns in rows.items():
            columns["api_key"], columns["partition"] = api_key, partition
            columns["topic"], columns["topic_id"] = self._names.name(name, topic_id), show_id(topic_id)
            columns["batches"] = carried.get((name, topic_id, partition))
        return list(rows.values())

    def _session(
        self, talk: Conversation, index: int, messages: ExchangeMessages, row: dict[str, object]
    ) -> ObservedSession | None:
        if messages.request is None or type(messages.request).__name__ != "FetchRequest":
            return None
        session = self.sessions.follow(talk.connection.broker, messages.request, read_session_response(talk, index))
        row["session_size"] = len(session.partitions) if session.complete else None
        return session

    def _carried(
        self, talk: Conversation, index: int, source: str, topic: str | None, partition: int, data: memoryview
    ) -> int:
        seq = talk.first + index
        origin = Origin(source, f"{talk.conn_id}/{seq}", talk.conn_id, seq, topic, partition)
        count = self._batches.add_all(origin, data)
        if self._wanted:
            self._records.unpack(origin, data)
        return count

    def _summarise(self, summary: dict[str, Any], messages: ExchangeMessages, row: dict[str, Any]) -> None:
        if messages.fault is not None:
            summary["undecoded"] += 1
        if type(messages.request).__name__ == "ApiVersionsRequest":
            for column in ("software_name", "software_version"):
                value = getattr(messages.request, f"client_{column}", None)
                if value and column not in summary:
                    summary[column] = value
        if (row.get("replica_id") or -1) >= 0 and type(messages.request).__name__ == "FetchRequest":
            summary["inter_broker"] = True
