"""From capture files to tables: the whole way, on one machine.

Rules:
- Topic names are learned from the whole run first, so that an id which is named late is named everywhere.
- Connections are read one after the other, in order of appearance; fetch sessions are followed across them.
- Files that were rotated are one capture: a connection that goes on in another file is read as one.
- `bodies=False` stops at what headers tell, which is many times faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect.batch_rows import Origin, add_batches, add_records
from kafkawire.inspect.contents import Contents, read_contents
from kafkawire.inspect.details import details
from kafkawire.inspect.exchanges import Conversation, connections_table, converse, exchanges_table, gaps_table
from kafkawire.inspect.partitions import partition_rows, records_by_partition
from kafkawire.inspect.rows import Rows
from kafkawire.inspect.sessions import FetchSessions, Session
from kafkawire.inspect.sources.captures import Capture, connection_of, open_capture
from kafkawire.inspect.sources.rotation import Piece, Place, edges_of, find_continuations, join, take_piece
from kafkawire.inspect.tables import BATCHES, CONNECTIONS, EXCHANGE_PARTITIONS, EXCHANGES, RECORDS
from kafkawire.inspect.topics import TELLING, TopicNames, show_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

_BODY_COLUMNS = EXCHANGES.names[EXCHANGES.get_field_index("throttle_ms") :]
_CONNECTION_COLUMNS = ("undecoded", "software_name", "software_version", "inter_broker")


@dataclass(slots=True)
class Reading:
    """What was read of a run: its tables, the conversations behind them, and what the files had wrong with them."""

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
    records: bool = False,
    values: bool = False,
    topics: TopicNames | None = None,
    progress: Callable[[int], None] | None = None,
) -> Reading:
    """The tables of capture files; `progress` is told of exchanges as their bodies are read.

    With `ports`, only connections that use one of them are read; without `bodies`, only what headers tell. Records, and
    their values, are left out unless they are asked for. `topics` has the names of topics that are known by id.

    >>> sorted(read_captures([], bodies=False).tables)
    ['connections', 'exchanges', 'gaps']
    """
    captures = [open_capture(path, ports=ports) for path in paths]
    faults = [f"{capture.path}: {fault}" for capture in captures for fault in capture.faults]
    packets, files = sum(len(capture.packets) for capture in captures), len(captures)
    conversations = _all_conversations(captures)
    del captures
    names = topics or TopicNames()
    if bodies:
        learn_topics(names, conversations)
        tables = read_tables(conversations, names, records=records, values=values, progress=progress)
    else:
        tables = header_tables(conversations)
    return Reading(tables, conversations, faults, packets, files, names)


def header_tables(conversations: Sequence[Conversation]) -> dict[str, pa.Table]:
    """The tables that headers and packets alone fill."""
    return {
        "connections": connections_table(conversations),
        "gaps": gaps_table(conversations),
        "exchanges": exchanges_table(conversations),
    }


def read_tables(
    conversations: Sequence[Conversation],
    names: TopicNames,
    *,
    records: bool = False,
    values: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, pa.Table]:
    """All tables of conversations, whose topic ids are known by name as far as they will be."""
    tables = header_tables(conversations)
    reader = BodyReader(names, records=records, values=values)
    for talk in conversations:
        reader.read(talk)
        if progress is not None:
            progress(len(talk))
    return tables | reader.tables(tables["connections"], tables["exchanges"])


def _all_conversations(captures: Sequence[Capture]) -> list[Conversation]:
    """The connections of captures that were opened together."""
    if len(captures) == 1:
        return read_conversations(captures[0])
    chains = find_continuations([edges_of(each) for each in captures])
    later = {place for places in chains.values() for place in places}
    found: list[Conversation] = []
    first_id = 0
    for file, capture in enumerate(captures):
        for number, flow in enumerate(capture.flows):
            here = Place(file, number)
            if here in later:
                continue
            piece = Piece(capture.data, capture.packets, flow)
            if here in chains:
                piece = join([take_piece(captures[place.file], place.number) for place in (here, *chains[here])])
            found.append(converse(connection_of(*piece, number), file=capture.path, first_id=first_id))
        first_id += len(capture.flows)
    return found


def read_conversations(capture: Capture, *, first_id: int = 0) -> list[Conversation]:
    """The connections of a capture with their exchanges matched."""
    return [converse(each, file=capture.path, first_id=first_id) for each in capture.connections()]


def learn_topics(names: TopicNames, conversations: Sequence[Conversation]) -> None:
    """Take the topic ids of every response that tells some."""
    for talk in conversations:
        keys = talk.connection.requests.api_key
        for index, asked in enumerate(talk.matches.request.tolist()):
            if asked >= 0 and keys[asked] in TELLING:
                names.learn(read_contents(talk, index).response)


def _with_undecoded(exchanges: pa.Table) -> pa.Table:
    """Exchanges that matched, but whose bodies could not be read, are in the state undecoded."""
    unread = pc.and_(pc.is_valid(exchanges["fault"]), pc.equal(exchanges["state"], pa.scalar("matched")))
    place = exchanges.schema.get_field_index("state")
    return exchanges.set_column(
        place, EXCHANGES.field("state"), pc.if_else(unread, pa.scalar("undecoded"), exchanges["state"])
    )


class BodyReader:
    """Decodes exchanges and collects what their bodies tell; without `partitions`, of exchanges as wholes only."""

    def __init__(self, names: TopicNames, *, records: bool, values: bool, partitions: bool = True) -> None:
        self._names = names
        self._sessions = FetchSessions()
        self._divided, self._wanted, self._values = partitions, records or values, values
        self._summary: dict[str, object] = {}
        self._exchanges = Rows(pa.schema([EXCHANGES.field(name) for name in _BODY_COLUMNS]))
        self._connections = Rows(pa.schema([CONNECTIONS.field(name) for name in _CONNECTION_COLUMNS]))
        self._partitions, self._batches, self._records = Rows(EXCHANGE_PARTITIONS), Rows(BATCHES), Rows(RECORDS)

    def read(self, talk: Conversation) -> None:
        """Decode every exchange of a connection."""
        self.read_run(talk, 0, len(talk))

    def read_run(self, talk: Conversation, first: int, last: int) -> None:
        """Decode the exchanges from one to before another; runs follow each other from 0 to the connection's end."""
        if first == 0:
            self._summary = {"undecoded": 0, "inter_broker": False}
        for index in range(first, last):
            contents = read_contents(talk, index)
            row = details(contents.request, contents.response)
            row["fault"] = contents.fault
            self._partition_rows(talk, index, contents, row)
            self._exchanges.add(row)
            self._summarise(self._summary, contents, row)
        if last == len(talk):
            self._connections.add(self._summary)

    def tables(self, connections: pa.Table, exchanges: pa.Table) -> dict[str, pa.Table]:
        """The tables that header tables become with what bodies told since this was last asked."""
        told, known = self._exchanges.take(), self._connections.take()
        for name in _BODY_COLUMNS:
            place = exchanges.schema.get_field_index(name)
            exchanges = exchanges.set_column(place, EXCHANGES.field(name), told[name])
        exchanges = _with_undecoded(exchanges)
        for name in _CONNECTION_COLUMNS:
            place = connections.schema.get_field_index(name)
            connections = connections.set_column(place, CONNECTIONS.field(name), known[name])
        tables = {
            "connections": connections,
            "exchanges": exchanges,
            "exchange_partitions": self._partitions.take(),
            "batches": self._batches.take(),
        }
        return tables | ({"records": self._records.take()} if self._wanted else {})

    def _partition_rows(self, talk: Conversation, index: int, contents: Contents, row: dict[str, object]) -> None:
        if contents.request is None and contents.response is None:
            return
        session = self._session(talk, contents, row)
        if not self._divided:
            return
        rows = partition_rows(contents.request, contents.response, session)
        carried = {
            key: self._carried(talk, index, source, key, data)
            for source, message in (("request", contents.request), ("response", contents.response))
            for key, data in records_by_partition(message)
        }
        key_of_api = talk.connection.requests.api_key[talk.matches.request[index]]
        for (name, topic_id, partition), columns in rows.items():
            columns |= {
                "conn_id": talk.conn_id,
                "seq": index,
                "api_key": int(key_of_api),
                "topic": self._names.name(name, topic_id),
                "topic_id": show_id(topic_id),
                "partition": partition,
                "batches": carried.get((name, topic_id, partition)),
            }
            self._partitions.add(columns)

    def _session(self, talk: Conversation, contents: Contents, row: dict[str, object]) -> Session | None:
        if contents.request is None or type(contents.request).__name__ != "FetchRequest":
            return None
        session = self._sessions.follow(talk.connection.broker, contents.request, contents.response)
        row["session_size"] = len(session.partitions) if session.complete else None
        return session

    def _carried(self, talk: Conversation, index: int, source: str, key: Any, data: memoryview) -> int:
        name, topic_id, partition = key
        topic = self._names.name(name, topic_id)
        origin = Origin(source, f"{talk.conn_id}/{index}", talk.conn_id, index, topic, partition)
        count, _ = add_batches(self._batches, origin, data)
        if self._wanted:
            add_records(self._records, origin, data, values=self._values)
        return count

    def _summarise(self, summary: dict[str, Any], contents: Contents, row: dict[str, Any]) -> None:
        if contents.fault is not None:
            summary["undecoded"] += 1
        if type(contents.request).__name__ == "ApiVersionsRequest":
            summary["software_name"] = getattr(contents.request, "client_software_name", None) or None
            summary["software_version"] = getattr(contents.request, "client_software_version", None) or None
        if (row.get("replica_id") or -1) >= 0 and type(contents.request).__name__ == "FetchRequest":
            summary["inter_broker"] = True
