"""Run Spark jobs with progress, and stop them on an interrupt.

Rules:
- A job runs in its own thread and job group. The thread of the caller polls Spark for completed tasks.
- Spark's numbers may lag or miss a stage, so completed tasks never decrease. A query may add tasks while it runs; none
  are known while it is being planned.
- An interrupt during a call to the JVM breaks the connection to it. So work that a user may interrupt runs outside the
  main thread, which only waits.
- A failure becomes one line with the cause, without Spark's stack traces.
"""

from __future__ import annotations

import re
import threading
import uuid
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from kafkawire.spark._hints import with_hint
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

_CALLING: Final = "An error occurred while calling "  # the first line of Py4J; the second has the exception


class TaskCount(NamedTuple):
    """The tasks of a step of a run: those that are completed, and those that are known so far."""

    done: int = 0
    known: int = 0

    @property
    def share(self) -> float:
        """The completed share, 0 to 1.

        >>> TaskCount(1, 4).share, TaskCount().share
        (0.25, 0.0)
        """
        return self.done / self.known if self.known else 0.0


class _Work(Generic[T]):
    """A function in a thread with the Spark properties of the caller; its result or its failure."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: list[T] = []
        self._failure: BaseException | None = None
        self._is_over = threading.Event()  # an interrupted join marks a thread as ended even if it still runs
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


def run_with_progress(spark: SparkSession, work: Callable[[], T], report: Callable[[TaskCount], None]) -> T:
    """Run work with Spark jobs; `report` is called repeatedly with their tasks."""
    group = f"kafkawire-{uuid.uuid4()}"
    context = spark.sparkContext

    def run() -> T:
        context.setJobGroup(group, "kafkawire", interruptOnCancel=False)
        return work()

    running = _Work(run)
    tasks = TaskCount()
    report(tasks)
    while not running.is_done(_INTERVAL):
        counted = _count_tasks(spark, group)
        tasks = TaskCount(max(tasks.done, counted.done), max(tasks.known, counted.known))
        report(tasks)
    try:
        result = running.result()
    except (PySparkException, Py4JError) as failure:
        raise PipelineError(reason_of(failure)) from failure
    known = max(tasks.known, 1)
    report(TaskCount(known, known))
    return result


def run_interruptible(spark: SparkSession, work: Callable[[], T]) -> T:
    """Run work; an interrupt of the main thread ends it and cancels its Spark jobs."""
    running = _Work(work)
    try:
        return _wait_for(running)
    except KeyboardInterrupt:
        spark.sparkContext.cancelAllJobs()
        running.is_done(_PATIENCE)
        raise
    except (PySparkException, Py4JError) as failure:
        raise PipelineError(reason_of(failure)) from failure


def run_uninterrupted(work: Callable[[], T]) -> T:
    """Run work in a thread that an interrupt of the main thread does not reach."""
    return _wait_for(_Work(work))


def _wait_for(running: _Work[T]) -> T:
    while not running.is_done(_INTERVAL):
        pass
    return running.result()


def _count_tasks(spark: SparkSession, group: str) -> TaskCount:
    tracker = spark.sparkContext.statusTracker()
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            facts = tracker.getStageInfo(stage)
            if facts:
                done += facts.numCompletedTasks
                total += facts.numTasks
    return TaskCount(done, total)


def reason_of(failure: BaseException) -> str:
    """The cause in one line, extracted from the stack traces in a message of Spark, with a hint if there is one."""
    text = str(failure)
    ours = _OURS.findall(text)
    if ours:
        return with_hint(str(ours[-1]).strip(), text)
    lines = [line.strip(" :") for line in text.splitlines() if line.strip() and not line.startswith(_CALLING)]
    return with_hint(lines[0] if lines else type(failure).__name__, text)
