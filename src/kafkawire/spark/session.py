"""Start Spark with the settings that the data sources were measured with, and register the data sources.

Rules:
- Java is looked up before Spark starts, so that a missing one gives a clear error and not a stack trace.
- Workers run this interpreter, and thus the same package as the driver. On Kubernetes, executors have another file
  system: they run the `python3` of their image, and a driver outside of it finds this interpreter by the same name.
- Under spark-submit, or if a session is already running, that session is used. Only settings that a running session
  accepts are then applied.
- User settings (arguments, spark-submit, spark-defaults.conf) override our defaults.
- With a log file, all output of the JVM goes there. Without one, Spark prints errors only.
- Spark finds the data sources of an installed package by the `pyspark_kafkawire*` modules. `register` saves that
  search, and is required for a package from `--py-files`.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.spark._hints import with_hint
from kafkawire.spark.errors import SessionError
from kafkawire.spark.java import find_java, java_home_for_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    # Short queries gain nothing from the optimising JIT and from code generation, which compete with them for the
    # processors.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",  # options of the user follow
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings that make a session faster for small inputs."""
_NAMED: Final = re.compile(r"^\s*([^\s#!=:][^\s=:]*)", re.MULTILINE)  # in a file of Java properties
_LOOPBACK: Final = "127.0.0.1"
_KUBERNETES: Final = "k8s:"
_PYTHON: Final = "python3"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
_LAST_WORDS: Final = re.compile(r"^(?:Exception in thread \"main\" [\w.$]+: |Error: )(.+)$", re.MULTILINE)
_CALLING: Final = "An error occurred while calling "
_EXCEPTION: Final = re.compile(r"(?:Caused by)?: (?P<reason>\S.*)")
_STATUS: Final = " Received status: "  # Kubernetes repeats its message behind it
_LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    # By default Hadoop starts about ten processes (readlink, chmod) for each file of a checkpoint on a local disk. This
    # is most of the cost of a trigger. With this class it starts two, and still renames files atomically.
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
    """Build a Spark session with kafkawire's data sources; with a master of None, spark-submit chooses the master.

    `settings`, spark-submit and spark-defaults.conf override our defaults; `defaults` adds to them.

    >>> from kafkawire.spark import build_session
    >>> spark = build_session("local[1]")  # doctest: +SKIP
    """
    require_spark()
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()  # a SparkConf has the submitted settings only after this call
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
    """All processors of this machine; None under spark-submit, which has its own master."""
    return None if _SUBMITTED in os.environ else "local[*]"


def require_spark() -> None:
    """Raise an error that names what to install if PySpark or Java is missing."""
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
    """A session for a block; stopped at its end, unless it was running before."""
    require_spark()
    from pyspark import SparkContext

    from kafkawire.spark._ending import end_session
    from kafkawire.spark._pipeline.progress import run_uninterrupted
    from kafkawire.spark._waiting import watched_executors

    was_running = SparkContext._active_spark_context is not None

    def build() -> SparkSession:
        return build_session(master, settings=settings, defaults=defaults, log_file=log_file)

    # An interrupt while PySpark starts the JVM would leave the JVM running. If the interrupt only ends this process,
    # the JVM notices and exits.
    spark = build() if was_running else run_uninterrupted(build)
    try:
        with watched_executors(spark):
            yield spark
    finally:
        if not was_running:
            end_session(spark, log_file)


def settings_for(master: str | None, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our defaults for a session, without those that spark-defaults.conf sets."""
    local = _LOCAL_SETTINGS if master and master.startswith("local") else {}
    administered = _administered()
    ours = {**SETTINGS, **local, **(defaults or {})}
    return {name: value for name, value in ours.items() if name not in administered}


def _administered() -> set[str]:
    """The names in spark-defaults.conf, which settings passed at the start would override."""
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
    _choose_python(conf.get("spark.master") or "")
    if conf.get("spark.driver.host") == _LOOPBACK:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    begun = log_file.stat().st_size if log_file is not None and log_file.exists() else 0
    try:
        if log_file is None:
            SparkContext(conf=conf)
            return
        with log_file.open("ab") as log:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                # a group of its own, so that a signal to ours does not end the JVM before the run is in order
                conf,
                popen_kwargs={"stderr": log, "stdout": log, "start_new_session": True},
            )
        SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, Py4JError) as error:
        where = f"; see {log_file}" if log_file else ""
        printed = _LAST_WORDS.findall(log_file.read_text("utf-8", "replace")) if log_file else []
        lines = str(error).strip().splitlines()
        reason = [*printed[-1:], *_causes(lines)[-1:], *lines, type(error).__name__]
        said = log_file.read_bytes()[begun:].decode("utf-8", "replace") if log_file else ""
        text = "\n".join([*reason, said])
        raise SessionError(f"Spark did not start: {with_hint(reason[0], text)}{where}") from error


def _causes(lines: Sequence[str]) -> list[str]:
    """The exceptions in an error of Py4J, whose first line says only what was called; the innermost is the last."""
    if not lines or not lines[0].startswith(_CALLING):
        return []
    found = (match["reason"] for line in lines[1:] if (match := _EXCEPTION.match(line)))
    return [reason.partition(_STATUS)[0] for reason in found]


def _choose_python(master: str) -> None:
    """Set what Spark starts for Python on driver and executors, unless the user has done so."""
    python = sys.executable
    if master.startswith(_KUBERNETES) and not {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & os.environ.keys():
        # Spark sends one name to all: a path of this machine is not a program in the image.
        python = _PYTHON
        own = os.fspath(Path(sys.executable).parent)
        os.environ["PATH"] = os.pathsep.join((own, os.environ.get("PATH", os.defpath)))
    os.environ.setdefault("PYSPARK_PYTHON", python)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", python)


def register(spark: SparkSession) -> None:
    """Register the formats `kafkawire` (topics), `kafkawire-segments` and `kafkawire-captures` with a session.

    >>> from kafkawire.spark import register
    >>> register(spark)  # doctest: +SKIP
    """
    from kafkawire.spark._captures.source import CapturesDataSource
    from kafkawire.spark._segments.source import SegmentsDataSource
    from kafkawire.spark._topics.source import TopicsDataSource

    spark.dataSource.register(SegmentsDataSource)
    spark.dataSource.register(CapturesDataSource)
    spark.dataSource.register(TopicsDataSource)
