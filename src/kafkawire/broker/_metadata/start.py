"""The state of a node when it starts, from its journal and the directories of its logs.

Rules:
- The settings of topics are read before their logs are opened, because recovery must know which logs are compacted and
  have gaps.
- Every start but the first begins a new leader epoch. Apache Kafka elects leaders again when a broker registers, and
  after an unclean stop offsets may be assigned a second time.
- Features that the journal lacks are finalized. A directory of an earlier version lacks some.
- Directories of deleted topics, which a crash leaves, are deleted.
- A journal with many more records than the state needs is rewritten.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkawire.broker._metadata.journal.files import examine
from kafkawire.broker._metadata.journal.records import everything, registration
from kafkawire.broker._metadata.journal.state import JournalState
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._quotas.service import Quotas
from kafkawire.broker._tokens.service import Tokens
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._node import Node
    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import FileSystem
    from kafkawire.messages import FeatureLevelRecord, Message

JOURNAL_SLACK = 10_000


def topic_configs(files: FileSystem, root: Path, config: BrokerConfig) -> dict[str, LogConfig]:
    """The settings of the logs of each topic."""
    found = {}
    for topic in examine(files, root).state.topics:
        with suppress(KafkaError):
            found[topic.name] = config.log_config(topic.configs)
    return found


def take_over(node: Node) -> None:
    """Bring a node to the state of its journal, and open the logs of its topics."""
    _begin(node, _replay(node))
    _open_topics(node)
    _shorten_journal(node)


def _replay(node: Node) -> list[FeatureLevelRecord]:
    """Apply the journal; returns the levels of features that it lacks."""
    state = JournalState(node.topics)
    for change in node.journal.replay():
        state.apply(change)
    node.removed = state.removed
    for resource, changes in state.broker_settings.items():
        node.config.change(resource, changes)
    for kind, configs in node.own_settings.items():
        for name, changes in state.own_settings.get(kind, {}).items():
            configs.change(name, changes)
    node.producer_ids.restore(state.next_producer_id)
    node.acls = state.acls
    node.scram_users = state.scram_users
    node.tokens = Tokens(node.config, node.clock, node.journal, state.tokens)
    node.quotas = Quotas(node.config, node.clock, state.quotas)
    node.leader_epoch = state.leader_epoch
    return node.features.restore(state.features)


def _begin(node: Node, lacking: list[FeatureLevelRecord]) -> None:
    if node.journal.end_offset:
        node.leader_epoch += 1
    changes: list[Message] = [registration(node), *lacking]
    node.journal.write(changes)
    node.features.apply(lacking, epoch=node.journal.last_offset)


def _open_topics(node: Node) -> None:
    for (name, index), log in list(node.logs.partitions.items()):
        if log.cut_bytes:
            place = f"{name}-{index}"
            log_event("log cut", level=logging.WARNING, partition=place, bytes=log.cut_bytes, end=log.end_offset)
        if log.topic_id in node.removed or (log.topic_id is None and _is_removed(node, name)):
            node.logs.delete(name, index)
    for topic in node.topics:
        config = node.apply_settings(topic)
        numbers = range(topic.partitions)
        node.logs.create_all(topic.name, numbers, topic_id=topic.id, config=config)
        node.logs.configure(topic.name, config, numbers)


def _is_removed(node: Node, name: str) -> bool:
    """Whether the last topic of a name was deleted; a power cut may have removed the topic id from its log."""
    return name not in node.topics and name in node.removed.values()


def _shorten_journal(node: Node) -> None:
    topics = sum(1 + topic.partitions + len(topic.configs) for topic in node.topics)
    live = 2 + topics + len(node.acls) + len(node.scram_users) + len(node.tokens.stored)
    live += len(node.quotas.stored)
    live += sum(len(own) for configs in node.own_settings.values() for own in configs.own.values())
    if len(node.journal) > JOURNAL_SLACK + 4 * live:
        node.journal.replace(everything(node))
        node.logs.checkpoint()
