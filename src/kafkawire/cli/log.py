"""kafkawire log: what is in log directories and files, whether it is sound, what it is made of, and its repair."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.cli.commands import UsageError
from kafkawire.cli.output import add_json_option, human_size, print_json, print_rows
from kafkawire.cli.progress import Progress
from kafkawire.cli.repairs import configure as configure_repair
from kafkawire.cli.repairs import run as repair

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

HELP = "dump, verify, weigh and repair log directories and files"
EXAMPLES = (
    "kafkawire log dump /var/lib/kafka/orders-0 --verify",
    "kafkawire log dump orders-0/00000000000000000000.log --records --json",
    "kafkawire log stats /var/lib/kafka/orders-0 --what-if",
    "kafkawire log repair /var/lib/kafkawire",
)
SHOWN_BYTES = 60
TOP_KEYS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="dump|stats|repair")
    dump = verbs.add_parser("dump", help="contents of logs, indexes, snapshots and checkpoints; exit code 1 on a fault")
    dump.add_argument("paths", nargs="+", type=Path, metavar="DIR|FILE", help="log roots, partitions, or single files")
    dump.add_argument("--records", action="store_true", help="the records too, unpacked")
    dump.add_argument("--verify", action="store_true", help="check everything, and print only what is wrong")
    dump.add_argument("--index-interval", type=int, default=4096, metavar="BYTES", help="index.interval.bytes (4096)")
    add_json_option(dump)
    stats = verbs.add_parser("stats", help="space by format, codec and key; batch fill, tombstones, other codecs")
    stats.add_argument("paths", nargs="+", type=Path, metavar="DIR|FILE", help="log roots, partitions, or .log files")
    stats.add_argument("--what-if", action="store_true", help="try every codec on the records (slower)")
    stats.add_argument("--max-bytes", type=int, metavar="N", help="look only at the first N bytes")
    stats.add_argument("--top", type=int, default=TOP_KEYS, metavar="N", help=f"how many keys to list ({TOP_KEYS})")
    add_json_option(stats)
    configure_repair(
        verbs.add_parser("repair", help="what is damaged in a data directory or partition; --apply repairs")
    )


def run(args: argparse.Namespace) -> int:
    if args.verb == "repair":
        return repair(args)
    missing = [str(path) for path in args.paths if not path.exists()]
    if missing:
        raise UsageError(f"{', '.join(missing)}: no such file or directory")
    if args.verb == "stats":
        return _stats(args)
    return _verify(args) if args.verify else _dump(args)


def _verify(args: argparse.Namespace) -> int:
    from kafkawire.log.findings import verify_paths

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
    from kafkawire.log.dump import dump_path

    faults = 0
    for path in args.paths:
        for table in dump_path(path, records=args.records):
            faults += table.kind == "fault"
            shown = ([_shown(value, as_json=args.json) for value in row] for row in table.rows)
            if args.json:
                head = {"file": str(table.path), "kind": table.kind}
                print_json({**head, **dict(zip(table.columns, row, strict=True))} for row in shown)
            else:
                print(f"{table.path}: {table.kind}")
                print_rows(table.columns, shown)
                print()
    return 1 if faults else 0


def _shown(value: Any, *, as_json: bool) -> object:
    if isinstance(value, bytes):
        text = value.decode("utf-8", "backslashreplace")
        return text if as_json or len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES] + "..."
    return value


def _stats(args: argparse.Namespace) -> int:
    from kafkawire.log.dump import log_files
    from kafkawire.log.stats import available_codecs, collect

    paths = [found for path in args.paths for found in log_files(path)]
    if not paths:
        raise UsageError(f"{', '.join(map(str, args.paths))}: no .log file there")
    codecs = available_codecs() if args.what_if else []
    total = sum(path.stat().st_size for path in paths)
    with Progress("reading", total=min(total, args.max_bytes or total), unit="bytes") as progress:
        stats = collect(paths, max_bytes=args.max_bytes, codecs=codecs, progress=progress.advance)
    for name, columns, rows in _sections(stats, args.top):
        listed = list(rows)
        if args.json:
            print_json({"section": name, **dict(zip(columns, row, strict=True))} for row in listed)
        elif listed:
            print(name)
            print_rows(columns, listed)
            print()
    return 0


def _sections(stats: Any, top: int) -> Iterator[tuple[str, tuple[str, ...], list[tuple[object, ...]]]]:
    facts: list[tuple[object, ...]] = [
        ("files", stats.files),
        ("bytes", stats.size),
        ("batches", stats.batches),
        ("records", stats.records),
        ("records a batch", round(stats.records / max(1, stats.batches), 2)),
        ("bytes of keys and values", stats.unpacked_bytes),
        ("control batches", stats.control_batches),
        ("empty batches", stats.empty_batches),
        ("tombstones", stats.tombstones),
        ("records without key", stats.keyless),
        ("keys", len(stats.key_records)),
        ("alive keys", len(stats.alive)),
        ("bytes of alive records", stats.alive_bytes),
        ("offset gaps", stats.offset_gaps),
        ("batches older than one before", stats.late_batches),
        ("first timestamp", _time(stats.first_timestamp)),
        ("last timestamp", _time(stats.last_timestamp)),
    ]
    yield "contents", ("what", "value"), facts
    formats: list[tuple[object, ...]] = [
        (magic, codec, stamps, stats.batches_by_format[magic, codec, stamps], size, human_size(size))
        for (magic, codec, stamps), size in stats.by_format.most_common()
    ]
    yield "formats", ("magic", "codec", "timestamps", "batches", "bytes", "size"), formats
    fill: list[tuple[object, ...]] = [(_fill(most), count) for most, count in sorted(stats.fill.items())]
    yield "batch fill", ("records", "batches"), fill
    keys: list[tuple[object, ...]] = [
        (key.decode("utf-8", "backslashreplace"), stats.key_records[key], size)
        for key, size in stats.key_bytes.most_common(top)
    ]
    yield "largest keys", ("key", "records", "bytes"), keys
    stored = sum(size for (magic, _, _), size in stats.by_format.items() if magic == 2)
    trials: list[tuple[object, ...]] = [
        (trial.codec, trial.size, round(trial.size / max(1, stored), 3), round(trial.seconds, 3))
        for trial in stats.what_if
    ]
    yield "what other codecs would make of it", ("codec", "bytes", "of stored", "seconds"), trials


def _fill(most: int) -> str:
    from kafkawire.log.stats import FILLS

    if most > FILLS[-1]:
        return f"over {FILLS[-1]}"
    return f"up to {most}"


def _time(milliseconds: int) -> str | None:
    if milliseconds < 0:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
