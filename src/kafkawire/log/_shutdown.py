"""Closing a partition, and many at once.

Rules:
- A partition that has not changed since it was closed, or was never written to, costs nothing: the next start
  recreates its files.
- All files are written before the first is synced, and the directory is synced once. An index without entries and a
  snapshot without producers are not synced, because a start can rebuild them.
- TOGETHER partitions or more are synced in one call of the file system, if it has one. If that call fails, no partition
  is closed, because it does not say whose bytes were lost.
- Otherwise one thread writes the files, and THREADS others sync them, because a sync mostly waits.
- A partition that fails to close does not stop the others.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._producer_snapshots import is_needed
from kafkawire.log.errors import storage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future
    from pathlib import Path

    from kafkawire.log._flush import Flush
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import FileSystem

THREADS = 4
AT_ONCE = 128
"""The most partitions whose files are open while they wait for a sync."""
TOGETHER = 256


class CloseResult(NamedTuple):
    """The number of partitions that had something to write, and the errors of those that failed."""

    changed: int
    failures: list[Exception]


def close_all(files: FileSystem, root: Path, partitions: Iterable[Partition]) -> CloseResult:
    """Close partitions; the caller then syncs their names in the root."""
    changed = [partition for partition in partitions if needs_closing(partition)]
    sync = files.whole_sync(root) if len(changed) >= TOGETHER else None
    failures = _close_each(changed) if sync is None else _close_together(changed, sync, root)
    return CloseResult(len(changed), failures)


def _close_together(changed: Iterable[Partition], sync: Callable[[], None], root: Path) -> list[Exception]:
    """Write the files of all partitions, and sync them in one call; the errors."""
    failures: list[Exception] = []
    written: list[tuple[Partition, Flush]] = []
    for log in changed:
        try:
            flush = _begin(log, with_parent=False)
        except Exception as error:
            failures.append(error)
        else:
            flush.held = []  # else all files would be open until the end
            written.append((log, flush))
    is_synced = False
    try:
        with storage_errors(root, "syncing the file system"):
            sync()
        is_synced = True
    except Exception as error:
        failures.append(error)
    for log, flush in written:
        log.is_as_closed = flush.done = is_synced
        log.finish_flush(flush)
    return failures


def _close_each(changed: Iterable[Partition]) -> list[Exception]:
    """Write the files of one partition after the other, while threads sync those of earlier ones; the errors."""
    failures: list[Exception] = []
    syncing: deque[_PendingSync] = deque()
    with ThreadPoolExecutor(THREADS, thread_name_prefix="closing logs") as pool:
        for log in changed:
            if len(syncing) == AT_ONCE:
                failures += syncing.popleft().finish()
            try:
                flush = _begin(log, with_parent=False)
            except Exception as error:
                failures.append(error)
            else:
                syncing.append(_PendingSync(log, flush, pool.submit(flush.run)))
        while syncing:
            failures += syncing.popleft().finish()
    return failures


class _PendingSync(NamedTuple):
    """A partition whose files are written, while a thread syncs them."""

    log: Partition
    flush: Flush
    synced: Future[None]

    def finish(self) -> list[Exception]:
        """Wait for the sync, and record it; the error, if there was one."""
        error = self.synced.exception()
        self.log.finish_flush(self.flush)
        if isinstance(error, Exception):
            return [error]
        self.log.is_as_closed = True
        return []


def needs_closing(log: Partition) -> bool:
    """Whether a clean stop has something to write."""
    log.try_write_held()
    if log.is_as_closed:
        changed = log.durability.unsynced or not log.epochs.is_durable
        return bool(changed) or log.checkpoint_offset < log.end_offset
    return len(log.segments) > 1 or log.segments.size > 0 or bool(log.producers.entries)


def close(log: Partition) -> None:
    """Write and sync everything that a clean start needs."""
    if not needs_closing(log):
        return
    flush = _begin(log)
    try:
        flush.run()
    finally:
        log.finish_flush(flush)
    log.is_as_closed = True


def _begin(log: Partition, *, with_parent: bool = True) -> Flush:
    """Write every file; the flush that it returns syncs them."""
    active = log.segments.active
    with storage_errors(log.directory, "close"):
        active.seal()
        if is_needed(log.producers, log.segments.size):
            log.snapshots.save(log.end_offset, log.producers)
    log.durability.names_are_durable = False
    flush = log.begin_flush()
    flush.with_parent = with_parent
    try:
        with storage_errors(log.directory, "close"):
            flush.held += active.index_files(used=True)
            if log.producers.entries:
                flush.held.append(log.snapshots.file(log.end_offset))
    except Exception:
        log.finish_flush(flush)
        raise
    return flush
