"""The Spark session of `kafkawire pipeline`, the places that it writes to, and the signals that stop a stream."""

from __future__ import annotations

import signal
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kafkawire.cli._support.pipeline.progress import status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kafkawire.inspect import Thresholds
    from kafkawire.spark import Storage


class How(TypedDict, total=False):
    """The options of a run, for any source."""

    tables: Sequence[str]
    overwrite: bool
    master: str | None
    settings: dict[str, str] | None
    limits: Thresholds
    table_format: str


def require_spark_for(how: How) -> None:
    from kafkawire.spark import settings_of
    from kafkawire.spark.session import require_spark

    require_spark()
    settings_of(how.get("table_format", "parquet"), how.get("settings") or {})


@contextmanager
def open_session(how: How, log_file: Path, *, little: bool = False) -> Iterator[SparkSession]:
    from kafkawire.spark import settings_of
    from kafkawire.spark.session import LITTLE_DATA, default_master, running_session

    given = how.get("settings") or {}
    settings = {**settings_of(how.get("table_format", "parquet"), given), **given}
    with ExitStack() as stack:
        with status("starting Spark ..."):
            session = running_session(
                how.get("master") or default_master(),
                settings=settings,
                defaults=LITTLE_DATA if little else None,
                log_file=log_file,
            )
            spark = stack.enter_context(session)
        yield spark


def is_remote(place: Path | str) -> bool:
    from kafkawire.spark import is_url

    return is_url(str(place))


def storage_at(spark: SparkSession, place: Path | str) -> Storage:
    from kafkawire.spark import HadoopStorage, LocalStorage

    return HadoopStorage(spark, str(place)) if is_remote(place) else LocalStorage(Path(place))


def log_file_for(out: Path | str) -> Path:
    """The file for Spark's messages: beside the tables, or a local file if the tables are remote."""
    from kafkawire.spark import PIPELINE_LOG as LOG

    return Path(tempfile.gettempdir()) / f"kafkawire-{LOG}" if is_remote(out) else Path(out) / LOG


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does: its jobs are cancelled, and the manifest says so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: Any) -> None:
        signal.signal(number, before)  # a second one has its usual effect
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """A function that returns whether SIGINT or SIGTERM arrived; a second one has its usual effect."""
    told = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, _: Any) -> None:
        told.set()
        signal.signal(number, before[signal.Signals(number)])

    for each in before:
        signal.signal(each, stop)
    try:
        yield told.is_set
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
