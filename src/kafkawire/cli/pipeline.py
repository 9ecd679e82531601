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

    from kafkawire.spark.summary import Summary

HELP = "turn log files into tables on Spark, and say what is in them"
EXAMPLES = (
    "kafkawire pipeline run --source segments /var/lib/kafka/orders-* --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka --table batches --out tables --json",
    "kafkawire pipeline run --source segments logs --out tables --master spark://host:7077",
)


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run_parser = verbs.add_parser("run", help="read a source once, and write its tables", description=HELP)
    run_parser.add_argument("paths", nargs="+", metavar="PATH", help="log directories, .log files, or patterns of them")
    run_parser.add_argument("--source", choices=("segments",), required=True, help="what the paths hold")
    run_parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the tables go")
    run_parser.add_argument("--overwrite", action="store_true", help="replace the tables of an earlier run in DIR")
    run_parser.add_argument(
        "--table",
        action="append",
        choices=("batches", "records", "segment_files", "index_errors"),
        help="a table to write, again for more (default: batches and records)",
    )
    run_parser.add_argument(
        "--mode",
        choices=("permissive", "failfast", "dropmalformed"),
        default="permissive",
        help="unreadable bytes: report and go on (default), fail, or leave out in silence",
    )
    run_parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")
    run_parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting, again for more"
    )
    output.add_json_option(run_parser)


def run(args: argparse.Namespace) -> int:
    settings = dict(_setting(text) for text in args.conf)
    tables = tuple(dict.fromkeys(args.table or ("batches", "records")))
    summary = run_segments(
        args.paths,
        args.out,
        tables=tables,
        mode=args.mode.upper(),
        overwrite=args.overwrite,
        master=args.master,
        settings=settings,
    )
    if args.json:
        output.print_json([{"out": str(args.out), **summary.as_dict()}])
    else:
        print_summary(summary)
        print()
        print_places(args.out, tables, summary)
    return 1 if summary.has_findings else 0


def run_segments(
    paths: list[str],
    out: Path,
    *,
    tables: tuple[str, ...] = ("batches", "records"),
    mode: str = "PERMISSIVE",
    overwrite: bool = False,
    master: str | None = None,
    settings: dict[str, str] | None = None,
) -> Summary:
    """Run the job with a progress bar, in a Spark session of its own unless one is running."""
    from kafkawire.spark.listing import list_segments
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.session import default_master, require_spark, running_session

    require_spark()
    files = list_segments(paths)
    if not files:
        raise UsageError(
            f"no segment files in {', '.join(paths)}; expected a partition's directory with files such as"
            " 00000000000000000000.log, or a directory of such directories"
        )
    directory = OutputDirectory.claim(out, overwrite=overwrite)
    with ExitStack() as stack:
        with _status("starting Spark ..."):
            session = running_session(master or default_master(), settings=settings, log_file=directory.log_file)
            spark = stack.enter_context(session)
        from kafkawire.spark.jobs import SegmentsJob
        from kafkawire.spark.watching import run_interruptible

        bars = stack.enter_context(ExitStack())
        report = _bars(bars, sum(file.size for file in files))
        return run_interruptible(spark, SegmentsJob(spark, paths, directory, tables, mode, report).run)


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
    from kafkawire.spark.summary import readable_time

    first, last = readable_time(summary.first_timestamp), readable_time(summary.last_timestamp)
    fields = {
        "files": f"{summary.files} ({output.human_size(summary.bytes)}) of {summary.partitions} partitions,"
        f" {summary.topics} topics",
        "batches": summary.batches,
        "records": summary.records,
        "tombstones": summary.tombstones,
        "time": f"{first} to {last}" if first else None,
        "faults": summary.faults or "none",
        "index errors": summary.index_errors,
        "took": f"{summary.seconds:.1f} s",
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    if summary.formats:
        print()
        print_columns(("magic", "codec", "batches", "records", "bytes"), summary.formats)
    if summary.fault_examples:
        print()
        print_columns(("file", "position", "size", "fault"), summary.fault_examples)


def print_places(out: Path, tables: Sequence[str], summary: Summary) -> None:
    """Where the results of a run are."""
    for table in [*tables, *(["faults"] if summary.faults else [])]:
        print(f"{table + ':':<10} {out / table}")
    print(f"{'manifest:':<10} {out / 'manifest.json'}")


def print_columns(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Some columns of rows as a table."""
    output.print_rows(columns, ([row[name] for name in columns] for row in rows))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--conf {text}: expected NAME=VALUE")
    return name, value
