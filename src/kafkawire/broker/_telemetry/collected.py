"""The last value of each metric that a client has pushed, for the metrics page.

Rules:
- Names are the client's, without `org.apache.kafka.`, after `kafka_client_`. So no client can write a metric of the
  broker. Other characters than letters and digits are underscores.
- A sum that only grows is a counter, with `_total`; all others are gauges. Differences are added up.
- Labels are the client id, the instance id, and the attributes. An attribute cannot replace a label of the broker.
- The memory is bounded: MOST_OF_CLIENT series of one instance, MOST in all, MOST_ATTRIBUTES labels, LONGEST characters
  of a name or value. Further series are dropped and counted.
- The values of an instance are dropped with it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from kafkawire.broker._coordinator import Gauge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from uuid import UUID

    from kafkawire.broker._telemetry.instances import Instance
    from kafkawire.broker._telemetry.otlp import Point

PREFIX: Final = "kafka_client_"
COUNTER: Final = "_total"
MOST: Final = 20_000
MOST_OF_CLIENT: Final = 2_000
MOST_ATTRIBUTES: Final = 8
LONGEST: Final = 128
_COMMON: Final = "org.apache.kafka."
_OTHER: Final = re.compile("[^a-zA-Z0-9]+")
_OWN_LABELS: Final = ("client_id", "client_instance_id")
Series = tuple[str, tuple[tuple[str, str], ...]]


class CollectedMetrics:
    """The metrics of all instances."""

    def __init__(self) -> None:
        self._values: dict[UUID, dict[Series, float]] = {}
        self._labels: dict[UUID, dict[str, str]] = {}
        self._count = 0
        self.pushes = 0
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def add(self, instance: Instance, points: Iterable[Point]) -> None:
        """Take the numbers of one push."""
        self.pushes += 1
        values = self._values.setdefault(instance.id, {})
        self._labels[instance.id] = {"client_id": instance.client_id[:LONGEST], "client_instance_id": str(instance.id)}
        for point in points:
            if math.isnan(point.value):
                continue
            series = _series(point)
            before = values.get(series)
            if before is None:
                if len(values) >= MOST_OF_CLIENT or self._count >= MOST:
                    self.dropped += 1
                    continue
                self._count += 1
                before = 0
            values[series] = before + point.value if point.is_sum and point.is_delta else point.value

    def forget(self, ids: Iterable[UUID]) -> None:
        """Drop the values of instances."""
        for instance_id in ids:
            self._count -= len(self._values.pop(instance_id, ()))
            self._labels.pop(instance_id, None)

    def gauges(self) -> Iterator[Gauge]:
        """A line per series."""
        for instance_id, values in list(self._values.items()):
            own = self._labels[instance_id]
            for (name, attributes), value in list(values.items()):
                yield Gauge(name, {**dict(attributes), **own}, value)


def _series(point: Point) -> Series:
    name = f"{PREFIX}{_word(point.name.removeprefix(_COMMON))}"
    if point.is_sum and point.is_monotonic:
        name += COUNTER
    labels: dict[str, str] = {}
    for key, value in point.attributes:
        word = _word(key)
        if word and word not in _OWN_LABELS and len(labels) < MOST_ATTRIBUTES:
            labels[word if word[0].isalpha() else f"a_{word}"] = value[:LONGEST]
    return name, tuple(sorted(labels.items()))


def _word(text: str) -> str:
    """A name as Prometheus writes it.

    >>> _word("consumer.fetch.manager.records-lag")
    'consumer_fetch_manager_records_lag'
    """
    return _OTHER.sub("_", text[:LONGEST]).strip("_")
