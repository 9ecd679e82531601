"""The content of a topic as a reader of committed records finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.client import BulkReader

if TYPE_CHECKING:
    from tests.spark.filled_broker import FilledBroker


def values(broker: FilledBroker, topic: str) -> list[str]:
    """The values of the committed records, sorted, so that a record that is there twice is seen."""
    with BulkReader(broker.bootstrap_servers, isolation_level="read_committed", fetch_max_wait_ms=20) as reader:
        return sorted(
            str(value, "utf-8")
            for partition in reader.partitions(topic)
            for batch in reader.read(topic, partition, 0)
            for value in batch.column("value").to_pylist()
            if value is not None
        )
