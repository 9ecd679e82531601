"""The routes of log directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire.web._logs.source import LogSource
from kafkawire.web._server.answers import answer, stream
from kafkawire.web._server.requests import body_of, field_in, number_in, partition_in, text_in, workspace_of
from kafkawire.web._server.work import events_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_MARKS: Final = 2_000
WINDOW: Final = 500
LARGEST_TEXT: Final = 400


def partitions(request: Request) -> Response:
    """The partitions, with their sizes, offsets and faults; those of internal topics are last."""
    source = _source(request)
    if not source.is_read and source.failure is None:
        return answer({"ready": False, "done": source.done, "total": source.total})
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for file in source.tables["segment_files"].to_pylist():
        key = (file["topic"], file["partition"])
        row = rows.setdefault(
            key,
            {
                "topic": key[0],
                "partition": key[1],
                "segments": 0,
                "size": 0,
                "batches": 0,
                "records": 0,
                "first": None,
                "last": None,
                "latest": None,
                "faults": 0,
                "state": "ok",
            },
        )
        row["size"] += file["size"]
        if file["state"] in ("damaged", "cut", "unread"):
            row["faults"] += 1
            row["state"] = file["state"] if row["state"] != "damaged" else "damaged"
        if file["kind"] == "log":
            row["segments"] += 1
            row["batches"] += file["entries"] or 0
            row["records"] = (
                None if file["records"] is None or row["records"] is None else row["records"] + file["records"]
            )
            row["first"] = _least(row["first"], file["first_offset"])
            row["last"] = _most(row["last"], file["last_offset"])
            if file["max_timestamp"] is not None:
                moment = int(file["max_timestamp"].timestamp() * 1e6)
                row["latest"] = _most(row["latest"], moment)
    listed = sorted(rows.values(), key=lambda row: (row["topic"].startswith("__"), row["topic"], row["partition"]))
    text = text_in(request, "filter")
    chosen = [row for row in listed if text in f"{row['topic']}-{row['partition']}"]
    start = max(0, number_in(request, "start"))
    shown = chosen[start : start + min(max(0, number_in(request, "count", WINDOW)), WINDOW)]
    for row in shown:
        for name in ("first", "last", "latest"):
            row[name] = None if row[name] is None else str(row[name])
    return answer({"ready": True, "total": len(listed), "matched": len(chosen), "rows": shown, "start": start})


def strip(request: Request) -> Response:
    """A partition as a strip: its files, and its batches merged into at most MOST_MARKS marks."""
    from kafkawire.web._logs.strip import marks_of

    source = _source(request)
    topic, partition = request.path_params["topic"], partition_in(request)
    span = (number_in(request, "from", 0), number_in(request, "to", -1))
    return answer(marks_of(source, topic, partition, span, MOST_MARKS))


def batches(request: Request) -> Response:
    """A window of the batches of a partition."""
    from kafkawire.web._logs.strip import batch_rows

    source = _source(request)
    topic, partition = request.path_params["topic"], partition_in(request)
    start, count = max(0, number_in(request, "start")), min(max(0, number_in(request, "count", 100)), WINDOW)
    place = number_in(request, "offset", -1)
    return answer(batch_rows(source, topic, partition, text_in(request, "filter"), start, count, offset=place))


async def stats(request: Request) -> Response:
    """A stream of the faults and the measures of all partitions or of one; with `what_if`, of other codecs too."""
    from kafkawire.web._logs.stats import measured

    source, body = _source(request), await body_of(request)
    topic, partition = field_in(body, "topic", str, ""), field_in(body, "partition", str, "")
    paths = source.paths_of(topic, partition)
    what_if = field_in(body, "what_if", bool, False)
    return stream(events_of(request, lambda stop: measured(paths, stop, what_if=what_if)))


def records(request: Request) -> Response:
    """The records of a batch."""
    from kafkawire.inspect import value_text
    from kafkawire.records import read_batches

    source = _source(request)
    data, _ = source.batch_bytes(text_in(request, "batch"))
    start, count = max(0, number_in(request, "start")), min(max(0, number_in(request, "count", 100)), WINDOW)
    rows, total, number = [], 0, 0
    for batch in read_batches(data):
        for number, record in enumerate(batch.records()):
            if start <= number < start + count:
                rows.append(
                    [
                        str(record.offset),
                        str(record.timestamp * 1000),
                        value_text(record.key, LARGEST_TEXT),
                        value_text(record.value, LARGEST_TEXT),
                        len(record.headers),
                    ]
                )
        total = number + 1
        break
    return answer({"total": total, "start": start, "rows": rows})


def problems(request: Request) -> Response:
    """The wrong index entries and files of a partition."""
    source = _source(request)
    topic, partition = request.path_params["topic"], partition_in(request)
    rows = [
        {name: str(value) if isinstance(value, int) else value for name, value in row.items()}
        for row in source.tables["index_errors"].to_pylist()
        if row["topic"] == topic and row["partition"] == partition
    ]
    return answer({"total": len(rows), "rows": rows[:WINDOW]})


def findings(request: Request) -> Response:
    """The findings about logs."""
    found = _source(request).findings()
    shown = []
    counts: dict[str, int] = {}
    for each in found:
        counts[each.level] = counts.get(each.level, 0) + 1
        row = each.row()
        row |= {name: None if row[name] is None else str(row[name]) for name in ("t0", "t1")}
        shown.append(row)
    return answer({"total": len(found), "counts": counts, "rows": shown[:MOST_MARKS]})


def _source(request: Request) -> LogSource:
    found: LogSource = workspace_of(request).source(request.path_params["id"], LogSource)
    return found


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


ROUTES: Final = [
    Route("/api/logs/{id}", partitions),
    Route("/api/logs/{id}/findings", findings),
    Route("/api/logs/{id}/records", records),
    Route("/api/logs/{id}/stats", stats, methods=["POST"]),
    Route("/api/logs/{id}/{topic}/{partition}/strip", strip),
    Route("/api/logs/{id}/{topic}/{partition}/batches", batches),
    Route("/api/logs/{id}/{topic}/{partition}/problems", problems),
]
