"""One partition's log: appended to at its end, read anywhere, owned by one thread.

Rules:
- log start <= last stable offset <= high watermark <= end. Readers see up to the high watermark: the end of the log,
  or, with flush.on.ack, the end of what is durable.
- An append is whole or nothing: a refusal or a failing disk leaves log, indexes and producers as they were.
- Appends may be held back, to be written together; `settle` comes before any is acknowledged, and whoever reads first.
- The last segment grows, and a new one starts by size, time or full index; an empty one is never left behind.
- Records are never decoded to serve a read by offset.
"""

from __future__ import annotations

from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log import recovery
from kafkawire.log.admission import Admitted, admit
from kafkawire.log.chain import Chain, FoundTimestamp
from kafkawire.log.checkpoints import read_topic_id, write_topic_id
from kafkawire.log.closing import close
from kafkawire.log.compaction import compaction
from kafkawire.log.cutting import Held, cut, undo
from kafkawire.log.durability import Durability, Flush
from kafkawire.log.errors import storage_error, storage_errors
from kafkawire.log.lengthy import run
from kafkawire.log.markers import build_marker
from kafkawire.log.producers import CachedBatch, Marker, ProducerBatch
from kafkawire.log.retention import Discarded, detach, retention
from kafkawire.log.segment import FileRange, Segment
from kafkawire.messages.errors import KafkaStorageError, OffsetOutOfRangeError, RecordBatchTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from uuid import UUID

    from kafkawire.log.aborted import AbortedTransaction
    from kafkawire.log.configs import LogConfig
    from kafkawire.log.files import Bytes, FileSystem
    from kafkawire.log.lengthy import Lengthy

NO_TIMESTAMP = -1
ASSIGNED = Struct(">qii")


class AppendResult(NamedTuple):
    """Where batches went; for a duplicate, where they went the first time."""

    base_offset: int
    last_offset: int
    append_time: int
    log_start_offset: int
    duplicate: bool = False


class Partition:
    """The log of one topic partition.

    >>> from kafkawire.log.memory import MemoryFiles
    >>> from kafkawire.log.configs import LogConfig
    >>> from kafkawire.records import BatchBuilder
    >>> from pathlib import Path
    >>> files = MemoryFiles()
    >>> files.make_directory(Path("/logs/orders-0"))
    >>> log = Partition(files, Path("/logs/orders-0"), LogConfig(), clock=lambda: 0)
    >>> builder = BatchBuilder()
    >>> builder.append(b"key", b"value")
    True
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
        self.segments = Chain(loaded.segments)
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.snapshots = loaded.snapshots
        self.end_offset = loaded.end_offset
        self.log_start_offset = loaded.log_start_offset
        self.cut_bytes = loaded.cut_bytes
        self.findings = loaded.findings
        """What opening found missing or wrong, one sentence each; a directory logs them."""
        self.cleaned_offset = loaded.cleaned_offset
        self.discarded: list[Discarded] = []
        self._held: Held | None = None
        self._may_hold = True  # not after a failed write, until one succeeds: then each append hears of its own failure
        self._lost: KafkaStorageError | None = None
        self.is_as_closed = loaded.as_closed
        """Whether the files are as a clean start expects them, in so far as appends and cuts change them."""
        self.topic_id = None if is_new else read_topic_id(files, directory)
        self.durability = Durability(files, directory, clock, loaded.recovery_point, clean)
        self.configure(config)

    def __repr__(self) -> str:
        return f"Partition({self.directory.name}, {self.log_start_offset}..{self.end_offset})"

    def configure(self, config: LogConfig) -> None:
        """Go by these settings; where only durable records may be seen, those that are there become so first."""
        if config.flush_on_ack and self.recovery_point < self.end_offset:
            self.flush()
        self.config = config

    def set_topic_id(self, topic_id: UUID) -> None:
        """Tell the log its topic's id, once; it is durable with the first records."""
        with storage_errors(self.directory, "writing the topic id"):
            self.durability.unsynced.append(write_topic_id(self.files, self.directory, topic_id))
        self.topic_id = topic_id

    @property
    def first_base_offset(self) -> int:
        return next(iter(self.segments)).base_offset

    @property
    def high_watermark(self) -> int:
        """The offset up to which readers may see."""
        return min(self.recovery_point, self.end_offset) if self.config.flush_on_ack else self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which readers of committed records may see."""
        watermark = self.high_watermark
        unstable = self.producers.first_unstable_offset(watermark)
        return watermark if unstable is None else min(unstable, watermark)

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages asks for a flush before the last append is acknowledged."""
        return self.end_offset - self.durability.recovery_point >= self.config.flush_messages

    def append(self, batches: Bytes, *, leader_epoch: int = 0, hold: bool = False, flush: bool = True) -> AppendResult:
        """Take whole batches from a client; the refusals are Kafka's own errors.

        The answer waits, with flush.on.ack for `recovery_point` to pass `last_offset`, with `hold` for `settle`.
        """
        now = self.clock()
        admitted = admit(batches, self.config, now)
        return self.append_admitted(admitted, now, leader_epoch=leader_epoch, hold=hold, flush=flush)

    def append_admitted(
        self,
        admitted: Sequence[Admitted],
        now: int,
        *,
        leader_epoch: int = 0,
        hold: bool = False,
        flush: bool = True,
    ) -> AppendResult:
        """Take batches that were admitted at some time with this log's settings.

        Without `flush` the caller flushes when flush.messages asks for it (`owes_flush`).
        """
        append_time = now if self.config.log_append_time else NO_TIMESTAMP
        known = self._check_producers(admitted)
        if known is not None:
            first_time = known.timestamp if self.config.log_append_time else NO_TIMESTAMP
            return AppendResult(known.first_offset, known.last_offset, first_time, self.log_start_offset, True)
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
        return AppendResult(base, self.end_offset - 1, append_time, self.log_start_offset)

    def settle(self) -> None:
        """Have everything written that was held back; a KafkaStorageError if any of it was lost, and undone."""
        self.write_held()
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost

    def append_marker(
        self, producer_id: int, epoch: int, coordinator_epoch: int, *, commit: bool, leader_epoch: int = 0
    ) -> AppendResult:
        """End a producer's transaction here."""
        now = self.clock()
        self.producers.check_marker(producer_id, epoch, coordinator_epoch)
        data = build_marker(producer_id, epoch, coordinator_epoch, commit=commit, timestamp=now)
        base = self.end_offset
        self._write([Admitted(len(data), (data[ASSIGNED.size :],), 0, now)], leader_epoch, now)
        aborted = self.producers.append_marker(Marker(producer_id, epoch, coordinator_epoch, commit, base, now))
        if aborted is not None:
            self.segments.active.aborted.append(aborted)
        return AppendResult(base, base, NO_TIMESTAMP, self.log_start_offset)

    def read(self, offset: int, max_bytes: int, *, up_to: int | None = None, min_one_batch: bool = True) -> FileRange:
        """The bytes from the batch that holds an offset, at most `max_bytes` of them, cut anywhere.

        `up_to` is the offset to stop before: the high watermark unless said otherwise. With `min_one_batch` the first
        batch comes whole whatever its size.
        """
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(
                f"{self.directory.name}: offset {offset}, expected {self.log_start_offset} to {self.end_offset}"
            )
        self.write_held()
        limit = self.high_watermark if up_to is None else min(up_to, self.end_offset)
        try:
            return self.segments.read(offset, max_bytes, limit, self.end_offset, min_one_batch=min_one_batch)
        except OSError as error:
            raise storage_error(self.directory, "reading", error) from error

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The first record at or after a time."""
        return run(self.finding_timestamp(timestamp))

    def finding_timestamp(self, timestamp: int) -> Lengthy[FoundTimestamp | None]:
        """The steps of `offset_for_timestamp`."""
        with storage_errors(self.directory, "reading"):
            return (yield from self.segments.find_timestamp(timestamp, self.log_start_offset))

    def largest_timestamp(self) -> FoundTimestamp | None:
        """The record with the largest timestamp."""
        return run(self.finding_largest_timestamp())

    def finding_largest_timestamp(self) -> Lengthy[FoundTimestamp | None]:
        """The steps of `largest_timestamp`."""
        with storage_errors(self.directory, "reading"):
            return (yield from self.segments.find_largest_timestamp(self.log_start_offset))

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """The aborted transactions a reader of committed records must know for these offsets."""
        with storage_errors(self.directory, "reading"):
            return self.segments.aborted(start, end)

    def delete_records(self, before: int) -> int:
        """Let the log start at an offset (-1: the high watermark); the new log start.

        Records are durable before they are deleted, because no restart believes a log start past the log's end. Flush
        up to the offset first, in a thread, where a sync may not be waited for.
        """
        before = self.high_watermark if before == -1 else before
        if before > self.high_watermark:
            raise OffsetOutOfRangeError(
                f"{self.directory.name}: delete before {before}, expected at most {self.high_watermark}"
            )
        if before > self.recovery_point:
            self.flush()
        if before > self.log_start_offset:
            self.log_start_offset = before
            # The epochs are written again with the next flush, and retention removes what is before the log start.
            with suppress(OSError):
                self.epochs.truncate_start(before)
            with suppress(KafkaStorageError):
                detach(self, [s for s in self.segments.sealed if self.segments.end_of(s, before) <= before])
        return self.log_start_offset

    def truncate(self, offset: int) -> None:
        """Cut the log before the batch that holds an offset; it ends after the last batch that is left."""
        if offset < self.end_offset:
            self.flush()
            with storage_errors(self.directory, "truncation"):
                cut(self, offset)

    def roll(self) -> None:
        """Start a new segment at the log's end, unless the last one is empty."""
        self.write_held()
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
        """Whether flush.ms, or a finished segment, asks for a flush."""
        if self.checkpoint_offset < self.segments.active.base_offset:
            return True
        return self.recovery_point < self.end_offset and abs(now - self.durability.flushed_ms) >= self.config.flush_ms

    def begin_flush(self) -> Flush:
        """What it takes to make everything appended so far durable; run it in any thread, then `finish_flush`."""
        self.write_held()
        return self.durability.begin(self.segments, self.epochs, self.end_offset)

    def finish_flush(self, flush: Flush) -> None:
        """Take note of how a flush ended."""
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
        """Forget silent producers, remove what retention and the log start let go; the base offsets of what went."""
        return run(retention(self))

    def compact(self, *, force: bool = False) -> bool:
        """Keep the last record of each key in finished segments, if enough of them is dirty; whether it was done."""
        return run(compaction(self, force=force))

    def close(self) -> None:
        """Leave everything on the disk as a clean start expects it."""
        close(self)

    def _check_producers(self, admitted: Sequence[Admitted]) -> CachedBatch | None:
        checked: list[ProducerBatch] = []
        for batch in admitted:
            if batch.producer is None:
                continue
            known = self.producers.find_duplicate(batch.producer)
            if known is not None:
                return known
            self.producers.check(batch.producer, checked)
            checked.append(batch.producer)
        return None

    def _write(self, admitted: Sequence[Admitted], leader_epoch: int, now: int, *, hold: bool = False) -> None:
        self.is_as_closed = False
        offset, total, latest = self.end_offset, 0, NO_TIMESTAMP
        parts: list[Bytes] = []
        written, producing = [], []
        for size, rest, last_delta, timestamp, producer in admitted:
            last = offset + last_delta
            parts.append(ASSIGNED.pack(offset, size - 12, leader_epoch))
            parts.extend(rest)
            written.append((last, size, timestamp))
            if producer is not None:
                producing.append(producer._replace(first_offset=offset, last_offset=last))
            total += size
            latest = max(latest, timestamp)
            offset = last + 1
        active = self._make_room(total, latest, offset - 1, now)
        if not hold:
            self.write_held()
        if self._lost is not None:
            raise self._lost
        try:
            if leader_epoch != self.epochs.latest:
                self.epochs.assign(leader_epoch, self.end_offset)
            if hold and self._may_hold:
                active.hold(parts, written)
                if self._held is None:
                    self._held = Held(self.end_offset)
            else:
                active.append(parts, written)
                self._may_hold = True
        except OSError as error:
            raise storage_error(active.path, "append", error) from error
        self.end_offset = offset
        for produced in producing:
            if self._held is not None:
                self._held.note(produced, self.producers)
            self.producers.append(produced)

    def write_held(self) -> None:
        """Write what was held back; what cannot be written is undone, and `settle` tells of it."""
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
        """The segment that takes these bytes, a new one where the last has no room."""
        config, active = self.config, self.segments.active
        if size > config.segment_bytes:
            raise RecordBatchTooLargeError(f"batches of {size} bytes, segment.bytes is {config.segment_bytes}")
        try:
            has_room = active.has_room(size, timestamp, last_offset, now, config)
        except OSError as error:
            raise storage_error(active.path, "append", error) from error
        if not has_room:
            self.roll()
        return self.segments.active
