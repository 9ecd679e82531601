"""Comparison of views of the same records.

Rules:
- Topic, partition and offset identify a record. A view agrees with the reference if it has the same records, equal in
  every column of the view.
- A view of the network may have a record more than once, because records are resent and fetched by several consumers.
  All copies must be equal.
- Columns that a view cannot know are listed with their topics. All others are compared exactly.
- No headers and an empty list of headers are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from kafkawire._demo.clients import RecordPlace
    from kafkawire._demo.events import Event

PLACE: Final = ("topic", "partition", "offset")
CONTENT: Final = ("timestamp", "key", "value", "headers")
_TIME: Final[pa.DataType] = pa.timestamp("us", "UTC")
_MILLISECOND: Final = 1000
_PRODUCE: Final = 0


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison; `difference` is None if the view agrees with the reference."""

    sights: int
    records: int
    difference: str | None


def compare(
    reference: pa.Table, view: pa.Table, *, unknown: Mapping[str, Container[str]] | None = None, again: bool = False
) -> Agreement:
    """Compare a view with the reference.

    `unknown` lists columns, and the topics in which the view cannot know them. With `again` the view may have a record
    more than once.
    """
    names = _names(reference)
    known = {name: row for row, name in enumerate(names)}
    seen = _names(view)
    strangers = [name for name in seen if name not in known]
    if strangers:
        return Agreement(len(seen), 0, f"{_record_name(strangers[0])} is not in the topic")
    rows = [known[name] for name in seen]
    distinct = set(rows)
    if len(distinct) < len(names):
        missing = next(name for row, name in enumerate(names) if row not in distinct)
        return Agreement(
            len(seen), len(distinct), f"{len(names) - len(distinct)} are missing, first {_record_name(missing)}"
        )
    if len(rows) > len(distinct) and not again:
        twice = next(name for number, name in enumerate(seen) if known[name] in rows[:number])
        return Agreement(len(seen), len(distinct), f"{_record_name(twice)} is there more than once")
    taken = reference.take(pa.array(rows, pa.int64()))
    for column in CONTENT:
        unknown_in = (unknown or {}).get(column, ())
        for name, one, other in zip(seen, _values(taken[column]), _values(view[column]), strict=True):
            if one != other and name[0] not in unknown_in:
                return Agreement(len(seen), len(distinct), f"{_record_name(name)}: {column} is {other!r}, not {one!r}")
    return Agreement(len(seen), len(distinct), None)


def sent_records(sent: Iterable[tuple[Event, RecordPlace]]) -> pa.Table:
    """The records that clients sent, at the offsets that the broker returned."""
    rows = [
        {
            "topic": event.topic,
            "partition": place.partition,
            "offset": place.offset,
            "timestamp": event.timestamp * _MILLISECOND,
            "key": event.key,
            "value": event.value,
            "headers": [{"key": name, "value": content} for name, content in event.headers],
        }
        for event, place in sent
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def produced_records(records: pa.Table, partitions: pa.Table) -> pa.Table:
    """The records of Produce requests in a capture, at the offsets of the responses."""
    accepted = partitions.filter((pc.field("api_key") == _PRODUCE) & (pc.field("error_code") == 0))
    answers = accepted.select(["conn_id", "seq", "topic", "partition", "base_offset"])
    sent = records.filter(pc.field("source") == "request")
    exchange = ["conn_id", "seq", "topic", "partition"]
    # Arrow cannot join tables with lists, such as headers: join the numbers of the rows, then take the rows.
    numbered = sent.select([*exchange, "offset"]).append_column("row", pa.array(range(sent.num_rows), pa.int64()))
    joined = numbered.join(answers, exchange, join_type="inner")
    return _as_records(sent.take(joined["row"]), pc.add(joined["offset"], joined["base_offset"]))


def fetched_records(records: pa.Table) -> pa.Table:
    """The records of Fetch responses in a capture."""
    found = records.filter(pc.field("source") == "response")
    return _as_records(found, found["offset"])


_FIELDS: list[tuple[str, pa.DataType]] = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", _TIME),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
]
_SCHEMA: Final = pa.schema(_FIELDS)


def _as_records(table: pa.Table, offsets: Any) -> pa.Table:
    columns = [offsets if name == "offset" else table[name] for name in _SCHEMA.names]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _names(table: pa.Table) -> list[tuple[str, int, int]]:
    return list(zip(*(table[name].to_pylist() for name in PLACE), strict=True))


def _values(column: pa.ChunkedArray[Any]) -> list[Any]:
    if pa.types.is_list(column.type):
        return [[(each["key"], each["value"]) for each in headers or ()] for headers in column.to_pylist()]
    return column.to_pylist()


def _record_name(name: tuple[str, int, int]) -> str:
    return f"{name[0]}-{name[1]} offset {name[2]}"
