"""The bytes of a record batch: the position of each header field, and the bits of the attributes.

Rules:
- No other Python module has these numbers. `_kernel/_layout.h` has them for the compiled forms.
- Every batch, of any magic, begins with an int64 offset and an int32 size, and has its magic byte at MAGIC_AT. The size
  field counts the bytes after itself: a batch takes PREFIX_SIZE bytes more.
- A batch of magic 2 has a header of HEADER_SIZE bytes. Its CRC-32C covers everything from the attributes on, so a
  broker sets base offset and leader epoch without computing it again.
- Fields that only messages of magic 0 and 1 have at their position are named LEGACY. Their CRC-32 covers everything
  from the magic on.
- The attributes of magic 0 and 1 are one byte with CODEC and, in magic 1, APPEND_TIME.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer

BASE_OFFSET_AT: Final = 0
SIZE_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
LAST_OFFSET_DELTA_AT: Final = 23
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
PRODUCER_ID_AT: Final = 43
PRODUCER_EPOCH_AT: Final = 51
BASE_SEQUENCE_AT: Final = 53
RECORD_COUNT_AT: Final = 57
HEADER_SIZE: Final = 61
"""The size of a magic 2 batch header, and of a batch without records."""

LEGACY_CRC_AT: Final = 12
LEGACY_ATTRIBUTES_AT: Final = 17
LEGACY_TIMESTAMP_AT: Final = 18
LEGACY_KEY_AT: Final = (18, 26)
"""The position of the key's length, by magic."""

PREFIX_SIZE: Final = 12
"""The bytes that the size field does not count: the offset and the field itself."""
PROBE_SIZE: Final = 17
"""The bytes that give the size and the magic of any batch."""
SMALLEST_LENGTHS: Final = (14, 22, HEADER_SIZE - PREFIX_SIZE)
"""The smallest value of the size field, by magic."""
CHECKED_FROM: Final = ATTRIBUTES_AT
LEGACY_CHECKED_FROM: Final = MAGIC_AT
CODEC_AT: Final = (LEGACY_ATTRIBUTES_AT, LEGACY_ATTRIBUTES_AT, ATTRIBUTES_AT + 1)
"""The position of the byte that has the codec, by magic."""

CODEC: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

BATCH: Final = Struct(">qiibIhiqqqhii")
"""The header of a magic 2 batch."""
ASSIGNED: Final = Struct(">qii")
"""Base offset, size and leader epoch: the part of a magic 2 header before the magic, which no CRC covers."""
MAGIC_AND_CRC: Final = Struct(">bI")
CHECKED: Final = Struct(">hiqqqhii")
"""The part of a magic 2 header that its CRC covers."""
PRODUCER: Final = Struct(">qhi")
"""Producer id, producer epoch and base sequence, from PRODUCER_ID_AT on."""
SHAPE: Final = Struct(">8xi4xB5xB")
"""The size field, the magic, and the byte of the attributes that has all bits in use, of a magic 2 batch."""
MESSAGE: Final = Struct(">qiIbb")
"""The first fields of a message of magic 0 or 1: offset, size, CRC, magic and attributes."""

_SIZE: Final = Struct(">i")


def stated_size(data: Buffer, position: int = 0) -> int:
    """The size of the batch at a position by its size field, unchecked; PREFIX_SIZE bytes must be there.

    >>> stated_size(bytes(8) + (61).to_bytes(4, "big"))
    73
    """
    size: int = PREFIX_SIZE + _SIZE.unpack_from(data, position + SIZE_AT)[0]
    return size
