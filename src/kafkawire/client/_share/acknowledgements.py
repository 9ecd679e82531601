"""Records that a share consumer has acquired, and the acknowledgements of the application.

Pure: no I/O and no clock.

Rules:
- A record is in flight from its delivery until its acknowledgement is taken to be sent.
- An acknowledgement may be changed until it is taken. Only offsets in flight can be acknowledged.
- Offsets without a record (markers, records of aborted transactions, compacted ones) are acknowledged as gaps.
- A renewed record stays with the consumer: it is delivered again once the broker has confirmed the renewal.
- Acknowledgements belong to the session in which the records were acquired, because the end of a session releases them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._share.session import ShareSession

GAP: Final = 0


class AcknowledgeType(IntEnum):
    """The result of processing a record; `RENEW` asks for more time."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class ShareRecord(NamedTuple):
    """A record, its place, and how often it was delivered, this time included."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int
    delivery_count: int


class Acknowledgements:
    """The acknowledgements of offsets of one partition, on their way to the broker."""

    __slots__ = ("error", "partition", "records", "session", "topic_id", "types")

    def __init__(self, session: ShareSession, topic_id: UUID, partition: TopicPartition) -> None:
        self.error: Exception | None = None
        self.session = session
        self.topic_id = topic_id
        self.partition = partition
        self.types: dict[int, int] = {}
        self.records: dict[int, ShareRecord] = {}
        """The records of renewals."""

    @property
    def place(self) -> tuple[UUID, int]:
        return self.topic_id, self.partition.partition

    @property
    def renews(self) -> bool:
        return bool(self.records)

    def batches(self) -> Iterator[tuple[int, int, list[int]]]:
        """Runs of offsets with their types: one type for all, or one for each."""
        run: list[int] = []
        first = -1
        for offset in sorted(self.types):
            if run and offset != first + len(run):
                yield first, first + len(run) - 1, _shortened(run)
                run = []
            if not run:
                first = offset
            run.append(self.types[offset])
        if run:
            yield first, first + len(run) - 1, _shortened(run)


class Delivery:
    """The records of one partition that one fetch has acquired."""

    __slots__ = ("partition", "records", "session", "topic_id", "types")

    def __init__(
        self,
        session: ShareSession,
        topic_id: UUID,
        partition: TopicPartition,
        records: Iterable[ShareRecord],
        types: Mapping[int, int] | None = None,
    ) -> None:
        self.session = session
        self.topic_id = topic_id
        self.partition = partition
        self.records = {record.offset: record for record in records}
        self.types: dict[int, int] = dict(types or {})
        """The acknowledgements so far; gaps are known from the start."""


class InFlight:
    """The records that the application has, and the renewed ones that it gets again."""

    def __init__(self) -> None:
        self._deliveries: list[Delivery] = []
        self._renewed: list[Delivery] = []

    def deliver(self, delivery: Delivery) -> None:
        self._deliveries.append(delivery)

    def acknowledge(self, partition: TopicPartition, offset: int, kind: AcknowledgeType) -> None:
        """Note the acknowledgement of a record."""
        for delivery in self._deliveries:
            if delivery.partition == partition and offset in delivery.records:
                delivery.types[offset] = AcknowledgeType(kind)
                return
        raise ClientError(f"{partition} at offset {offset} is not in flight: it was not delivered, or is acknowledged")

    def accept_all(self) -> None:
        """Accept every record that is not acknowledged."""
        for delivery in self._deliveries:
            for offset in delivery.records:
                delivery.types.setdefault(offset, AcknowledgeType.ACCEPT)

    def unacknowledged(self) -> int:
        """The number of records that the application has said nothing of."""
        return sum(offset not in delivery.types for delivery in self._deliveries for offset in delivery.records)

    def take(self) -> list[Acknowledgements]:
        """The acknowledgements to send; their records are no longer in flight."""
        taken: dict[tuple[int, UUID, int], Acknowledgements] = {}
        for delivery in self._deliveries:
            if not delivery.types:
                continue
            key = (id(delivery.session), delivery.topic_id, delivery.partition.partition)
            acks = taken.get(key)
            if acks is None:
                acks = taken[key] = Acknowledgements(delivery.session, delivery.topic_id, delivery.partition)
            for offset, kind in delivery.types.items():
                acks.types[offset] = kind
                record = delivery.records.pop(offset, None)
                if kind == AcknowledgeType.RENEW and record is not None:
                    acks.records[offset] = record
            delivery.types = {}
        self._deliveries = [delivery for delivery in self._deliveries if delivery.records]
        return list(taken.values())

    def renewed(self, acks: Acknowledgements) -> None:
        """The broker has confirmed renewals: their records are delivered again."""
        if acks.records:
            records = [acks.records[offset] for offset in sorted(acks.records)]
            self._renewed.append(Delivery(acks.session, acks.topic_id, acks.partition, records))

    def take_renewed(self) -> list[ShareRecord]:
        """The renewed records, which are in flight again."""
        renewed, self._renewed = self._renewed, []
        self._deliveries += renewed
        return [record for delivery in renewed for record in delivery.records.values()]


def _shortened(types: list[int]) -> list[int]:
    """One type instead of many equal ones.

    >>> _shortened([1, 1, 1]), _shortened([1, 2])
    ([1], [1, 2])
    """
    return types[:1] if types.count(types[0]) == len(types) else types
