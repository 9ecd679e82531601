"""`kafkawire pipeline`: Kafka's data to tables, on Spark."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kafkawire.cli import output
from kafkawire.cli.clients import add_client_options, client_config, pair
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kafkawire.spark.captures_input import CapturesSummary
    from kafkawire.spark.jobs import Input
    from kafkawire.spark.summary import SegmentsSummary, Summary
    from kafkawire.spark.topics_input import TopicsSummary

HELP = "turn topics, log files and captures into tables on Spark, say what is wrong in them, and write a report"
EXAMPLES = (
    "kafkawire pipeline run --source topic -b localhost:9092 orders payments --out tables",
    "kafkawire pipeline run --source topic '^order' --start @1700000000000 --option failOnDataLoss=false --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka/orders-* --out tables",
    "kafkawire pipeline run --source captures kafka.pcap --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka --table batches --out tables --json",
    "kafkawire pipeline run --source segments logs --out tables --master spark://host:7077",
)
_SEGMENTS = ("batches", "records", "segment_files", "index_errors")
_CAPTURES = ("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "batches", "records")
_TOPIC = ("batches", "records")
_TABLES = {"topic": _TOPIC, "segments": _SEGMENTS, "captures": _CAPTURES}
_DEFAULT = {"topic": _TOPIC, "segments": ("batches", "records"), "captures": _CAPTURES}
_STYLES: dict[str, output.Style] = {"error": "red", "warning": "yellow", "info": "blue"}
_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run_parser = verbs.add_parser("run", help="read a source once, and write its tables", description=HELP)
    run_parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH|TOPIC",
        help="log directories, .log files, captures, or patterns of them; topics, or ^patterns of their names",
    )
    run_parser.add_argument("--source", choices=tuple(_TABLES), required=True, help="what is named")
    run_parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the tables go")
    run_parser.add_argument("--overwrite", action="store_true", help="replace the tables of an earlier run in DIR")
    run_parser.add_argument(
        "--table",
        action="append",
        choices=tuple(dict.fromkeys((*_SEGMENTS, *_CAPTURES))),
        help="a table to write, again for more (default: batches and records, of captures all)",
    )
    run_parser.add_argument(
        "--mode",
        choices=("permissive", "failfast", "dropmalformed"),
        help="unreadable bytes of segments: report and go on (default), fail, or leave out in silence",
    )
    run_parser.add_argument("--values", action="store_true", help="keep the values of records in captures")
    _add_topic_options(run_parser)
    run_parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")
    run_parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting, again for more"
    )
    output.add_json_option(run_parser)


def _add_topic_options(parser: argparse.ArgumentParser) -> None:
    add_client_options(parser)
    parser.add_argument(
        "--start",
        metavar="PLACE",
        help="topics: earliest (default), group, @MS for a time, or JSON of offsets by partition",
    )
    parser.add_argument("--end", metavar="PLACE", help="topics: latest (default), @MS for a time, or JSON of offsets")
    parser.add_argument(
        "--option",
        dest="source_options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="topics: any option of spark.read.format('kafkawire'), again for more",
    )


def run(args: argparse.Namespace) -> int:
    settings = dict(pair(text, "--conf") for text in args.conf)
    tables = tuple(dict.fromkeys(args.table or _DEFAULT[args.source]))
    foreign = [table for table in tables if table not in _TABLES[args.source]]
    if foreign:
        raise UsageError(f"--table {foreign[0]}: {args.source} have {', '.join(_TABLES[args.source])}")
    _check_options(args)
    options = {"tables": tables, "overwrite": args.overwrite, "master": args.master, "settings": settings}
    summary: Summary
    if args.source == "topic":
        summary = run_topics(_topic_options(args), args.out, **options)
    elif args.source == "segments":
        summary = run_segments(args.paths, args.out, mode=(args.mode or "permissive").upper(), **options)
    else:
        summary = run_captures(args.paths, args.out, values=args.values, **options)
    if args.json:
        output.print_json([{"out": str(args.out), **summary.as_dict()}])
    else:
        print_summary(summary)
        print()
        print_findings(args.out, summary)
        print_places(args.out, tables, summary)
    return 1 if summary.has_findings else 0


def _check_options(args: argparse.Namespace) -> None:
    if args.source != "topic":
        if args.start or args.end or args.source_options:
            raise UsageError(f"--start, --end and --option are for topics; {args.source} are read whole")
        if not args.paths:
            raise UsageError(f"no path: name the {args.source} to read")
    if args.values and args.source != "captures":
        raise UsageError(f"--values is for captures; the records of {args.source} always have their values")
    if args.mode and args.source == "captures":
        raise UsageError("--mode is for segments; what a capture lacks is in its gaps table")
    if args.mode and args.source == "topic":
        raise UsageError("--mode is for segments; bytes that a broker sends and that cannot be read end the run")


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


def run_topics(
    options: dict[str, str],
    out: Path,
    *,
    tables: tuple[str, ...] = _DEFAULT["topic"],
    overwrite: bool = False,
    master: str | None = None,
    settings: dict[str, str] | None = None,
) -> TopicsSummary:
    """Run the job over live topics, given by the options of the format `kafkawire`, with a progress bar."""
    from kafkawire.spark.session import require_spark

    require_spark()
    from kafkawire.spark.topics_input import TopicsInput, TopicsSummary

    summary = _run(TopicsInput(options), out, tables, overwrite, master, settings)
    assert isinstance(summary, TopicsSummary)
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
        report = _bars(bars, source.amount(), unit=source.unit)
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


def _bars(bars: ExitStack, total: int, unit: Literal["bytes", "items"]) -> Callable[[str, float], None]:
    """A progress bar a stage, over what there is to read."""
    shown: dict[str, tuple[Progress, int]] = {}

    def report(stage: str, share: float) -> None:
        if stage not in shown:
            bars.close()
            shown[stage] = bars.enter_context(Progress(f"writing {stage}", total, unit=unit)), 0
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
    files = None
    if summary.files is not None:
        files = f"{summary.files} ({output.human_size(summary.bytes or 0)})"
    if isinstance(summary, SegmentsSummary):
        files = f"{files} of {summary.partitions} partitions, {summary.topics} topics"
    names = (
        "offsets",
        "packets",
        "connections",
        "tls_connections",
        "exchanges",
        "undecoded",
        "unanswered",
        "batches",
        "records",
    )
    fields = {
        "files": files,
        **({"topics": told["topics"], "partitions": told["partitions"]} if "offsets" in told else {}),
        **{name.replace("_", " "): told.get(name) for name in (*names, "tombstones")},
        "time": f"{first} to {last}" if first else None,
        "missing": _missing(told),
        "groups": told.get("groups"),
        "faults": (told["faults"] or "none") if "faults" in told else None,
        "index errors": told.get("index_errors"),
        "took": f"{summary.seconds:.1f} s",
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    for columns, rows in (
        (("magic", "codec", "batches", "records", "bytes"), told.get("formats")),
        (("file", "position", "size", "fault"), told.get("fault_examples")),
    ):
        if rows:
            print()
            print_columns(columns, rows)


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
    extra = [table for table in ("faults", "group_offsets", "findings") if summary.rows_of(table) is not None]
    width = max(len(name) for name in (*tables, *extra, "manifest")) + 1
    for table in [*tables, *extra]:
        print(f"{table + ':':<{width}} {out / table}")
    print(f"{'manifest:':<{width}} {out / 'manifest.json'}")
    print(f"{'report:':<{width}} {out / 'report.html'}")


def print_columns(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Some columns of rows as a table."""
    output.print_rows(columns, ([row[name] for name in columns] for row in rows))


def _topic_options(args: argparse.Namespace) -> dict[str, str]:
    from kafkawire.spark.topics_input import topic_options

    options = dict(pair(text, "--option") for text in args.source_options)
    client = {f"kafka.{name}": value for name, value in client_config(args).items()}
    for which, place in (("starting", args.start), ("ending", args.end)):
        if place:
            is_time = place.startswith("@")
            options[f"{which}Timestamp" if is_time else f"{which}Offsets"] = place.removeprefix("@")
    return topic_options(client.pop("kafka.bootstrap.servers"), args.paths, {**client, **options})
