"""The offsets of topics that are gone, which groups forget.

Rules:
- Groups forget them one after the other, in steps, because there may be many.
- A commit about a new topic of the same name must not be forgotten with the old ones. So its group forgets the old ones
  before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.steps import finish

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets import Offsets
    from kafkawire.broker.groups.steps import Steps


class DeletedTopics:
    """The groups that may still have offsets of a topic that is gone, by its name."""

    def __init__(self, groups: Mapping[str, AnyGroup], offsets: Offsets) -> None:
        self._groups = groups
        self._offsets = offsets
        self._left: dict[str, dict[str, AnyGroup]] = {}

    def forgetting(self, topic: str, now: int) -> Steps[None]:
        """The steps in which every group forgets a topic. It counts as gone at once."""
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
        """Drop all groups: none of them exists any more."""
        for left in self._left.values():
            left.clear()

    def _forget(self, topic: str, left: dict[str, AnyGroup], now: int) -> Steps[None]:
        while left:
            group = left.popitem()[1]
            if self._groups.get(group.group_id) is group:
                yield from self._offsets.forget_topic(group, topic, now)
            yield
        if self._left.get(topic) is left:
            del self._left[topic]
