"""The work of a task: its rows in a transaction that is stored and left open for the driver.

Rules:
- The transaction begins with the first row. A task without rows has none.
- A task that fails aborts its transaction if it can. Otherwise the driver aborts it with the commit of the batch, and
  the coordinator after its timeout.
- The driver decides, so the task returns all that is needed to end the transaction elsewhere.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from kafkawire.client import BulkWriter
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError
from kafkawire.spark._exactly_once.decision import Part
from kafkawire.spark._exactly_once.digest import RowDigest
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from kafkawire.spark._exactly_once.options import SinkOptions

_QUERY: Final = "sql.streaming.queryId"
_RUN: Final = "spark.jobGroup.id"  # Spark sets it to the id of the run


@dataclass
class PartMessage(WriterCommitMessage):
    """The result of a task, for the driver; no part if the task had no rows."""

    sink: str
    run: str
    part: Part | None


def place_of_stream(options: SinkOptions) -> tuple[str, str]:
    """The sink and the run of the stream that this task belongs to."""
    context = _context()
    sink, run = options.sink or context.getLocalProperty(_QUERY), context.getLocalProperty(_RUN)
    if not sink or not run:
        raise SinkError(f"Spark does not say which query this task belongs to ({_QUERY}, {_RUN}); set sinkId")
    return sink, run.replace(".", "-")


def write_part(
    batches: Iterable[pa.RecordBatch],
    options: SinkOptions,
    sink: str,
    run: str,
    send: Callable[[BulkWriter, pa.RecordBatch], None],
) -> PartMessage:
    """Write all rows with `send`, and leave their transaction open."""
    context = _context()
    task, digest = context.partitionId(), RowDigest()
    named = options.names(sink).of_task(run, task, context.attemptNumber())
    writer: BulkWriter | None = None
    try:
        for batch in batches:
            if not batch.num_rows:
                continue
            if writer is None:
                writer = BulkWriter(
                    config=dict(options.client), transactional_id=named, transaction_timeout_ms=options.timeout_ms
                )
                writer.begin()
            digest.add(batch)
            send(writer, batch)
        prepared = None if writer is None else writer.prepare()
    except BaseException as error:
        if writer is not None:
            with suppress(KafkaWireError):
                writer.abort()
        if _is_refused_timeout(error):
            raise SinkError(
                f"{error}: the brokers allow less than {options.timeout_ms} ms for a transaction; set"
                " kafka.transaction.timeout.ms to their transaction.max.timeout.ms or less"
            ) from error
        raise
    finally:
        if writer is not None:
            writer.close()
    return PartMessage(sink, run, None if prepared is None else Part(task, digest.rows, digest.value, prepared))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "a task runs in a context of Spark"
    return context


def _is_refused_timeout(error: BaseException) -> bool:
    cause = error.__cause__ if not isinstance(error, KafkaError) else error
    return isinstance(cause, KafkaError) and cause.code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
