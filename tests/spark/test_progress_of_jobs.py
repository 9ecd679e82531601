"""Failures of Spark in one line."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafkawire.spark._pipeline.progress import (
    TaskCount,
    reason_of,
    run_interruptible,
    run_uninterrupted,
    run_with_progress,
)
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

ARRIVED = threading.Event()
TRACE = """\
An error occurred while calling o42.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
Traceback (most recent call last):
  File "worker.py", line 1, in main
kafkawire.spark.errors.CorruptSegmentError: /logs/0.log, batch at byte 7: magic 9, expected 0, 1 or 2

	at org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRACE, "/logs/0.log, batch at byte 7: magic 9, expected 0, 1 or 2"),
        ("\n  [PATH_NOT_FOUND] Path does not exist\nmore", "[PATH_NOT_FOUND] Path does not exist"),
        ("", "ValueError"),
    ],
)
def test_the_reason_is_found_in_what_spark_says(text: str, reason: str) -> None:
    assert reason_of(ValueError(text)) == reason


def test_progress_rises_to_one_and_the_result_comes_back(spark: SparkSession) -> None:
    counts: list[TaskCount] = []
    assert run_with_progress(spark, lambda: spark.range(0, 1000, 1, 8).count(), counts.append) == 1000
    assert counts[0] == (0, 0)
    assert [each.done for each in counts] == sorted(each.done for each in counts)
    assert counts[-1].share == 1.0


def test_tasks_of_a_second_query_are_added_to_those_of_the_first(spark: SparkSession) -> None:
    counts: list[TaskCount] = []
    rows = spark.sparkContext.parallelize(range(4), 4).map(lambda _: time.sleep(0.3))
    run_with_progress(spark, lambda: [rows.count(), rows.count()], counts.append)
    assert {each.known for each in counts} >= {4, 8}
    assert all(each.share < 1 for each in counts[:-1] if each.known == 8 and each.done < 8)


def test_a_failing_job_is_a_pipeline_error(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="nowhere"):
        run_with_progress(spark, lambda: spark.read.parquet("/nowhere").count(), lambda share: None)


@contextmanager
def interrupted_when(is_time: Callable[[], object]) -> Iterator[None]:
    """A block whose thread, the main one, is interrupted at some time; it must end by that."""

    def interrupt() -> None:
        while not is_time():
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def arrive(*_: object) -> None:
        ARRIVED.set()
        raise KeyboardInterrupt

    ARRIVED.clear()
    before = signal.signal(signal.SIGINT, arrive)
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        interrupting.join()
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_work_and_its_jobs(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()

    def work() -> int:
        return spark.sparkContext.parallelize(range(2), 2).map(lambda _: time.sleep(600)).count()

    with interrupted_when(tracker.getActiveJobsIds):
        run_interruptible(spark, work)
    while tracker.getActiveJobsIds():
        time.sleep(0.05)


def test_an_interrupt_does_not_reach_work_that_is_done_aside() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert ARRIVED.wait(60)
        ended.set()

    with interrupted_when(begun.is_set):
        run_uninterrupted(work)
    assert ended.wait(60)


def test_work_done_aside_gives_its_result_or_its_failure() -> None:
    assert run_uninterrupted(lambda: 7) == 7
    with pytest.raises(PipelineError, match="no room"):
        run_uninterrupted(lambda: fail("no room"))


def fail(text: str) -> None:
    raise PipelineError(text)
