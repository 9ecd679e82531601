"""The iteration order of Java's hash tables.

Kafka's assignors iterate over HashMap and HashSet, so their result depends on this order.
Rules:
- Elements come by bucket: the spread hash modulo the size of the table, which is a power of two. Elements of one bucket
  come in the order of insertion.
- A table that grows has the smallest size, at least 16, that is at most three quarters full. A set that is copied from
  a collection of n elements has room for n / 0.75 + 1.
- Buckets with more than eight elements become trees in Java, and are not reproduced.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from uuid import UUID

T = TypeVar("T")
_SMALLEST_TABLE: Final = 16
_WORD: Final = 0xFFFFFFFF
_REMEMBERED: Final = 64  # characters of a text whose hash is remembered


def map_order(keys: Collection[T], hashed: Callable[[T], int], *, room_for: int = _SMALLEST_TABLE) -> list[T]:
    """Keys of a HashMap that they were inserted into one by one; it may have been made with an initial capacity."""
    size = 1 << max(room_for - 1, 0).bit_length()
    while len(keys) > size * 3 // 4:
        size *= 2
    return _by_bucket(keys, hashed, size)


def set_order(elements: Collection[T], hashed: Callable[[T], int]) -> list[T]:
    """Elements of a HashSet that was copied from a collection.

    >>> set_order([18, 17, 2], hash)
    [17, 18, 2]
    """
    wanted = max(int(len(elements) / 0.75) + 1, _SMALLEST_TABLE)
    return _by_bucket(elements, hashed, 1 << (wanted - 1).bit_length())


def hash_of_number(number: int) -> int:
    return number & _WORD


def hash_of_id(topic_id: UUID) -> int:
    """The hash of Kafka's Uuid."""
    both = (topic_id.int >> 64) ^ (topic_id.int & 0xFFFFFFFFFFFFFFFF)
    return (both >> 32) ^ (both & _WORD)


def hash_of_text(text: str) -> int:
    """The hash of a Java string.

    >>> hash_of_text("my-group") == (-1906497762 & 0xFFFFFFFF)
    True
    """
    return _known_hash(text) if len(text) <= _REMEMBERED else _computed_hash(text)


def _computed_hash(text: str) -> int:
    found = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (found * 31 + (high << 8 | low)) & _WORD
    return found


_known_hash: Final = lru_cache(4096)(_computed_hash)  # requests repeat the ids of groups and of transactions


def _by_bucket(elements: Collection[T], hashed: Callable[[T], int], size: int) -> list[T]:
    mask = size - 1

    def bucket(element: T) -> int:
        found = hashed(element)
        return (found ^ found >> 16) & mask

    return sorted(elements, key=bucket)
