"""`kafkawire pipeline`: Kafka's data to tables, on Spark."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli import output
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kafkawire.spark.captures_input import CapturesSummary
    from kafkawire.spark.jobs import Input
    from kafkawire.spark.summary import SegmentsSummary, Summary

HELP = "turn captures and log files into tables on Spark, say what went wrong in them, and write a report"
EXAMPLES = (
    "kafkawire pipeline run --source segments /var/lib/kafka/orders-* --out tables",
    "kafkawire pipeline run --source captures kafka.pcap --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka --table batches --out tables --json",
    "kafkawire pipeline run --source segments logs --out tables --master spark://host:7077",
)
_SEGMENTS = ("batches", "records", "segment_files", "index_errors")
_CAPTURES = ("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "batches", "records")
_TABLES = {"segments": _SEGMENTS, "captures": _CAPTURES}
_DEFAULT = {"segments": ("batches", "records"), "captures": _CAPTURES}
_STYLES: dict[str, output.Style] = {"error": "red", "warning": "yellow", "info": "blue"}
_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run_parser = verbs.add_parser("run", help="read a source once, and write its tables", description=HELP)
    run_parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="log directories, .log files, captures, or patterns of them"
    )
    run_parser.add_argument("--source", choices=tuple(_TABLES), required=True, help="what the paths hold")
    run_parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the tables go")
    run_parser.add_argument("--overwrite", action="store_true", help="replace the tables of an earlier run in DIR")
    run_parser.add_argument(
        "--table",
        action="append",
        choices=tuple(dict.fromkeys((*_SEGMENTS, *_CAPTURES))),
        help="a table to write, again for more (default: of segments batches and records, of captures all)",
    )
    run_parser.add_argument(
        "--mode",
        choices=("permissive", "failfast", "dropmalformed"),
        help="unreadable bytes of segments: report and go on (default), fail, or leave out in silence",
    )
    run_parser.add_argument("--values", action="store_true", help="keep the values of records in captures")
    run_parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")
    run_parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting, again for more"
    )
    output.add_json_option(run_parser)


def run(args: argparse.Namespace) -> int:
    settings = dict(_setting(text) for text in args.conf)
    tables = tuple(dict.fromkeys(args.table or _DEFAULT[args.source]))
    foreign = [table for table in tables if table not in _TABLES[args.source]]
    if foreign:
        raise UsageError(f"--table {foreign[0]}: {args.source} have {', '.join(_TABLES[args.source])}")
    options = {"overwrite": args.overwrite, "master": args.master, "settings": settings}
    if args.source == "segments":
        if args.values:
            raise UsageError("--values is for captures; the records of segments always have their values")
        mode = (args.mode or "permissive").upper()
        summary: Summary = run_segments(args.paths, args.out, tables=tables, mode=mode, **options)
    else:
        if args.mode:
            raise UsageError("--mode is for segments; what a capture lacks is in its gaps table")
        summary = run_captures(args.paths, args.out, tables=tables, values=args.values, **options)
    if args.json:
        output.print_json([{"out": str(args.out), **summary.as_dict()}])
    else:
        print_summary(summary)
        print()
        print_findings(args.out, summary)
        print_places(args.out, tables, summary)
    return 1 if summary.has_findings else 0


def run_segments(
    paths: list[str],
    out: Path,
    *,
    tables: tuple[str, ...] = _DEFAULT["segments"],
    mode: str = "PERMISSIVE",
    overwrite: bool = False,
    master: str | None = None,
    settings: dict[str, str] | None = None,
) -> SegmentsSummary:
    """Run the job over log files with a progress bar, in a Spark session of its own unless one is running."""
    from kafkawire.spark.session import require_spark

    require_spark()
    from kafkawire.spark.segments_input import SegmentsInput
    from kafkawire.spark.summary import SegmentsSummary

    summary = _run(SegmentsInput(paths, mode), out, tables, overwrite, master, settings)
    assert isinstance(summary, SegmentsSummary)
    return summary


def run_captures(
    paths: list[str],
    out: Path,
    *,
    tables: tuple[str, ...] = _DEFAULT["captures"],
    values: bool = False,
    overwrite: bool = False,
    master: str | None = None,
    settings: dict[str, str] | None = None,
) -> CapturesSummary:
    """Run the job over captures with a progress bar, in a Spark session of its own unless one is running."""
    from kafkawire.spark.session import require_spark

    require_spark()
    from kafkawire.spark.captures_input import CapturesInput, CapturesSummary

    summary = _run(CapturesInput(paths, values), out, tables, overwrite, master, settings)
    assert isinstance(summary, CapturesSummary)
    return summary


def _run(
    source: Input,
    out: Path,
    tables: tuple[str, ...],
    overwrite: bool,
    master: str | None,
    settings: dict[str, str] | None,
) -> Summary:
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.session import default_master, running_session

    files = source.files()
    if not files:
        raise UsageError(source.nothing())
    directory = OutputDirectory.claim(out, overwrite=overwrite)
    with ExitStack() as stack:
        with _status("starting Spark ..."):
            session = running_session(master or default_master(), settings=settings, log_file=directory.log_file)
            spark = stack.enter_context(session)
        from kafkawire.spark.jobs import Job
        from kafkawire.spark.watching import run_interruptible

        bars = stack.enter_context(ExitStack())
        report = _bars(bars, sum(file["bytes"] for file in files))
        return run_interruptible(spark, Job(spark, source, directory, tables, report).run)


@contextmanager
def _status(text: str) -> Iterator[None]:
    """A line on the terminal while something lasts."""
    shown = sys.stderr.isatty()
    print(text if shown else "", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K" if shown else "", end="", file=sys.stderr, flush=True)


def _bars(bars: ExitStack, total: int) -> Callable[[str, float], None]:
    """A progress bar a stage, over the bytes of the source."""
    shown: dict[str, tuple[Progress, int]] = {}

    def report(stage: str, share: float) -> None:
        if stage not in shown:
            bars.close()
            shown[stage] = bars.enter_context(Progress(f"writing {stage}", total, unit="bytes")), 0
        bar, before = shown[stage]
        now = round(share * total)
        bar.advance(now - before)
        shown[stage] = bar, now

    return report


def print_summary(summary: Summary) -> None:
    """The numbers of a run, for people."""
    from kafkawire.spark.summary import SegmentsSummary, readable_time

    first, last = readable_time(summary.first_timestamp), readable_time(summary.last_timestamp)
    told = summary.as_dict()
    files = f"{summary.files} ({output.human_size(summary.bytes)})"
    if isinstance(summary, SegmentsSummary):
        files += f" of {summary.partitions} partitions, {summary.topics} topics"
    names = ("packets", "connections", "tls_connections", "exchanges", "undecoded", "unanswered", "batches", "records")
    fields = {
        "files": files,
        **{name.replace("_", " "): told.get(name) for name in (*names, "tombstones")},
        "time": f"{first} to {last}" if first else None,
        "missing": _missing(told),
        "faults": told["faults"] if told.get("faults") else "none",
        "index errors": told.get("index_errors"),
        "took": f"{summary.seconds:.1f} s",
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    if isinstance(summary, SegmentsSummary):
        if summary.formats:
            print()
            print_columns(("magic", "codec", "batches", "records", "bytes"), summary.formats)
        if summary.fault_examples:
            print()
            print_columns(("file", "position", "size", "fault"), summary.fault_examples)


def _missing(told: Mapping[str, int]) -> str | None:
    missing, skipped = told.get("missing_bytes"), told.get("skipped_bytes")
    if not missing and not skipped:
        return None
    return f"{missing} bytes missing from the captures, {skipped} bytes in no frame"


def print_findings(out: Path, summary: Summary) -> None:
    """What is wrong, the worst first; the report tells all of it."""
    if summary.findings is None:
        print("findings: not looked for, without the tables that rules look at\n")
        return
    total = sum(summary.findings.values())
    if not total:
        print("findings: none\n")
        return
    from pyarrow import dataset

    rows = dataset.dataset(out / "findings", format="parquet").head(_SHOWN).to_pylist()
    for row in rows:
        head = output.coloured(f"{row['level']:<8}", _STYLES[row["level"]])
        print(f"{head} {row['rule']}: {output.visible(row['text'])}")
    if total > len(rows):
        print(f"and {total - len(rows)} more")
    print()


def print_places(out: Path, tables: Sequence[str], summary: Summary) -> None:
    """Where the results of a run are."""
    extra = [table for table in ("faults", "findings") if summary.rows_of(table) is not None]
    width = max(len(name) for name in (*tables, *extra, "manifest")) + 1
    for table in [*tables, *extra]:
        print(f"{table + ':':<{width}} {out / table}")
    print(f"{'manifest:':<{width}} {out / 'manifest.json'}")
    print(f"{'report:':<{width}} {out / 'report.html'}")


def print_columns(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Some columns of rows as a table."""
    output.print_rows(columns, ([row[name] for name in columns] for row in rows))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--conf {text}: expected NAME=VALUE")
    return name, value
