"""Kafka's hash of many keys at once, over Arrow's buffers.

Rules:
- The same numbers as `partitioner.murmur2`, key by key.
- Keys of one length are hashed together, a word of four bytes at a time, so that the work of Python grows with the
  number of lengths and words, not of keys. A few keys of a length, which may be long ones, are hashed one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkawire.client.partitioner import murmur2

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = np.uint32(0x5BD1E995)
_WORTH_IT: Final = 8


def partitions_of_keys(keys: pa.Array[Any], count: int) -> npt.NDArray[np.int64]:
    """The partition of each key among `count` of them; what stands for null keys means nothing.

    >>> import pyarrow as pa
    >>> partitions_of_keys(pa.array([b"foobar", b"21", None], pa.binary()), 10)[:2].tolist()
    [6, 0]
    """
    return (hash_keys(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % count


def hash_keys(keys: pa.Array[Any]) -> npt.NDArray[np.uint32]:
    """The hash of each key of a binary array."""
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
    value = np.full(len(starts), _SEED ^ length, np.uint32)
    whole = length & ~3
    for position in range(0, whole, 4):
        word = _word(data, starts, position, 4) * _MULTIPLIER
        word = (word ^ word >> np.uint32(24)) * _MULTIPLIER
        value = (value * _MULTIPLIER) ^ word
    if whole < length:
        value = (value ^ _word(data, starts, whole, length - whole)) * _MULTIPLIER
    value = (value ^ value >> np.uint32(13)) * _MULTIPLIER
    return value ^ value >> np.uint32(15)


def _word(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int32], position: int, size: int
) -> npt.NDArray[np.uint32]:
    """Up to four bytes of each key, the first of them the lowest."""
    word = np.zeros(len(starts), np.uint32)
    for number in range(size):
        word |= data[starts + (position + number)].astype(np.uint32) << np.uint32(8 * number)
    return word
