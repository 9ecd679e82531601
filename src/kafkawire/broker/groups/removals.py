"""The end of groups and of offsets: deleted by a request, expired, or of a deleted topic.

Rules:
- Work over many groups or offsets goes in steps, and a group may be joined or deleted between two of them.
- A group with no members and no offsets is removed by the next pass over expired offsets. A group that a refused
  request has made is removed at once.
- A commit about a new topic must not be forgotten with the offsets of a deleted one of the same name. So the group
  forgets those of the deleted topic before it.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.offsets import AT_ONCE
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.steps import finish
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets import Errors, Offsets
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.groups.streams.events import StreamsEvents


class Removals:
    """Removes groups and their offsets."""

    def __init__(
        self, groups: dict[str, AnyGroup], offsets: Offsets, writer: GroupWriter, streams: StreamsEvents
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._writer = writer
        self._streams = streams
        self._left: dict[str, dict[str, AnyGroup]] = {}
        """The groups that may still have offsets of a topic that is gone, by its name."""

    def deleting_offsets(self, group_id: str, places: Iterable[TopicPartition], now: int) -> Steps[Errors]:
        """Forget offsets of a group; the error of each partition, or one that concerns all of them."""
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"no group {group_id!r}")
        return self._offsets.delete(group, places, now)

    def deleting(self, group_id: str, now: int) -> Steps[ErrorCode]:
        """Forget a group without members. If a member joins meanwhile, it stays, without the offsets that are gone."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        try:
            while group.is_empty and len(group.offsets) + len(self._unstable(group_id)) > AT_ONCE:
                places = chain(group.offsets, self._unstable(group_id))
                yield from self._offsets.forget(group, list(islice(places, AT_ONCE)), now)
                if not self._has(group):
                    return ErrorCode.GROUP_ID_NOT_FOUND
            if not group.is_empty:
                return ErrorCode.NON_EMPTY_GROUP
            self._remove(group, now)
        except KafkaError as refusal:
            return ErrorCode(refusal.code)
        return ErrorCode.NONE

    def expiring(self, now: int) -> Steps[None]:
        """Forget expired offsets, and groups that have nothing left."""
        for group in list(self._groups.values()):
            yield
            if not self._has(group):
                continue
            yield from self._offsets.expire(group, now)
            is_unused = group.is_empty and not group.offsets and not group.pending
            if isinstance(group, ShareGroup):  # has share partitions, whose state does not expire
                continue
            if is_unused and self._has(group) and not self._unstable(group.group_id):
                self._remove(group, now)

    def forgetting_topic(self, topic: str, now: int) -> Steps[None]:
        """Forget every offset of a deleted topic. It counts as gone at once."""
        left = self._left.setdefault(topic, {})
        left.update(self._groups)
        return self._forget(topic, left, now)

    def forget_before(self, group: AnyGroup, commits: Iterable[TopicPartition], now: int) -> None:
        """Forget the offsets that a group has of topics that are gone, before it commits to new ones of their names."""
        if self._left:
            for topic in self._left.keys() & {topic for topic, _ in commits}:
                if self._left[topic].pop(group.group_id, None) is not None:
                    finish(self._offsets.forget_topic(group, topic, now))

    def clear(self) -> None:
        """Drop all groups of deleted topics: none of them exists any more."""
        for left in self._left.values():
            left.clear()

    def remove_if_unused(self, group: AnyGroup) -> None:
        """Forget a group that a refused request has made."""
        is_unused = group.is_simple and not group.offsets and not group.pending
        if is_unused and not self._unstable(group.group_id):
            del self._groups[group.group_id]

    def _has(self, group: AnyGroup) -> bool:
        """Whether a group is still one of these; between two steps it may have been deleted."""
        return self._groups.get(group.group_id) is group

    def _unstable(self, group_id: str) -> Collection[TopicPartition]:
        return self._offsets.pending.of(group_id)

    def _remove(self, group: AnyGroup, now: int) -> None:
        places = {*group.offsets, *self._unstable(group.group_id)}
        self._writer.write_end(group, places, now)
        for place in places:
            self._offsets.pending.forget(group.group_id, place)
        if isinstance(group, Group):
            group.go(State.DEAD, now)
        if isinstance(group, StreamsGroup):
            self._streams.forget_deadlines(group, ())
        del self._groups[group.group_id]

    def _forget(self, topic: str, left: dict[str, AnyGroup], now: int) -> Steps[None]:
        while left:
            group = left.popitem()[1]
            if self._groups.get(group.group_id) is group:
                yield from self._offsets.forget_topic(group, topic, now)
            yield
        if self._left.get(topic) is left:
            del self._left[topic]
