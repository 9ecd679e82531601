"""Closing a partition, and many at once.

Rules:
- A partition that is as it was closed, or was never written to, costs nothing: a start without its files makes them
  again.
- All files are written before the first is synced, and the directory is synced once. A file that can be rebuilt from
  nothing is not synced: an index without entries, a snapshot without producers.
- The others are closed in a few threads, because a sync mostly waits: each partition by one thread, and all at once
  belong to whoever closes them.
- One that fails does not keep the others from closing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.errors import storage_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.log.partition import Partition

THREADS = 16
FEW = 4
"""So many partitions are closed without threads."""


class Closed(NamedTuple):
    """How it went: the number of partitions that had something to do, and the errors of those that failed."""

    changed: int
    failures: list[Exception]


def close_all(partitions: Iterable[Partition]) -> Closed:
    """Close partitions; their names in the root are to be synced after this."""
    asking = [partition for partition in partitions if asks_for_closing(partition)]
    if len(asking) <= FEW:
        outcomes = list(map(_try_to_close, asking))
    else:
        with ThreadPoolExecutor(THREADS, thread_name_prefix="closing logs") as pool:
            outcomes = list(pool.map(_try_to_close, asking))
    return Closed(len(asking), [error for error in outcomes if error is not None])


def asks_for_closing(log: Partition) -> bool:
    """Whether there is something to do before a clean stop."""
    log.write_held()
    if log.is_as_closed:
        changed = log.durability.unsynced or not log.epochs.is_durable
        return bool(changed) or log.checkpoint_offset < log.end_offset
    return len(log.segments) > 1 or log.segments.size > 0 or bool(log.producers.entries)


def close(log: Partition, *, with_parent: bool = True) -> None:
    """Leave everything on the disk as a clean start expects it."""
    if not asks_for_closing(log):
        return
    active = log.segments.active
    with storage_errors(log.directory, "close"):
        active.seal()
        log.snapshots.save(log.end_offset, log.producers)
    log.durability.names_are_durable = False
    flush = log.begin_flush()
    flush.with_parent = with_parent
    try:
        with storage_errors(log.directory, "close"):
            flush.held += active.index_files(used=True)
            if log.producers.entries:
                flush.held.append(log.snapshots.file(log.end_offset))
        flush.run()
    finally:
        log.finish_flush(flush)
    log.is_as_closed = True


def _try_to_close(log: Partition) -> Exception | None:
    try:
        close(log, with_parent=False)
    except Exception as error:
        return error
    return None
