"""Starting Spark with the settings that the data sources were measured with.

Rules:
- Java is looked for before Spark is started, so that a missing one is said in words and not in a stack trace.
- Workers run this interpreter: the package that the driver uses is the package that they use.
- Under spark-submit, and where a session is running already, that session is used and only settings that a running
  session takes are applied.
- What anybody else says goes before what we say: settings given here, to spark-submit, and in spark-defaults.conf.
- With a log file, everything that the JVM would print goes there; without, Spark is told to print errors only.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import SessionError
from kafkawire.spark.java import find_java, java_home_for_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

SETTINGS: Final[Mapping[str, str]] = {
    # Loopback TCP between the JVM and a Python worker stalls each task for some 40 ms; a Unix socket does not.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # With a limit of 0, Spark sorts all rows of a task before it writes them into more than one directory.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
LITTLE_DATA: Final[Mapping[str, str]] = {
    # Queries that are over in a moment gain nothing from the optimising compiler, nor from code made for each of them,
    # and both compete with the queries for the processors.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",  # those of the user come after
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}
"""What a session is quicker with where there is little to read."""
_NAMED: Final = re.compile(r"^\s*([^\s#!=:][^\s=:]*)", re.MULTILINE)  # in a file of Java properties
_LOOPBACK: Final = "127.0.0.1"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
_LAST_WORDS: Final = re.compile(r"^(?:Exception in thread \"main\" [\w.$]+: |Error: )(.+)$", re.MULTILINE)
_LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    # By default Hadoop starts some ten processes (readlink, chmod) for each file of a checkpoint on a local disk, which
    # is most of what a trigger costs. This way it starts two, and renames files into place all the same.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def build_session(
    master: str | None = "local[*]",
    *,
    app_name: str = "kafkawire",
    settings: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    log_file: Path | None = None,
) -> SparkSession:
    """A Spark session with kafkawire's data sources registered; a master of None is left to spark-submit.

    Settings given here, to spark-submit or in spark-defaults.conf go before ours, which `defaults` add to.

    >>> from kafkawire.spark import build_session
    >>> spark = build_session("local[1]")  # doctest: +SKIP
    """
    require_spark()
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    from kafkawire.spark.registration import register

    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()  # before that, a SparkConf does not know what was submitted
    conf = SparkConf().setAppName(app_name).setAll(list((settings or {}).items()))
    for name, value in settings_for(master, defaults).items():
        conf.setIfMissing(name, value)
    if master:
        conf.setMaster(master)
    if not _is_running():
        _start(conf, log_file)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    register(spark)
    return spark


def default_master() -> str | None:
    """Every processor of this machine; under spark-submit, what that was told."""
    return None if _SUBMITTED in os.environ else "local[*]"


def require_spark() -> None:
    """Say what to install where PySpark or Java is not."""
    if find_spec("pyspark") is None:
        raise SessionError("PySpark is not installed; run: pip install 'kafkawire[spark]'")
    if not _is_running():
        find_java()


def _is_running() -> bool:
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None or _SUBMITTED in os.environ


@contextmanager
def running_session(
    master: str | None = "local[*]",
    *,
    settings: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    log_file: Path | None = None,
) -> Iterator[SparkSession]:
    """A session for the length of a block: stopped at its end, unless it was running before."""
    require_spark()
    from pyspark import SparkContext

    from kafkawire.spark.watching import run_aside

    was_running = SparkContext._active_spark_context is not None

    def build() -> SparkSession:
        return build_session(master, settings=settings, defaults=defaults, log_file=log_file)

    # An interrupt that reaches PySpark while it starts the virtual machine leaves that behind for good. One that does
    # not reach it ends this process, and the virtual machine sees that.
    spark = build() if was_running else run_aside(build)
    try:
        yield spark
    finally:
        if not was_running:
            spark.stop()


def settings_for(master: str | None, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a session is started with where nobody said otherwise; spark-defaults.conf may have."""
    local = _LOCAL_SETTINGS if master and master.startswith("local") else {}
    administered = _administered()
    ours = {**SETTINGS, **local, **(defaults or {})}
    return {name: value for name, value in ours.items() if name not in administered}


def _administered() -> set[str]:
    """The settings that spark-defaults.conf has; what we pass to Spark when it starts would replace them."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
    file = Path(folder) / "spark-defaults.conf"
    return set(_NAMED.findall(file.read_text("utf-8", "replace"))) if file.is_file() else set()


def _start(conf: SparkConf, log_file: Path | None) -> None:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    os.environ["JAVA_HOME"] = str(java_home_for_spark(find_java()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if conf.get("spark.driver.host") == _LOOPBACK:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    try:
        if log_file is None:
            SparkContext(conf=conf)
            return
        with log_file.open("ab") as log:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, popen_kwargs={"stderr": log, "stdout": log}
            )
        SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, Py4JError) as error:
        where = f"; see {log_file}" if log_file else ""
        told = _LAST_WORDS.findall(log_file.read_text("utf-8", "replace")) if log_file else []
        reason = [*told[-1:], *str(error).strip().splitlines(), type(error).__name__]
        raise SessionError(f"Spark did not start: {reason[0]}{where}") from error
