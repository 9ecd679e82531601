"""The routes of captures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire.web._captures.source import CaptureSource
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import body_of, exchange_named, field_in, number_in, text_in, workspace_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.web._captures.exchanges import View

LARGEST_LIST: Final = 2_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def open_capture(request: Request) -> Response:
    """Open an uploaded capture."""
    body, workspace = await body_of(request), workspace_of(request)
    upload = workspace.upload(field_in(body, "upload", str, ""))
    return answer({"id": workspace.add_source(CaptureSource([upload.path], title=upload.name))})


def summary(request: Request) -> Response:
    """A capture in short."""
    source = _source(request)
    reading = source.reading
    connections = reading.tables["connections"]
    kinds: dict[str, int] = {}
    for kind in connections["kind"].to_pylist():
        kinds[kind] = kinds.get(kind, 0) + 1
    missing = sum(connections["missing_bytes"].to_pylist())
    skipped = sum(
        size
        for size, kind in zip(*(connections[n].to_pylist() for n in ("skipped_bytes", "kind")), strict=True)
        if kind == "kafka"
    )
    return answer(
        {
            "title": source.title,
            "phase": source.phase,
            "failure": source.failure,
            "done": source.done,
            "version": source.version,
            "exchanges": len(source.exchanges),
            "connections": len(connections),
            "kinds": kinds,
            "packets": reading.packets,
            "files": reading.files,
            "missing": missing,
            "skipped": skipped,
            "faults": reading.faults[:20],
        }
    )


def rows(request: Request) -> Response:
    """A window of the exchanges of a view; with `at`, the one that contains this exchange."""
    source, view = _source(request), view_in(request)
    start = max(0, number_in(request, "start"))
    exchanges = source.exchanges
    found: dict[str, Any] = {}
    at = text_in(request, "at")
    if at:
        named = exchange_named(at)
        if named is not None:
            found["place"] = exchanges.place(view, *named)
            start = max(0, found["place"] - 50)
    if "error" in request.query_params:
        found["place"] = exchanges.next_error(view, number_in(request, "from", -1), number_in(request, "error", 1))
        start = max(0, found["place"] - 50)
    if "from_time" in request.query_params:
        found["place"] = exchanges.at_time(view, number_in(request, "from_time"))
    count = number_in(request, "count", 100)
    return answer({**found, "phase": source.phase, "done": source.done, **exchanges.window(view, start, max(0, count))})


def timeline(request: Request) -> Response:
    """The exchanges of a view over time; with `width`, also drawn."""
    found = _source(request).exchanges.timeline(view_in(request), max(1, number_in(request, "buckets", 240)))
    width = number_in(request, "width")
    if not width or found["start"] is None:
        return answer(found)
    from kafkawire.web._captures.timeline import drawing

    kind, zone = text_in(request, "chart", "count"), number_in(request, "zone")
    return answer(found | drawing(found, kind, min(max(width, 240), 8_000), zone))


def fields(request: Request) -> Response:
    """The fields of the filter language for exchanges."""
    return answer({"fields": sorted(_source(request).exchanges.fields.known)})


def connections(request: Request) -> Response:
    """The connections, as lanes over the time of the capture."""
    table = _source(request).reading.tables["connections"]
    gaps = _source(request).reading.tables["gaps"]
    start, count = max(0, number_in(request, "start")), min(number_in(request, "count", LARGEST_LIST), LARGEST_LIST)
    lanes = [_texts(row) for row in table.slice(start, count).to_pylist()]
    known = {row["conn_id"] for row in lanes}
    holes = [_texts(row) for row in gaps.slice(0, 10_000).to_pylist() if row["conn_id"] in known]
    span = _span(table)
    return answer({"total": len(table), "start": start, "rows": lanes, "gaps": holes, "span": span})


def findings(request: Request) -> Response:
    """The findings, the worst first."""
    source = _source(request, "findings")
    found = source.findings()
    shown = []
    for each in found[:LARGEST_LIST]:
        row = each.row()
        row |= {name: None if row[name] is None else str(row[name]) for name in ("t0", "t1")}
        shown.append(row)
    counts: dict[str, int] = {}
    for each in found:
        counts[each.level] = counts.get(each.level, 0) + 1
    return answer({"total": len(found), "counts": counts, "rows": shown})


def export(request: Request) -> Response:
    """The exchanges of a view as a file."""
    from kafkawire.web._captures.export import export as exported

    if not workspace_of(request).options.export:
        raise Problem("exports are turned off (--no-export)", status=403)
    source, form = _source(request), text_in(request, "form", "jsonl")
    return exported(source, view_in(request), form)


def view_in(request: Request) -> View:
    """The view that a query asks for."""
    from kafkawire.web._captures.exchanges import View

    span = {name: number_in(request, name) if text_in(request, name) else None for name in ("since", "until")}
    return View(
        text_in(request, "filter"),
        span["since"],
        span["until"],
        text_in(request, "sort", "time"),
        bool(number_in(request, "down")),
    )


def _source(request: Request, needs: str = "exchanges") -> Any:
    """The source of exchanges: a capture, a proxy or a run; or of findings, which every run has."""
    source = workspace_of(request).sources.get(request.path_params["id"])
    if source is None or not hasattr(type(source), needs):
        raise Problem("this source is not open any more; start the page with it again", status=404)
    return source


def _span(table: Any) -> list[str] | None:
    """The first and the last time of connections."""
    import pyarrow.compute

    pc: Any = pyarrow.compute
    first, last = pc.min(table["t_first"]).as_py(), pc.max(table["t_last"]).as_py()
    return None if first is None else [_time_text(first), _time_text(last or first)]


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose times are microseconds as text."""
    return {name: _time_text(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _time_text(when: datetime) -> str:
    return str((when - _EPOCH) // timedelta(microseconds=1))


ROUTES: Final = [
    Route("/api/captures", open_capture, methods=["POST"]),
    Route("/api/exchanges/{id}", summary),
    Route("/api/exchanges/{id}/rows", rows),
    Route("/api/exchanges/{id}/timeline", timeline),
    Route("/api/exchanges/{id}/fields", fields),
    Route("/api/exchanges/{id}/connections", connections),
    Route("/api/exchanges/{id}/findings", findings),
    Route("/api/exchanges/{id}/export", export),
]
