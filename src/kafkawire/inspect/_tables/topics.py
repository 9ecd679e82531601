"""Names of topics by their ids.

Rules:
- The name of an id never changes; a recreated topic has another id.
- Sources: Metadata, CreateTopics and DescribeTopicPartitions responses, `partition.metadata` files of log directories
  (the directory has the name; a damaged file is ignored), and a user's file of lines `ID NAME`.
- Ids are shown as Kafka shows them, in URL-safe base64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.exceptions import KafkaWireError
from kafkawire.log import DiskFiles
from kafkawire.log.checkpoints import read_topic_id
from kafkawire.messages import parse_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.messages import Message

METADATA, CREATE_TOPICS, DESCRIBE_TOPIC_PARTITIONS = 3, 19, 75
TOPIC_ID_APIS: Final = {METADATA: 10, CREATE_TOPICS: 7, DESCRIBE_TOPIC_PARTITIONS: 0}
"""The APIs whose responses contain topic ids, and the first such version."""
_NIL: Final = UUID(int=0)


class TopicFileError(KafkaWireError):
    """A file of topic ids that cannot be read."""


class TopicNames:
    """The known names of topic ids."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}

    def learn(self, response: Message | None) -> None:
        """Take the ids and names of a response that lists topics."""
        topics: list[Any] = getattr(response, "topics", None) or []
        for topic in topics:
            if topic.name and topic.topic_id != _NIL:
                self.names[topic.topic_id] = topic.name

    def learn_directories(self, root: Path) -> None:
        """Take the ids of the partition directories below a log directory, or of the one that it is."""
        for path in sorted({*root.glob("partition.metadata"), *root.glob("*/partition.metadata")}):
            name = path.parent.name.rpartition("-")[0]
            topic_id = read_topic_id(DiskFiles(), path.parent)
            if name and topic_id is not None:
                self.names[topic_id] = name

    def learn_file(self, path: Path) -> None:
        """Take the lines `ID NAME` of a user's file."""
        self.learn_lines(path.read_text("utf-8").splitlines(), path)

    def learn_lines(self, lines: Iterable[str], path: Path) -> None:
        for number, line in enumerate(lines, 1):
            words = line.replace(",", " ").split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2:
                raise TopicFileError(f"{path}, line {number}: expected a topic id and a name, found {line!r}")
            self.names[_parse(words[0], path)] = words[1]

    def name(self, topic: str | None, topic_id: UUID | None) -> str | None:
        """The name of a topic that a message gave by name, by id, or both."""
        if topic:
            return topic
        return None if topic_id is None else self.names.get(topic_id)


def show_id(topic_id: UUID | None) -> str | None:
    """A topic id as Kafka writes it; None for none.

    >>> show_id(UUID("26c8b9e4-5f0d-4a57-9c2e-8a1f6d2b3c4d"))
    'Jsi55F8NSlecLoofbSs8TQ'
    """
    if topic_id is None or topic_id == _NIL:
        return None
    return uuid_text(topic_id)


def _parse(text: str, path: Path) -> UUID:
    try:
        return UUID(text) if len(text) == 36 else parse_uuid(text)
    except ValueError:
        raise TopicFileError(f"{path}: {text!r} is not a topic id") from None
