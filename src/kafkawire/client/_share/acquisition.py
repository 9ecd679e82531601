"""The answer to a share fetch as records: those that the broker has acquired for this consumer.

Rules:
- An answer may hold more records than were acquired. Only acquired ones are returned.
- Acquired offsets without a record are gaps. They are acknowledged as such, so that they do not come again.
- A record that cannot be deserialized is released, and its error comes between the records before and after it. The
  broker archives it when it reaches the limit of deliveries.
- After bytes that cannot be decoded, all acquired records that were not read yet are released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client._consume.records import ConsumerRecord, located
from kafkawire.client._share.acknowledgements import GAP, AcknowledgeType, ShareRecord
from kafkawire.client.errors import ClientError, CorruptFetchError
from kafkawire.records import CorruptRecordError, consumer_records, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client.options import ShareConsumerOptions
    from kafkawire.messages import ShareFetchResponse

_MOST: Final = 1_000_000


class Acquisition(NamedTuple):
    """Records in order, offsets that are acknowledged already, and the error that comes after the records."""

    records: list[ShareRecord]
    types: dict[int, int]
    error: Exception | None = None


def acquired(
    found: ShareFetchResponse.PartitionData, partition: TopicPartition, options: ShareConsumerOptions
) -> list[Acquisition]:
    """The acquired records of one partition, cut where a record has an error."""
    total = sum(each.last_offset - each.first_offset + 1 for each in found.acquired_records)
    if total > _MOST:
        raise ClientError(f"{partition}: the broker says that {total} records are acquired, expected at most {_MOST}")
    counts = {
        offset: each.delivery_count
        for each in found.acquired_records
        for offset in range(each.first_offset, each.last_offset + 1)
    }
    parts: list[Acquisition] = []
    records: list[ShareRecord] = []
    rest = GAP
    try:
        for record in _records(found, partition, options):
            count = counts.pop(record.offset, None)
            if count is None:
                continue
            try:
                records.append(_deserialized(record, count, options))
            except Exception as error:
                parts.append(Acquisition(records, {record.offset: AcknowledgeType.RELEASE}, error))
                records = []
    except CorruptFetchError as error:
        parts.append(Acquisition(records, {}, error))
        records, rest = [], AcknowledgeType.RELEASE
    parts.append(Acquisition(records, dict.fromkeys(counts, rest)))
    return parts


def _records(
    found: ShareFetchResponse.PartitionData, partition: TopicPartition, options: ShareConsumerOptions
) -> Iterator[ConsumerRecord]:
    data = memoryview(found.records or b"")
    try:
        for batch in read_batches(data, verify=options.check_crcs):
            if not batch.is_control:
                yield from consumer_records.build_records(
                    batch.records(verify=options.check_crcs),
                    *partition,
                    batch.timestamp_type,
                    batch.leader_epoch,
                )
    except CorruptRecordError as error:
        raise located(error, partition, data) from error


def _deserialized(record: ConsumerRecord, count: int, options: ShareConsumerOptions) -> ShareRecord:
    of_key, of_value = options.key_deserializer, options.value_deserializer
    key, value, what = record.key, record.value, "key"
    try:
        if of_key is not None and key is not None:
            key = of_key(key)
        what = "value"
        if of_value is not None and value is not None:
            value = of_value(value)
    except Exception as error:
        error.add_note(f"in the {what} of {record.topic}-{record.partition} at offset {record.offset}")
        raise
    return ShareRecord(**{**record._asdict(), "key": key, "value": value}, delivery_count=count)
