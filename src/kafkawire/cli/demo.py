"""`kafkawire demo`: a shop on the broker, its incidents, the pipeline over three views, and the proof that they agree.

Rules:
- The three views are the live topics, the broker's files, and the recording of the proxy before it.
- Beside the broker's files lie logs as older Kafkas left them, so that every format and codec is read.
- The demo fails where a record differs between views, or an incident is not among the findings.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.cli import output
from kafkawire.cli.pipeline import run_captures, run_segments, run_topics
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import pyarrow as pa

    from kafkawire.demo.stage import Stage
    from kafkawire.demo.traffic import Sent
    from kafkawire.spark.sample import Sample
    from kafkawire.spark.summary import Summary

HELP = "run a shop on the broker, the pipeline over three views of it, and prove that they agree"
EXAMPLES = ("kafkawire demo --out demo",)
_MARK = "kafkawire-demo.json"
_MADE = ("data", "old-logs", "traffic.pcapng", "topic", "segments", "capture", "demo.log", "spark.log")
_OLD_LOGS = 8
_HOUR = 3_600_000


class DemoError(KafkaWireError):
    """The demo cannot run here, or its result is not what went in."""


class View(NamedTuple):
    """A run of the pipeline over one view."""

    name: str
    tables: Path
    summary: Summary


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="where it goes (default: demo)")
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")


def run(args: argparse.Namespace) -> int:
    from kafkawire.demo.stage import Stage
    from kafkawire.spark.sample import write_sample
    from kafkawire.spark.session import LITTLE_DATA, default_master, require_spark, running_session

    require_spark()
    started = time.monotonic()
    out = _claim(args.out)
    old = write_sample(out / "old-logs", scale=_OLD_LOGS, clock=int(time.time() * 1000) - _HOUR)
    with _logging_to(out / "demo.log"), ExitStack() as spark:
        with Stage(out / "data", out / "traffic.pcapng") as stage:
            sent = _run_shop(stage)
            _say("\nThe pipeline on Spark, over three views of it")
            session = running_session(args.master or default_master(), defaults=LITTLE_DATA, log_file=out / "spark.log")
            spark.enter_context(session)
            views = [_view_topics(stage, out / "topic")]
        logs = [str(out / "data"), str(out / "old-logs")]
        views.append(View("segments", out / "segments", run_segments(logs, out / "segments")))
        capture = [str(out / "traffic.pcapng")]
        views.append(View("capture", out / "capture", run_captures(capture, out / "capture", values=True)))
    _tell_views(views)
    _prove(out, sent, old)
    _show_incidents(out / "capture")
    _say("\nLook at")
    output.print_fields({view.name: str(view.tables / "report.html") for view in views})
    print(f"\ntables and manifests lie beside each report; it took {time.monotonic() - started:.0f} s in all")
    return 0


def _claim(out: Path) -> Path:
    """The directory of a demo, emptied of an earlier one; a directory that holds anything else is left alone."""
    mark = out / _MARK
    if out.exists() and not out.is_dir():
        raise DemoError(f"{out} is a file; give a directory with --out")
    if out.is_dir() and any(out.iterdir()) and not mark.exists():
        raise DemoError(f"{out} is not empty and holds no earlier demo; give another directory with --out")
    out.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps({"what": "made by `kafkawire demo`, which replaces these", "made": _MADE}))
    for name in _MADE:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        else:
            (out / name).unlink(missing_ok=True)
    return out


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """What broker and clients say of incidents goes to a file: it is what was staged."""
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


def _run_shop(stage: Stage) -> Sent:
    from kafkawire.demo.clients import name_of
    from kafkawire.demo.events import ORDERS
    from kafkawire.demo.incidents import INCIDENTS
    from kafkawire.demo.traffic import ROLES, create_topics, read_again, run_traffic

    _say("A shop on the broker, recorded by the proxy before it")
    started = time.monotonic()
    create_topics(stage.bootstrap)
    sent = run_traffic(stage.bootstrap, ROLES)
    rows = [
        (role.topic, role.amount, role.codec, name_of(role.sends_with), role.group, name_of(role.reads_with))
        for role in ROLES
    ]
    output.print_rows(("topic", "records", "codec", "sent with", "group", "read with"), rows)
    print(f"sent and read in {time.monotonic() - started:.1f} s", flush=True)
    _say("\nWhat goes wrong, on purpose")
    for incident in INCIDENTS:
        print(f"- {incident.what}", flush=True)
        sent += incident.act(stage)
    read_again(stage.bootstrap, ORDERS, sum(event.topic == ORDERS for event, _ in sent))
    return sent


def _view_topics(stage: Stage, tables: Path) -> View:
    from kafkawire.demo.events import TOPICS
    from kafkawire.spark.topics_input import topic_options

    return View("topic", tables, run_topics(topic_options(stage.broker.bootstrap_servers, list(TOPICS), {}), tables))


def _tell_views(views: list[View]) -> None:
    columns = ("view", "records", "batches", "findings", "seconds")
    rows = []
    for view in views:
        summary = view.summary
        found = ", ".join(f"{count} {level}" for level, count in (summary.findings or {}).items() if count)
        counts = [summary.rows_of(table) for table in ("records", "batches")]
        rows.append((view.name, *counts, found or "none", f"{summary.seconds:.1f}"))
    output.print_rows(columns, rows)


def _prove(out: Path, sent: Sent, old: Sample) -> None:
    import pyarrow.compute as pc

    from kafkawire.demo.agreement import compare, fetched_records, produced_records, sent_records
    from kafkawire.demo.events import CLICKS, TOPICS

    _say("\nDo they agree, record for record?")
    topic, segments = (read_table(out / view / "records") for view in ("topic", "segments"))
    records, partitions = (read_table(out / "capture" / table) for table in ("records", "exchange_partitions"))
    is_shop = pc.field("topic").isin(list(TOPICS))
    is_old = pc.field("topic").isin(old.expected["topic"].unique())
    clock = {"timestamp": (CLICKS,)}  # its records get the broker's time, which producers do not know
    views = {
        "what clients sent": compare(topic, sent_records(sent), untold=clock),
        "the broker's files": compare(topic, segments.filter(is_shop)),
        "capture, as produced": compare(topic, produced_records(records, partitions), untold=clock, again=True),
        "capture, as fetched": compare(topic, fetched_records(records).filter(is_shop), again=True),
        "logs of older Kafkas": compare(old.expected, segments.filter(is_old)),
    }
    rows = [(name, view.records, view.sights, view.difference or "yes") for name, view in views.items()]
    output.print_rows(("held against the topic", "records", "sights", "agrees"), rows)
    wrong = [f"{name}: {view.difference}" for name, view in views.items() if view.difference]
    if wrong:
        raise DemoError(f"views differ: {wrong[0]}")


def _show_incidents(tables: Path) -> None:
    from kafkawire.demo.incidents import INCIDENTS

    _say("\nWhat the diagnosis says of the incidents")
    found = read_table(tables / "findings").to_pylist()
    for incident in INCIDENTS:
        texts = [row["text"] for row in found if row["rule"] == incident.rule]
        if not texts:
            raise DemoError(f"{incident.what}: no finding {incident.rule} tells of it")
        print(f"- {incident.what}\n    {output.coloured(incident.rule, 'yellow')}: {output.visible(texts[0])}")


def read_table(path: Path) -> pa.Table:
    """A table as it lies on disk, read without Spark."""
    import pyarrow as pa
    from pyarrow import dataset

    by_topic = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
    return dataset.dataset(path, format="parquet", partitioning=by_topic).to_table()


def _say(text: str) -> None:
    print(output.coloured(text, "bold"), flush=True)
