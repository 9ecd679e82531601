"""Records with the place they were read from: the loop over every record that is consumed.

Rules:
- What is being built is not garbage, so the collector rests; only the compiled form can switch it off and on again
  without another thread coming between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkawire.records import Record

_Result = TypeVar("_Result")


def without_collecting(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call something that builds much."""
    return work(*arguments)


def consumed(
    records: Iterable[Record], kind: type[Any], topic: str, partition: int, timestamp_type: int, leader_epoch: int
) -> list[Any]:
    """A `kind`, which is a tuple of nine, for each record."""
    make, number, stamp, epoch = tuple.__new__, partition, timestamp_type, leader_epoch
    return [
        make(kind, (topic, number, each.offset, each.timestamp, stamp, each.key, each.value, each.headers, epoch))
        for each in records
    ]
