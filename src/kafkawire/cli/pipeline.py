"""`kafkawire pipeline`: Kafka's data to tables, on Spark."""

from __future__ import annotations

import signal
import tempfile
import threading
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from kafkawire.cli import output
from kafkawire.cli.clients import add_client_options, client_config, pair
from kafkawire.cli.commands import UsageError
from kafkawire.cli.pipeline_progress import Stages, StreamLine, status
from kafkawire.cli.pipeline_results import print_findings, print_places, print_summary
from kafkawire.cli.rule_thresholds import add_set_option, read_thresholds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.captures_input import CapturesSummary
    from kafkawire.spark.jobs import Input
    from kafkawire.spark.storage import Storage
    from kafkawire.spark.summary import SegmentsSummary, Summary
    from kafkawire.spark.topics_input import TopicsSummary

HELP = "turn topics, log files and captures into tables on Spark, with findings and a report"
EXAMPLES = (
    "kafkawire pipeline run --source topic -b localhost:9092 orders payments --out tables",
    "kafkawire pipeline run --source topic '^order' --start @1700000000000 --option failOnDataLoss=false --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka/orders-* --out tables",
    "kafkawire pipeline run --source captures kafka.pcap --out tables --set slow_ms=200",
    "kafkawire pipeline run --source segments /var/lib/kafka --table batches --out tables --json",
    "kafkawire pipeline run --source segments logs --out s3a://lake/kafka --master spark://host:7077",
    "kafkawire pipeline stream orders payments --out tables --checkpoint checkpoint --trigger 10s",
)
_SEGMENTS = ("batches", "records", "segment_files", "index_errors")
_CAPTURES = ("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "batches", "records")
_TOPIC = ("batches", "records")
_TABLES = {"topic": _TOPIC, "segments": _SEGMENTS, "captures": _CAPTURES}
_DEFAULT = {"topic": _TOPIC, "segments": ("batches", "records"), "captures": _CAPTURES}
_FORMATS = ("parquet", "delta")
_LITTLE = {"bytes": 32 << 20, "items": 100_000}


class How(TypedDict, total=False):
    """How a run is done, whatever it reads."""

    tables: Sequence[str]
    overwrite: bool
    master: str | None
    settings: dict[str, str] | None
    limits: Thresholds
    table_format: str


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
    run_parser.add_argument("--overwrite", action="store_true", help="replace the tables of an earlier run in DIR")
    _add_shared_options(run_parser, tuple(dict.fromkeys((*_SEGMENTS, *_CAPTURES))))
    run_parser.add_argument(
        "--mode",
        choices=("permissive", "failfast", "dropmalformed"),
        help="unreadable bytes of segments: report and go on (default), fail, or leave out in silence",
    )
    run_parser.add_argument("--values", action="store_true", help="keep the values of records in captures")
    run_parser.add_argument("--end", metavar="PLACE", help="topics: latest (default), @MS for a time, or JSON")
    stream_help = "read topics for good, from where it stopped before"
    stream_parser = verbs.add_parser("stream", help=stream_help, description=stream_help)
    stream_parser.add_argument("paths", nargs="*", metavar="TOPIC", help="topics, or ^patterns of their names")
    stream_parser.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="where the stream keeps how far it has come"
    )
    stream_parser.add_argument(
        "--trigger", default="10s", metavar="TIME", help="how often to look, or available-now to end (default 10s)"
    )
    _add_shared_options(stream_parser, _TOPIC)


def _add_shared_options(parser: argparse.ArgumentParser, tables: Sequence[str]) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the tables go: a directory, or a URL")
    parser.add_argument(
        "--table",
        action="append",
        choices=tuple(tables),
        help="a table to write, again for more (default: batches and records, of captures all)",
    )
    parser.add_argument("--format", choices=_FORMATS, default="parquet", help="of the tables (default parquet)")
    add_set_option(parser)
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting, again for more"
    )
    add_client_options(parser)
    parser.add_argument(
        "--start", metavar="PLACE", help="topics: earliest (default), group, @MS for a time, or JSON of offsets"
    )
    parser.add_argument(
        "--option",
        dest="source_options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="topics: any option of spark.read.format('kafkawire'), again for more",
    )
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    source = "topic" if args.verb == "stream" else args.source
    how: How = {
        "tables": tuple(dict.fromkeys(args.table or _DEFAULT[source])),
        "master": args.master,
        "settings": dict(pair(text, "--conf") for text in args.conf),
        "limits": read_thresholds(args.set),
        "table_format": args.format,
    }
    foreign = [table for table in how["tables"] if table not in _TABLES[source]]
    if foreign:
        raise UsageError(f"--table {foreign[0]}: {source} have {', '.join(_TABLES[source])}")
    summary: Summary
    if args.verb == "stream":
        options = _topic_options(args, end=None)
        summary = run_stream(options, args.out, checkpoint=args.checkpoint, trigger=args.trigger, **how)
    else:
        _check_options(args)
        how["overwrite"] = args.overwrite
        if source == "topic":
            summary = run_topics(_topic_options(args, end=args.end), args.out, **how)
        elif source == "segments":
            summary = run_segments(args.paths, args.out, mode=(args.mode or "permissive").upper(), **how)
        else:
            summary = run_captures(args.paths, args.out, values=args.values, **how)
    if args.json:
        output.print_json([{"out": str(args.out), **summary.as_dict()}])
    else:
        print_summary(summary)
        print()
        print_findings(summary)
        print_places(args.out, how["tables"], summary)
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


def run_segments(paths: list[str], out: Path | str, *, mode: str = "PERMISSIVE", **how: Unpack[How]) -> SegmentsSummary:
    """Run the job over log files with a progress bar, in a Spark session of its own unless one is running."""
    _require_spark(how)
    from kafkawire.spark.segments_input import SegmentsInput
    from kafkawire.spark.summary import SegmentsSummary

    summary = _run(SegmentsInput(paths, mode), out, how)
    assert isinstance(summary, SegmentsSummary)
    return summary


def run_topics(options: dict[str, str], out: Path | str, **how: Unpack[How]) -> TopicsSummary:
    """Run the job over live topics, given by the options of the format `kafkawire`, with a progress bar."""
    _require_spark(how)
    from kafkawire.spark.topics_input import TopicsInput, TopicsSummary

    summary = _run(TopicsInput(options), out, how)
    assert isinstance(summary, TopicsSummary)
    return summary


def run_captures(paths: list[str], out: Path | str, *, values: bool = False, **how: Unpack[How]) -> CapturesSummary:
    """Run the job over captures with a progress bar, in a Spark session of its own unless one is running."""
    _require_spark(how)
    from kafkawire.spark.captures_input import CapturesInput, CapturesSummary

    summary = _run(CapturesInput(paths, values, how.get("tables", _CAPTURES)), out, how)
    assert isinstance(summary, CapturesSummary)
    return summary


def run_stream(
    options: dict[str, str],
    out: Path | str,
    *,
    checkpoint: Path | str,
    trigger: str = "10s",
    is_stopped: Callable[[], bool] | None = None,
    **how: Unpack[How],
) -> TopicsSummary:
    """Read topics into tables until told to stop, by SIGINT or SIGTERM where nothing else is said."""
    _require_spark(how)
    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.storage import LocalStorage
    from kafkawire.spark.streaming import StreamJob, check_trigger
    from kafkawire.spark.topics_input import TopicsInput, TopicsSummary

    check_trigger(trigger)
    source = TopicsInput(options, is_stream=True)
    if not source.look():
        raise UsageError(source.nothing())
    line = StreamLine()
    with ExitStack() as stack:
        stopped = stack.enter_context(_signals()) if is_stopped is None else is_stopped
        place = str(checkpoint) if _is_url(checkpoint) else str(Path(checkpoint).absolute())
        local = None if _is_url(out) else OutputDirectory.resume(LocalStorage(Path(out)), place)
        stack.enter_context(local.telling_failure() if local else nullcontext())
        spark = stack.enter_context(_session(how, _log_file(out)))
        kept = _storage(spark, checkpoint)
        directory = local or OutputDirectory.resume(_storage(spark, out), place)
        stack.enter_context(nullcontext() if local else directory.telling_failure())
        job = StreamJob(
            spark,
            source,
            directory,
            how.get("tables", _DEFAULT["topic"]),
            checkpoint=kept,
            trigger=trigger,
            limits=how.get("limits") or Thresholds(),
            format=how.get("table_format", "parquet"),
            tell=line.tell,
        )
        try:
            summary = job.run(stopped)
        finally:
            line.end()
    assert isinstance(summary, TopicsSummary)
    return summary


def _run(source: Input, out: Path | str, how: How) -> Summary:
    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.outputs import OutputDirectory

    if not source.files():
        raise UsageError(source.nothing())
    overwrite = how.get("overwrite", False)
    local = None if _is_url(out) else OutputDirectory.claim(Path(out), overwrite=overwrite)
    little = source.amount() < _LITTLE[source.unit]
    with ExitStack() as stack:
        stack.enter_context(local.telling_failure() if local else nullcontext())
        spark = stack.enter_context(_session(how, _log_file(out), little=little))
        from kafkawire.spark.jobs import Job
        from kafkawire.spark.watching import run_interruptible

        directory = local or OutputDirectory.claim(_storage(spark, out), overwrite=overwrite)
        stack.enter_context(nullcontext() if local else directory.telling_failure())
        tables = how.get("tables", _DEFAULT[source.kind])
        job = Job(spark, source, directory, tables, format=how.get("table_format", "parquet"))
        job.limits = how.get("limits") or Thresholds()
        with Stages(source.amount(), source.unit, lambda: len(job.found)) as stages:
            job.report = stages.report
            return run_interruptible(spark, job.run)


def _require_spark(how: How) -> None:
    from kafkawire.spark.session import require_spark
    from kafkawire.spark.table_formats import settings_of

    require_spark()
    settings_of(how.get("table_format", "parquet"), {})


@contextmanager
def _session(how: How, log_file: Path, *, little: bool = False) -> Iterator[SparkSession]:
    from kafkawire.spark.session import LITTLE_DATA, default_master, running_session
    from kafkawire.spark.table_formats import settings_of

    given = how.get("settings") or {}
    settings = {**settings_of(how.get("table_format", "parquet"), given), **given}
    with ExitStack() as stack:
        with status("starting Spark ..."):
            session = running_session(
                how.get("master") or default_master(),
                settings=settings,
                defaults=LITTLE_DATA if little else None,
                log_file=log_file,
            )
            spark = stack.enter_context(session)
        yield spark


def _is_url(place: Path | str) -> bool:
    from kafkawire.spark.storage import is_url

    return is_url(str(place))


def _storage(spark: SparkSession, place: Path | str) -> Storage:
    from kafkawire.spark.storage import HadoopStorage, LocalStorage

    return HadoopStorage(spark, str(place)) if _is_url(place) else LocalStorage(Path(place))


def _log_file(out: Path | str) -> Path:
    """Where Spark's own messages go: beside the tables, or into a file of this machine where those are elsewhere."""
    from kafkawire.spark.outputs import LOG

    return Path(tempfile.gettempdir()) / f"kafkawire-{LOG}" if _is_url(out) else Path(out) / LOG


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM came; a second one does what it always does."""
    told = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, _: Any) -> None:
        told.set()
        signal.signal(number, before[signal.Signals(number)])

    for each in before:
        signal.signal(each, stop)
    try:
        yield told.is_set
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _topic_options(args: argparse.Namespace, end: str | None) -> dict[str, str]:
    from kafkawire.spark.topics_input import topic_options

    options = dict(pair(text, "--option") for text in args.source_options)
    if not args.paths and not {name.lower() for name in options} & {"assign", "subscribe", "subscribepattern"}:
        raise UsageError("no topic: name the topics to read, or ^patterns of their names")
    client = {f"kafka.{name.replace('_', '.')}": value for name, value in client_config(args).items()}
    for which, place in (("starting", args.start), ("ending", end)):
        if place:
            is_time = place.startswith("@")
            options[f"{which}Timestamp" if is_time else f"{which}Offsets"] = place.removeprefix("@")
    return topic_options(client.pop("kafka.bootstrap.servers"), args.paths, {**client, **options})
