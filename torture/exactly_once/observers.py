"""Read-committed readers: one that watches all the time, and one that reads everything at the end."""

from __future__ import annotations

import threading
from importlib import import_module
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

import confluent_kafka

from torture.exactly_once.history import Reading
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torture.exactly_once.history import Place

PATIENCE_SECONDS: Final = 60.0
administration: Any = import_module("confluent_kafka.admin")  # most of its names are not typed


def reader(bootstrap: str, isolation: str, group: str = "observers") -> Any:
    """A consumer of librdkafka that commits nothing."""
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "fetch.wait.max.ms": 100,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )


class Observer(threading.Thread):
    """A reader in its own thread that sees records as they become visible."""

    def __init__(self, name: str, bootstrap: str, places: Sequence[Place]) -> None:
        super().__init__(name=name, daemon=True)
        self.reading = Reading(name)
        self._consumer = reader(bootstrap, "read_committed")
        self._consumer.assign([confluent_kafka.TopicPartition(*place, 0) for place in places])
        self._positions = dict.fromkeys(places, 0)
        self._wanted: dict[Place, int] | None = None

    def run(self) -> None:
        while not self._has_all():
            for message in self._consumer.consume(500, timeout=0.1):
                if message.error() is None:
                    place = message.topic(), message.partition()
                    self.reading.add(place, message.offset(), message.value())
                    self._positions[place] = message.offset() + 1
        self._consumer.close()

    def finish(self, last: dict[Place, int]) -> Reading:
        """Read up to the last visible record of every partition, and return everything that was seen."""
        self._wanted = last
        self.join(PATIENCE_SECONDS)
        if self.is_alive():
            behind = [place for place, end in last.items() if self._positions[place] < end]
            raise BrokenPromiseError("a reader gets every visible record", f"{self.name} waits for {behind}")
        return self.reading

    def _has_all(self) -> bool:
        wanted = self._wanted
        return wanted is not None and all(self._positions[place] >= end for place, end in wanted.items())


def read_all(bootstrap: str, places: Sequence[Place]) -> Reading:
    """All committed records."""
    reading = Reading("a reader at the end")
    consumer = reader(bootstrap, "read_committed")
    waiting = set(places)
    try:
        consumer.assign([confluent_kafka.TopicPartition(*place, 0) for place in places])
        until = monotonic() + PATIENCE_SECONDS
        while waiting:
            if monotonic() > until:
                raise BrokenPromiseError("a reader gets to the end of every partition", f"{sorted(waiting)}")
            for message in consumer.consume(1_000, timeout=0.1):
                place = message.topic(), message.partition()
                if message.error() is None:
                    reading.add(place, message.offset(), message.value())
                elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    waiting.discard(place)
    finally:
        consumer.close()
    return reading


def await_stable(bootstrap: str, places: Sequence[Place], seconds: float) -> None:
    """Wait until the last stable offset of every partition is its end: no transaction is open."""
    admin = administration.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    until = monotonic() + seconds
    while True:
        ends = [latest(admin, places, level) for level in confluent_kafka.IsolationLevel]
        if ends[0] == ends[1]:
            return
        if monotonic() > until:
            open_places = [place for place in places if ends[0][place] != ends[1][place]]
            raise BrokenPromiseError("no transaction stays open when its producers have ended", f"{open_places}")
        sleep(0.1)


def latest(admin: Any, places: Sequence[Place], level: Any) -> dict[Place, int]:
    wanted = {confluent_kafka.TopicPartition(*place): administration.OffsetSpec.latest() for place in places}
    found = admin.list_offsets(wanted, isolation_level=level, request_timeout=PATIENCE_SECONDS)
    return {(each.topic, each.partition): future.result().offset for each, future in found.items()}
