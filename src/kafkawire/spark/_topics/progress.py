"""The lag of a stream, from the progress that Spark reports.

Rules:
- The lag of a partition is the end of its log when the trigger started, minus the end of the trigger.
- Sources of other formats have no lag here.
"""

# ruff: noqa: N802 - the names of the methods are Spark's

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from kafkawire.spark._topics.lookup import from_json
from kafkawire.spark.errors import SparkError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

    from kafkawire.spark._topics.lookup import Offsets


def lag_of(progress: StreamingQueryProgress) -> dict[str, dict[int, int]]:
    """Offsets still to read, by topic and partition."""
    lag: dict[str, dict[int, int]] = {}
    for source in progress.sources:
        end, latest = _offsets(source.endOffset), _offsets(source.latestOffset)
        if end is None or latest is None:
            continue
        for (topic, partition), offset in latest.items():
            behind = offset - end.get((topic, partition), 0)  # type: ignore[call-overload]  # equals a TopicPartition
            lag.setdefault(topic, {})[partition] = max(0, behind)
    return lag


def behind_latest(progress: StreamingQueryProgress) -> dict[str, float]:
    """The metrics of Spark's own connector: the smallest, largest and average lag of a partition.

    Spark reports no metrics of Python sources; these are computed from its offsets. Empty without a source of ours.
    """
    lags = [lag for partitions in lag_of(progress).values() for lag in partitions.values()]
    if not lags:
        return {}
    return {
        "minOffsetsBehindLatest": min(lags),
        "maxOffsetsBehindLatest": max(lags),
        "avgOffsetsBehindLatest": sum(lags) / len(lags),
    }


def describe_sources(progress: StreamingQueryProgress) -> list[str]:
    """Name the topics of a query. Spark describes a Python source by the name of a class of its own.

    Empty without a source of ours, and before the first trigger.
    """
    described = []
    for source in progress.sources:
        offsets = _offsets(source.endOffset)
        if offsets:
            counts: dict[str, int] = {}
            for topic, _ in offsets:
                counts[topic] = counts.get(topic, 0) + 1
            topics = (f"{topic} ({count} partition{'s'[: count > 1]})" for topic, count in sorted(counts.items()))
            described.append(f"kafkawire: {', '.join(topics)}")
    return described


def _offsets(text: str) -> Offsets | None:
    """The offsets of a source of ours; None for another format."""
    try:
        return from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError, SparkError):
        return None


class LagListener(StreamingQueryListener):
    """Calls a function with the name or id of a query and its lag after every trigger.

    >>> spark.streams.addListener(LagListener(lambda query, lag: print(query, lag)))  # doctest: +SKIP
    """

    def __init__(self, tell: Callable[[str, dict[str, dict[int, int]]], None]) -> None:
        self._tell = tell

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        lag = lag_of(event.progress)
        if lag:
            self._tell(event.progress.name or str(event.progress.id), lag)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass
