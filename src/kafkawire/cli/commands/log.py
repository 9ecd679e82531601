"""`kafkawire log`: the contents, checks, statistics and repair of log directories and files."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.cli._support.numbers import count, positive
from kafkawire.cli._support.output import Progress, add_json_option, add_web_option, human_size, print_json, print_rows
from kafkawire.cli._support.pages import show_source
from kafkawire.cli._support.record_formats import put_bytes
from kafkawire.cli._support.repairs import configure as configure_repair
from kafkawire.cli._support.repairs import run as repair
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log import StoragePrice

HELP = "dump, verify, measure and repair log directories and files"
EXAMPLES = (
    "kafkawire log dump /var/lib/kafka/orders-0 --verify",
    "kafkawire log dump orders-0/00000000000000000000.log --records --json",
    "kafkawire log dump /var/lib/kafka/__transaction_state-7 --records",
    "kafkawire log stats /var/lib/kafka/orders-0 --what-if",
    "kafkawire log repair /var/lib/kafkawire",
)
SHOWN_BYTES = 60
TOP_KEYS = 10
_UNITS = {"GB": 10**9, "GiB": 2**30, "TB": 10**12, "TiB": 2**40, "MB": 10**6, "MiB": 2**20}
_PRICE = re.compile(rf"(\d+(?:\.\d+)?)/({'|'.join(_UNITS)})-(\w+)")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="dump|stats|repair")
    dump = verbs.add_parser("dump", help="print logs, indexes, snapshots and checkpoints; exit code 1 on a fault")
    dump.add_argument(
        "paths", nargs="+", type=Path, metavar="DIR|FILE", help="log directories, partitions, or single files"
    )
    dump.add_argument(
        "--records", action="store_true", help="print the records too; those of internal topics are decoded"
    )
    dump.add_argument(
        "-t", "--topic", help="topic of the logs, whose records may be Kafka's own; default: the name of the directory"
    )
    dump.add_argument("--verify", action="store_true", help="check everything, and print only faults")
    dump.add_argument(
        "--index-interval", type=positive, default=4096, metavar="BYTES", help="index.interval.bytes (4096)"
    )
    add_web_option(dump)
    add_json_option(dump)
    stats = verbs.add_parser(
        "stats", help="print space by format, codec and key; batch sizes, tombstones, other codecs"
    )
    stats.add_argument(
        "paths", nargs="+", type=Path, metavar="DIR|FILE", help="log directories, partitions, or .log files"
    )
    stats.add_argument("--what-if", action="store_true", help="compress the records with every codec (slower)")
    stats.add_argument(
        "--price",
        type=price,
        metavar="0.023/GB-month",
        help="price of storage; print sizes as money, too",
    )
    stats.add_argument("--max-bytes", type=positive, metavar="N", help="read only the first N bytes")
    stats.add_argument("--top", type=count, default=TOP_KEYS, metavar="N", help=f"number of keys to list ({TOP_KEYS})")
    add_json_option(stats)
    configure_repair(
        verbs.add_parser("repair", help="find damage in a data directory or partition; --apply repairs it")
    )


def run(args: argparse.Namespace) -> int:
    if args.verb == "repair":
        return repair(args)
    missing = [str(path) for path in args.paths if not path.exists()]
    if missing:
        raise UsageError(f"{', '.join(missing)}: no such file or directory")
    if args.verb == "stats":
        return _stats(args)
    if args.web:
        return _show(args.paths)
    return _verify(args) if args.verify else _dump(args)


def _show(paths: list[Path]) -> int:
    """Show log directories in the browser; a file is shown with its partition."""

    def source() -> object:
        from kafkawire.web import LogSource

        return LogSource(list(dict.fromkeys(path if path.is_dir() else path.parent for path in paths)))

    return show_source(source, "")


def _verify(args: argparse.Namespace) -> int:
    from kafkawire.log import verify_paths

    found = list(verify_paths(args.paths, interval=args.index_interval))
    rows = [
        (str(finding.path), finding.position if finding.position >= 0 else None, finding.message) for finding in found
    ]
    if rows or args.json:
        print_rows(("file", "position", "fault"), rows, as_json=args.json)
    if not args.json:
        print(f"{len(rows)} faults" if rows else "no fault found")
    return 1 if rows else 0


def _dump(args: argparse.Namespace) -> int:
    from kafkawire.log import dump_path

    faults = 0
    for path in args.paths:
        for table in dump_path(path, records=args.records, topic=args.topic):
            faults += table.kind == "fault"
            if args.json:
                head = {"file": str(table.path), "kind": table.kind}
                print_json(head | _as_object(table.columns, row) for row in table.rows)
            else:
                print(f"{table.path}: {table.kind}")
                print_rows(table.columns, ([_shown(value) for value in row] for row in table.rows))
                print()
    return 1 if faults else 0


def _as_object(columns: Sequence[str], row: Sequence[object]) -> dict[str, object]:
    """A row for JSON, from which every byte can be restored."""
    from kafkawire.log.internal_topics import InternalMessage

    shown: dict[str, object] = {}
    for name, value in zip(columns, row, strict=True):
        if isinstance(value, InternalMessage):
            shown[name] = {"type": value.name, "version": value.version, "data": value.fields}
        elif isinstance(value, (bytes, memoryview)):
            put_bytes(shown, name, bytes(value))
        elif name == "headers" and isinstance(value, (list, tuple)):
            shown[name] = [_header(key, data) for key, data in value]
        else:
            shown[name] = value
    return shown


def _header(name: str, data: bytes | None) -> dict[str, object]:
    header: dict[str, object] = {"name": name}
    put_bytes(header, "value", data)
    return header


def _shown(value: Any) -> object:
    from kafkawire.log.internal_topics import InternalMessage

    if isinstance(value, InternalMessage):
        return f"{value.name} v{value.version} {json.dumps(value.fields, ensure_ascii=False)}"
    if isinstance(value, (bytes, memoryview)):
        text = bytes(value).decode("utf-8", "backslashreplace")
        return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES] + "..."
    if isinstance(value, (list, tuple)):
        return [f"{each[0]}={_shown(each[1])}" if isinstance(each, tuple) else each for each in value]
    return value


def _stats(args: argparse.Namespace) -> int:
    from kafkawire.log import available_codecs, log_files, stats_sections
    from kafkawire.log import collect_stats as collect

    paths = [found for path in args.paths for found in log_files(path)]
    if not paths:
        raise UsageError(f"{', '.join(map(str, args.paths))}: no .log file found")
    codecs = available_codecs() if args.what_if or args.price else []
    total = sum(path.stat().st_size for path in paths)
    with Progress("reading", total=min(total, args.max_bytes or total), unit="bytes") as progress:
        stats = collect(paths, max_bytes=args.max_bytes, codecs=codecs, progress=progress.advance)
    for name, columns, rows in stats_sections(stats, top=args.top, cost=args.price, human_size=human_size):
        listed = list(rows)
        if args.json:
            print_json({"section": name, **dict(zip(columns, row, strict=True))} for row in listed)
        elif listed:
            print(name)
            print_rows(columns, listed)
            print()
    return 0


def price(text: str) -> StoragePrice:
    """A price of storage.

    >>> price("0.023/GB-month")
    Price(amount=0.023, size=1000000000, period='month')
    """
    from kafkawire.log import StoragePrice

    found = _PRICE.fullmatch(text)
    if found is None:
        units = ", ".join(_UNITS)
        raise argparse.ArgumentTypeError(f"{text!r}: expected AMOUNT/UNIT-PERIOD, such as 0.023/GB-month ({units})")
    return StoragePrice(float(found[1]), _UNITS[found[2]], found[3])
