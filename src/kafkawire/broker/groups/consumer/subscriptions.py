"""Subscriptions of a group: the topics that exist, whether all members have the same ones, and their hash.

Rules:
- Names and the topics of a regular expression are united. An expression that is not resolved yet matches nothing.
- Members subscribe to the same topics if all have the same names, or all have one regular expression and no names.
- The hash of a group changes when a subscribed topic is created, deleted, recreated or gets more partitions. Apache
  Kafka computes another value, and replaces that of another broker at the first heartbeat.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topic, Topics
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.member import ConsumerMember


def subscribed_ids(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> dict[UUID, int]:
    """The existing topics that a member subscribes to, each with the number of its partitions."""
    names = member.topics
    if member.regex and member.regex in group.resolved:
        names = names | group.resolved[member.regex].topics
    found = (topics.find(name) for name in sorted(names))
    return {topic.id: topic.partitions for topic in found if topic is not None}


def is_homogeneous(group: ConsumerGroup) -> bool:
    """Whether all members subscribe to the same topics."""
    members = len(group.members)
    if not group.regexes:
        return all(count == members for count in group.names.values())
    return len(group.regexes) == 1 and group.regexes.total() == members and not group.names


def metadata_hash(group: ConsumerGroup, topics: Topics) -> int:
    """The hash of the topics that a group subscribes to; 0 if none of them exists."""
    return hash_of_topics(_subscribed(group, topics))


def hash_of_topics(topics: Iterable[Topic]) -> int:
    """The hash of topics and their partitions; 0 without topics."""
    digest = blake2b(digest_size=8)
    found = sorted(topics, key=attrgetter("name"))
    if not found:
        return 0
    for topic in found:
        digest.update(b"%s\0%s%d\0" % (topic.name.encode(), topic.id.bytes, topic.partitions))
    return int.from_bytes(digest.digest(), "big", signed=True)


def _subscribed(group: ConsumerGroup, topics: Topics) -> Iterator[Topic]:
    """The existing topics that a group subscribes to. The cost follows the smaller number, of names or of topics."""
    matched = [each.topics for each in group.resolved.values()]
    if len(group.names) + sum(map(len, matched)) < len(topics):
        for name in frozenset(group.names).union(*matched):
            topic = topics.find(name)
            if topic is not None:
                yield topic
    else:
        for topic in topics:
            if topic.name in group.names or any(topic.name in each for each in matched):
                yield topic
