"""Partition directories against the journal: which topics are found again, and which directories belong to none.

Rules:
- A topic that the journal does not know is adopted if any of its directories has a topic id or records.
- The id is that of most directories, the most recently changed one of equals. Directories with another id are moved
  aside under the suffix `-stray`, where neither this broker nor Kafka takes them for partitions.
- The partition count is the highest index and one. Partitions in between that have no directory are created empty.
- Settings that are not known keep all records: retention.ms=-1 and retention.bytes=-1. Internal topics get their own.
- A known topic grows by directories behind its last partition that hold records, or after a loss in the journal.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from kafkawire.broker._metadata.directories import common_id, largest_numbers, partition_name
from kafkawire.broker._metadata.journal.state import partition_records, topic_records
from kafkawire.broker._metadata.producer_ids import BLOCK
from kafkawire.broker._metadata.topics import INTERNAL, Topic
from kafkawire.log import SALVAGE_MARK as MARK
from kafkawire.log import Repair, checkpoints
from kafkawire.log.directory import LONGEST_NAME
from kafkawire.messages import ProducerIdsRecord, RegisterBrokerRecord, RemoveTopicRecord, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from uuid import UUID

    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._metadata.directories import PartitionDirectory
    from kafkawire.broker._metadata.journal.state import JournalState
    from kafkawire.log.storage.files import Entry, FileSystem
    from kafkawire.messages import Message

MOST_MISSING: Final = 1000
"""A topic that lacks more partitions than this is more likely not a topic: `backup-2024` is a folder of a user."""
SPARE_IDS: Final = 1_000_000
"""Producer ids that were given out and never written with are on no disk; the next block is this far behind."""
KEEP_ALL: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
STRAY: Final = "-stray"


class Adoption:
    """The topics and partitions that directories have and the journal lacks."""

    def __init__(
        self,
        files: FileSystem,
        root: Path,
        config: BrokerConfig,
        state: JournalState,
        *,
        is_lossy: bool,
        settings: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._files = files
        self._root = root
        self._config = config
        self._state = state
        self._is_lossy = is_lossy
        self._settings = settings
        self.repairs: list[Repair] = []
        self._live: list[PartitionDirectory] = []
        self._adopted: list[Topic] = []
        self._grown: list[tuple[Topic, range]] = []
        self._replaced: list[UUID] = []

    def examine(self, groups: Mapping[str, list[PartitionDirectory]], entries: Iterable[Entry]) -> None:
        """Compare the directories of every topic with the journal."""
        for name, directories in groups.items():
            live = [each for each in directories if not self._is_removed(each)]
            self._live += live
            topic = self._state.topics.find(name)
            if topic is None and live:
                self._adopt(name, live)
            elif topic is not None:
                self._compare(topic, live)
        for topic in self._state.topics:
            if topic.name not in groups:
                self._create_missing(topic, set())
        files = {entry.name for entry in entries if not entry.is_directory and partition_name(entry.name)}
        self._check_files(sorted(files))

    def changes(self, node_id: int) -> Iterator[Message]:
        """The records that the journal lacks."""
        if not (self._is_lossy or self._adopted or self._grown or self._replaced):
            return
        numbers = [largest_numbers(self._files, each.path) for each in self._live]
        producer_id = max((producer for producer, _ in numbers), default=-1)
        epoch = max([self._state.leader_epoch, *(epoch for _, epoch in numbers)]) + 1
        block = max(self._state.next_producer_id, -(-(producer_id + 1) // BLOCK) * BLOCK) + SPARE_IDS
        yield RegisterBrokerRecord(broker_id=node_id, broker_epoch=epoch, fenced=False)
        yield ProducerIdsRecord(broker_id=node_id, next_producer_id=block)
        yield from (RemoveTopicRecord(topic_id=topic_id) for topic_id in self._replaced)
        for topic, indexes in self._grown:
            yield from partition_records(topic, indexes, node_id, epoch)
        for topic in self._adopted:
            yield from topic_records(topic, node_id, epoch)

    def _is_removed(self, directory: PartitionDirectory) -> bool:
        """Whether the journal says that the directory's topic was removed, so that a start removes the directory."""
        state, name = self._state, directory.topic
        if directory.topic_id is not None:
            return directory.topic_id in state.removed
        return not self._is_lossy and name not in state.topics and name in state.removed.values()

    def _adopt(
        self, name: str, directories: list[PartitionDirectory], settings: Mapping[str, str] | None = None
    ) -> None:
        first = directories[0]
        if not any(each.topic_id is not None or each.has_records(self._files) for each in directories):
            words = "belongs to no topic that the journal knows, and has neither a topic id nor records"
            self._note(first.path, words, "left alone", is_repaired=False)
            return
        topic_id = common_id(directories) or uuid4()
        own = [each for each in directories if each.is_of(topic_id)]
        count = max(each.index for each in own) + 1
        if count - len(own) > MOST_MISSING:
            words = f"belongs to no topic that the journal knows; {count - len(own)} partitions before it are missing"
            self._note(own[-1].path, words, "left alone", level=logging.ERROR, is_repaired=False)
            return
        if name in INTERNAL:
            settings, words = self._config.internal_topic(name)[1], "its internal settings"
        elif settings is not None or name in self._settings:
            settings, words = settings or self._settings.get(name, {}), "the settings that are known of it"
        else:
            settings = {**KEEP_ALL, **self._state.loose_settings.get(name, {})}
            words = "retention.ms=-1 and retention.bytes=-1 because its settings are lost"
            words += f"; `kafkawire configs unset topic {name} {' '.join(KEEP_ALL)}` sets them back"
        topic = Topic(name, topic_id, count, dict(settings))
        self._adopted.append(topic)
        remedy = f"adopted with {count} partitions, id {uuid_text(topic_id)} and {words}"
        self._note(first.path, f"the journal does not know topic {name}", remedy)
        self._repair_directories(topic, own, [each for each in directories if not each.is_of(topic_id)])

    def _compare(self, topic: Topic, directories: list[PartitionDirectory]) -> None:
        own = [each for each in directories if each.is_of(topic.id)]
        strays = [each for each in directories if not each.is_of(topic.id)]
        if strays and self._is_lossy and not any(each.topic_id for each in own):
            self._replaced.append(topic.id)
            self._adopt(topic.name, directories, topic.configs)
            return
        more = [
            each.index
            for each in own
            if each.index >= topic.partitions and (self._is_lossy or each.has_records(self._files))
        ]
        if more and max(more) - topic.partitions - len(more) < MOST_MISSING:
            fresh = range(topic.partitions, max(more) + 1)
            self._grown.append((topic, fresh))
            words = f"the journal knows {topic.partitions} partitions of {topic.name}"
            path = self._root / f"{topic.name}-{min(more)}"
            self._note(path, words, f"the topic has {fresh.stop} partitions now")
            topic = Topic(topic.name, topic.id, fresh.stop, topic.configs)
        self._repair_directories(topic, own, strays)

    def _repair_directories(
        self, topic: Topic, own: list[PartitionDirectory], strays: list[PartitionDirectory]
    ) -> None:
        for each in strays:
            self._move_aside(each, topic)
        for each in own:
            if each.is_id_damaged or each.topic_id not in (None, topic.id):
                path = each.path / checkpoints.PARTITION
                work = partial(self._write_id, each.path, topic.id)
                self._note(path, "the topic id is damaged", f"written again as {uuid_text(topic.id)}", work=work)
        self._create_missing(topic, {each.index for each in own})

    def _create_missing(self, topic: Topic, indexes: set[int]) -> None:
        missing = [self._root / f"{topic.name}-{index}" for index in range(topic.partitions) if index not in indexes]
        if not missing:
            return
        words = f"{len(missing)} of {topic.partitions} partitions have no directory"
        remedy = "created empty"
        if not indexes:
            remedy += f"; if {topic.name} was deleted, delete it again"
        self._note(missing[0], words, remedy, work=partial(self._make_directories, missing))

    def _check_files(self, names: list[str]) -> None:
        topics = {topic.name: topic for topic in (*self._state.topics, *self._adopted)}
        for name in names:
            topic_name, index = partition_name(name) or ("", 0)
            topic = topics.get(topic_name)
            if topic is not None and index < topic.partitions:
                words = "is a file where the directory of a partition is expected"
                self._note(self._root / name, words, "move it away", level=logging.CRITICAL, is_repaired=False)
            elif MARK not in name:
                words = "is a file with the name of a partition"
                self._note(self._root / name, words, "left alone", is_repaired=False)

    def _move_aside(self, directory: PartitionDirectory, topic: Topic) -> None:
        suffix = f"-{directory.index}.{uuid4().hex}{STRAY}"
        target = self._root / (directory.topic[: LONGEST_NAME - len(suffix)] + suffix)
        found = uuid_text(directory.topic_id) if directory.topic_id else "none"
        words = f"the topic id is {found}, that of {topic.name} is {uuid_text(topic.id)}"
        work = partial(self._rename, directory.path, target)
        self._note(directory.path, words, f"moved aside to {target.name}", level=logging.ERROR, work=work)

    def _note(self, path: Path, fault: str, remedy: str, **more: Any) -> None:
        self.repairs.append(Repair(path, -1, fault, remedy, **more))

    def _rename(self, source: Path, target: Path) -> None:
        self._files.rename(source, target)
        self._files.sync_directory(self._root)

    def _make_directories(self, paths: list[Path]) -> None:
        for path in paths:
            self._files.make_directory(path)
        self._files.sync_directory(self._root)

    def _write_id(self, directory: Path, topic_id: UUID) -> None:
        self._files.open(checkpoints.write_topic_id(self._files, directory, topic_id)).sync()
        self._files.sync_directory(directory)
