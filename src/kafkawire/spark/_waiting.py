"""A word to the user while Spark waits for executors that do not start.

Rules:
- Spark waits without end, and logs only a warning. We write one line if a job has no executor for `PATIENCE` seconds.
- Local sessions have no executors to wait for. A session without a job may have none, with dynamic allocation.
- The thread ends with the session, and with the connection to the JVM.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PATIENCE: Final = 60.0
_INTERVAL: Final = 5.0
_NAMESPACE: Final = "spark.kubernetes.namespace"


@contextmanager
def watched_executors(spark: SparkSession) -> Iterator[None]:
    """Within the block, say so if no executor starts."""
    context = spark.sparkContext
    if (context.master or "").startswith("local"):
        yield
        return
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(context, is_over), daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _watch(context: SparkContext, is_over: threading.Event) -> None:
    from py4j.protocol import Py4JError

    waited = 0.0
    while not is_over.wait(_INTERVAL):
        try:
            waited = waited + _INTERVAL if _is_waiting(context) else 0.0
            advice = advice_for(
                context.master or "", context.applicationId, context.getConf().get(_NAMESPACE) or "default"
            )
        except (Py4JError, OSError):
            return
        if waited >= PATIENCE:
            sys.stderr.write(f"kafkawire: no executor has started for {waited:.0f} s; {advice}\n")
            sys.stderr.flush()
            return


def _is_waiting(context: SparkContext) -> bool:
    """Whether a job runs and there is nothing but the driver."""
    known = context._jsc.sc().getExecutorMemoryStatus().size()
    return known <= 1 and bool(context.statusTracker().getActiveJobsIds())


def advice_for(master: str, application: str, namespace: str) -> str:
    """The place that shows the reason.

    >>> advice_for("spark://host:7077", "app-1", "default")
    'the page of the master shows whether it has workers with enough free memory and processors'
    """
    if not master.startswith("k8s:"):
        return "the page of the master shows whether it has workers with enough free memory and processors"
    return (
        f"`kubectl get pods -n {namespace} -l spark-app-selector={application}` shows their state. ErrImagePull or"
        " ImagePullBackOff: the node cannot fetch spark.kubernetes.container.image; Pending: no node has the memory or"
        " processors that they request; Error: the pod does not reach spark.driver.host, or its image does not start"
    )
