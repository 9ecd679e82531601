"""Transaction markers: the control batches that end a producer's transaction in a partition.

Rules:
- A marker is one record: its key says commit or abort, its value who coordinated it. The whole batch has 78 bytes.
- A key longer than expected or of a later version is read as the one known; unknown types are no markers.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from kafkawire.log.producers import Marker
from kafkawire.records import BatchBuilder, CorruptRecordError, read_batches

if TYPE_CHECKING:
    from kafkawire.log.files import Bytes

ABORT, COMMIT = 0, 1
_KEY = Struct(">hh")
_VALUE = Struct(">hi")


def build_marker(producer_id: int, epoch: int, coordinator_epoch: int, *, commit: bool, timestamp: int) -> bytes:
    """The batch that ends a transaction.

    >>> len(build_marker(7, 0, 0, commit=True, timestamp=0))
    78
    """
    builder = BatchBuilder(is_control=True, is_transactional=True, producer_id=producer_id, producer_epoch=epoch)
    key, value = _KEY.pack(0, COMMIT if commit else ABORT), _VALUE.pack(0, coordinator_epoch)
    builder.append(key, value, timestamp=timestamp)
    return builder.build()


def read_marker(data: Bytes) -> Marker | None:
    """The marker in a control batch; None if it is a control batch of another kind, or empty."""
    try:
        batch = next(read_batches(data, verify=False))
        record = next(iter(batch.records()), None)
        if record is None or record.key is None:
            return None
        kind = _KEY.unpack_from(record.key)[1]
        if kind not in (ABORT, COMMIT):
            return None
        coordinator_epoch = _VALUE.unpack_from(record.value or b"")[1]
    except (CorruptRecordError, StopIteration, error):
        return None
    commits = kind == COMMIT
    stamp = batch.max_timestamp
    return Marker(batch.producer_id, batch.producer_epoch, coordinator_epoch, commits, batch.last_offset, stamp)
