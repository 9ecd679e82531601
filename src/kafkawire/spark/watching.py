"""Running a Spark job while telling how far it has come.

Rules:
- The job runs in a thread of its own, under its own job group; the caller's thread asks Spark about the tasks done.
- What Spark answers may lag or miss a stage: progress never goes back.
- An interrupt cancels the job. A failure becomes one line that says what was wrong, not where in Spark it surfaced.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Final, TypeVar

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

T = TypeVar("T")
_INTERVAL: Final = 0.2
_OURS: Final = re.compile(
    r"^\s*(?:kafkawire\.[\w.]+|[\w.]*PySpark\w*(?:Error|Exception)): (?P<reason>.+)$", re.MULTILINE
)


def run_watched(spark: SparkSession, work: Callable[[], T], report: Callable[[float], None]) -> T:
    """Do work that runs Spark jobs, reporting the share that is done, 0 to 1, as it grows."""
    group = f"kafkawire-{uuid.uuid4()}"
    context = spark.sparkContext
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        context.setJobGroup(group, "kafkawire", interruptOnCancel=False)
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    share = 0.0
    try:
        while thread.is_alive():
            thread.join(_INTERVAL)
            now = _share_done(spark, group)
            if now > share:
                share = now
                report(share)
    except KeyboardInterrupt:
        context.cancelJobGroup(group)
        thread.join(10)
        raise
    if failures:
        if isinstance(failures[0], (PySparkException, Py4JError)):
            raise PipelineError(reason_of(failures[0])) from failures[0]
        raise failures[0]
    report(1.0)
    return results[0]


def _share_done(spark: SparkSession, group: str) -> float:
    tracker = spark.sparkContext.statusTracker()
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            facts = tracker.getStageInfo(stage)
            if facts:
                done += facts.numCompletedTasks
                total += facts.numTasks
    return done / total if total else 0.0


def reason_of(failure: BaseException) -> str:
    """What was wrong, in one line, out of the stack traces that Spark packs into a message."""
    text = str(failure)
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(failure).__name__
