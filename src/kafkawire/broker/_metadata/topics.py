"""The table of topics: names, ids, partition counts, and their own settings.

Rules:
- A change is in the journal, durably, before it is visible or answered.
- A topic's id never changes and is never used again; a topic that is recreated under an old name has a new id.
- Names: 1 to 249 of ASCII letters, digits, '.', '_' and '-', but not '.' or '..'. Two names that differ only in
  '.' against '_' collide, because metric names cannot tell them apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkawire.messages.errors import (
    InvalidTopicError,
    TopicExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"
INTERNAL: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
NO_ID: Final = UUID(int=0)
LONGEST_NAME: Final = 249
MOST_PARTITIONS: Final = 10_000
"""Of one topic, and of all topics that one request makes."""
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(slots=True)
class Topic:
    """One topic, as the journal knows it."""

    name: str
    id: UUID
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)
    min_insync_replicas: int = 1
    converts_down: bool = True
    is_internal: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.is_internal = self.name in INTERNAL


class Topics:
    """Every topic, by name and by id."""

    def __init__(self) -> None:
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[UUID, Topic] = {}
        self.version = 0
        """Grows with every topic that is added, removed or grown."""
        self.last_added = 0
        """The version with which the last topic was added."""
        self._folded: dict[str, str] = {}
        """Names by what metrics would make of them, reserved ones too."""

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def find(self, name: str) -> Topic | None:
        return self.by_name.get(name)

    def find_id(self, topic_id: UUID) -> Topic | None:
        return self.by_id.get(topic_id)

    def get(self, name: str) -> Topic:
        """The topic of a name; UNKNOWN_TOPIC_OR_PARTITION if there is none."""
        topic = self.by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(f"no topic {name!r}")
        return topic

    def get_id(self, topic_id: UUID) -> Topic:
        """The topic of an id; UNKNOWN_TOPIC_ID if there is none."""
        topic = self.by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicIdError(f"no topic with id {topic_id}")
        return topic

    def add(self, topic: Topic) -> None:
        self.by_name[topic.name] = topic
        self.by_id[topic.id] = topic
        self.version += 1
        self.last_added = self.version
        self.reserve(topic.name)

    def remove(self, topic: Topic) -> None:
        del self.by_name[topic.name]
        del self.by_id[topic.id]
        self.version += 1
        self.release(topic.name)

    def grow(self, topic: Topic, partitions: int) -> None:
        """Give a topic more partitions."""
        if partitions > topic.partitions:
            topic.partitions = partitions
            self.version += 1

    def reserve(self, name: str) -> None:
        """Keep a name, and those that collide with it, for a topic that is about to be added."""
        self._folded[_fold(name)] = name

    def release(self, name: str) -> None:
        """Let go of a name, unless a topic has it."""
        if name not in self.by_name:
            self._folded.pop(_fold(name), None)

    def check_new(self, name: str) -> None:
        """Refuse a name that no new topic can have."""
        check_name(name)
        if name in self.by_name:
            raise TopicExistsError(f"topic {name!r} already exists")
        other = self._folded.get(_fold(name))
        if other == name:
            raise TopicExistsError(f"topic {name!r} is being created")
        if other is not None:
            raise InvalidTopicError(f"topic {name!r} collides with {other!r}: '.' and '_' count as the same")


def _fold(name: str) -> str:
    return name.replace(".", "_")


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a topic.

    >>> check_name("orders")
    """
    if not name:
        raise InvalidTopicError("the empty name is not one of a topic")
    if name in (".", ".."):
        raise InvalidTopicError(f"topic name {name!r}: '.' and '..' are taken by the file system")
    if len(name) > LONGEST_NAME:
        raise InvalidTopicError(f"topic name of {len(name)} characters, expected at most {LONGEST_NAME}")
    if not _NAME.fullmatch(name):
        raise InvalidTopicError(f"topic name {name[:80]!r}: expected only ASCII letters, digits, '.', '_' and '-'")
