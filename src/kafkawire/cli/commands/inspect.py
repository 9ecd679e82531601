"""`kafkawire inspect`: captures and log directories as tables."""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from kafkawire import inspect as inspector
from kafkawire.cli._support import output
from kafkawire.cli._support.captures import add_inputs, is_traffic, page_source, print_summary, read_inputs
from kafkawire.cli._support.numbers import TIMES, count, moment
from kafkawire.cli._support.pages import show_source
from kafkawire.cli._support.record_formats import put_bytes
from kafkawire.cli._support.topic_names import is_pattern, split_names
from kafkawire.cli.registry import UsageError
from kafkawire.messages.errors import ErrorLookupError, error

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from kafkawire.inspect import Reading, Selection

HELP = "show captures and log directories as tables: connections, exchanges, batches, records, faults"
EXAMPLES = (
    "kafkawire inspect capture.pcap",
    "kafkawire inspect capture.pcapng.gz --api Fetch --topic orders --error any",
    "kafkawire inspect capture.pcap --tree 0/17",
    "kafkawire inspect capture.pcap --table batches --json",
    "kafkawire inspect capture.pcap --table transactions",
    "kafkawire inspect capture.pcap --parquet tables",
    "kafkawire inspect /var/lib/kafka/data --table index_errors",
)
_TABLES = (
    *("connections", "gaps", "exchanges", "exchange_partitions", "batches", "records"),
    *("transactions", "segment_files", "index_errors"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument("--table", choices=_TABLES, help="print this table")
    parser.add_argument(
        "--tree", type=exchange_name, metavar="CONN/SEQ", help="explain every byte of this exchange, such as 0/17"
    )
    choose = parser.add_argument_group("select exchanges")
    choose.add_argument(
        "--api",
        action="append",
        default=[],
        metavar="NAME",
        help="show only this API; can be repeated, as the next ones",
    )
    choose.add_argument("--client", action="append", default=[], metavar="ID|ADDRESS", help="show only this client")
    choose.add_argument(
        "-t",
        "--topic",
        action="append",
        default=[],
        help="show only this topic: a name, a list with commas, or a pattern",
    )
    choose.add_argument("-G", "--group", action="append", default=[], help="show only this group")
    choose.add_argument("--error", action="append", default=[], metavar="CODE|NAME|any", help="show only this error")
    choose.add_argument(
        "--connection", action="append", default=[], type=count, metavar="N", help="show only this connection"
    )
    choose.add_argument("--since", type=moment, metavar="TIME", help=f"show only what is from this time on: {TIMES}")
    choose.add_argument("--until", type=moment, metavar="TIME", help="show only what is before this time")
    parser.add_argument("--limit", type=count, metavar="N", help="print at most N rows")
    parser.add_argument("--values", action="store_true", help="include the values of records")
    parser.add_argument("--parquet", type=Path, metavar="DIR", help="write every table to DIR as Parquet")
    output.add_web_option(parser)
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    import pyarrow as pa

    if args.web:
        return _show(args)
    wanted = _selection(args)
    records = args.table == "records" or args.parquet is not None
    reading = read_inputs(args, partitions=_needs_partitions(args, wanted), records=records, values=args.values)
    for fault in reading.faults:
        print(f"warning: {fault}", file=sys.stderr)
    if args.tree is not None:
        return _print_tree(reading, args.tree, as_json=args.json)
    wanted = replace(wanted, topics=_named_topics(wanted.topics, reading.tables))
    chosen = inspector.select_exchanges(reading.tables, wanted)
    tables = _narrowed(reading.tables, chosen, wanted) if wanted != inspector.Selection() else reading.tables
    shown = args.table or ("exchanges" if reading.packets or "segment_files" not in tables else "segment_files")
    if args.parquet is not None:
        _write_parquet(tables, args.parquet)
        return 0
    if shown != "exchanges":
        if shown not in tables:
            raise UsageError(f"--table {shown}: only log directories have this table")
        rows = tables[shown].slice(0, args.limit)
        if args.table is None and not args.json:
            print_summary(reading)
        if shown == "transactions" and not args.json:
            output.print_rows(_TRANSACTION_COLUMNS, _transaction_lines(rows))
        else:
            names = rows.schema.names
            shown_rows = ([_readable(value) for value in row] for row in _values(rows))
            if args.json:
                output.print_json(_json_row(names, row) for row in _values(rows))
            else:
                output.print_rows(names, shown_rows)
        return 0
    exchanges = inspector.in_order_of_time(reading.tables["exchanges"].take(pa.array(chosen, pa.int64()))).slice(
        0, args.limit
    )
    if args.json:
        for lines in inspector.json_lines(exchanges, named=("exchange", "conn_id", "seq")):
            sys.stdout.write(lines)
        return 0
    print_summary(reading)
    output.print_rows(_COLUMNS, _lines(reading, exchanges))
    return 0


def _needs_partitions(args: argparse.Namespace, wanted: Selection) -> bool:
    """Whether the output depends on more than the tables of connections, exchanges and gaps."""
    if args.parquet is not None or args.tree is not None or wanted.topics or wanted.errors:
        return True
    if args.table is None:
        return not args.json
    return args.table not in ("connections", "exchanges", "gaps") or (args.table == "exchanges" and not args.json)


def _show(args: argparse.Namespace) -> int:
    """Show the inputs in the browser, with the selection by API, topic and error as the filter."""
    terms = [
        f"{field} in ({', '.join(map(json.dumps, values))})"
        for field, values in (("api", args.api), ("topic", args.topic), ("connection", list(map(str, args.connection))))
        if values
    ]
    terms += ["error != 0" if each == "any" else f"error = {each}" for each in args.error]
    query = f"?{urlencode({'filter': ' and '.join(terms)})}" if terms else ""
    return show_source(lambda: page_source(args), f"/exchanges{query}" if is_traffic(args) else "")


def exchange_name(text: str) -> tuple[int, int]:
    """An exchange by connection and sequence, as all commands and tables name it.

    >>> exchange_name("0/17")
    (0, 17)
    """
    conn, slash, seq = text.partition("/")
    if not slash or not conn.isdecimal() or not seq.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected CONN/SEQ, such as 0/17, as `inspect` prints it")
    return int(conn), int(seq)


def _named_topics(texts: list[str], tables: dict[str, pa.Table]) -> list[str]:
    """The topics that names and patterns stand for; a pattern that fits none stays, and selects nothing."""
    names = split_names(texts)
    if not any(map(is_pattern, names)):
        return names
    there = {
        topic for table in tables.values() if "topic" in table.schema.names for topic in table["topic"].to_pylist()
    }
    known = sorted(each for each in there if each is not None)
    return [each for name in names for each in (fnmatch.filter(known, name) or [name])]


def _selection(args: argparse.Namespace) -> Selection:
    codes = []
    for name in args.error:
        if name != "any":
            try:
                codes.append(int(error(name).code))
            except ErrorLookupError as refusal:
                raise UsageError(str(refusal)) from refusal
    return inspector.Selection(
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
    """The tables with the rows of the selected exchanges and their connections, and of the selected topics of logs."""
    import pyarrow as pa

    exchanges = tables["exchanges"].take(pa.array(chosen, pa.int64()))
    pairs = set(zip(exchanges["conn_id"].to_pylist(), exchanges["seq"].to_pylist(), strict=True))
    whole = {(conn, None) for conn, _ in pairs}
    logs = wanted == inspector.Selection(topics=wanted.topics)

    def fits(conn: int | None, seq: int | None, topics: list[str | None]) -> bool:
        if conn is None:
            return logs and (not topics or not set(wanted.topics).isdisjoint(topics))
        return (conn, seq) in (pairs if seq is not None else whole)

    return {
        name: table.filter(pa.array(list(map(fits, *_places(table))), pa.bool_())) for name, table in tables.items()
    }


def _places(table: pa.Table) -> list[list[Any]]:
    """The connection, the exchange and the topics of each row of a table; None or empty if the table lacks them."""
    names = table.schema.names
    if "partitions" in names:
        topics = [[each["topic"] for each in row or ()] for row in table["partitions"].to_pylist()]
    elif "topic" in names:
        topics = [[] if name is None else [name] for name in table["topic"].to_pylist()]
    else:
        topics = [[] for _ in range(len(table))]
    numbers = [table[name].to_pylist() if name in names else [None] * len(table) for name in ("conn_id", "seq")]
    return [*numbers, topics]


def _write_parquet(tables: dict[str, pa.Table], folder: Path) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if name == "exchanges":
            table = inspector.in_order_of_time(table)
        path = folder / f"{name}.parquet"
        pq.write_table(table, path)
        print(f"{path}: {len(table)} rows")


def _readable(value: object) -> object:
    """Bytes as text where they are UTF-8, else as hex; headers as name=value."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, list):
        return [_readable(each) for each in value]
    if isinstance(value, dict):
        return (
            f"{value['key']}={_readable(value['value'])}"
            if value.keys() == {"key", "value"}
            else " ".join(f"{name}={_readable(each)}" for name, each in value.items())
        )
    return value


def _json_row(names: list[str], row: list[object]) -> dict[str, object]:
    shown: dict[str, object] = {}
    for name, value in zip(names, row, strict=True):
        if isinstance(value, bytes):
            put_bytes(shown, name, value)
        elif name == "headers" and isinstance(value, list):
            shown[name] = [_json_row(list(each), list(each.values())) for each in value]
        else:
            shown[name] = value
    return shown


def _values(table: pa.Table) -> Iterator[list[object]]:
    return (list(row.values()) for run in table.to_batches(1000) for row in run.to_pylist())


_COLUMNS = (
    *("exchange", "time", "client", "api", "version", "about", "wait ms", "request", "response"),
    *("error", "state"),
)


def _lines(reading: Reading, exchanges: pa.Table) -> Iterator[list[object]]:
    clients = dict(
        zip(*(reading.tables["connections"][name].to_pylist() for name in ("conn_id", "client")), strict=True)
    )
    topics = _topics(reading.tables["exchange_partitions"])
    for row in exchanges.to_pylist():
        when = row["ts_req"] or row["ts_resp"]
        about = topics.get((row["conn_id"], row["seq"])) or row["group_id"] or row["transactional_id"]
        yield [
            f"{row['conn_id']}/{row['seq']}",
            None if when is None else f"{when:%H:%M:%S.%f}",
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


_TRANSACTION_COLUMNS = (
    *("source", "transactional id", "producer", "epoch", "outcome", "begin", "seconds", "timeout s", "records"),
    *("partitions", "groups", "client", "ended by", "fenced by", "exchanges"),
)


def _transaction_lines(rows: pa.Table) -> Iterator[list[object]]:
    found = rows.to_pylist()
    for row in found:
        yield [
            row["source"],
            row["transactional_id"],
            row["producer_id"],
            row["producer_epoch"],
            row["state"] if row["outcome"] == "open" and row["state"] else row["outcome"],
            None if row["begin"] is None else f"{row['begin']:%Y-%m-%d %H:%M:%S.%f}",
            None if row["duration_us"] is None else row["duration_us"] / 1e6,
            None if row["timeout_ms"] is None else row["timeout_ms"] / 1000,
            row["records"],
            _shortened([_partition_text(each) for each in row["partitions"]]),
            _shortened(row["groups"]) or None,
            row["client"],
            row["ended_by"],
            row["fenced_by"],
            _shortened([f"{each['conn_id']}/{each['seq']}" for each in row["exchanges"]]) or None,
        ]


def _partition_text(part: dict[str, Any]) -> str:
    name = f"{part['topic']}-{part['partition']}"
    return name if part["first_offset"] is None else f"{name} {part['first_offset']}..{part['last_offset']}"


def _shortened(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


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


def _print_tree(reading: Reading, place: tuple[int, int], *, as_json: bool) -> int:
    explained = list(inspector.explain_exchange(reading, *place))
    if not explained:
        raise UsageError(f"--tree {place[0]}/{place[1]}: no such exchange, or the capture lacks its bytes")
    if as_json:
        output.print_json(inspector.render_json(each) for each in explained)
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for each in explained:
        print(output.coloured(each.title, "bold"))
        for line in inspector.render_text(each, width=width, paint=output.coloured):
            print(line)
    return 0
