"""`kafkawire demo`: a shop on the broker with incidents, and the pipeline over three views, which must agree.

Rules:
- The three views are the live topics, the broker's files, and the recording of a proxy in front of the broker.
- The demo also writes logs in the formats of older Kafka versions, so that every format and codec is read.
- The demo fails if a record differs between views, or if an incident is not among the findings.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.cli._support import output
from kafkawire.cli.commands.pipeline import run_captures, run_segments, run_topics
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import pyarrow as pa

    from kafkawire._demo.stage import Stage
    from kafkawire._demo.traffic import SentEvents
    from kafkawire.spark import Summary
    from kafkawire.testing.sample_logs import Sample

HELP = "run a shop on the broker, read it with the pipeline in three ways, and compare the results"
EXAMPLES = ("kafkawire demo --out demo",)
_MARK = "kafkawire-demo.json"
_MADE = ("data", "old-logs", "traffic.pcapng", "topic", "segments", "capture", "demo.log", "spark.log")
_OLD_LOGS = 8
_HOUR = 3_600_000


class DemoError(KafkaWireError):
    """The demo cannot run, or its views differ."""


class View(NamedTuple):
    """A run of the pipeline over one view."""

    name: str
    tables: Path
    summary: Summary


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), metavar="DIR", help="output directory (default: demo)"
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (default: all cores of this machine)")


def run(args: argparse.Namespace) -> int:
    from kafkawire._demo.stage import Stage
    from kafkawire.spark.session import LITTLE_DATA, default_master, require_spark, running_session
    from kafkawire.testing.sample_logs import write_sample

    require_spark()
    started = time.monotonic()
    out = _claim(args.out)
    old = write_sample(out / "old-logs", scale=_OLD_LOGS, clock=int(time.time() * 1000) - _HOUR)
    with _logging_to(out / "demo.log"), ExitStack() as spark:
        with Stage(out / "data", out / "traffic.pcapng") as stage:
            sent = _run_shop(stage)
            _say("\nThe pipeline on Spark, over three views")
            session = running_session(args.master or default_master(), defaults=LITTLE_DATA, log_file=out / "spark.log")
            spark.enter_context(session)
            views = [_view_topics(stage, out / "topic")]
        logs = [str(out / "data"), str(out / "old-logs")]
        views.append(View("segments", out / "segments", run_segments(logs, out / "segments")))
        capture = [str(out / "traffic.pcapng")]
        views.append(View("capture", out / "capture", run_captures(capture, out / "capture", values=True)))
    _print_views(views)
    _prove(out, sent, old)
    _show_incidents(out / "capture")
    _say("\nReports")
    output.print_fields({view.name: str(view.tables / "report.html") for view in views})
    print(f"\ntables and manifest are beside each report; total time {time.monotonic() - started:.0f} s")
    places = " ".join(quote(str(out / name)) for name in ("traffic.pcapng", "data", *(view.name for view in views)))
    print(f"look at all of it in the browser: kafkawire ui {places}")
    return 0


def _claim(out: Path) -> Path:
    """Create the output directory, or remove an earlier demo from it. Any other directory is refused."""
    mark = out / _MARK
    if out.exists() and not out.is_dir():
        raise DemoError(f"{out} is a file; choose a directory with --out")
    if out.is_dir() and any(out.iterdir()) and not mark.exists():
        raise DemoError(f"{out} is not empty and does not contain an earlier demo; choose another directory with --out")
    out.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps({"what": "written by `kafkawire demo`, which replaces these files", "made": _MADE}))
    for name in _MADE:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        else:
            (out / name).unlink(missing_ok=True)
    return out


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Write the log lines of broker and clients to a file, because the demo causes their errors on purpose."""
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("kafkawire", "aiokafka", "kafka")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def _run_shop(stage: Stage) -> SentEvents:
    from kafkawire._demo.clients import name_of
    from kafkawire._demo.events import ORDERS
    from kafkawire._demo.incidents import INCIDENTS
    from kafkawire._demo.traffic import ROLES, create_topics, read_again, run_traffic

    _say("A shop on the broker, recorded by a proxy")
    started = time.monotonic()
    create_topics(stage.bootstrap)
    sent = run_traffic(stage.bootstrap, ROLES)
    rows = [
        (role.topic, role.amount, role.codec, name_of(role.sends_with), role.group, name_of(role.reads_with))
        for role in ROLES
    ]
    output.print_rows(("topic", "records", "codec", "sent with", "group", "read with"), rows)
    print(f"sent and read in {time.monotonic() - started:.1f} s", flush=True)
    _say("\nIncidents, on purpose")
    for incident in INCIDENTS:
        print(f"- {incident.what}", flush=True)
        sent += incident.act(stage)
    read_again(stage.bootstrap, ORDERS, sum(event.topic == ORDERS for event, _ in sent))
    return sent


def _view_topics(stage: Stage, tables: Path) -> View:
    from kafkawire._demo.events import TOPICS
    from kafkawire.spark import topic_options

    return View("topic", tables, run_topics(topic_options(stage.broker.bootstrap_servers, list(TOPICS), {}), tables))


def _print_views(views: list[View]) -> None:
    columns = ("view", "records", "batches", "findings", "seconds")
    rows = []
    for view in views:
        summary = view.summary
        found = ", ".join(f"{count} {level}" for level, count in (summary.findings or {}).items() if count)
        counts = [summary.rows_of(table) for table in ("records", "batches")]
        rows.append((view.name, *counts, found or "none", f"{summary.seconds:.1f}"))
    output.print_rows(columns, rows)


def _prove(out: Path, sent: SentEvents, old: Sample) -> None:
    import pyarrow.compute as pc

    from kafkawire._demo.agreement import compare, fetched_records, produced_records, sent_records
    from kafkawire._demo.events import CLICKS, TOPICS

    _say("\nDo they agree, record for record?")
    topic, segments = (read_table(out / view / "records") for view in ("topic", "segments"))
    records, partitions = (read_table(out / "capture" / table) for table in ("records", "exchange_partitions"))
    is_shop = pc.field("topic").isin(list(TOPICS))
    is_old = pc.field("topic").isin(old.expected["topic"].unique())
    clock = {"timestamp": (CLICKS,)}  # the broker sets their time, which producers do not know
    views = {
        "records that clients sent": compare(topic, sent_records(sent), unknown=clock),
        "the broker's files": compare(topic, segments.filter(is_shop)),
        "capture, as produced": compare(topic, produced_records(records, partitions), unknown=clock, again=True),
        "capture, as fetched": compare(topic, fetched_records(records).filter(is_shop), again=True),
        "logs of older Kafka versions": compare(old.expected, segments.filter(is_old)),
    }
    rows = [(name, view.records, view.sights, view.difference or "yes") for name, view in views.items()]
    output.print_rows(("compared with the topic", "records", "sights", "agrees"), rows)
    wrong = [f"{name}: {view.difference}" for name, view in views.items() if view.difference]
    if wrong:
        raise DemoError(f"views differ: {wrong[0]}")


def _show_incidents(tables: Path) -> None:
    from kafkawire._demo.incidents import INCIDENTS

    _say("\nFindings about the incidents")
    found = read_table(tables / "findings").to_pylist()
    for incident in INCIDENTS:
        texts = [row["text"] for row in found if row["rule"] == incident.rule]
        if not texts:
            raise DemoError(f"{incident.what}: no finding of the rule {incident.rule}")
        print(f"- {incident.what}\n    {output.coloured(incident.rule, 'yellow')}: {output.visible(texts[0])}")


def read_table(path: Path) -> pa.Table:
    """A written table, read without Spark."""
    import pyarrow as pa
    from pyarrow import dataset

    by_topic = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
    return dataset.dataset(path, format="parquet", partitioning=by_topic).to_table()


def _say(text: str) -> None:
    print(output.coloured(text, "bold"), flush=True)
