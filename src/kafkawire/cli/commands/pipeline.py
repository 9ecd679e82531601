"""`kafkawire pipeline`: topics, log files and captures as tables, on Spark."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kafkawire.cli._support import output
from kafkawire.cli._support.captures import add_set_option, read_thresholds
from kafkawire.cli._support.clients import add_client_options, client_config, pair
from kafkawire.cli._support.numbers import parse_time
from kafkawire.cli._support.pipeline.compaction import (
    add_compact_options,
    add_stream_options,
    check_interval,
    compact,
    file_size,
    interval_for,
)
from kafkawire.cli._support.pipeline.progress import Steps, StreamLine
from kafkawire.cli._support.pipeline.results import print_findings, print_places, print_summary
from kafkawire.cli._support.pipeline.sessions import (
    How,
    interrupted_by_sigterm,
    is_remote,
    log_file_for,
    open_session,
    require_spark_for,
    stop_signals,
    storage_at,
)
from kafkawire.cli._support.pipeline.targets import (
    add_recover_options,
    add_target_options,
    check_target,
    recover,
    run_to_topics,
    sink_options,
)
from kafkawire.cli._support.topic_names import as_regex, split_names
from kafkawire.cli._support.values import add_value_options, spark_options
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from kafkawire.spark import CapturesSummary, Input, SegmentsSummary, Summary, TopicsSummary

HELP = "turn topics, log files and captures into tables on Spark, with findings and a report"
EXAMPLES = (
    "kafkawire pipeline run --source topic -b localhost:9092 orders payments --out tables",
    "kafkawire pipeline run --source topic '^order' --start @1700000000000 --option failOnDataLoss=false --out tables",
    "kafkawire pipeline run --source segments /var/lib/kafka/orders-* --out tables",
    "kafkawire pipeline run --source captures kafka.pcap --out tables --set slow_ms=200",
    "kafkawire pipeline run --source segments /var/lib/kafka --table batches --out tables --json",
    "kafkawire pipeline run --source segments logs --out s3a://lake/kafka --master spark://host:7077",
    "kafkawire pipeline stream orders payments --out tables --checkpoint checkpoint --trigger 10s",
    "kafkawire pipeline stream orders --to-topic orders.copy --checkpoint checkpoint",
    "kafkawire pipeline stream orders --to-topic large --checkpoint checkpoint"
    " --sql 'SELECT key, value FROM records WHERE length(value) > 1000'",
    "kafkawire pipeline run --source topic orders --out tables -s value=avro -r http://localhost:8081",
    "kafkawire pipeline compact tables",
    "kafkawire pipeline recover --all",
)
_SEGMENTS = ("batches", "records", "segment_files", "index_errors", "transactions", "old_formats")
_CAPTURES = ("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "batches", "records")
_TOPIC = ("batches", "records")
_TABLES = {"topic": _TOPIC, "segments": _SEGMENTS, "captures": _CAPTURES}
_DEFAULT = {"topic": _TOPIC, "segments": ("batches", "records", "transactions", "old_formats"), "captures": _CAPTURES}
_FORMATS = ("parquet", "delta", "iceberg")
_LITTLE = {"bytes": 32 << 20, "items": 100_000}


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run_parser = verbs.add_parser("run", help="read a source once and write its tables", description=HELP)
    run_parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH|TOPIC",
        help="log directories, .log files, captures, or patterns of them; topics, lists with commas, or patterns"
        " (test-*, ^regex)",
    )
    run_parser.add_argument("--source", choices=tuple(_TABLES), required=True, help="the kind of the inputs")
    run_parser.add_argument("--overwrite", action="store_true", help="replace the tables of an earlier run in DIR")
    _add_shared_options(run_parser, tuple(dict.fromkeys((*_SEGMENTS, *_CAPTURES))), needs_out=True)
    run_parser.add_argument(
        "--mode",
        choices=("permissive", "failfast", "dropmalformed"),
        help="for unreadable bytes in segments: report and continue (default), fail, or drop them silently",
    )
    run_parser.add_argument("--values", action="store_true", help="captures: include the values of records")
    run_parser.add_argument(
        "--end", metavar="PLACE", help="topics: latest (default), @TIME (@12:30, @-2h, @MS), or JSON"
    )
    stream_help = "read topics continuously into tables or topics, from the checkpoint of the last run"
    stream_parser = verbs.add_parser("stream", help=stream_help, description=stream_help)
    stream_parser.add_argument(
        "paths", nargs="*", metavar="TOPIC", help="topics, lists with commas, or patterns (test-*, ^regex)"
    )
    stream_parser.add_argument("--checkpoint", required=True, metavar="DIR", help="checkpoint directory of the stream")
    stream_parser.add_argument(
        "--trigger",
        default="10s",
        metavar="TIME",
        help="time between batches (default 10s), or available-now to stop at the current end",
    )
    _add_shared_options(stream_parser, _TOPIC, needs_out=False)
    add_stream_options(stream_parser)
    add_target_options(stream_parser)
    compact_help = "merge the small files of the tables of a stream that does not run"
    add_compact_options(verbs.add_parser("compact", help=compact_help, description=compact_help))
    recover_help = "list exactly-once writes to topics that a dead driver has decided to commit, or commit them"
    add_recover_options(verbs.add_parser("recover", help=recover_help, description=recover_help))


def _add_shared_options(parser: argparse.ArgumentParser, tables: Sequence[str], *, needs_out: bool) -> None:
    parser.add_argument("--out", required=needs_out, metavar="DIR", help="output directory, or a URL")
    parser.add_argument(
        "--table",
        action="append",
        choices=tuple(tables),
        help="write this table; can be repeated (default: batches and records; for captures, all)",
    )
    parser.add_argument("--format", choices=_FORMATS, default="parquet", help="format of the tables (default parquet)")
    add_set_option(parser)
    parser.add_argument("--master", metavar="URL", help="Spark master (default: all cores of this machine)")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="Spark setting; can be repeated"
    )
    add_value_options(parser, on_bad="bytes")
    add_client_options(parser)
    parser.add_argument(
        "--start",
        metavar="PLACE",
        help="topics: earliest (default), group, @TIME (@12:30, @-2h, @MS), or JSON of offsets",
    )
    parser.add_argument(
        "--option",
        dest="source_options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="topics: option of spark.read.format('kafkawire'); can be repeated",
    )
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.verb == "recover":
        return recover(args)
    if args.verb == "compact":
        return compact(args)
    if args.verb == "stream":
        check_target(args)
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
        raise UsageError(f"--table {foreign[0]}: the tables of {source} are {', '.join(_TABLES[source])}")
    summary: Summary
    if args.verb == "stream" and args.to_topic is not None:
        return _stream_to_topics(args, how)
    if args.verb == "stream":
        options = _topic_options(args, end=None)
        merging = {"compact_every": args.compact_every, "size": file_size(args.file_size)}
        summary = run_stream(*(options, args.out), checkpoint=args.checkpoint, trigger=args.trigger, **merging, **how)
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


def _stream_to_topics(args: argparse.Namespace, how: How) -> int:
    source = _topic_options(args, end=None)
    written = run_to_topics(
        *(source, args.to_topic, sink_options(args, source)),
        checkpoint=args.checkpoint,
        trigger=args.trigger,
        query=args.sql,
        how=how,
    )
    if args.json:
        output.print_json([written.as_dict()])
    else:
        output.print_fields({"target": written.target, "records read": written.rows})
    return 0


def _check_options(args: argparse.Namespace) -> None:
    if args.source != "topic":
        if args.start or args.end or args.source_options:
            raise UsageError(f"--start, --end and --option are for topics; {args.source} are read completely")
        if args.serdes:
            raise UsageError(f"-s is for topics; the tables of {args.source} have keys and values as bytes")
        if not args.paths:
            raise UsageError(f"no path: expected the {args.source} to read")
    if args.values and args.source != "captures":
        raise UsageError(f"--values is for captures; the records of {args.source} always have their values")
    if args.mode and args.source == "captures":
        raise UsageError("--mode is for segments; the table gaps lists the missing bytes of captures")
    if args.mode and args.source == "topic":
        raise UsageError("--mode is for segments; unreadable bytes from a broker always fail the run")


def run_segments(paths: list[str], out: Path | str, *, mode: str = "PERMISSIVE", **how: Unpack[How]) -> SegmentsSummary:
    """Run the job over log files with a progress bar, in the running Spark session or in a new one."""
    require_spark_for(how)
    from kafkawire.spark import SegmentsInput, SegmentsSummary

    summary = _run(SegmentsInput(paths, mode, how.get("tables", _DEFAULT["segments"])), out, how)
    assert isinstance(summary, SegmentsSummary)
    return summary


def run_topics(options: dict[str, str], out: Path | str, **how: Unpack[How]) -> TopicsSummary:
    """Run the job over live topics, given by the options of the format `kafkawire`, with a progress bar."""
    require_spark_for(how)
    from kafkawire.spark import TopicsInput, TopicsSummary

    summary = _run(TopicsInput(options), out, how)
    assert isinstance(summary, TopicsSummary)
    return summary


def run_captures(paths: list[str], out: Path | str, *, values: bool = False, **how: Unpack[How]) -> CapturesSummary:
    """Run the job over captures with a progress bar, in a Spark session of its own unless one is running."""
    require_spark_for(how)
    from kafkawire.spark import CapturesInput, CapturesSummary

    summary = _run(CapturesInput(paths, values, how.get("tables", _CAPTURES)), out, how)
    assert isinstance(summary, CapturesSummary)
    return summary


def run_stream(
    options: dict[str, str],
    out: Path | str,
    *,
    checkpoint: Path | str,
    trigger: str = "10s",
    compact_every: str | None = None,
    size: int | None = None,
    is_stopped: Callable[[], bool] | None = None,
    **how: Unpack[How],
) -> TopicsSummary:
    """Stream topics into tables until `stop`, by default SIGINT or SIGTERM."""
    require_spark_for(how)
    from kafkawire.inspect import Thresholds
    from kafkawire.spark import LocalStorage, OutputDirectory, StreamJob, TopicsInput, TopicsSummary, check_trigger

    check_trigger(trigger)
    check_interval(compact_every)
    source = TopicsInput(options, is_stream=True)
    if not source.look():
        raise UsageError(source.nothing())
    line = StreamLine()
    with ExitStack() as stack:
        stopped = stack.enter_context(stop_signals()) if is_stopped is None else is_stopped
        place = str(checkpoint) if is_remote(checkpoint) else str(Path(checkpoint).absolute())
        local = None if is_remote(out) else OutputDirectory.resume(LocalStorage(Path(out)), place)
        stack.enter_context(local.recording_failure() if local else nullcontext())
        spark = stack.enter_context(open_session(how, log_file_for(out)))
        kept = storage_at(spark, checkpoint)
        directory = local or OutputDirectory.resume(storage_at(spark, out), place)
        stack.enter_context(nullcontext() if local else directory.recording_failure())
        job = StreamJob(
            spark,
            source,
            directory,
            how.get("tables", _DEFAULT["topic"]),
            checkpoint=kept,
            trigger=trigger,
            limits=how.get("limits") or Thresholds(),
            format=how.get("table_format", "parquet"),
            compact_every=interval_for(compact_every, directory.storage, how.get("table_format", "parquet")),
            tell=line.update,
        )
        job.file_size = size or job.file_size
        try:
            summary = job.run(stopped)
        finally:
            line.end()
    assert isinstance(summary, TopicsSummary)
    return summary


def _run(source: Input, out: Path | str, how: How) -> Summary:
    from kafkawire.inspect import Thresholds
    from kafkawire.spark import OutputDirectory

    if not source.files():
        raise UsageError(source.nothing())
    overwrite = how.get("overwrite", False)
    local = None if is_remote(out) else OutputDirectory.claim(Path(out), overwrite=overwrite)
    little = source.amount() < _LITTLE[source.unit]
    with ExitStack() as stack:
        stack.enter_context(interrupted_by_sigterm())
        stack.enter_context(local.recording_failure() if local else nullcontext())
        spark = stack.enter_context(open_session(how, log_file_for(out), little=little))
        from kafkawire.spark import Job, run_interruptible

        directory = local or OutputDirectory.claim(storage_at(spark, out), overwrite=overwrite)
        stack.enter_context(nullcontext() if local else directory.recording_failure())
        tables = how.get("tables", _DEFAULT[source.kind])
        job = Job(spark, source, directory, tables, format=how.get("table_format", "parquet"))
        job.limits = how.get("limits") or Thresholds()
        with Steps(source.amount(), source.unit, lambda: len(job.found)) as steps:
            job.report = steps.report
            return run_interruptible(spark, job.run)


def _topic_options(args: argparse.Namespace, end: str | None) -> dict[str, str]:
    from kafkawire.client.option_names import read_options
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.spark import topic_options

    options = {**spark_options(args), **dict(pair(text, "--option") for text in args.source_options)}
    if not args.paths and not {name.lower() for name in options} & {"assign", "subscribe", "subscribepattern"}:
        raise UsageError("no topic: expected topics, or patterns of topic names")
    config = client_config(args)
    read_options(ConsumerOptions, config, {})
    client = {f"kafka.{name.replace('_', '.')}": value for name, value in config.items()}
    for which, place in (("starting", args.start), ("ending", end)):
        if place:
            name, value = _bound(which, place)
            options[name] = value
    topics = [as_regex(name) for name in split_names(args.paths)]
    return topic_options(client.pop("kafka.bootstrap.servers"), topics, {**client, **options})


def _bound(which: str, place: str) -> tuple[str, str]:
    """The option of a source for a place where a read starts or ends. The words of `consume -o` are places too."""
    place = {"beginning": "earliest", "end": "latest"}.get(place, place)
    if place.startswith("@"):
        return f"{which}Timestamp", str(parse_time(place))
    words = {"starting": ("earliest", "latest", "group"), "ending": ("latest",)}[which]
    if place not in words and not place.startswith("{"):
        option = {"starting": "--start", "ending": "--end"}[which]
        expected = f"{', '.join(words)}, @TIME (@2026-01-31T12:00, @12:30, @-2h, @MS) or JSON of offsets"
        raise UsageError(f"{option} {place!r}: expected {expected}")
    return f"{which}Offsets", place
