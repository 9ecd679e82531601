"""The state that the journal describes: topics, settings, producer ids, features, ACLs, users, tokens, leader epoch.

Rules:
- Records apply in order. A record about a topic that the journal never created is skipped and counted: the record
  that created it was lost.
- A topic that is created under a name in use takes the name: the removal of the other one was lost.
- Settings of a name without a topic are kept apart, because a restoration may find the topic again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.entries import Entries
from kafkawire.broker._metadata.topics import NO_ID, Topic, Topics
from kafkawire.broker._quotas.stored import StoredQuotas
from kafkawire.broker._security.scram_users import ScramUsers
from kafkawire.broker._tokens.stored import StoredTokens
from kafkawire.messages import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kafkawire.messages import Message

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4


class JournalState:
    """The state after all records of a journal.

    >>> from uuid import UUID
    >>> state = JournalState()
    >>> state.apply(TopicRecord(name="orders", topic_id=UUID(int=7)))
    >>> [topic.name for topic in state.topics]
    ['orders']
    """

    def __init__(self, topics: Topics | None = None) -> None:
        self.topics = Topics() if topics is None else topics
        self.removed: dict[UUID, str] = {}
        """The name of each removed topic by id; '' if the journal does not say it."""
        self.broker_settings: dict[str, dict[str, str | None]] = {}
        self.own_settings: dict[int, dict[str, dict[str, str | None]]] = {}
        """Settings of groups and of subscriptions to client metrics, by type of the resource and name."""
        self.loose_settings: dict[str, dict[str, str]] = {}
        """Settings of topics that the journal never created, by name."""
        self.features: dict[str, int] = {}
        """The stated level of each feature; a feature that is turned off is stated as 0."""
        self.acls = Entries()
        self.scram_users = ScramUsers()
        self.tokens = StoredTokens()
        self.quotas = StoredQuotas()
        self.next_producer_id = 0
        self.leader_epoch = 0
        self.skipped = 0
        """How many records are about topics that the journal never created."""

    def apply(self, change: Message) -> None:
        """Take in one record."""
        match change:
            case TopicRecord():
                self._create(change.name, change.topic_id)
            case PartitionRecord():
                topic = self.topics.find_id(change.topic_id)
                if topic is None:
                    self.skipped += change.topic_id not in self.removed
                else:
                    self.topics.grow(topic, change.partition_id + 1)
            case RemoveTopicRecord():
                self._remove(change.topic_id)
            case ConfigRecord():
                self._configure(change)
            case FeatureLevelRecord():
                self.features[change.name] = change.feature_level
            case ProducerIdsRecord():
                self.next_producer_id = change.next_producer_id
            case AccessControlEntryRecord():
                self.acls.apply(change)
            case RemoveAccessControlEntryRecord():
                self.acls.remove(change.id)
            case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
                self.scram_users.apply(change)
            case DelegationTokenRecord() | RemoveDelegationTokenRecord():
                self.tokens.apply(change)
            case ClientQuotaRecord():
                self.quotas.apply(change)
            case RegisterBrokerRecord():
                self.leader_epoch = change.broker_epoch

    def _create(self, name: str, topic_id: UUID) -> None:
        if (other := self.topics.find(name)) is not None:
            self.topics.remove(other)
        if (other := self.topics.find_id(topic_id)) is not None:
            self.topics.remove(other)
        self.loose_settings.pop(name, None)
        self.topics.add(Topic(name, topic_id, 0))

    def _remove(self, topic_id: UUID) -> None:
        topic = self.topics.find_id(topic_id)
        if topic is None:
            self.skipped += topic_id not in self.removed
            self.removed.setdefault(topic_id, "")
            return
        self.removed[topic_id] = topic.name
        self.topics.remove(topic)

    def _configure(self, change: ConfigRecord) -> None:
        if change.resource_type == BROKER_RESOURCE:
            self.broker_settings.setdefault(change.resource_name, {})[change.name] = change.value
            return
        if change.resource_type != TOPIC_RESOURCE:
            resources = self.own_settings.setdefault(change.resource_type, {})
            resources.setdefault(change.resource_name, {})[change.name] = change.value
            return
        topic = self.topics.find(change.resource_name)
        settings = self.loose_settings.setdefault(change.resource_name, {}) if topic is None else topic.configs
        settings.pop(change.name, None)
        if change.value is not None:
            settings[change.name] = change.value


def replayed(changes: Iterable[Message]) -> JournalState:
    """The state after these records."""
    state = JournalState()
    for change in changes:
        state.apply(change)
    return state


def topic_records(topic: Topic, node_id: int, leader_epoch: int, directory: UUID = NO_ID) -> Iterator[Message]:
    """The records that create a topic with its settings and partitions, in the order in which Kafka writes them."""
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    yield from config_records(TOPIC_RESOURCE, topic.name, topic.configs)
    yield from partition_records(topic, range(topic.partitions), node_id, leader_epoch, directory)


def config_records(resource: int, owner: str, settings: Mapping[str, str | None]) -> Iterator[ConfigRecord]:
    """The records of settings."""
    for name, value in settings.items():
        yield ConfigRecord(resource_type=resource, resource_name=owner, name=name, value=value)


def partition_records(
    topic: Topic, indexes: Iterable[int], node_id: int, leader_epoch: int, directory: UUID = NO_ID
) -> Iterator[Message]:
    """The records that give a topic these partitions in a data directory."""
    for index in indexes:
        yield PartitionRecord(
            partition_id=index,
            topic_id=topic.id,
            replicas=[node_id],
            isr=[node_id],
            leader=node_id,
            leader_epoch=leader_epoch,
            partition_epoch=0,
            directories=[directory],
        )
