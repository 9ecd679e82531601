"""The log of one partition: appends at its end, reads anywhere. One thread owns it.

Rules:
- log start <= last stable offset <= high watermark <= end. Readers see up to the high watermark: the end of the log,
  or, with flush.on.ack, the end of the durable records.
- An append is atomic: a refusal or a failing disk leaves log, indexes and producers unchanged.
- Appends may be held back, to be written together: `write_held` is called before any of them is acknowledged or read.
- Only the last segment grows. A new one starts by size, by time, or when an index is full; an empty segment is never
  followed by another.
- Records are never decoded to serve a read by offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.log import _admission as admission
from kafkawire.log import _recovery as recovery
from kafkawire.log._cleanup.compaction import compaction
from kafkawire.log._cleanup.retention import DiscardedSegment, delete_before, retention
from kafkawire.log._cleanup.steps import run
from kafkawire.log._flush import Durability, Flush
from kafkawire.log._producers import TransactionEnd
from kafkawire.log._segment import Segment, Segments
from kafkawire.log._shutdown import close
from kafkawire.log._timestamps import find_timestamp
from kafkawire.log._truncation import HeldBatches, cut, undo
from kafkawire.log.checkpoints import read_topic_id, write_topic_id
from kafkawire.log.errors import storage_error, storage_errors
from kafkawire.messages.errors import KafkaStorageError, OffsetOutOfRangeError, RecordBatchTooLargeError
from kafkawire.records.control import ControlType, marker_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from uuid import UUID

    from kafkawire.log._admission import AdmittedBatch, AppendResult
    from kafkawire.log._timestamps import FoundTimestamp
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.log._verification import Verification
    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import Bytes, FileRange, FileSystem


class Partition:
    """The log of one topic partition.

    >>> from kafkawire.log import LogConfig, MemoryFiles
    >>> from kafkawire.records import BatchBuilder
    >>> from pathlib import Path
    >>> files = MemoryFiles()
    >>> files.make_directory(Path("/logs/orders-0"))
    >>> log = Partition(files, Path("/logs/orders-0"), LogConfig(), clock=lambda: 0)
    >>> builder = BatchBuilder()
    >>> _ = builder.append(b"key", b"value")
    >>> log.append(builder.build()).last_offset, log.append(builder.build()).last_offset
    (0, 1)
    >>> len(log.read(1, max_bytes=1000))
    76
    """

    def __init__(
        self,
        files: FileSystem,
        directory: Path,
        config: LogConfig,
        clock: Callable[[], int],
        *,
        clean: bool = False,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        cleaned_offset: int = 0,
        is_new: bool = False,
    ) -> None:
        self.directory = directory
        self.config = config
        self.clock = clock
        self.files = files
        if is_new:
            loaded = recovery.make(files, directory, config, clock())
        else:
            loaded = recovery.load(
                files,
                directory,
                config,
                clock(),
                clean=clean,
                recovery_point=recovery_point,
                log_start_offset=log_start_offset,
                cleaned_offset=cleaned_offset,
            )
        self.segments = Segments(loaded.segments)
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.snapshots = loaded.snapshots
        self.end_offset = loaded.end_offset
        self.log_start_offset = loaded.log_start_offset
        self.cut_bytes = loaded.cut_bytes
        self.findings = loaded.findings
        """Faults that opening found, one sentence each; the directory logs them."""
        self.cleaned_offset = loaded.cleaned_offset
        self.discarded: list[DiscardedSegment] = []
        self._held: HeldBatches | None = None
        self._may_hold = True  # not after a failed write, until one succeeds: each append must see its own failure
        self._lost: KafkaStorageError | None = None
        self.is_as_closed = loaded.as_closed
        """Whether no append or truncation has changed the files since a clean stop."""
        self.topic_id = None if is_new else read_topic_id(files, directory)
        self.durability = Durability(files, directory, clock, loaded.recovery_point, clean)
        self.configure(config)

    def __repr__(self) -> str:
        return f"Partition({self.directory.name}, {self.log_start_offset}..{self.end_offset})"

    def configure(self, config: LogConfig) -> None:
        """Use new settings. With flush.on.ack, everything in the log is made durable first."""
        if config.flush_on_ack and self.recovery_point < self.end_offset:
            self.flush()
        self.config = config

    def set_topic_id(self, topic_id: UUID) -> None:
        """Write the topic's id, once; it becomes durable with the first records."""
        with storage_errors(self.directory, "writing the topic id"):
            self.durability.unsynced.append(write_topic_id(self.files, self.directory, topic_id))
        self.topic_id = topic_id

    @property
    def high_watermark(self) -> int:
        """The offset up to which readers see records."""
        return min(self.recovery_point, self.end_offset) if self.config.flush_on_ack else self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which readers of committed records see records."""
        watermark, producers = self.high_watermark, self.producers
        unstable = producers.first_unstable_offset(watermark) if producers.open or producers.ended else None
        return watermark if unstable is None else min(unstable, watermark)

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages requires a flush before the last append is acknowledged."""
        return self.end_offset - self.durability.recovery_point >= self.config.flush_messages

    def append(
        self,
        batches: Bytes,
        *,
        leader_epoch: int = 0,
        hold: bool = False,
        flush: bool = True,
        verification: Verification | None = None,
    ) -> AppendResult:
        """Append whole batches of a client; refusals are Kafka's own errors.

        Acknowledge them with flush.on.ack after `recovery_point` has passed `last_offset`, with `hold` after
        `write_held`. A transactional batch is appended without a check of its transaction unless its `verification`
        is presented.
        """
        now = self.clock()
        admitted = admission.admit(batches, self.config, now)
        return self.append_admitted(
            admitted, now, leader_epoch=leader_epoch, hold=hold, flush=flush, verification=verification
        )

    def append_admitted(
        self,
        admitted: Sequence[AdmittedBatch],
        now: int,
        *,
        leader_epoch: int = 0,
        hold: bool = False,
        flush: bool = True,
        verification: Verification | None = None,
    ) -> AppendResult:
        """Append batches that were admitted with this log's settings at an earlier time.

        Without `flush` the caller flushes when flush.messages requires it (`owes_flush`).
        """
        append_time = now if self.config.log_append_time else admission.NO_TIMESTAMP
        known = self.producers.check_append(admitted, verification)
        if known is not None:
            return admission.AppendResult(
                known.first_offset, known.last_offset, known.timestamp, self.log_start_offset, True
            )
        base = self.end_offset
        try:
            self._write(admitted, leader_epoch, now, hold=hold)
        except KafkaStorageError:
            for batch in admitted:
                if batch.producer is not None:
                    self.producers.expect(batch.producer)
            raise
        if flush and self.owes_flush:
            self.flush()
        return admission.AppendResult(base, self.end_offset - 1, append_time, self.log_start_offset)

    def write_held(self) -> None:
        """Write held batches; KafkaStorageError if any of them was lost, and undone, since the last call."""
        self.try_write_held()
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost

    def append_unsequenced(self, batch: Bytes, *, leader_epoch: int = 0) -> AppendResult:
        """Append the transactional batch of a coordinator: it has a producer and an epoch, but no sequence."""
        admitted, producer_id, epoch = admission.admit_unsequenced(batch, self.config)
        self.producers.check_epoch(producer_id, epoch)
        base = self.end_offset
        self._write([admitted], leader_epoch, self.clock())
        return admission.AppendResult(base, self.end_offset - 1, admission.NO_TIMESTAMP, self.log_start_offset)

    def append_own(self, batch: Bytes, now: int, *, leader_epoch: int = 0) -> AppendResult:
        """Append a batch that this broker has just built, with one record of this time: it is not checked again.

        It is admitted as others are if the settings of the log change what is stored, or if it may be too large.
        """
        if not admission.stores_as_is(len(batch), self.config):
            return self.append(batch, leader_epoch=leader_epoch, flush=False)
        base = self.end_offset
        self._write([admission.admit_own(batch, now)], leader_epoch, now)
        return admission.AppendResult(base, base, admission.NO_TIMESTAMP, self.log_start_offset)

    def append_marker(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        *,
        commit: bool,
        level: int = 0,
        leader_epoch: int = 0,
    ) -> AppendResult:
        """End a producer's transaction in this partition; `level` is the transaction.version of its client."""
        now, base = self.clock(), self.end_offset
        self.producers.check_marker(producer_id, epoch, coordinator_epoch, level)
        if not commit:
            self.aborted_transactions(base, base)  # the index must be readable, because an entry is added to it
        data = marker_batch(
            ControlType.COMMIT if commit else ControlType.ABORT, producer_id, epoch, coordinator_epoch, now
        )
        self._write([admission.admit_own(data, now)], leader_epoch, now)
        aborted = self.producers.append_marker(TransactionEnd(producer_id, epoch, coordinator_epoch, commit, base, now))
        if aborted is not None:
            self.segments.active.aborted.append(aborted)
        return admission.AppendResult(base, base, admission.NO_TIMESTAMP, self.log_start_offset)

    def read(self, offset: int, max_bytes: int, *, up_to: int | None = None, min_one_batch: bool = True) -> FileRange:
        """The bytes from the batch that holds an offset, at most `max_bytes` of them, cut anywhere.

        `up_to` is the offset to stop before (default: the high watermark). With `min_one_batch` the first is whole.
        """
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(
                f"{self.directory.name}: offset {offset}, expected {self.log_start_offset} to {self.end_offset}"
            )
        self.try_write_held()
        limit = self.high_watermark if up_to is None else min(up_to, self.end_offset)
        try:
            return self.segments.read(offset, max_bytes, limit, self.end_offset, min_one_batch=min_one_batch)
        except OSError as error:
            raise storage_error(self.directory, "reading", error) from error

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The first record at or after a time."""
        return run(find_timestamp(self, timestamp))

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """The aborted transactions that a reader of committed records needs for these offsets."""
        with storage_errors(self.directory, "reading"):
            return self.segments.aborted(start, end)

    def delete_records(self, before: int) -> int:
        """Delete records before an offset (-1: the high watermark); the new log start.

        Records are made durable before they are deleted, because a restart ignores a log start past the log's end. A
        caller that must not wait for a sync flushes up to the offset first, in a thread.
        """
        delete_before(self, self.high_watermark if before == -1 else before)
        return self.log_start_offset

    def truncate(self, offset: int) -> None:
        """Truncate the log before the batch that holds an offset."""
        if offset < self.end_offset:
            self.flush()
            with storage_errors(self.directory, "truncation"):
                cut(self, offset)

    def roll(self) -> None:
        """Start a new segment at the log's end, unless the last one is empty."""
        self.try_write_held()
        last = self.segments.active
        if not last.size:
            return
        self.is_as_closed = False
        fresh = Segment(self.files, self.directory, self.end_offset, self.config, self.clock())
        with storage_errors(fresh.path, "starting a segment"):
            last.seal()
            self.snapshots.save(self.end_offset, self.producers)
            fresh.create()
        self.segments.add(fresh)
        self.durability.names_are_durable = False

    @property
    def recovery_point(self) -> int:
        """The offset up to which everything is durable."""
        return self.durability.recovery_point

    @property
    def checkpoint_offset(self) -> int:
        """The offset from which a restart must check the log."""
        return self.durability.checkpoint_offset(self.segments)

    def flush_is_due(self, now: int) -> bool:
        """Whether flush.ms, or a finished segment, requires a flush."""
        return self.durability.is_due(self.segments, self.end_offset, now, self.config.flush_ms)

    def begin_flush(self) -> Flush:
        """A flush of everything appended so far; run it in any thread, then call `finish_flush`."""
        self.try_write_held()
        return self.durability.begin(self.segments, self.epochs, self.end_offset)

    def finish_flush(self, flush: Flush) -> None:
        """Record the result of a flush."""
        self.durability.finish(flush, self.segments, self.epochs, self.end_offset)

    def flush(self) -> None:
        """Make everything appended so far durable."""
        if self.checkpoint_offset >= self.end_offset:
            return
        flush = self.begin_flush()
        try:
            flush.run()
        finally:
            self.finish_flush(flush)

    def apply_retention(self) -> list[int]:
        """Expire idle producers and old segments; the base offsets of the segments removed."""
        return run(retention(self))

    def compact(self, *, force: bool = False) -> bool:
        """Compact finished segments if enough of them is dirty; whether it was done."""
        return run(compaction(self, force=force))

    def close(self) -> None:
        """Write and sync everything that a clean start needs."""
        close(self)

    def _write(self, admitted: Sequence[AdmittedBatch], leader_epoch: int, now: int, *, hold: bool = False) -> None:
        self.is_as_closed = False
        parts, written, producing, size, latest, end = admission.assign_offsets(admitted, self.end_offset, leader_epoch)
        active = self._make_room(size, latest, end - 1, now)
        if not hold:
            self.try_write_held()
        if self._lost is not None:
            raise self._lost
        try:
            if leader_epoch != self.epochs.latest:
                self.epochs.assign(leader_epoch, self.end_offset)
            if hold and self._may_hold:
                active.hold(parts, written)
                if self._held is None:
                    self._held = HeldBatches(self.end_offset)
            else:
                active.append(parts, written)
                self._may_hold = True
        except OSError as error:
            raise storage_error(active.path, "append", error) from error
        self.end_offset = end
        for produced in producing:
            if self._held is not None:
                self._held.note(produced, self.producers)
            self.producers.append(produced)

    def try_write_held(self) -> None:
        """Write held batches; if the disk refuses, they are undone, and `write_held` raises the error."""
        held, self._held = self._held, None
        if held is None:
            return
        active = self.segments.active
        try:
            active.write_held()
        except OSError as error:
            self._lost = storage_error(active.path, "append", error)
            self._may_hold = False
            undo(self, held)

    def _make_room(self, size: int, timestamp: int, last_offset: int, now: int) -> Segment:
        """The segment for these bytes; a new one if the last has no room."""
        config, active = self.config, self.segments.active
        if size > config.segment_bytes:
            raise RecordBatchTooLargeError(f"batches of {size} bytes, segment.bytes is {config.segment_bytes}")
        try:
            if not active.has_room(size, timestamp, last_offset, now, config):
                self.roll()
        except OSError as error:
            raise storage_error(active.path, "append", error) from error
        return self.segments.active
