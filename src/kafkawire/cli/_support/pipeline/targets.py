"""`kafkawire pipeline stream --to-topic`, and `recover`: streams that write to topics.

Rules:
- The target cluster is the source's, with its security options, unless `--to-server` names another. Options of the
  target come from `--to-option` then.
- Delivery is exactly once unless `--delivery` says otherwise.
- `recover` commits only decisions that are named, or all of them on demand: it fences a driver that still runs.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config, pair
from kafkawire.cli._support.pipeline.progress import StreamLine
from kafkawire.cli._support.pipeline.sessions import is_remote, open_session, require_spark_for, stop_signals
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from kafkawire.cli._support.pipeline.sessions import How
    from kafkawire.spark import TopicJobSummary

_GUARANTEES: Final = ("exactly-once", "at-least-once")
_SHARED: Final = ("kafka.bootstrap.servers", "kafka.security.", "kafka.sasl.", "kafka.ssl.", "kafka.client.id")
LOG: Final = "spark.log"


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a stream to topics."""
    parser.add_argument(
        "--to-topic", metavar="TOPIC", help="write records to this topic; {topic} stands for the topic they come from"
    )
    parser.add_argument("--to-server", metavar="HOST:PORT,...", help="cluster of --to-topic (default: that of -b)")
    parser.add_argument(
        "--to-option",
        dest="target_options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of writeStream.format('kafkawire'), such as kafka.compression.type=zstd; can be repeated",
    )
    parser.add_argument(
        "--delivery", choices=_GUARANTEES, help="guarantee of --to-topic (default exactly-once, in transactions)"
    )
    parser.add_argument(
        "--sql",
        metavar="QUERY",
        help="with --to-topic: the rows to write, FROM records (default: key, value and headers of every record)",
    )


def check_target(args: argparse.Namespace) -> None:
    """Refuse options that do not fit the kind of stream."""
    if args.to_topic is None:
        given = [name for name in ("to_server", "target_options", "delivery", "sql") if getattr(args, name)]
        if given:
            option = {"target_options": "--to-option"}.get(given[0], f"--{given[0].replace('_', '-')}")
            raise UsageError(f"{option} needs --to-topic")
        if args.out is None:
            raise UsageError("expected --out DIR for tables, or --to-topic TOPIC")
    elif args.out is not None or args.table:
        raise UsageError("--to-topic writes no tables: leave out --out and --table, or run a second stream")
    elif args.serdes and args.sql is None:
        raise UsageError("-s with --to-topic needs --sql, which makes bytes or text of the decoded columns")


def sink_options(args: argparse.Namespace, source: Mapping[str, str]) -> dict[str, str]:
    """The options of the format for writing."""
    shared = {} if args.to_server else {name: text for name, text in source.items() if name.startswith(_SHARED)}
    named = {"kafka.bootstrap.servers": args.to_server} if args.to_server else {}
    return {
        "deliveryGuarantee": args.delivery or _GUARANTEES[0],
        **shared,
        **named,
        **dict(pair(text, "--to-option") for text in args.target_options),
    }


def run_to_topics(
    source: Mapping[str, str],
    target: str,
    sink: Mapping[str, str],
    *,
    checkpoint: Path | str,
    trigger: str,
    query: str | None,
    how: How,
    is_stopped: Callable[[], bool] | None = None,
) -> TopicJobSummary:
    """Stream topics to topics until `is_stopped`, by default SIGINT or SIGTERM."""
    require_spark_for(how)
    from kafkawire.spark import TopicJob, TopicsInput, check_trigger

    check_trigger(trigger)
    wanted = TopicsInput(dict(source), is_stream=True)
    if not wanted.look():
        raise UsageError(wanted.nothing())
    place = str(checkpoint) if is_remote(checkpoint) else str(Path(checkpoint).absolute())
    line = StreamLine()
    with ExitStack() as stack:
        stopped = stack.enter_context(stop_signals()) if is_stopped is None else is_stopped
        if not is_remote(checkpoint):
            Path(place).mkdir(parents=True, exist_ok=True)
        log = Path(f"{place}.{LOG}") if not is_remote(checkpoint) else Path(LOG)
        spark = stack.enter_context(open_session(how, log))
        job = TopicJob(spark, source, target, sink, place, trigger, tell=line.update)
        job.query = query or job.query
        try:
            return job.run(stopped)
        finally:
            line.end()


def add_recover_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `recover`."""
    parser.add_argument("sinks", nargs="*", metavar="SINK", help="the sinks to recover (default: list them)")
    parser.add_argument("--all", action="store_true", help="recover every sink that has an open decision")
    parser.add_argument(
        "--decision-topic", metavar="TOPIC", help="topic of decisions (default kafkawire-sink-decisions)"
    )
    add_client_options(parser)
    output.add_json_option(parser)


def recover(args: argparse.Namespace) -> int:
    """List open decisions, or commit what they name."""
    from kafkawire.spark import open_decisions, recover_sink

    client = {name.replace("_", "."): str(value) for name, value in client_config(args).items()}
    found = {each.name: each for each in open_decisions(client, args.decision_topic)}
    rows: list[dict[str, Any]] = []
    unknown = [name for name in args.sinks if name not in found]
    if unknown:
        raise UsageError(f"{unknown[0]}: no open decision; open are {', '.join(found) or 'none'}")
    for name, each in found.items():
        state = "open"
        if args.all or name in args.sinks:
            recover_sink(client, each, args.decision_topic)
            state = "committed"
        rows.append({"sink": name, "batch": each.batch, "transactions": each.transactions, "state": state})
    if args.json:
        output.print_json(rows)
    else:
        output.print_rows(("sink", "batch", "transactions", "state"), [tuple(row.values()) for row in rows])
    return 0
