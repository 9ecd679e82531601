"""Hints for failures of Spark, found in the whole text of a failure."""

from __future__ import annotations

import pytest

from kafkawire.spark._hints import hint_for
from kafkawire.spark._pipeline.progress import reason_of

TEXTS = {
    "java.io.IOException: No space left on device": "the disk is full",
    "org.apache.spark.SparkException: Python worker failed to connect back.": "check PYSPARK_PYTHON",
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11": "same version",
    "ModuleNotFoundError: No module named 'kafkawire.spark'": "for the Python of the executors",
    'java.io.IOException: Cannot run program "/opt/python3": error=2': "not a program on the executors",
    "java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main": "Java 17 or newer",
    "All masters are unresponsive! Giving up.": "the master of --master does not answer",
    "java.lang.OutOfMemoryError: Java heap space": "spark.driver.memory",
    'pods is forbidden: User "system:serviceaccount:spark:default" cannot create resource "pods" in API group': "rbac",
    "org.apache.spark.SparkException: Must specify the executor container image": "spark.kubernetes.container.image",
    "Lost executor 1 on 10.1.0.4: The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).": (
        "spark.executor.memoryOverheadFactor"
    ),
    "ERROR ExecutorPodsAllocator: Max number of executor failures (3) reached": "kubectl describe pod",
    "java.net.UnknownHostException: box: box: Name or service not known": "SPARK_LOCAL_IP",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_failure_that_is_known_has_a_hint(text: str) -> None:
    assert TEXTS[text] in hint_for(text)


def test_the_cause_below_a_stack_trace_gives_the_hint_of_the_line_that_is_shown() -> None:
    text = "[TASK_WRITE_FAILED] Task failed while writing rows.\n\tat a.b.C\nCaused by: No space left on device"
    found = reason_of(ValueError(text))
    assert found.startswith("[TASK_WRITE_FAILED] Task failed while writing rows.; the disk is full: ")


@pytest.mark.parametrize("text", ["", "no such table", "kafkawire.spark.errors.DataLossError: t-0: offset 2"])
def test_other_failures_have_none(text: str) -> None:
    assert hint_for(text) == ""
