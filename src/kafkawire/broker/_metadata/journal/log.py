"""The durable metadata of the node, in Kafka's own records: topics, settings, producer ids, features, ACLs, tokens.

The journal is the partition `__cluster_metadata-0`, an ordinary log. So a torn write at its end is cut off as in any
other, and `kafka-dump-log --cluster-metadata-decoder` prints it.
Rules:
- One change is one batch, so that after a crash it is there completely or not at all.
- A change is flushed before `write` returns.
- Each record's value is: frame version 1, record type, record version (varints), then the record.
- Opening replays all of it; record types that this node does not write are skipped.
- Offsets follow each other without a gap. A journal that is not so, or not whole, is restored before it is opened
  (`restoration`).
- When it has grown far beyond its state, the whole state is written again as one change, and the records before it are
  removed. A stop in between leaves both, which replay to the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire._codec.varint import read_uvarint
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kafkawire.log.partition import Partition
    from kafkawire.messages import Message
    from kafkawire.records import Batch

FRAME_VERSION: Final = 1
_KINDS: Final[dict[int, type[Message]]] = {
    0: RegisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    22: RemoveUserScramCredentialRecord,
    26: RemoveDelegationTokenRecord,
}
_CODES: Final = {kind: code for code, kind in _KINDS.items()}


class JournalError(KafkaWireError):
    """A journal whose bytes are whole, and yet not what a node writes."""


class Journal:
    """The log of changes."""

    def __init__(self, log: Partition) -> None:
        self._log = log

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def last_offset(self) -> int:
        """The offset of the last record; -1 before the first."""
        return self._log.end_offset - 1

    def __len__(self) -> int:
        """How many records it holds."""
        return self._log.end_offset - self._log.log_start_offset

    def replace(self, state: Iterable[Message]) -> None:
        """Let the journal say this, and forget how it came about."""
        start = self._log.end_offset
        self._log.roll()
        self.write(state)
        self._log.delete_records(start)

    def write(self, changes: Iterable[Message]) -> None:
        """Add records as one change, durably."""
        batch = encode_change(changes, self._log.clock())
        if batch:
            self._log.append(batch)
            self._log.flush()

    def replay(self) -> Iterator[Message]:
        """Every record, oldest first."""
        offset = self._log.log_start_offset
        while offset < self._log.end_offset:
            for batch in read_batches(self._log.read(offset, 1 << 20).read()):
                yield from read_change(batch, self._log.directory)
                offset = batch.next_offset


def encode_change(changes: Iterable[Message], now: int) -> bytes:
    """Records as the one batch of a change; no bytes for no record."""
    builder = BatchBuilder()
    for change in changes:
        builder.append(None, encode(change), timestamp=now)
    return builder.build() if builder.count else b""


def read_change(batch: Batch, path: Path) -> Iterator[Message]:
    """The records of one change that this node knows; an error names the path."""
    if batch.is_control:
        return
    try:
        found = [decode(record.value, record.offset) for record in batch.records()]
    except KafkaWireError as error:
        raise JournalError(f"{path}: {error}") from error
    yield from (message for message in found if message is not None)


def encode(change: Message) -> bytes:
    """The value of a metadata record.

    >>> encode(ProducerIdsRecord(broker_id=1, next_producer_id=1000)).hex()
    '010f0000000001ffffffffffffffff00000000000003e800'
    """
    version = type(change).__schema__.versions.last
    return bytes([FRAME_VERSION, _CODES[type(change)], version]) + change.encode(version)


def decode(value: bytes | memoryview | None, offset: int) -> Message | None:
    """The record in a value; None for one of another kind."""
    if value is None or len(value) < 3 or value[0] != FRAME_VERSION:
        raise JournalError(f"metadata record {offset}: expected frame version {FRAME_VERSION}")
    try:
        code, position = read_uvarint(value, 1, len(value))
        version, position = read_uvarint(value, position, len(value))
        kind = _KINDS.get(code)
        return None if kind is None else kind.decode_prefix(value, version, position)[0]
    except KafkaWireError as error:
        raise JournalError(f"metadata record {offset}: {error}") from error
