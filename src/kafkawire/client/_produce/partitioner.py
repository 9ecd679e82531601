"""The partition of a record.

Rules:
- A key always goes to the same partition of a given number of them: Java's murmur2, made positive, modulo that number,
  so that our producers and Java's agree.
- Records without a key stick to one partition while its batch has room, then move to another (KIP-480). Batches are
  fuller, and the spread is even.
- Keys of Arrow columns are hashed together by length, four bytes at a time. So the work of Python grows with the number
  of lengths and words, not of keys. If few keys share a length, they are hashed one by one. Only this needs numpy,
  which is imported when it is called.
"""

from __future__ import annotations

import random
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_WORTH_IT: Final = 8


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, as an unsigned 32-bit number.

    >>> murmur2(b"foobar") - 2**32
    -790332482
    """
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = (value * _MULTIPLIER & _MASK) ^ word
    if whole < length:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15


@lru_cache(maxsize=16384)
def partition_of_key(key: bytes, count: int) -> int:
    """The partition of a key among `count` of them.

    >>> partition_of_key(b"foobar", 10)
    6
    """
    return (murmur2(key) & 0x7FFFFFFF) % count


def another_partition(available: Sequence[int], last: int | None) -> int:
    """A partition at random, but not the last one if there is another."""
    if len(available) > 1 and last in available:
        chosen = available[random.randrange(len(available) - 1)]
        return available[-1] if chosen == last else chosen
    return random.choice(available)


def partitions_of_keys(keys: pa.Array[Any], count: int) -> npt.NDArray[np.int64]:
    """The partition of each key among `count` of them; the numbers for null keys have no meaning.

    >>> import pyarrow as pa
    >>> partitions_of_keys(pa.array([b"foobar", b"21", None], pa.binary()), 10)[:2].tolist()
    [6, 0]
    """
    import numpy as np

    return (hash_keys(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % count


def hash_keys(keys: pa.Array[Any]) -> npt.NDArray[np.uint32]:
    """The hash of each key of a binary array."""
    import numpy as np

    _, offset_buffer, data_buffer = keys.buffers()
    hashes = np.zeros(len(keys), np.uint32)
    if offset_buffer is None or not len(keys):
        return hashes
    offsets = np.frombuffer(memoryview(offset_buffer), np.int32, len(keys) + 1, keys.offset * 4)
    data = np.frombuffer(memoryview(data_buffer or b""), np.uint8)
    lengths = np.diff(offsets)
    for length in np.unique(lengths):
        (rows,) = np.nonzero(lengths == length)
        if len(rows) < _WORTH_IT:
            hashes[rows] = [murmur2(data[offsets[row] : offsets[row + 1]].tobytes()) for row in rows]
        else:
            hashes[rows] = _hash_alike(data, offsets[rows], int(length))
    return hashes


def _hash_alike(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int32], length: int) -> npt.NDArray[np.uint32]:
    import numpy as np

    multiplier = np.uint32(_MULTIPLIER)
    value = np.full(len(starts), _SEED ^ length, np.uint32)
    whole = length & ~3
    for position in range(0, whole, 4):
        word = _word(data, starts, position, 4) * multiplier
        word = (word ^ word >> np.uint32(24)) * multiplier
        value = (value * multiplier) ^ word
    if whole < length:
        value = (value ^ _word(data, starts, whole, length - whole)) * multiplier
    value = (value ^ value >> np.uint32(13)) * multiplier
    return value ^ value >> np.uint32(15)


def _word(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int32], position: int, size: int
) -> npt.NDArray[np.uint32]:
    """Up to four bytes of each key, the first of them the lowest."""
    import numpy as np

    word = np.zeros(len(starts), np.uint32)
    for number in range(size):
        word |= data[starts + (position + number)].astype(np.uint32) << np.uint32(8 * number)
    return word
