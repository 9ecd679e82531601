"""The work of a driver before the first task: many partitions, many segment files, and a far larger job.

Rules:
- Nothing here starts Spark: planning is our own code, which Spark calls in a process of its own on the driver.
- The times are measured. The large job is simulated: its plan is made with the real planner, from invented offsets, and
  only the tasks are not run.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from benchmarks.report import Row
from kafkawire.client import NewTopic, TopicPartition
from kafkawire.client.blocking import Admin
from kafkawire.records import BatchBuilder
from kafkawire.spark._segments.files import list_segments
from kafkawire.spark._segments.splits import plan_tasks
from kafkawire.spark._topics.lookup import OffsetRange, as_json, from_json, plan_batch, plan_ranges, share_limit
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS: Final = 10_000
FILES: Final = 5_000
_TOPICS: Final = 10
_MEGABYTE: Final = 1_000_000
_LARGE_PARTITIONS: Final = 20_000
_LARGE_BYTES: Final = 100 * 10**12
_LARGE_RECORD: Final = 1_000
_EXECUTORS: Final = 1_000
_CORES: Final = 4


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-planning-"))
    try:
        yield from _partitions(root)
        yield from _files(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    yield from _large_job()


def _partitions(root: Path) -> Iterator[Row]:
    with RunningBroker(data_dir=root / "broker") as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers, request_timeout_ms=300_000) as admin:
            for number in range(_TOPICS):
                admin.create_topics([NewTopic(name=f"t{number}", num_partitions=PARTITIONS // _TOPICS)])
        given = {
            "kafka.bootstrap.servers": broker.bootstrap_servers,
            "subscribePattern": "t.*",
            "kafka.request.timeout.ms": "300000",
            "kafka.default.api.timeout.ms": "300000",
        }
        options = TopicOptions.parse(given, is_stream=False)
        before = len(broker.requests)
        started, used = perf_counter(), process_time()
        plan_batch(options)
        wall, cpu = perf_counter() - started, process_time() - used
        asked = [request.api for request in list(broker.requests)[before:]]
        requests = ", ".join(f"{asked.count(api)} {api}" for api in dict.fromkeys(asked))
        note = f"{cpu:.2f} s of processor time with the broker's; {requests}"
        yield Row(f"{PARTITIONS:,} partitions planned", "s", wall, 10.0, at_most=True, note=note)


def _files(root: Path) -> Iterator[Row]:
    batch = BatchBuilder()
    for number in range(1_000):
        batch.append(b"k", b"v" * 100, 1_700_000_000_000 + number, ())
    data = batch.build()
    for number in range(FILES):
        directory = root / "logs" / f"t-{number % 100}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number:020d}.log").write_bytes(bytes(data))
    started, used = perf_counter(), process_time()
    files = list_segments([str(root / "logs")])
    tasks = plan_tasks(files, min_tasks=6)
    wall, cpu = perf_counter() - started, process_time() - used
    size = sum(file.size for file in files) / _MEGABYTE
    note = f"{cpu:.2f} s of processor time; {size:.0f} MB in {len(tasks)} tasks"
    yield Row(f"{len(files):,} segment files planned", "s", wall, 10.0, at_most=True, note=note)


def _large_job() -> Iterator[Row]:
    """100 TB in 20 000 partitions of 5 GB, on 1 000 executors of four processors."""
    records = _LARGE_BYTES // _LARGE_RECORD // _LARGE_PARTITIONS
    places = [TopicPartition(f"topic-{number % 200}", number // 200) for number in range(_LARGE_PARTITIONS)]
    whole = [OffsetRange(*place, 0, records) for place in places]
    started = perf_counter()
    plan = plan_ranges(whole, largest=None, at_least=3 * _EXECUTORS * _CORES)
    seconds = perf_counter() - started
    pickled = sum(len(pickle.dumps(each)) for each in plan)
    name = f"100 TB: a plan of {len(plan):,} tasks"
    note = f"{pickled / _MEGABYTE:.1f} MB of pickled tasks on the driver"
    yield Row(name, "s", seconds, 30.0, at_most=True, note=note)
    begin = dict.fromkeys(places, 0)
    latest = dict.fromkeys(places, records)
    started = perf_counter()
    end = share_limit(_EXECUTORS * _CORES * 1_000_000, begin, latest)
    text = str(as_json(end))
    from_json(as_json(end))
    note = f"{len(text) / _MEGABYTE:.2f} MB of offsets in the checkpoint for each trigger"
    yield Row("100 TB: the offsets of a trigger", "s", perf_counter() - started, 5.0, at_most=True, note=note)
