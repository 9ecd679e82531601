"""Running Spark jobs while telling how far they have come, and stopping them when told to.

Rules:
- A job runs in a thread of its own, under its own job group; the caller's thread asks Spark about the tasks done.
- What Spark answers may lag or miss a stage: progress never goes back.
- An interrupt may come while its thread talks to the JVM, which breaks that conversation. So work that a person may
  interrupt runs off the main thread, which does nothing but wait.
- A failure becomes one line that says what was wrong, not where in Spark it surfaced.
"""

from __future__ import annotations

import re
import threading
import uuid
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

T = TypeVar("T")
_INTERVAL: Final = 0.2
_PATIENCE: Final = 2.0
_OURS: Final = re.compile(
    r"^\s*(?:kafkawire\.[\w.]+|[\w.]*PySpark\w*(?:Error|Exception)): (?P<reason>.+)$", re.MULTILINE
)


class _Work(Generic[T]):
    """A function in a thread that takes the caller's Spark properties along; its result or its failure."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: list[T] = []
        self._failure: BaseException | None = None
        self._is_over = threading.Event()  # a thread whose join was interrupted counts as ended, whether it has or not
        InheritableThread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result.append(self._function())
        except BaseException as failure:
            self._failure = failure
        self._is_over.set()

    def is_done(self, wait: float) -> bool:
        return self._is_over.wait(wait)

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result[0]


def run_watched(spark: SparkSession, work: Callable[[], T], report: Callable[[float], None]) -> T:
    """Do work that runs Spark jobs, reporting again and again the share that is done, 0 to 1."""
    group = f"kafkawire-{uuid.uuid4()}"
    context = spark.sparkContext

    def run() -> T:
        context.setJobGroup(group, "kafkawire", interruptOnCancel=False)
        return work()

    running = _Work(run)
    share = 0.0
    while not running.is_done(_INTERVAL):
        share = max(share, _share_done(spark, group))
        report(share)
    try:
        result = running.result()
    except (PySparkException, Py4JError) as failure:
        raise PipelineError(reason_of(failure)) from failure
    report(1.0)
    return result


def run_interruptible(spark: SparkSession, work: Callable[[], T]) -> T:
    """Do work that an interrupt of the main thread ends, with the Spark jobs it runs."""
    running = _Work(work)
    try:
        return _waited_for(running)
    except KeyboardInterrupt:
        spark.sparkContext.cancelAllJobs()
        running.is_done(_PATIENCE)
        raise


def run_aside(work: Callable[[], T]) -> T:
    """Do work that an interrupt of the main thread does not reach: it is left to itself then."""
    return _waited_for(_Work(work))


def _waited_for(running: _Work[T]) -> T:
    while not running.is_done(_INTERVAL):
        pass
    return running.result()


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
