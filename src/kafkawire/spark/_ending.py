"""End a session of Spark, with a log that has only stack traces of failures.

Rules:
- Spark closes the connection of an idle Python worker when it stops, and after a minute without a task. The worker then
  cannot report the end of its connection, and PySpark's daemon prints the BrokenPipeError. So does the process of a
  stream's source, which Spark closes when the query stops. Nothing was lost.
- Before Spark stops, its daemons get SIGTERM, by which Spark ends them too: their workers then end without a stack
  trace.
- The stack traces of workers that ended during the run are removed from the log of a session that this package started,
  and nothing else.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_DAEMON: Final = "pyspark.daemon"
_PATIENCE: Final = 30.0
_HEAD: Final = rb"Traceback \(most recent call last\):\n"
_SOURCE: Final = rb"(?:    [^\n]*\n)*"
_OF_A_DAEMON: Final = (
    rb"(?:  File \"[^\"\n]*[/\\]pyspark[/\\]daemon\.py\", line \d+, in (?:manager|worker)\n" + _SOURCE + rb")+"
)
_OF_A_STREAM: Final = (
    rb"(?:  File \"(?:<frozen runpy>|[^\"\n]*[/\\](?:runpy|pyspark[/\\](?:serializers|util"
    rb"|sql[/\\]streaming[/\\]python_streaming_source_runner))\.py)\", line \d+, in [^\n]+\n" + _SOURCE + rb")+"
)
_AT_THE_END: Final = _HEAD + _OF_A_STREAM + rb"EOFError[^\n]*\n\nDuring handling of the above exception,[^\n]*\n\n"
_CLOSED_CONNECTION: Final = re.compile(
    rb"^(?:" + _HEAD + _OF_A_DAEMON + rb"|" + _AT_THE_END + _HEAD + _OF_A_STREAM + rb")"
    rb"(?:BrokenPipeError|ConnectionResetError): \[Errno \d+\] [^\n]*\n",
    re.MULTILINE,
)


def end_session(spark: SparkSession, log_file: Path | None) -> None:
    """Stop a session that this process has started, and clean its log."""
    with suppress(Py4JError):  # the JVM may have ended, and its workers with it
        _end_workers(spark)
    spark.stop()
    if log_file is not None and log_file.exists():
        written = log_file.read_bytes()
        cleaned = without_closed_connections(written)
        if cleaned != written:
            log_file.write_bytes(cleaned)


def without_closed_connections(log: bytes) -> bytes:
    """A log without the stack traces of workers whose connection Spark has closed.

    >>> without_closed_connections(b'''before
    ... Traceback (most recent call last):
    ...   File "/python/pyspark/daemon.py", line 264, in manager
    ...   File "/python/pyspark/daemon.py", line 95, in worker
    ... BrokenPipeError: [Errno 32] Broken pipe
    ... after''')
    b'before\\nafter'
    """
    return _CLOSED_CONNECTION.sub(b"", log)


def _end_workers(spark: SparkSession) -> None:
    """End the daemons that the driver has started, and wait until they and their workers have ended."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    driver = jvm.java.lang.ProcessHandle.current()
    started = [each for each in driver.descendants().toArray() if _DAEMON in each.info().commandLine().orElse("")]
    daemons = {each.pid() for each in driver.children().toArray()}
    for process in started:
        if process.pid() in daemons:
            process.destroy()
    end = time.monotonic() + _PATIENCE
    while any(process.isAlive() for process in started) and time.monotonic() < end:
        time.sleep(0.02)
