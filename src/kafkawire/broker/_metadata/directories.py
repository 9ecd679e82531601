"""A data directory: its ids, and its partition directories as they are before their logs are opened.

Rules:
- A directory `TOPIC-N` is a partition; its topic id is in `partition.metadata`, if that can be read.
- Topic ids that differ in at most two bytes are one id: a flipped byte in the file changes no more than that.
- The ids of the cluster and of the directory are in `meta.properties`. A directory without a cluster gets a new one.
- Nothing is written and no log is opened. A file that the system refuses to read is an error that names it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.broker._metadata.topics import NO_ID, check_name
from kafkawire.exceptions import KafkaWireError
from kafkawire.log import LOG_SUFFIX as LOG
from kafkawire.log import SNAPSHOT_SUFFIX as SNAPSHOT
from kafkawire.log import checkpoints, decode_snapshot
from kafkawire.log.errors import storage_errors
from kafkawire.log.storage.files import read_file
from kafkawire.messages import parse_uuid, uuid_text
from kafkawire.messages.errors import InvalidTopicError
from kafkawire.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from uuid import UUID

    from kafkawire.log.storage.files import Entry, FileSystem

_PARTITION: Final = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<number>[0-9]{1,10})")
_BYTES_OF_ONE_FLIP: Final = 2


def cluster_id_of(files: FileSystem, root: Path) -> str:
    """The cluster id of a directory, or a new one."""
    found = checkpoints.read_properties(files, root / checkpoints.META) or {}
    return found.get("cluster.id") or uuid_text(uuid4())


def directory_id_of(properties: Mapping[str, str]) -> UUID:
    """The id that a directory states; none if it cannot be read, because nothing depends on it."""
    try:
        return parse_uuid(properties["directory.id"])
    except ValueError:
        return NO_ID


@dataclass(frozen=True)
class PartitionDirectory:
    """One directory of a partition, as far as it is known without its log."""

    path: Path
    topic: str
    index: int
    topic_id: UUID | None
    is_id_damaged: bool
    """Whether there is a partition.metadata that cannot be read."""
    modified_ms: int

    def has_records(self, files: FileSystem) -> bool:
        """Whether its log holds anything, or started behind something."""
        logs = (entry for entry in files.list(self.path) if entry.name.endswith(LOG) and entry.name[:-4].isdigit())
        return any(entry.size or int(entry.name[:-4]) for entry in logs)

    def is_of(self, topic_id: UUID) -> bool:
        """Whether its id is this one, a damaged spelling of it, or unknown."""
        return self.topic_id is None or is_near(self.topic_id, topic_id)


def is_near(one: UUID, other: UUID) -> bool:
    """Whether two ids differ by no more than a flipped byte of their text."""
    if one == other:  # nearly always, and there may be thousands of partitions
        return True
    return sum(a != b for a, b in zip(one.bytes, other.bytes, strict=True)) <= _BYTES_OF_ONE_FLIP


def partition_name(name: str) -> tuple[str, int] | None:
    """The topic and index that the name of a directory says.

    >>> partition_name("orders-0"), partition_name("lost+found")
    (('orders', 0), None)
    """
    match = _PARTITION.fullmatch(name)
    if match is None or int(match["number"]) >= 2**31:
        return None
    try:
        check_name(match["topic"])
    except InvalidTopicError:
        return None
    return match["topic"], int(match["number"])


def partition_directories(files: FileSystem, root: Path, entries: Iterable[Entry]) -> list[PartitionDirectory]:
    """The partitions among the entries of a data directory, by topic and index."""
    found = []
    for entry in entries:
        name = partition_name(entry.name)
        if entry.is_directory and name is not None:
            path = root / entry.name
            topic_id, is_damaged = _read_id(files, path)
            found.append(PartitionDirectory(path, *name, topic_id, is_damaged, entry.modified_ms))
    return sorted(found, key=lambda each: (each.topic, each.index, each.path.name))


def _read_id(files: FileSystem, directory: Path) -> tuple[UUID | None, bool]:
    path = directory / checkpoints.PARTITION
    with storage_errors(path, "reading the topic id"):
        try:
            content = read_file(files, path)
        except FileNotFoundError:
            return None, False
    topic_id = checkpoints.parse_topic_id(content)
    return topic_id, topic_id is None


def common_id(directories: Iterable[PartitionDirectory]) -> UUID | None:
    """The id that most of these directories have, the most recently changed one of equals; None if none has one."""
    known = [(each.topic_id, each.modified_ms) for each in directories if each.topic_id is not None]
    votes = Counter(topic_id for topic_id, _ in known)
    newest = dict(sorted(known, key=lambda pair: pair[1]))
    return max(votes, key=lambda topic_id: (votes[topic_id], newest[topic_id]), default=None)


def largest_numbers(files: FileSystem, directory: Path) -> tuple[int, int]:
    """The largest producer id and leader epoch that the files of a partition name; -1 for none."""
    producer_id = epoch = -1
    names = sorted(entry.name for entry in files.list(directory))
    for name in (name for name in names if name.endswith(SNAPSHOT)):
        try:
            producers = decode_snapshot(read_file(files, directory / name))
        except (OSError, KafkaWireError):
            continue
        producer_id = max([producer_id, *(producer.producer_id for producer in producers)])
    for words in checkpoints.read_lines(files, directory / checkpoints.EPOCHS) or ():
        if words and words[0].isdigit():
            epoch = max(epoch, int(words[0]))
    for name in [name for name in names if name.endswith(LOG)][-1:]:
        file = files.open(directory / name)
        for header in headers(file, 0, file.size()):
            producer_id, epoch = max(producer_id, header.producer_id), max(epoch, header.leader_epoch)
    return producer_id, epoch
