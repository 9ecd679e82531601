"""Exports of rows and of exchanges: JSON lines, CSV, Parquet, and the frames of exchanges as pcapng.

Rules:
- An export is a download, an attachment whose name is ours. `--no-export` forbids all of them.
- Cells of CSV that a spreadsheet would run as a formula begin with a quote.
- Rows are written in runs, so that a large export needs little memory. Parquet and pcapng are made in temporary files.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow as pa
from starlette.responses import StreamingResponse

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from starlette.responses import Response

    from kafkawire.web._captures.exchanges import View

_RUN: Final = 2_000
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_KINDS: Final = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "pcapng": "application/vnd.tcpdump.pcap",
}


def export(source: Any, view: View, form: str) -> Response:
    """The exchanges of a view of a source as a file."""
    exchanges = source.exchanges
    order = pa.array(exchanges.order(view), pa.int64())
    if form == "pcapng":
        from kafkawire.web._captures.packets import write_frames

        rows = exchanges.table.select(["conn_id", "seq"]).take(order).to_pylist()
        return _attachment(_written(lambda file: write_frames(file, source, rows)), "exchanges", form)
    table = exchanges.table.drop_columns(["time", "about", "bad", "client"])
    return as_file([table.take(order)], "exchanges", form)


def as_file(tables: Iterable[pa.Table], name: str, form: str) -> Response:
    """Tables with the same columns as one file."""
    makers = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}
    if form not in makers:
        raise Problem(f"form: expected one of {', '.join(_KINDS)}, found {form[:40]!r}", status=400)
    return _attachment(makers[form](tables), name, form)


def _attachment(parts: Iterator[bytes], name: str, form: str) -> Response:
    disposition = f'attachment; filename="{name}.{form}"'
    return StreamingResponse(parts, media_type=_KINDS[form], headers={"content-disposition": disposition})


def safe_cell(value: object) -> str:
    """A value as a cell that no spreadsheet runs.

    >>> safe_cell("=1+1"), safe_cell("orders"), safe_cell(-5), safe_cell(None)
    ("'=1+1", 'orders', '-5', '')
    """
    if isinstance(value, bytes):
        value = _plain(value)
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULAS) else text


def _runs(tables: Iterable[pa.Table]) -> Iterator[list[dict[str, Any]]]:
    return (run.to_pylist() for table in tables for run in table.to_batches(_RUN))


def _json_lines(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    for run in _runs(tables):
        lines = [json.dumps(row, default=_plain, ensure_ascii=False) + "\n" for row in run]
        yield "".join(lines).encode("utf-8", "backslashreplace")


def _csv(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    named = False
    for run in _runs(tables):
        for row in run:
            if not named:
                writer.writerow(row)
                named = True
            writer.writerow([safe_cell(value) for value in row.values()])
        yield text.getvalue().encode("utf-8", "replace")
        text.seek(0)
        text.truncate()


def _parquet(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    def write(file: IO[bytes]) -> None:
        waiting = iter(tables)
        first = next(waiting, None)
        if first is not None:
            with pq.ParquetWriter(file, first.schema) as writer:
                for table in chain([first], waiting):
                    writer.write_table(table.cast(first.schema))

    return _written(write)


def _written(write: Callable[[IO[bytes]], None]) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file:
        write(file)
        file.seek(0)
        while part := file.read(1 << 18):
            yield part


def _plain(value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
