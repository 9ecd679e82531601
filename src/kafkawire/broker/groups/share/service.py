"""Members of share groups in their node, and the states of share partitions that begin and end with their groups.

Rules:
- States of share partitions are written after the record that announces them, and before the one that says they exist.
  A crash in between leaves an announcement: a later heartbeat stores them again, a later deletion deletes them again.
- A change that has begun ends, whether or not the client that asked for it is still there. Else a heartbeat whose
  connection closes would leave the group without partitions until they are tried again.
- A heartbeat that announces share partitions is answered after they have their states, with the assignment that it had
  before. The next one assigns them.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkawire.broker.groups.share.changes import TopicPartitions
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.share.stored import UNKNOWN, ShareKey
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from uuid import UUID

    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.share.events import ShareEvents
    from kafkawire.broker.groups.share.heartbeat import ShareBeat, ShareResult

T = TypeVar("T")
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
        self._running: set[asyncio.Task[Any]] = set()

    def stop(self) -> None:
        for task in self._running:
            task.cancel()

    async def heartbeat(self, beat: ShareBeat, context: RequestContext) -> ShareResult:
        """The answer to a heartbeat; a refusal is raised."""
        try:
            result = self._events.heartbeat(beat, self._now())
        finally:
            self._changed()
        if result.initializing:
            await self._to_its_end(self._begin(beat.group_id, result, context))
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
            await self._to_its_end(self._begin_elsewhere(group_id, epoch, topics, starts, context))
            await self._node.groups.durable([group_id], context)

    async def delete(self, group_id: str, topics: Iterable[UUID], context: RequestContext) -> frozenset[UUID]:
        """Delete the states of topics of an empty group; returns the topics that had some. A refusal is raised."""
        gone = self._events.deleting(group_id, topics, self._now())
        if gone:
            await self._to_its_end(self._forget(group_id, gone, context))
            await self._node.groups.durable([group_id], context)
        return gone

    async def end(self, group: ShareGroup, context: RequestContext) -> None:
        """Delete all states of a group that ends."""
        self._events.ending(group, self._now())
        await self._to_its_end(self._delete(self._node.shares.keys_of(group.group_id), context))

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

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that goes on if the waiting is cancelled."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_take_outcome)
            raise

    async def _begin(self, group_id: str, result: ShareResult, context: RequestContext) -> None:
        """Store the first states of share partitions that a heartbeat has announced."""
        starts = {topic: dict.fromkeys(each.partitions, UNKNOWN) for topic, each in result.initializing.items()}
        try:
            await self._initialize(group_id, result.state_epoch, starts, context)
            self._events.initialized(group_id, result.initializing, self._now())
        except KafkaError as error:
            _log.warning("group %r: share partitions get their state later: %s", group_id, error)

    async def _begin_elsewhere(
        self,
        group_id: str,
        epoch: int,
        topics: Mapping[UUID, TopicPartitions],
        starts: Mapping[UUID, Mapping[int, int]],
        context: RequestContext,
    ) -> None:
        await self._initialize(group_id, epoch, starts, context)
        self._events.initialized(group_id, topics, self._now())

    async def _forget(self, group_id: str, gone: frozenset[UUID], context: RequestContext) -> None:
        await self._delete([key for key in self._node.shares.keys_of(group_id) if key.topic_id in gone], context)
        self._events.deleted(group_id, gone, self._now())

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


def _take_outcome(task: asyncio.Task[Any]) -> None:
    """Take the outcome of work whose client has left. A refusal concerns the client alone."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, KafkaError):
        _log.error("a change of a share group failed after its client had left: %s", error, exc_info=error)
