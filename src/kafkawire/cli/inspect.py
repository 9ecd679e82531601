"""`kafkawire inspect`: what captures and log directories hold, as tables."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkawire.cli import output
from kafkawire.cli.captures import add_inputs, print_summary, read_inputs
from kafkawire.cli.commands import UsageError
from kafkawire.inspect.render.json import render_json
from kafkawire.inspect.render.text import render_text
from kafkawire.inspect.selection import Selection, explain_exchange, select
from kafkawire.messages.errors import ErrorLookupError, error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from kafkawire.inspect.capture import Reading

HELP = "what packet captures and log directories hold: connections, exchanges, batches, records, faults"
EXAMPLES = (
    "kafkawire inspect capture.pcap",
    "kafkawire inspect capture.pcapng.gz --api Fetch --topic orders --error any",
    "kafkawire inspect capture.pcap --tree 17",
    "kafkawire inspect capture.pcap --table batches --json",
    "kafkawire inspect capture.pcap --parquet tables",
    "kafkawire inspect /var/lib/kafka/data --table index_errors",
)
_TABLES = (
    *("connections", "gaps", "exchanges", "exchange_partitions", "batches", "records"),
    *("segment_files", "index_errors"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument("--table", choices=_TABLES, help="which table to print")
    parser.add_argument("--tree", type=int, metavar="N", help="every byte of exchange number N")
    choose = parser.add_argument_group("choose exchanges")
    choose.add_argument("--api", action="append", default=[], metavar="NAME", help="of this API")
    choose.add_argument("--client", action="append", default=[], metavar="ID|ADDRESS", help="of this client")
    choose.add_argument("-t", "--topic", action="append", default=[], help="about this topic")
    choose.add_argument("-G", "--group", action="append", default=[], help="of this group")
    choose.add_argument("--error", action="append", default=[], metavar="CODE|NAME|any", help="with this error")
    choose.add_argument("--connection", action="append", default=[], type=int, metavar="N", help="on connection N")
    choose.add_argument("--since", type=moment, metavar="TIME", help="from this time on, as 2024-05-01T12:00:00 (UTC)")
    choose.add_argument("--until", type=moment, metavar="TIME", help="before this time")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N rows")
    parser.add_argument("--values", action="store_true", help="keep the values of records")
    parser.add_argument("--parquet", type=Path, metavar="DIR", help="write every table to DIR as Parquet")
    output.add_json_option(parser)


def moment(text: str) -> datetime:
    """A time as people type it; UTC unless it says otherwise."""
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def run(args: argparse.Namespace) -> int:
    wanted = _selection(args)
    records = args.table == "records" or args.parquet is not None
    reading = read_inputs(args, records=records, values=args.values)
    for fault in reading.faults:
        print(f"warning: {fault}", file=sys.stderr)
    if args.tree is not None:
        return _print_tree(reading, args.tree, as_json=args.json)
    chosen = select(reading.tables, wanted)
    tables = _narrowed(reading.tables, chosen, wanted) if wanted != Selection() else reading.tables
    shown = args.table or ("exchanges" if reading.packets or "segment_files" not in tables else "segment_files")
    if args.parquet is not None:
        _write_parquet(tables, args.parquet)
        return 0
    if shown != "exchanges":
        if shown not in tables:
            raise UsageError(f"--table {shown}: only log directories have it")
        rows = tables[shown].slice(0, args.limit)
        if args.table is None and not args.json:
            print_summary(reading)
        output.print_rows(rows.schema.names, _values(rows), as_json=args.json)
        return 0
    numbers = chosen.tolist()[: args.limit]
    exchanges = reading.tables["exchanges"].take(pa.array(numbers, pa.int64()))
    if args.json:
        output.print_json({"number": n} | row for n, row in zip(numbers, exchanges.to_pylist(), strict=True))
        return 0
    print_summary(reading)
    output.print_rows(_COLUMNS, _lines(reading, numbers, exchanges))
    return 0


def _selection(args: argparse.Namespace) -> Selection:
    codes = []
    for name in args.error:
        if name != "any":
            try:
                codes.append(int(error(name).code))
            except ErrorLookupError as refusal:
                raise UsageError(str(refusal)) from refusal
    return Selection(
        apis=args.api,
        clients=args.client,
        topics=args.topic,
        groups=args.group,
        errors=codes,
        any_error="any" in args.error,
        connections=args.connection,
        since=args.since,
        until=args.until,
    )


def _narrowed(tables: dict[str, pa.Table], chosen: Any, wanted: Selection) -> dict[str, pa.Table]:
    """The tables with only the rows of the chosen exchanges and their connections; of logs, those of chosen topics."""
    exchanges = tables["exchanges"].take(pa.array(chosen, pa.int64()))
    pairs = set(zip(exchanges["conn_id"].to_pylist(), exchanges["seq"].to_pylist(), strict=True))
    whole = {(conn, None) for conn, _ in pairs}
    logs = wanted == Selection(topics=wanted.topics)

    def fits(conn: int | None, seq: int | None, topic: str | None) -> bool:
        if conn is None:
            return logs and (topic is None or topic in wanted.topics)
        return (conn, seq) in (pairs if seq is not None else whole)

    return {
        name: table.filter(pa.array(list(map(fits, *_places(table))), pa.bool_())) for name, table in tables.items()
    }


def _places(table: pa.Table) -> list[list[Any]]:
    """What says where the rows of a table belong: connection, exchange, topic; None where the table has it not."""
    names = table.schema.names
    return [table[name].to_pylist() if name in names else [None] * len(table) for name in ("conn_id", "seq", "topic")]


def _write_parquet(tables: dict[str, pa.Table], folder: Path) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        pq.write_table(table, path)
        print(f"{path}: {len(table)} rows")


def _values(table: pa.Table) -> Iterator[list[object]]:
    return (list(row.values()) for run in table.to_batches(1000) for row in run.to_pylist())


_COLUMNS = (
    *("number", "time", "conn", "client", "api", "version", "about", "wait ms", "request", "response"),
    *("error", "state"),
)


def _lines(reading: Reading, numbers: Iterable[int], exchanges: pa.Table) -> Iterator[list[object]]:
    clients = dict(
        zip(*(reading.tables["connections"][name].to_pylist() for name in ("conn_id", "client")), strict=True)
    )
    topics = _topics(reading.tables["exchange_partitions"])
    for number, row in zip(numbers, exchanges.to_pylist(), strict=True):
        when = row["ts_req"] or row["ts_resp"]
        about = topics.get((row["conn_id"], row["seq"])) or row["group_id"] or row["transactional_id"]
        yield [
            number,
            None if when is None else f"{when:%H:%M:%S.%f}",
            row["conn_id"],
            row["client_id"] or clients[row["conn_id"]],
            row["api"] or row["api_key"],
            row["version"],
            about,
            None if row["wait_us"] is None else row["wait_us"] / 1000,
            row["req_bytes"],
            row["resp_bytes"],
            _error_name(row["error_code"]),
            row["state"],
        ]


def _topics(partitions: pa.Table) -> dict[tuple[int, int], str]:
    """The topics of each exchange, the first two by name."""
    found: dict[tuple[int, int], dict[str, None]] = {}
    columns = (partitions[name].to_pylist() for name in ("conn_id", "seq", "topic", "topic_id"))
    for conn, seq, topic, topic_id in zip(*columns, strict=True):
        found.setdefault((conn, seq), {})[topic or topic_id or "?"] = None
    return {
        pair: ", ".join(list(names)[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        for pair, names in found.items()
    }


def _error_name(code: int | None) -> str | None:
    return None if code is None else ("" if code == 0 else error(code).name)


def _print_tree(reading: Reading, number: int, *, as_json: bool) -> int:
    explained = list(explain_exchange(reading, number))
    if not explained:
        raise UsageError(f"--tree {number}: there is no exchange of that number, or the capture lacks its bytes")
    if as_json:
        output.print_json(render_json(each) for each in explained)
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for each in explained:
        print(output.coloured(each.title, "bold"))
        for line in render_text(each, width=width, paint=output.coloured):
            print(line)
    return 0
