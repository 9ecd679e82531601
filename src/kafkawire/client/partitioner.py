"""Which partition a record goes to.

Rules:
- A key always goes to the same partition of a given number of them: Java's murmur2, made positive, modulo that number,
  so that our producers and Java's agree.
- Records without a key stick to one partition while its batch has room, then move to another (KIP-480): fuller batches,
  even spread.
"""

from __future__ import annotations

import random
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


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
    """A partition at random, not the last one where there is another."""
    if len(available) > 1 and last in available:
        chosen = available[random.randrange(len(available) - 1)]
        return available[-1] if chosen == last else chosen
    return random.choice(available)
