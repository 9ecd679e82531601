"""The codec of control records: transaction markers, and the records of KRaft.

Rules:
- The key is an int16 version and an int16 type; longer keys and higher versions are read as version 0. A
  negative version is corrupt.
- A transaction marker's value is an int16 version and the int32 epoch of the coordinator.
- The bodies of the KRaft records begin with their own int16 version.
- An unknown type, or a body of a later version, is not an error: readers must skip it, so its marker has no content.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from kafkawire import messages
from kafkawire.exceptions import KafkaWireError
from kafkawire.records.build import BatchBuilder
from kafkawire.records.errors import CorruptRecordError

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Record

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")
_VERSION = struct.Struct(">h")


class ControlType(IntEnum):
    """The type in a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True)
class Marker:
    """A control record: its type and content.

    `coordinator_epoch` is set for commit and abort, `body` (a message of `kafkawire.messages`) for the KRaft types;
    an unknown type has neither.
    """

    offset: int
    type: int
    coordinator_epoch: int | None = None
    body: Any = None

    @property
    def name(self) -> str:
        """The name of the type."""
        return ControlType(self.type).name.lower() if self.type in set(ControlType) else f"unknown {self.type}"


CONTROL_BODIES: dict[int, str] = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}
"""The name of the message in a KRaft control record, by its type."""


def transaction_marker(kind: ControlType, coordinator_epoch: int) -> tuple[bytes, bytes]:
    """The key and value of a commit or abort marker.

    >>> transaction_marker(ControlType.COMMIT, 3)[0].hex()
    '00000001'
    """
    return _KEY.pack(0, kind), _MARKER.pack(0, coordinator_epoch)


def marker_batch(
    kind: ControlType, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
) -> bytes:
    """The control batch that ends a transaction, at base offset 0.

    >>> len(marker_batch(ControlType.COMMIT, 7, 0, 3, timestamp=0))
    78
    """
    builder = BatchBuilder(
        is_control=True, is_transactional=True, producer_id=producer_id, producer_epoch=producer_epoch
    )
    builder.append(*transaction_marker(kind, coordinator_epoch), timestamp=timestamp)
    return builder.build()


def is_abort(key: bytes) -> bool:
    """Whether the key of a control record is that of an abort marker.

    >>> is_abort(transaction_marker(ControlType.ABORT, 3)[0]), is_abort(b"")
    (True, False)
    """
    return len(key) >= _KEY.size and _KEY.unpack_from(key)[1] == ControlType.ABORT


def read_marker(record: Record, position: int = 0) -> Marker:
    """The marker in a record of a control batch; `position` is that of the batch, for errors."""
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise CorruptRecordError(f"control key of {len(key)} bytes, expected 4 or more", position=position)
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(f"control key version {version}, expected 0 or more", position=position)
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        if len(value) < _MARKER.size:
            raise CorruptRecordError(f"marker of {len(value)} bytes, expected 6 or more", position=position)
        version, epoch = _MARKER.unpack_from(value)
        if version < 0:
            raise CorruptRecordError(f"marker version {version}, expected 0 or more", position=position)
        return Marker(record.offset, kind, coordinator_epoch=epoch)
    if kind not in CONTROL_BODIES:
        return Marker(record.offset, kind)
    return Marker(record.offset, kind, body=_read_body(CONTROL_BODIES[kind], value, position))


def _read_body(name: str, value: bytes, position: int) -> Any:
    if len(value) < _VERSION.size:
        raise CorruptRecordError(f"{name} of {len(value)} bytes, expected 2 or more", position=position)
    version = _VERSION.unpack_from(value)[0]
    if version < 0:
        raise CorruptRecordError(f"{name} version {version}, expected 0 or more", position=position)
    body_class = getattr(messages, name)
    if version not in body_class.__schema__.versions:
        return None
    try:
        return body_class.decode(value, version)
    except KafkaWireError as error:
        raise CorruptRecordError(str(error), position=position) from error
