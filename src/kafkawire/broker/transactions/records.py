"""The records of `__transaction_state`, in Kafka's own format.

Rules:
- A key is int16 0 and the transactional id. A value is an int16 version and its fields. A tombstone removes the id.
- Version 1 has tagged fields: the ids before and after a rotation, and the level of the client. It is written if
  transaction.version is 1 or higher.
- The partitions of an empty transaction are null.
- A record of another version, or that cannot be decoded, is skipped with a warning, because one bad record must not
  prevent a start.
"""

from __future__ import annotations

import logging
from itertools import groupby
from struct import Struct
from typing import Final

from kafkawire.broker.transactions.states import BY_NUMBER, State
from kafkawire.broker.transactions.transaction import NO_PRODUCER, Transaction
from kafkawire.messages import CodecError, TransactionLogKey, TransactionLogValue

_log: Final = logging.getLogger(__name__)
_VERSION: Final = Struct(">h")
_KEY_VERSION: Final = 0
_VALUE_VERSIONS: Final = (0, 1)


def encode_key(transactional_id: str) -> bytes:
    """The key of a transactional id's records."""
    return _VERSION.pack(_KEY_VERSION) + TransactionLogKey(transactional_id=transactional_id).encode(_KEY_VERSION)


def encode_value(transaction: Transaction, level: int) -> bytes:
    """The value of a transactional id's record, for a level of transaction.version."""
    version = 1 if level >= 1 else 0
    partitions = None
    if transaction.state is not State.EMPTY:
        partitions = [
            TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=[index for _, index in places])
            for topic, places in groupby(sorted(transaction.partitions), key=lambda place: place[0])
        ]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.number,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.updated_at,
        transaction_start_timestamp_ms=transaction.started_at,
    )
    if version:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_level
    return _VERSION.pack(version) + value.encode(version)


def decode(records: dict[bytes, bytes]) -> list[Transaction]:
    """The transactional ids in the last record of each key."""
    found = []
    for key, value in records.items():
        try:
            transaction = _decode(key, value)
        except (CodecError, KeyError, UnicodeError) as error:
            _log.warning("skipped a record of __transaction_state with key %s: %s", key.hex(), error)
        else:
            if transaction is not None:
                found.append(transaction)
    return found


def _decode(key: bytes, value: bytes) -> Transaction | None:
    versions = int.from_bytes(key[:2], "big", signed=True), int.from_bytes(value[:2], "big", signed=True)
    if versions[0] != _KEY_VERSION or versions[1] not in _VALUE_VERSIONS:
        _log.warning("skipped a record of __transaction_state with key version %d and value version %d", *versions)
        return None
    transactional_id = TransactionLogKey.decode_prefix(key, _KEY_VERSION, _VERSION.size)[0].transactional_id
    fields = TransactionLogValue.decode_prefix(value, versions[1], _VERSION.size)[0]
    return Transaction(
        transactional_id,
        fields.producer_id,
        fields.producer_epoch,
        fields.transaction_timeout_ms,
        BY_NUMBER[fields.transaction_status],
        frozenset((each.topic, index) for each in fields.transaction_partitions or () for index in each.partition_ids),
        fields.transaction_last_update_timestamp_ms,
        fields.transaction_start_timestamp_ms,
        fields.previous_producer_id if versions[1] else NO_PRODUCER,
        fields.next_producer_id if versions[1] else NO_PRODUCER,
        fields.client_transaction_version if versions[1] else 0,
    )
