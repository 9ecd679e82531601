"""The routes of messages: search, tail, one record, the batch of a record."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from kafkawire.client import EARLIEST, LATEST, partition_of_key
from kafkawire.web._broker.listing import source_of
from kafkawire.web._broker.source import connected
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._bytes.rows import first_rows
from kafkawire.web._filter.language import Both, Compare
from kafkawire.web._server.answers import answer, stream
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import (
    body_of,
    field_in,
    number_in,
    partition_in,
    text_in,
    whole_number,
    workspace_of,
)
from kafkawire.web._server.work import events_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.client import BulkReader
    from kafkawire.web._broker.source import BrokerSource
    from kafkawire.web._filter.language import Term

LARGEST_VALUE: Final = 16 << 10
_PLACE: Final = re.compile(r"start|end|(end)?-\d{1,9}|\d{1,18}|@\d{1,16}")


async def search(request: Request) -> Response:
    """Search a topic; the answer is a stream."""
    from kafkawire.web._broker.messages import search as searched
    from kafkawire.web._filter.language import parse

    source, topic = source_of(request), request.path_params["topic"]
    body = await body_of(request)
    asked: dict[str, Any] = {
        "filter": field_in(body, "filter", str, ""),
        "limit": min(max(1, field_in(body, "limit", int, 200)), 500),
    }
    term = parse(asked["filter"])
    await connected(source)
    reader = source.reader()
    place, only = field_in(body, "from", str, "end-100"), body.get("partition")
    begin = field_in(body, "starts", dict, {})

    def find() -> None:
        asked["starts"], asked["ends"] = _span(reader, topic, place, only if isinstance(only, int) else None, begin)
        if not isinstance(only, int) and not field_in(body, "everywhere", bool, False):
            asked["keyed"] = partitions_of(term, len(asked["ends"]))

    await run_in_threadpool(find)
    return stream(events_of(request, lambda stop: searched(reader, topic, asked, stop)))


def partitions_of(term: Term | None, count: int) -> list[int]:
    """The partitions that keys of a filter belong to, by the hash of Java's partitioner and ours; none without keys."""
    terms = term.terms if isinstance(term, Both) else (term,)
    for each in terms:
        if isinstance(each, Compare) and each.field.lower() == "key" and each.operator in ("=", "in"):
            keys = [text for text in each.values if each.operator == "in" or text != "null"]
            return sorted({partition_of_key(key.encode(), count) for key in keys})
    return []


def _span(
    reader: BulkReader, topic: str, place: str, only: int | None, begin: dict[str, Any]
) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset to read in each partition, and the one to stop at."""
    if not _PLACE.fullmatch(place):
        raise Problem(
            f"from: expected start, end-100, an offset, or @ and milliseconds, found {place[:40]!r}", status=400
        )
    partitions = [number for number in reader.partitions(topic) if only is None or number == only]
    if not partitions:
        raise Problem(f"{topic} has no partition {only}", status=404)
    ends = reader.offsets_at(topic, LATEST, partitions)
    last = {number: ends[number] or 0 for number in partitions}
    first = {number: at or 0 for number, at in reader.offsets_at(topic, EARLIEST, partitions).items()}
    if begin:
        found = {number: _resumed(begin.get(str(number), last[number])) for number in partitions}
    elif place == "start":
        found = first
    elif place.startswith("end"):
        found = {number: last[number] - int(place[4:] or 0) for number in partitions}
    elif place.startswith("-"):
        found = {number: last[number] + int(place) for number in partitions}
    elif place.startswith("@"):
        at = reader.offsets_at(topic, int(place[1:]), partitions)
        found = {number: last[number] if at[number] is None else at[number] or 0 for number in partitions}
    else:
        found = dict.fromkeys(partitions, int(place))
    return {number: min(max(found[number], first[number]), last[number]) for number in partitions}, last


def _resumed(offset: object) -> int:
    """The offset in a partition where a search goes on, as its answer said it."""
    found = whole_number(str(offset))
    if found is None:
        raise Problem(f"starts: expected offsets, found {offset!r:.40}", status=400)
    return found


async def export(request: Request) -> Response:
    """The messages that a search finds, all of them, as a file."""
    from kafkawire.web._broker.messages import matching
    from kafkawire.web._captures.export import as_file

    if not workspace_of(request).options.export:
        raise Problem("exports are turned off (--no-export)", status=403)
    source, topic = source_of(request), request.path_params["topic"]
    text, partition = text_in(request, "filter"), text_in(request, "partition")
    await connected(source)
    reader = source.reader()
    only = number_in(request, "partition") if partition else None
    place = text_in(request, "from", "start")
    starts, ends = await run_in_threadpool(lambda: _span(reader, topic, place, only, {}))
    tables = (found for _, found, _ in matching(reader, topic, text, starts, ends))
    first = await run_in_threadpool(lambda: list(islice(tables, 1)))  # an error is answered, not a file that breaks off
    return as_file(chain(first, tables), "messages", text_in(request, "form", "jsonl"))


async def tail(request: Request) -> Response:
    """Follow a topic; the answer is a stream."""
    from kafkawire.web._broker.messages import tail as followed
    from kafkawire.web._filter.language import parse

    source, topic = source_of(request), request.path_params["topic"]
    text = field_in(await body_of(request), "filter", str, "")
    parse(text)
    await connected(source)
    reader = source.reader()
    return stream(events_of(request, lambda stop: followed(reader, topic, text, stop)))


def record(request: Request) -> Response:
    """One record: its value in a window, formatted, its key and its headers."""
    from kafkawire.web._broker.messages import bytes_text, one, pretty, row_of

    source, topic = source_of(request), request.path_params["topic"]
    found = one(source.reader(), topic, partition_in(request), number_in(request, "offset"))
    text, kind = pretty(found["value"])
    key, key_kind = pretty(found["key"])
    start = max(0, number_in(request, "start"))
    headers = [
        {"name": each["key"], "value": bytes_text(each["value"], LARGEST_VALUE)} for each in found["headers"] or ()
    ]
    value = {"text": text[start : start + LARGEST_VALUE], "start": start, "length": len(text), "kind": kind}
    return answer(
        {"row": row_of(found), "key": key[:LARGEST_VALUE], "key_kind": key_kind, "headers": headers, "value": value}
    )


async def batch(request: Request) -> Response:
    """The batch of a record, as a document of the bytes view."""
    source, topic = source_of(request), request.path_params["topic"]
    partition, offset = partition_in(request), number_in(request, "offset")
    document = await batch_document(source, topic, partition, offset)
    from kafkawire.web._bytes.routes import summary

    return answer({"doc": workspace_of(request).keep(document), **summary(document), "rows": first_rows(document)})


async def batch_document(source: BrokerSource, topic: str, partition: int, offset: int) -> Document:
    """The batch that has an offset, fetched as it is stored."""
    from kafkawire.inspect import Asked, explain_records
    from kafkawire.messages import FetchRequest, FetchResponse

    admin = await connected(source)
    described = (await admin.describe_topics([topic]))[0]
    if partition not in described.partitions:
        raise Problem(f"{topic} has no partition {partition}", status=404)
    wanted = FetchRequest.FetchTopic(
        topic=topic,
        topic_id=described.id,
        partitions=[FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)],
    )
    message = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[wanted],
        isolation_level=0,
    )
    found = await admin.raw(message, node_id=described.partitions[partition].leader)
    assert isinstance(found, FetchResponse)
    data = bytes(found.responses[0].partitions[0].records or b"") if found.responses else b""
    size = 12 + int.from_bytes(data[8:12], "big") if len(data) > 12 else 0
    if not size:
        raise Problem(f"there is no record at offset {offset} of {topic}-{partition}; it may be deleted", status=404)
    origin = Origin(f"{topic}-{partition} at {offset}")
    return Document([explain_records(data[:size], topic=topic)], Asked("records", topic=topic), origin=origin)


ROUTES: Final = [
    Route("/api/brokers/{id}/topics/{topic}/search", search, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}/export", export),
    Route("/api/brokers/{id}/topics/{topic}/tail", tail, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}/{partition}/record", record),
    Route("/api/brokers/{id}/topics/{topic}/{partition}/batch", batch),
]
