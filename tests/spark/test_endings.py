"""The log of a session: stack traces of failures, and none of workers that ended with their connection."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kafkawire.spark._ending import without_closed_connections

if TYPE_CHECKING:
    from pathlib import Path

CLOSED = """Traceback (most recent call last):
  File "/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
CLOSED_WITH_SOURCES = r"""Traceback (most recent call last):
  File "C:\spark\pyspark\daemon.py", line 264, in manager
    code = worker(sock, authenticated)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "C:\spark\pyspark\daemon.py", line 95, in worker
    outfile.flush()
ConnectionResetError: [Errno 104] Connection reset by peer
"""
_RUNNER = '  File "/lib/pyspark.zip/pyspark/sql/streaming/python_streaming_source_runner.py", line 265, in '
CLOSED_STREAM = "\n".join(
    [
        "Traceback (most recent call last):",
        f"{_RUNNER}main",
        '  File "/lib/pyspark.zip/pyspark/serializers.py", line 604, in read_int',
        "EOFError",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        '  File "<frozen runpy>", line 88, in _run_code',
        f"{_RUNNER}<module>",
        "    main(sock_file, sock_file)",
        f"{_RUNNER}main",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "",
    ]
)
OF_A_SOURCE = CLOSED_STREAM.replace("pyspark/serializers.py", "kafkawire/spark/_topics/stream.py")
FAILED = """Traceback (most recent call last):
  File "/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
MemoryError
"""
OF_A_TASK = """Traceback (most recent call last):
  File "/site-packages/pyspark/worker.py", line 3, in main
  File "/site-packages/ours.py", line 9, in read
BrokenPipeError: [Errno 32] Broken pipe
"""
RUN = """
import sys
from pathlib import Path
from kafkawire.spark.session import running_session
from pyspark.sql.functions import udf
from tests.spark.shared_session import SETTINGS

with running_session("local[2]", settings=SETTINGS, log_file=Path(sys.argv[1])) as spark:
    kept = udf(lambda number: number, "long")
    print("rows", spark.range(0, 100, 1, 4).select(kept("id")).count())
    workers = spark.sparkContext._jvm.java.lang.ProcessHandle.current().descendants().toArray()
    print("workers", [worker.pid() for worker in workers])
"""


@pytest.mark.parametrize("closed", [CLOSED, CLOSED_WITH_SOURCES, CLOSED_STREAM])
def test_traces_of_closed_connections_are_removed_and_others_stay(closed: str) -> None:
    log = f"before\n{closed}between\n{FAILED}{closed}{closed}{OF_A_TASK}{OF_A_SOURCE}after\n"
    kept = f"before\nbetween\n{FAILED}{OF_A_TASK}{OF_A_SOURCE}after\n"
    assert without_closed_connections(log.encode()).decode() == kept


def test_a_trace_that_is_cut_off_stays() -> None:
    assert without_closed_connections(CLOSED[:-40].encode()) == CLOSED[:-40].encode()


def test_workers_end_before_spark_does_and_print_nothing(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, str(log)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "rows 100" in done.stdout
    workers = json.loads(done.stdout.partition("workers ")[2])
    assert len(workers) >= 2, "a daemon and its workers were running"
    assert "Traceback" not in log.read_text()
    assert log.read_text(), "Spark wrote a log"
