"""The state of a node as records of its journal, as Apache Kafka 4.3 writes them.

Rules:
- Records have the latest version of their schema, which is that of `metadata.version` 4.3-IV0.
- A topic's record comes first, then those of its settings, then those of its partitions.
- The record of the broker has no endpoints, because it is written before the broker listens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from kafkawire.broker._config.settings import BROKER_RESOURCE
from kafkawire.broker._metadata.journal.state import config_records, topic_records
from kafkawire.messages import ProducerIdsRecord, RegisterBrokerRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages import Message


def registration(node: Node) -> RegisterBrokerRecord:
    """A start of the broker, which begins a leader epoch."""
    return RegisterBrokerRecord(
        broker_id=node.id,
        incarnation_id=uuid4(),
        broker_epoch=node.leader_epoch,
        features=[
            RegisterBrokerRecord.BrokerFeature(
                name=feature.name, min_supported_version=feature.lowest, max_supported_version=feature.highest
            )
            for feature in node.features.supported.values()
        ],
        rack=node.rack,
        fenced=False,
        log_dirs=[node.directory_id],
    )


def records(node: Node, topic: Topic) -> Iterator[Message]:
    """A topic."""
    return topic_records(topic, node.id, node.leader_epoch, node.directory_id)


def everything(node: Node) -> Iterator[Message]:
    """All that the journal describes."""
    yield registration(node)
    yield ProducerIdsRecord(broker_id=node.id, next_producer_id=node.producer_ids.next_block)
    yield from node.features.records()
    yield from node.acls.records()
    yield from node.scram_users.records()
    yield from node.tokens.stored.records()
    yield from node.quotas.stored.records()
    for name, values in node.config.changed.items():
        yield from config_records(BROKER_RESOURCE, name, values)
    for kind, configs in node.own_settings.items():
        for name, values in configs.own.items():
            yield from config_records(kind, name, values)
    for topic in node.topics:
        yield from records(node, topic)
