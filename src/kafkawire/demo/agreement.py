"""Whether views of the same records agree, record by record.

Rules:
- A record is named by topic, partition and offset. A view agrees with the reference when each of its records is one of
  the reference's, equal in every column that the view tells, and none is missing.
- A view may see a record more than once where that is its nature: on the wire, records are sent again and fetched by
  many. Each sight must be equal.
- A column that a view cannot know is named, with the topics where it cannot; it is never compared loosely.
- No headers and an empty list of headers are the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from kafkawire.demo.clients import Place
    from kafkawire.demo.events import Event

PLACE: Final = ("topic", "partition", "offset")
CONTENT: Final = ("timestamp", "key", "value", "headers")
_TIME: Final[pa.DataType] = pa.timestamp("us", "UTC")
_MILLISECOND: Final = 1000
_PRODUCE: Final = 0


@dataclass(frozen=True)
class Agreement:
    """How a view compares with the reference; `difference` is None where they agree."""

    sights: int
    records: int
    difference: str | None


def compare(
    reference: pa.Table, view: pa.Table, *, untold: Mapping[str, Container[str]] | None = None, again: bool = False
) -> Agreement:
    """Hold a view against the reference.

    `untold` names columns, and the topics in which the view cannot know them; with `again` the view may see a record
    more than once.
    """
    names = _names(reference)
    known = {name: row for row, name in enumerate(names)}
    seen = _names(view)
    strangers = [name for name in seen if name not in known]
    if strangers:
        return Agreement(len(seen), 0, f"{_told(strangers[0])} is not in the topic")
    rows = [known[name] for name in seen]
    told = set(rows)
    if len(told) < len(names):
        missing = next(name for row, name in enumerate(names) if row not in told)
        return Agreement(len(seen), len(told), f"{len(names) - len(told)} are missing, first {_told(missing)}")
    if len(rows) > len(told) and not again:
        twice = next(name for number, name in enumerate(seen) if known[name] in rows[:number])
        return Agreement(len(seen), len(told), f"{_told(twice)} is there more than once")
    taken = reference.take(pa.array(rows, pa.int64()))
    for column in CONTENT:
        unknown = (untold or {}).get(column, ())
        for name, one, other in zip(seen, _values(taken[column]), _values(view[column]), strict=True):
            if one != other and name[0] not in unknown:
                return Agreement(len(seen), len(told), f"{_told(name)}: {column} is {other!r}, not {one!r}")
    return Agreement(len(seen), len(told), None)


def sent_records(sent: Iterable[tuple[Event, Place]]) -> pa.Table:
    """What clients sent, where the broker told them that it went."""
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
    """What a capture saw producers send: the broker's answer says at which offset each batch went in."""
    accepted = partitions.filter((pc.field("api_key") == _PRODUCE) & (pc.field("error_code") == 0))
    answers = accepted.select(["conn_id", "seq", "topic", "partition", "base_offset"])
    sent = records.filter(pc.field("source") == "request")
    exchange = ["conn_id", "seq", "topic", "partition"]
    # Arrow joins no lists, and records have headers: join the rows' numbers, and take the rows.
    numbered = sent.select([*exchange, "offset"]).append_column("row", pa.array(range(sent.num_rows), pa.int64()))
    joined = numbered.join(answers, exchange, join_type="inner")
    return _as_records(sent.take(joined["row"]), pc.add(joined["offset"], joined["base_offset"]))


def fetched_records(records: pa.Table) -> pa.Table:
    """What a capture saw consumers get."""
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
    times = pc.multiply(table["ts"], _MILLISECOND).cast(_TIME)
    columns = [table["topic"], table["partition"], offsets, times, table["key"], table["value"], table["headers"]]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _names(table: pa.Table) -> list[tuple[str, int, int]]:
    return list(zip(*(table[name].to_pylist() for name in PLACE), strict=True))


def _values(column: pa.ChunkedArray[Any]) -> list[Any]:
    if pa.types.is_list(column.type):
        return [[(each["key"], each["value"]) for each in headers or ()] for headers in column.to_pylist()]
    return column.to_pylist()


def _told(name: tuple[str, int, int]) -> str:
    return f"{name[0]}-{name[1]} offset {name[2]}"
