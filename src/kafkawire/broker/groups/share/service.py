"""Members of share groups in their node, and the states of share partitions that begin and end with their groups.

Rules:
- States of share partitions are written after the record that announces them, and before the one that says they exist.
  A crash in between leaves an announcement: a later heartbeat stores them again, a later deletion deletes them again.
- A heartbeat that announces share partitions is answered after they have their states, with the assignment that it had
  before. The next one assigns them.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.share.changes import TopicPartitions
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.share.stored import UNKNOWN, ShareKey
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from uuid import UUID

    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.share.events import ShareEvents
    from kafkawire.broker.groups.share.heartbeat import ShareBeat, ShareResult

_log: Final = logging.getLogger(__name__)
AT_ONCE: Final = 100
"""The number of share partitions whose states are written in one turn."""


class ShareMemberships:
    """The members of share groups."""

    def __init__(self, node: Node, events: ShareEvents, now: Callable[[], int], changed: Callable[[], None]) -> None:
        self._node = node
        self._events = events
        self._now = now
        self._changed = changed

    async def heartbeat(self, beat: ShareBeat, context: RequestContext) -> ShareResult:
        """The answer to a heartbeat; a refusal is raised."""
        try:
            result = self._events.heartbeat(beat, self._now())
        finally:
            self._changed()
        if result.initializing:
            starts = {topic: dict.fromkeys(each.partitions, UNKNOWN) for topic, each in result.initializing.items()}
            try:
                await self._initialize(beat.group_id, result.state_epoch, starts, context)
                self._events.initialized(beat.group_id, result.initializing, self._now())
            except KafkaError as error:
                _log.warning("group %r: share partitions get their state later: %s", beat.group_id, error)
        return result

    async def alter(self, group_id: str, starts: Mapping[UUID, Mapping[int, int]], context: RequestContext) -> None:
        """Let an empty group begin at other offsets, which are durable afterwards; a refusal is raised."""
        topics = {
            topic_id: TopicPartitions(self._node.topics.get_id(topic_id).name, frozenset(offsets))
            for topic_id, offsets in starts.items()
        }
        if topics:
            await self._node.groups.prepare()
        epoch = self._events.alter(group_id, topics, self._now())
        if topics:
            await self._initialize(group_id, epoch, starts, context)
            self._events.initialized(group_id, topics, self._now())
            await self._node.groups.durable([group_id], context)

    async def delete(self, group_id: str, topics: Iterable[UUID], context: RequestContext) -> frozenset[UUID]:
        """Delete the states of topics of an empty group; returns the topics that had some. A refusal is raised."""
        gone = self._events.deleting(group_id, topics, self._now())
        if gone:
            await self._delete([key for key in self._node.shares.keys_of(group_id) if key.topic_id in gone], context)
            self._events.deleted(group_id, gone, self._now())
            await self._node.groups.durable([group_id], context)
        return gone

    async def end(self, group: ShareGroup, context: RequestContext) -> None:
        """Delete all states of a group that ends."""
        self._events.ending(group, self._now())
        await self._delete(self._node.shares.keys_of(group.group_id), context)

    def topic_deleted(self, groups: Iterable[object], topic: Topic) -> None:
        """Forget the share partitions of a topic that is gone."""
        for group in groups:
            if isinstance(group, ShareGroup):
                try:
                    self._events.forget_topic(group, topic.id, self._now())
                except KafkaError as error:
                    _log.error("group %r still names the deleted topic %s: %s", group.group_id, topic.name, error)

    def get(self, group_id: str) -> ShareGroup:
        """The group of a name; GROUP_ID_NOT_FOUND if there is none, or one of another kind."""
        return self._events.get(group_id)

    async def _initialize(
        self, group_id: str, epoch: int, starts: Mapping[UUID, Mapping[int, int]], context: RequestContext
    ) -> None:
        await self._node.shares.prepare()
        for topic_id, offsets in starts.items():
            left = iter(offsets.items())
            while piece := dict(islice(left, AT_ONCE)):
                self._node.shares.initialize(group_id, epoch, {topic_id: piece})
                await self._node.shares.durable(ShareKey(group_id, topic_id, index) for index in piece)
                await context.yield_if_due()

    async def _delete(self, keys: Iterable[ShareKey], context: RequestContext) -> None:
        left = iter(keys)
        while piece := list(islice(left, AT_ONCE)):
            self._node.shares.delete(piece)
            await self._node.shares.durable(piece)
            await context.yield_if_due()
