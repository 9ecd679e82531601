"""Exports of the exchanges of a view: JSON lines, CSV, Parquet.

Rules:
- An export is a download, an attachment whose name is ours. `--no-export` forbids all of them.
- Cells of CSV that a spreadsheet would run as a formula begin with a quote.
- Rows are written in runs, so that a large export needs little memory. Parquet is made in a temporary file.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from starlette.responses import StreamingResponse

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.responses import Response

    from kafkawire.web._captures.exchanges import ExchangeList, View

_RUN: Final = 2_000
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_KINDS: Final = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def export(exchanges: ExchangeList, view: View, form: str) -> Response:
    """The exchanges of a view as a file."""
    if form not in _KINDS:
        raise Problem(f"form: expected one of {', '.join(_KINDS)}, found {form[:40]!r}", status=400)
    table = exchanges.table.drop_columns(["time", "about", "bad", "client"])
    chosen = table.take(pa.array(exchanges.order(view), pa.int64()))
    parts = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}[form](chosen)
    name = f'attachment; filename="exchanges.{form}"'
    return StreamingResponse(parts, media_type=_KINDS[form], headers={"content-disposition": name})


def safe_cell(value: object) -> str:
    """A value as a cell that no spreadsheet runs.

    >>> safe_cell("=1+1"), safe_cell("orders"), safe_cell(-5), safe_cell(None)
    ("'=1+1", 'orders', '-5', '')
    """
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULAS) else text


def _json_lines(table: pa.Table) -> Iterator[bytes]:
    for run in table.to_batches(_RUN):
        yield "".join(json.dumps(row, default=_plain, ensure_ascii=False) + "\n" for row in run.to_pylist()).encode()


def _csv(table: pa.Table) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.schema.names)
    for run in table.to_batches(_RUN):
        writer.writerows([safe_cell(value) for value in row.values()] for row in run.to_pylist())
        yield text.getvalue().encode("utf-8", "replace")
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _parquet(table: pa.Table) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with tempfile.TemporaryFile() as file:
        pq.write_table(table, file)
        file.seek(0)
        while part := file.read(1 << 18):
            yield part


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
