"""From capture files to tables: the whole way, on one machine.

Rules:
- Topic names are learned from the whole run first, so that an id which is named late is named everywhere.
- Connections are read one after the other, in order of appearance; fetch sessions are followed across them.
- `bodies=False` stops at what headers tell, which is many times faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect.batch_rows import Origin, RecordRows, add_batches
from kafkawire.inspect.contents import Contents, read_contents, read_request, read_response
from kafkawire.inspect.conversations import gather_conversations
from kafkawire.inspect.details import details
from kafkawire.inspect.exchanges import Conversation, connections_table, exchanges_table, gaps_table
from kafkawire.inspect.partitions import partition_rows, records_by_partition
from kafkawire.inspect.rows import Rows
from kafkawire.inspect.sessions import FETCH, FIRST_VERSION, FetchSessions, Session, read_answer
from kafkawire.inspect.sources.captures import open_capture
from kafkawire.inspect.sources.files import map_file
from kafkawire.inspect.tables import BATCHES, CONNECTIONS, EXCHANGE_PARTITIONS, EXCHANGES
from kafkawire.inspect.topics import TELLING, TopicNames, show_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

_BODY_COLUMNS = EXCHANGES.names[EXCHANGES.get_field_index("throttle_ms") :]
_SUMMARY_COLUMNS = ("undecoded", "software_name", "software_version", "inter_broker")
SUMMARIES = pa.schema(
    [CONNECTIONS.field("conn_id"), EXCHANGES.field("seq"), *(CONNECTIONS.field(name) for name in _SUMMARY_COLUMNS)]
)
"""What the bodies of some exchanges of a connection, from one on, tell of it."""


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
    mapped = cache(map_file)
    gathered = gather_conversations(
        [str(path) for path in paths], lambda path: open_capture(path, ports=ports, mapped=mapped)
    )
    conversations = [found.talk for found in gathered.found]
    faults = [f"{file.path}: {fault}" for file in gathered.files for fault in file.faults]
    packets, files = sum(file.packets for file in gathered.files), len(gathered.files)
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
    tables |= reader.tables(tables["exchanges"])
    tables["connections"] = with_summaries(tables["connections"], tables.pop("summaries"))
    return tables


def learn_topics(names: TopicNames, conversations: Iterable[Conversation]) -> None:
    """Take the topic ids of every response that tells some; what was told before is not read again."""
    known: set[tuple[int, int, int]] = set()
    for talk in conversations:
        requests, responses = talk.connection.requests, talk.connection.responses
        for index in _exchanges_of(talk, TELLING):
            asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
            if answered < 0 or not responses.whole[answered]:
                continue
            body = bytes(responses.read(answered)[4:])
            told = (int(requests.api_key[asked]), int(requests.version[asked]), hash(body))
            if told not in known:
                known.add(told)
                names.learn(read_response(talk, index))


def follow_fetches(sessions: FetchSessions, talk: Conversation, first: int, last: int) -> None:
    """Follow the sessions of the exchanges from one to before another, by requests and the starts of responses."""
    for index in _exchanges_of(talk, {FETCH: FIRST_VERSION}, first, last):
        request = read_request(talk, index)
        if request is not None:
            sessions.follow(talk.connection.broker, request, read_answer(talk, index))


def _exchanges_of(talk: Conversation, wanted: Mapping[int, int], first: int = 0, last: int | None = None) -> list[int]:
    """The exchanges of APIs, from a version of each on."""
    requests, asked = talk.connection.requests, talk.matches.request[first:last]
    if not len(requests):
        return []
    keys, versions = requests.api_key[asked], requests.version[asked]
    fits = np.zeros(len(asked), np.bool_)
    for key, version in wanted.items():
        fits |= (keys == key) & (versions >= version)
    found: list[int] = (np.flatnonzero(fits & (asked >= 0)) + first).tolist()
    return found


def with_summaries(connections: pa.Table, summaries: pa.Table) -> pa.Table:
    """Connections with what the bodies of each tell, in the same order."""
    for name in _SUMMARY_COLUMNS:
        place = connections.schema.get_field_index(name)
        connections = connections.set_column(place, CONNECTIONS.field(name), summaries[name])
    return connections


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
        self.sessions = FetchSessions()
        self._divided, self._wanted = partitions, records or values
        self._summary: dict[str, object] = {}
        self._exchanges = Rows(pa.schema([EXCHANGES.field(name) for name in _BODY_COLUMNS]))
        self._summaries = Rows(SUMMARIES)
        self._partitions, self._batches = Rows(EXCHANGE_PARTITIONS), Rows(BATCHES)
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
        for index in range(len(talk)):
            contents = read_contents(talk, index)
            row = details(contents.request, contents.response)
            row["fault"] = contents.fault
            self._partition_rows(talk, index, contents, row)
            self._exchanges.add(row)
            self._summarise(self._summary, contents, row)

    def end(self) -> None:
        """End what was begun: what its bodies tell of it as a whole is known."""
        self._summaries.add(self._summary)

    def tables(self, exchanges: pa.Table) -> dict[str, pa.Table]:
        """The exchanges with what bodies told since this was last asked, and the other tables."""
        told = self._exchanges.take()
        for name in _BODY_COLUMNS:
            place = exchanges.schema.get_field_index(name)
            exchanges = exchanges.set_column(place, EXCHANGES.field(name), told[name])
        tables = {
            "exchanges": _with_undecoded(exchanges),
            "exchange_partitions": self._partitions.take(),
            "batches": self._batches.take(),
            "summaries": self._summaries.take(),
        }
        return tables | ({"records": self._records.take()} if self._wanted else {})

    def _partition_rows(self, talk: Conversation, index: int, contents: Contents, row: dict[str, object]) -> None:
        if contents.request is None and contents.response is None:
            return
        session = self._session(talk, index, contents, row)
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
                "seq": talk.first + index,
                "api_key": int(key_of_api),
                "topic": self._names.name(name, topic_id),
                "topic_id": show_id(topic_id),
                "partition": partition,
                "batches": carried.get((name, topic_id, partition)),
            }
            self._partitions.add(columns)

    def _session(self, talk: Conversation, index: int, contents: Contents, row: dict[str, object]) -> Session | None:
        if contents.request is None or type(contents.request).__name__ != "FetchRequest":
            return None
        session = self.sessions.follow(talk.connection.broker, contents.request, read_answer(talk, index))
        row["session_size"] = len(session.partitions) if session.complete else None
        return session

    def _carried(self, talk: Conversation, index: int, source: str, key: Any, data: memoryview) -> int:
        name, topic_id, partition = key
        topic = self._names.name(name, topic_id)
        seq = talk.first + index
        origin = Origin(source, f"{talk.conn_id}/{seq}", talk.conn_id, seq, topic, partition)
        count, _ = add_batches(self._batches, origin, data)
        if self._wanted:
            self._records.unpack(origin, data)
        return count

    def _summarise(self, summary: dict[str, Any], contents: Contents, row: dict[str, Any]) -> None:
        if contents.fault is not None:
            summary["undecoded"] += 1
        if type(contents.request).__name__ == "ApiVersionsRequest":
            for column in ("software_name", "software_version"):
                told = getattr(contents.request, f"client_{column}", None)
                if told and column not in summary:
                    summary[column] = told
        if (row.get("replica_id") or -1) >= 0 and type(contents.request).__name__ == "FetchRequest":
            summary["inter_broker"] = True
