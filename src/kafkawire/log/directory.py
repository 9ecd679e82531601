"""A directory of partitions, as Apache Kafka lays it out.

Rules:
- A lock ensures that one process owns a directory at a time.
- The mark of a clean stop is removed before anything is opened, and written after everything is closed.
- Checkpoints may lag behind the logs, but never run ahead: they are written after their records are durable. An older
  checkpoint never replaces a newer one, whichever thread writes it. One that has not changed is not written again.
- A partition that is created again under an old name starts empty: the old one's checkpoints are removed first.
- A deleted partition loses its name first, durably. `purge` removes its files after file.delete.delay.ms.
- The directory starts no threads: its owner calls `maintain` and `checkpoint` from time to time.
"""

from __future__ import annotations

import logging
import re
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from kafkawire.log import checkpoints
from kafkawire.log._cleanup.steps import run
from kafkawire.log._segment import SUFFIXES, stem
from kafkawire.log._shutdown import close_all
from kafkawire.log.config import LogConfig
from kafkawire.log.errors import storage_errors
from kafkawire.log.partition import Partition
from kafkawire.log.storage.files import DiskFiles, replace_file
from kafkawire.messages import uuid_text
from kafkawire.messages.errors import InconsistentTopicIdError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkawire.log._cleanup.steps import BackgroundWork, Step
    from kafkawire.log.checkpoints import TopicPartition
    from kafkawire.log.storage.files import FileSystem

    Stand = tuple[TopicPartition, int, int, int, int]
    """A partition, and its offsets for the checkpoints: recovery, log start, high watermark, cleaned."""

_log = logging.getLogger("kafkawire.log")
_PARTITION = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<number>[0-9]+)")
_DELETED = re.compile(r".+\.[0-9a-f]+-delete")
_CLEAN = b'{"version":0,"brokerEpoch":-1}'
LONGEST_NAME = 255


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class LogDirectory:
    """All partitions under one root.

    >>> from pathlib import Path
    >>> from kafkawire.log.storage.memory import MemoryFiles
    >>> logs = LogDirectory(Path("/data"), files=MemoryFiles())
    >>> logs.create("orders", 0)
    Partition(orders-0, 0..0)
    >>> logs.close()
    """

    def __init__(
        self,
        root: Path | str,
        *,
        files: FileSystem | None = None,
        clock: Callable[[], int] = wall_clock,
        config: LogConfig | None = None,
        topic_configs: Mapping[str, LogConfig] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root = Path(root)
        self.clock = clock
        self.config = config or LogConfig()
        self.partitions: dict[TopicPartition, Partition] = {}
        self.findings: list[str] = []
        """Unreadable checkpoints of the root, one sentence each; each partition has its own findings."""
        self._topic_configs = dict(topic_configs or {})
        self._kept_until: dict[str, int] = {}
        self._checkpoints = self._last_written = 0
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._writing = Lock()
        self._files: FileSystem = files or DiskFiles()
        with storage_errors(root, "opening the log directory"):
            is_new = not self._files.exists(root)
            self._files.make_directory(root)
            if is_new:
                self._files.sync_directory(root.parent)
            self._lock = self._files.lock(root / checkpoints.LOCK)
            self.properties = self._identify(properties or {})
            self.was_clean = self._files.exists(root / checkpoints.CLEAN_SHUTDOWN)
            self._files.remove(root / checkpoints.CLEAN_SHUTDOWN)
            self._files.sync_directory(root)
            self._open_all()

    def create(
        self, topic: str, number: int, *, topic_id: UUID | None = None, config: LogConfig | None = None
    ) -> Partition:
        """Create a partition, or return the existing one; another topic id is refused."""
        return run(self.creation(topic, [number], topic_id=topic_id, config=config))[0]

    def creation(
        self, topic: str, numbers: Sequence[int], *, topic_id: UUID | None = None, config: LogConfig | None = None
    ) -> BackgroundWork[list[Partition]]:
        """Create partitions of a topic, or return the existing ones; the steps may run in any thread.

        The caller creates a topic's partitions in one place at a time. A failure removes those that were made.
        """
        for number in numbers:
            existing = self.partitions.get((topic, number))
            if topic_id is not None and existing is not None and existing.topic_id not in (None, topic_id):
                raise InconsistentTopicIdError(f"{topic}-{number}: id {topic_id}, the log has {existing.topic_id}")
        missing = [(topic, number) for number in numbers if (topic, number) not in self.partitions]
        if config is not None and missing:
            self._topic_configs[topic] = config
        if any(map(self._may_be_written_of, missing)):
            yield self.begin_checkpoint()
        made: dict[TopicPartition, Partition] = {}
        fresh: list[Path] = []
        try:
            if missing:
                yield partial(self._make, made, missing, topic_id, fresh)
        except KafkaStorageError:
            yield partial(self._unmake, fresh)
            raise
        self.partitions.update(made)
        found = [self.partitions[topic, number] for number in numbers]
        for log in found:
            if topic_id is not None and log.topic_id is None:
                log.set_topic_id(topic_id)
        return found

    def create_all(
        self, topic: str, numbers: Sequence[int], *, topic_id: UUID | None = None, config: LogConfig | None = None
    ) -> list[Partition]:
        """Create partitions of a topic, all or none."""
        return run(self.creation(topic, numbers, topic_id=topic_id, config=config))

    def _make(
        self,
        made: dict[TopicPartition, Partition],
        keys: list[TopicPartition],
        topic_id: UUID | None,
        fresh: list[Path],
    ) -> None:
        for topic, number in keys:
            directory = self.root / f"{topic}-{number}"
            with storage_errors(directory, "making the partition"):
                is_new = not self._files.exists(directory)
                if is_new:
                    fresh.append(directory)
                    self._files.make_directory(directory)
                log = made[topic, number] = self._open((topic, number), directory, clean=False, is_new=is_new)
                if topic_id is not None and log.topic_id is None:
                    log.set_topic_id(topic_id)

    def _unmake(self, directories: list[Path]) -> None:
        for directory in directories:
            with suppress(OSError):
                for name in (*(stem(0) + suffix for suffix in SUFFIXES), checkpoints.PARTITION):
                    self._files.remove(directory / name)
                self._files.remove_directory(directory)

    def delete(self, topic: str, *numbers: int) -> None:
        """Delete partitions: their names are free at once, and a later `purge` removes their files.

        One that the disk refuses to rename stays; the others go, and its error is raised at the end.
        """
        run(self.deletion(topic, numbers))

    def deletion(self, topic: str, numbers: Sequence[int]) -> BackgroundWork[None]:
        """Delete partitions as `delete` does; the steps may run in any thread."""
        targets: dict[int, Path] = {}
        for number in numbers:
            suffix = f"-{number}.{uuid4().hex}-delete"
            target = targets[number] = self.root / (topic[: LONGEST_NAME - len(suffix)] + suffix)
            delay = self.partitions[topic, number].config.file_delete_delay_ms
            self._kept_until[target.name] = self.clock() + delay
        failures: dict[int, KafkaStorageError] = {}
        try:
            yield partial(self._rename, topic, targets, failures)
        finally:
            for number, target in targets.items():
                if number in failures:
                    del self._kept_until[target.name]
                else:
                    del self.partitions[topic, number]
        if failures:
            raise next(iter(failures.values()))

    def _rename(self, topic: str, targets: Mapping[int, Path], failures: dict[int, KafkaStorageError]) -> None:
        for number, target in targets.items():
            directory = self.partitions[topic, number].directory
            try:
                with storage_errors(directory, "deleting the partition"):
                    self._files.rename(directory, target)
            except KafkaStorageError as failure:
                failures[number] = failure
        with storage_errors(self.root, "deleting partitions"):
            self._files.sync_directory(self.root)

    def purge(self) -> int:
        """Remove the files of partitions deleted long enough ago, or before the last start; their number."""
        with storage_errors(self.root, "removing deleted partitions"):
            names = [entry.name for entry in self._files.list(self.root) if entry.is_directory]
        gone, now = 0, self.clock()
        for name in filter(_DELETED.fullmatch, names):
            if self._kept_until.get(name, now) > now:
                continue
            with suppress(OSError):
                for entry in self._files.list(self.root / name):
                    self._files.remove(self.root / name / entry.name)
                self._files.remove_directory(self.root / name)
                self._kept_until.pop(name, None)
                gone += 1
        return gone

    def truncate(self, topic: str, number: int, offset: int) -> None:
        """Truncate a log, and write its checkpoint at once, because less of it is durable now."""
        self.partitions[topic, number].truncate(offset)
        self.checkpoint()

    def delete_records(self, topic: str, number: int, before: int) -> int:
        """Delete records before an offset, and write the checkpoint at once, so that no restart brings them back."""
        start = self.partitions[topic, number].delete_records(before)
        self.checkpoint()
        return start

    def configure(self, topic: str, config: LogConfig, numbers: Iterable[int] | None = None) -> None:
        """Change the settings of a topic's logs; with `numbers`, not all partitions are searched for them."""
        self._topic_configs[topic] = config
        if numbers is None:
            numbers = [number for name, number in self.partitions if name == topic]
        for number in numbers:
            partition = self.partitions.get((topic, number))
            if partition is not None:
                partition.configure(config)

    def maintain(self) -> None:
        """Run due flushes, retention and compaction, expire idle producers, remove deleted partitions.

        A partition whose disk refuses does not keep the others from their turn; its error is raised at the end.
        """
        self._for_each(self._maintain)
        self.purge()

    def _maintain(self, partition: Partition) -> None:
        if partition.flush_is_due(self.clock()):
            partition.flush()
        partition.apply_retention()
        if partition.config.compacts:
            partition.compact()

    def _for_each(self, work: Callable[[Partition], None]) -> None:
        failures = []
        for partition in list(self.partitions.values()):
            try:
                work(partition)
            except KafkaStorageError as failure:
                failures.append(failure)
        self.checkpoint()
        if failures:
            raise failures[0]

    def flush(self) -> None:
        """Make everything durable."""
        self._for_each(Partition.flush)

    def _may_be_written_of(self, key: TopicPartition) -> bool:
        """Whether a checkpoint has a partition of this name that was deleted, or may have it soon."""
        return self._last_written < self._checkpoints or any(key in offsets for offsets in self._written.values())

    def checkpoint(self) -> None:
        """Write the checkpoints of recovery points, log starts, high watermarks and cleaned offsets."""
        self.begin_checkpoint()()

    def begin_checkpoint(self) -> Step:
        """A call that writes the current checkpoints; it may run in any thread, and even after the next one."""
        stand = [_stand(key, log) for key, log in self.partitions.items()]
        self._checkpoints += 1
        return partial(self._write_checkpoint, self._checkpoints, stand)

    def _write_checkpoint(self, number: int, stand: list[Stand]) -> None:
        with self._writing, storage_errors(self.root, "writing checkpoints"):
            if number < self._last_written:
                return
            stands = {
                checkpoints.RECOVERY_POINTS: {key: point for key, point, _, _, _ in stand},
                # Even if it is the base of the first segment: an interrupted compaction may restore an earlier segment.
                checkpoints.LOG_STARTS: {key: start for key, _, start, _, _ in stand if start},
                checkpoints.HIGH_WATERMARKS: {key: mark for key, _, _, mark, _ in stand},
                checkpoints.CLEANED: {key: cleaned for key, _, _, _, cleaned in stand if cleaned},
            }
            for name, offsets in stands.items():
                if self._written.get(name) != offsets:
                    self._written.pop(name, None)
                    checkpoints.write_offsets(self._files, self.root / name, offsets)
                    self._written[name] = offsets
            self._last_written = number

    def close(self) -> None:
        """Stop cleanly, so that the next start checks nothing. After a failure the next start checks the logs."""
        try:
            changed, failures = close_all(self._files, self.root, self.partitions.values())
            self.checkpoint()
            if failures:
                raise failures[0]
            with storage_errors(self.root, "closing"):
                if changed:
                    self._files.sync_directory(self.root)
                replace_file(self._files, self.root / checkpoints.CLEAN_SHUTDOWN, _CLEAN)
        finally:
            self._lock.release()

    def _identify(self, wanted: Mapping[str, str]) -> dict[str, str]:
        path = self.root / checkpoints.META
        found = checkpoints.read_properties(self._files, path) or {}
        fresh = {"version": "1", "directory.id": uuid_text(uuid4())}
        properties = {**fresh, **found, **wanted}
        if properties != found:
            checkpoints.write_properties(self._files, path, properties)
        return properties

    def _open_all(self) -> None:
        names = (entry.name for entry in self._files.list(self.root) if entry.is_directory)
        found = {name: match for name in names if (match := _PARTITION.fullmatch(name))}
        said = (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.CLEANED)
        read = {name: checkpoints.read_offsets(self._files, self.root / name) for name in said}
        for name in said:
            if read[name] is None and self._files.exists(self.root / name):
                finding = f"{self.root / name}: not a checkpoint of offsets, so it is ignored"
                self.findings.append(finding)
                _log.warning("%s", finding)
        self._written = {name: offsets for name, offsets in read.items() if offsets is not None}
        points, starts, cleaned = (self._written.get(name, {}) for name in said)
        for name, match in sorted(found.items()):
            key = match["topic"], int(match["number"])
            self.partitions[key] = self._open(
                key,
                self.root / name,
                clean=self.was_clean,
                recovery_point=points.get(key, 0),
                log_start_offset=starts.get(key, 0),
                cleaned_offset=cleaned.get(key, 0),
            )

    def _open(
        self,
        key: TopicPartition,
        directory: Path,
        *,
        clean: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        cleaned_offset: int = 0,
        is_new: bool = False,
    ) -> Partition:
        partition = Partition(
            self._files,
            directory,
            self._topic_configs.get(key[0], self.config),
            self.clock,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            cleaned_offset=cleaned_offset,
            is_new=is_new,
        )
        for finding in partition.findings:
            _log.warning("%s", finding)
        return partition


def _stand(key: TopicPartition, log: Partition) -> Stand:
    """The offsets of a log, with as few calls as possible, because there may be ten thousand logs."""
    point = log.durability.recovery_point if len(log.segments) == 1 else log.checkpoint_offset
    mark = log.high_watermark if log.config.flush_on_ack else log.end_offset
    return key, point, log.log_start_offset, mark, log.cleaned_offset
