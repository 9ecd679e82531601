"""The routes of runs: the list of tables, and windows of one that is filtered and sorted."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute
from starlette.routing import Route

from kafkawire.web._filter.columns import Field, Fields
from kafkawire.web._filter.language import parse
from kafkawire.web._runs.charts import charts_of
from kafkawire.web._runs.source import RunSource
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import number_in, text_in, workspace_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

pc: Any = pyarrow.compute  # its stubs do not know most of these calls
WINDOW: Final = 500
SHOWN: Final = 400


def tables(request: Request) -> Response:
    """The run in short, and its tables."""
    source = _source(request)
    manifest = source.manifest
    listed = [
        {"name": name, "rows": each.get("rows"), "format": each.get("format")} for name, each in source.listed.items()
    ]
    source_of = manifest.get("source", {})
    facts: dict[str, str] = {name: str(manifest[name]) for name in ("state", "started", "spark") if name in manifest}
    if "started" in facts:
        facts["started"] = facts["started"].replace("T", " ").removesuffix("Z")
    facts |= {"input": ", ".join(map(str, source_of.get("paths") or source_of.get("topics") or ()))}
    if (source.root / "report.html").is_file():
        facts["report"] = str(source.root / "report.html")
    return answer({"facts": facts, "tables": listed})


def charts(request: Request) -> Response:
    """The charts of the report of the run, for a width in pixels."""
    width = min(max(number_in(request, "width", 1000), 240), 2_000)
    return answer({"charts": charts_of(_source(request).root / "report.html", width)})


def rows(request: Request) -> Response:
    """A window of a table."""
    table = _source(request).table(request.path_params["table"])
    mask = _fields(table).mask(table, parse(text_in(request, "filter")))
    chosen = table if mask is None else table.filter(mask)
    sort, down = text_in(request, "sort"), bool(number_in(request, "down"))
    if sort:
        if sort not in table.schema.names or pa.types.is_nested(table.schema.field(sort).type):
            raise Problem(f"{sort[:60]} is not a column that can be sorted", status=400)
        direction = "descending" if down else "ascending"
        chosen = chosen.take(pc.sort_indices(chosen, sort_keys=[(sort, direction)]))
    start, count = max(0, number_in(request, "start")), min(max(0, number_in(request, "count", 100)), WINDOW)
    columns = [{"name": field.name, "kind": _kind(field.type)} for field in table.schema]
    shown = [[_shown(value) for value in row.values()] for row in chosen.slice(start, count).to_pylist()]
    return answer({"columns": columns, "total": len(table), "matched": len(chosen), "start": start, "rows": shown})


def _fields(table: pa.Table) -> Fields:
    known = {}
    for field in table.schema:
        kind = _kind(field.type)
        if kind == "time":
            known[field.name.lower()] = Field("time", _column(field.name, pa.int64()))
        elif kind in ("text", "number", "flag"):
            known[field.name.lower()] = Field(kind, field.name)  # type: ignore[arg-type]
    texts = [field.name for field in table.schema if _kind(field.type) in ("text", "bytes")]
    return Fields(known, texts)


def _column(name: str, kind: pa.DataType) -> Any:
    return lambda table: table[name].cast(kind)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_boolean(kind):
        return "flag"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "bytes" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "other"


def _shown(value: Any) -> Any:
    """A value for a list: times in microseconds, numbers with all digits, texts that are cut."""
    from kafkawire.web._broker.messages import bytes_text

    if isinstance(value, datetime):
        return str(round(value.timestamp() * 1e6))
    if isinstance(value, bytes):
        return bytes_text(value, SHOWN)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | np.number):
        return str(value)
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _source(request: Request) -> RunSource:
    found: RunSource = workspace_of(request).source(request.path_params["id"], RunSource)
    return found


ROUTES: Final = [
    Route("/api/runs/{id}", tables),
    Route("/api/runs/{id}/charts", charts),
    Route("/api/runs/{id}/{table}/rows", rows),
]
