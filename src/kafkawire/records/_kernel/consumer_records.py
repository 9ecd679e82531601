"""Records with their topic and partition: the loop over every record that a consumer returns.

Rules:
- Garbage collection is disabled while records are built. Only the compiled form can do this without another thread
  observing the change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkawire.records import Record

_Result = TypeVar("_Result")


def without_collecting(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function that builds many objects."""
    return work(*arguments)


def build_records(
    records: Iterable[Record], kind: type[Any], topic: str, partition: int, timestamp_type: int, leader_epoch: int
) -> list[Any]:
    """One `kind`, a tuple of nine, per record."""
    make, number, stamp, epoch = tuple.__new__, partition, timestamp_type, leader_epoch
    return [
        make(kind, (topic, number, each.offset, each.timestamp, stamp, each.key, each.value, each.headers, epoch))
        for each in records
    ]
