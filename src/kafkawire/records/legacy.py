"""Messages of magic 0 and 1, which have no batch around them.

Rules:
- A compressed message is a wrapper: its value is a whole message set, and it carries the last inner offset.
- Inner messages are not compressed again. Magic 0 numbers them absolutely, magic 1 from 0 on.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kafkawire.records.errors import Fault, corrupt

if TYPE_CHECKING:
    from kafkawire.records.reader import Batch

_LENGTH = struct.Struct(">i")


def wrapped_value(batch: Batch) -> memoryview:
    """The packed message set inside a compressed message."""
    data = batch.data
    at = 18 + 8 * batch.magic
    fields = []
    for _ in ("key", "value"):
        left = len(data) - at
        if left < 4:
            raise corrupt(batch.position, Fault.SHORT, at, left, 4)
        length = _LENGTH.unpack_from(data, at)[0]
        if not -1 <= length <= left - 4:
            raise corrupt(batch.position, Fault.LENGTH, at, length, left - 4)
        fields.append(None if length < 0 else data[at + 4 : at + 4 + length])
        at += 4 + max(0, length)
    if at != len(data):
        raise corrupt(batch.position, Fault.RECORD_SIZE, 0, at, len(data))
    value = fields[1]
    if value is None:
        raise corrupt(batch.position, Fault.NULL_WRAPPER)
    return value
