"""Events of share groups: heartbeats, departures, timeouts, and changes of their share partitions.

Rules:
- An event is one batch of records, all or nothing. An answer may be sent when they are durable.
- A heartbeat with epoch 0 creates a group, unless one of another kind has its name.
- The group's epoch rises when subscriptions, members or subscribed topics change. It also rises when a share partition
  with a state is not part of a target. The target is the assignment of its member at once.
- Only share partitions with a state are assigned. So the first answer to a new group has none: their states are stored
  after it, and the next heartbeat assigns them.
- Share partitions whose state could not be stored are tried again after a while.
- Timeouts are not stored. After a restart every member has a fresh session.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.rebalance import Due, Kind
from kafkawire.broker.groups.consumer.subscriptions import hash_of_topics
from kafkawire.broker.groups.share.assignor import assign
from kafkawire.broker.groups.share.changes import (
    Assigned,
    Change,
    Current,
    GroupEpoch,
    Partitions,
    SharePartitions,
    Subscribed,
    Target,
    TargetEpoch,
    TopicPartitions,
)
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.share.heartbeat import ShareResult, check_epoch, find_member
from kafkawire.broker.groups.share.member import JOIN_EPOCH, LEAVE_EPOCH, ShareMember
from kafkawire.broker.groups.share.records import encode
from kafkawire.messages.errors import (
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    GroupNotEmptyError,
    KafkaError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.consumer.settings import Timing
    from kafkawire.broker.groups.deadlines import Deadlines
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.share.heartbeat import ShareBeat

_log: Final = logging.getLogger(__name__)
RETRY_MS: Final = 500


class _Event:
    """The changes of one event, applied at once."""

    def __init__(self, group: ShareGroup) -> None:
        self.group = group
        self.changes: list[Change] = []
        self._undo: list[Change] = []

    def do(self, *changes: Change) -> None:
        for change in changes:
            self._undo.append(self.group.apply(change))
            self.changes.append(change)

    def undo(self) -> None:
        for change in reversed(self._undo):
            self.group.apply(change)
        self.group.checked_topics = -1


class ShareEvents:
    """The requests and timeouts of share groups."""

    def __init__(
        self,
        groups: MutableMapping[str, AnyGroup],
        timing: Callable[[str], Timing],
        topics: Topics,
        deadlines: Deadlines[Due],
        writer: GroupWriter,
        *,
        max_size: int,
        retry_ms: int,
    ) -> None:
        self._groups = groups
        self._timing = timing
        self._topics = topics
        self._deadlines = deadlines
        self._writer = writer
        self._max_size = max_size
        self._retry_ms = retry_ms

    def load(self, group: ShareGroup, now: int) -> None:
        """Give the members of a group that was read from the log one session to show themselves."""
        for member_id in group.members:
            self._expect_heartbeat(group, member_id, now)

    def heartbeat(self, beat: ShareBeat, now: int) -> ShareResult:
        """The answer to a heartbeat."""
        if beat.epoch == LEAVE_EPOCH:
            group = self.get(beat.group_id)
            self._remove(group, find_member(group, beat.member_id), now)
            return ShareResult(beat.member_id, beat.epoch)
        group = self._begin(beat.group_id, creates=beat.epoch == JOIN_EPOCH, missing="Share group {} not found.")
        if len(group.members) >= self._max_size and beat.member_id not in group.members:
            raise GroupMaxSizeReachedError(
                f"The share group has reached its maximum capacity of {self._max_size} members."
            )
        if beat.epoch == JOIN_EPOCH:
            before = group.members.get(beat.member_id, ShareMember(beat.member_id))
            log_event("member joins", group=group.group_id, member=beat.member_id)
        else:
            before = find_member(group, beat.member_id)
        check_epoch(before, beat.epoch)
        with self._event(group, now) as event:
            bump = self._subscribe(event, before, beat)
            self._update_targets(event, now)
            after = self._reconcile(event, beat.member_id, changed=bump)
            initializing = self._initialize(event, now)
        self._expect_heartbeat(group, beat.member_id, now)
        assigns = beat.epoch == JOIN_EPOCH or beat.topics is not None or before.assigned != after.assigned
        return ShareResult(
            beat.member_id,
            after.epoch,
            self._timing(group.group_id).heartbeat_interval,
            after.assigned if assigns else None,
            initializing,
            group.epoch,
        )

    def initialized(self, group_id: str, topics: Mapping[UUID, TopicPartitions], now: int) -> None:
        """Note that share partitions have their first state."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return
        known = group.partitions
        initializing = {
            topic: each._replace(partitions=left)
            for topic, each in known.initializing.items()
            if (left := each.partitions - (topics[topic].partitions if topic in topics else frozenset()))
        }
        with self._event(group, now) as event:
            event.do(Partitions(SharePartitions(initializing, _united(known.initialized, topics), known.deleting)))

    def alter(self, group_id: str, topics: Mapping[UUID, TopicPartitions], now: int) -> int:
        """Note that share partitions of an empty group get other states; returns the epoch that these carry."""
        group = self._begin(group_id, creates=True)
        _check_empty(group)
        if topics:
            with self._event(group, now) as event:
                event.do(Partitions(_initializing(group.partitions, topics)))
        return group.epoch

    def deleting(self, group_id: str, topics: Iterable[UUID], now: int) -> frozenset[UUID]:
        """Note that the states of topics are being deleted, of an empty group; returns those of them that it has."""
        group = self.get(group_id)
        _check_empty(group)
        known = group.partitions
        wanted = frozenset(topics)
        gone = {topic: each.name for topic, each in known.initialized.items() if topic in wanted}
        if gone:
            left = {topic: each for topic, each in known.initialized.items() if topic not in gone}
            with self._event(group, now) as event:
                event.do(Partitions(SharePartitions(known.initializing, left, {**known.deleting, **gone})))
        return wanted & (gone.keys() | known.deleting.keys())

    def deleted(self, group_id: str, topics: Iterable[UUID], now: int) -> None:
        """Note that the states of topics are deleted."""
        group = self._groups.get(group_id)
        if isinstance(group, ShareGroup):
            known, gone = group.partitions, frozenset(topics)
            left = {topic: name for topic, name in known.deleting.items() if topic not in gone}
            with self._event(group, now) as event:
                event.do(Partitions(SharePartitions(known.initializing, known.initialized, left)))

    def ending(self, group: ShareGroup, now: int) -> None:
        """Note that all states of a group are being deleted, before it ends."""
        known = group.partitions
        gone = {
            topic: each.name for topics in (known.initializing, known.initialized) for topic, each in topics.items()
        }
        if gone:
            with self._event(group, now) as event:
                event.do(Partitions(SharePartitions({}, {}, {**known.deleting, **gone})))

    def forget_topic(self, group: ShareGroup, topic_id: UUID, now: int) -> None:
        """Forget the share partitions of a topic that is gone."""
        known = group.partitions
        after = SharePartitions(
            {topic: each for topic, each in known.initializing.items() if topic != topic_id},
            {topic: each for topic, each in known.initialized.items() if topic != topic_id},
            {topic: name for topic, name in known.deleting.items() if topic != topic_id},
        )
        if after != known:
            with self._event(group, now) as event:
                event.do(Partitions(after))

    def time_is_over(self, group: ShareGroup, due: Due, now: int) -> None:
        """Remove the member that a timeout is about."""
        member = group.members.get(due.member_id)
        if member is None:
            return
        try:
            self._remove(group, member, now)
        except KafkaError as error:
            _log.warning("group %r: removing %r failed: %s", group.group_id, due.member_id, error)
            self._deadlines.set(due, now + RETRY_MS)
        else:
            log_event("member dropped", group=group.group_id, member=due.member_id, reason="no heartbeat in time")

    def forget_deadlines(self, group: ShareGroup) -> None:
        for member_id in group.members:
            self._deadlines.cancel(Due(group.group_id, Kind.MEMBER_SESSION, member_id))

    def get(self, group_id: str) -> ShareGroup:
        """The group of a name; GROUP_ID_NOT_FOUND if there is none, or one of another kind."""
        return self._begin(group_id, creates=False, missing="Group {} not found.")

    def _begin(self, group_id: str, *, creates: bool, missing: str = "") -> ShareGroup:
        group = self._groups.get(group_id)
        if group is None:
            if not creates:
                raise GroupIdNotFoundError(missing.format(group_id))
            return ShareGroup(group_id)
        if not isinstance(group, ShareGroup):
            raise GroupIdNotFoundError(f"Group {group_id} is not a share group.")
        return group

    @contextmanager
    def _event(self, group: ShareGroup, now: int) -> Iterator[_Event]:
        """The changes of the block, written at its end; undone if it fails."""
        event = _Event(group)
        try:
            yield event
            if event.changes:
                self._writer.write(group.group_id, list(encode(group.group_id, event.changes)), now)
        except BaseException:
            event.undo()
            raise
        if self._groups.get(group.group_id) is not group:
            self._groups[group.group_id] = group
            log_event("share group", group=group.group_id)

    def _subscribe(self, event: _Event, before: ShareMember, beat: ShareBeat) -> bool:
        """Take in the subscription of a member, and raise the epoch if need be; whether it was raised."""
        group = event.group
        bump = group.assignment_epoch >= group.epoch and self._lacks_targets(group)
        after = replace(
            before,
            rack=before.rack if beat.rack is None else beat.rack,
            topics=before.topics if beat.topics is None else beat.topics,
            client_id=beat.client_id,
            client_host=beat.client_host,
        )
        if after != before or before.member_id not in group.members:
            event.do(Subscribed(after.member_id, after))
            bump |= after.topics != before.topics
        if bump or group.checked_topics != self._topics.version:
            found = self._hash(group)
            bump |= found != group.metadata_hash
            if bump:
                event.do(GroupEpoch(group.epoch + 1, found))
            group.checked_topics = self._topics.version
        return bump

    def _lacks_targets(self, group: ShareGroup) -> bool:
        """Whether targets do not have all share partitions that have a state."""
        if not group.members:
            return False
        assigned: dict[UUID, set[int]] = {}
        for target in group.targets.values():
            for topic, partitions in target.items():
                assigned.setdefault(topic, set()).update(partitions)
        return any(
            name in group.names and assigned.get(topic, set()) != partitions
            for topic, (name, partitions) in group.partitions.initialized.items()
        )

    def _update_targets(self, event: _Event, now: int) -> None:
        """Compute targets for the newest epoch, unless the last computation was just before."""
        group = event.group
        interval = self._timing(group.group_id).assignment_interval
        is_early = group.assigned_at and interval and now < group.assigned_at + interval
        if group.assignment_epoch >= group.epoch or is_early:
            return
        ids = {topic.id for name in group.names if (topic := self._topics.find(name)) is not None}
        members = {
            member_id: ids if group.is_homogeneous else self._ids(member) for member_id, member in group.members.items()
        }
        assignable = {topic: each.partitions for topic, each in group.partitions.initialized.items() if topic in ids}
        targets = assign(members, assignable, group.targets, is_homogeneous=group.is_homogeneous)
        for member_id, target in targets.items():
            if group.targets.get(member_id) != target:
                event.do(Target(member_id, target))
        event.do(TargetEpoch(group.epoch, now))

    def _reconcile(self, event: _Event, member_id: str, *, changed: bool) -> ShareMember:
        """Give a member its target."""
        group = event.group
        member = group.members[member_id]
        epoch = group.assignment_epoch
        if member.epoch == epoch and not changed:
            return member
        subscribed = self._ids(member)
        target = {topic: each for topic, each in group.target(member_id).items() if topic in subscribed}
        previous = member.epoch if member.epoch != epoch else member.previous_epoch
        assigned = Assigned(epoch, previous, 0, target)
        if assigned != Assigned(member.epoch, member.previous_epoch, member.state, member.assigned):
            event.do(Current(member_id, assigned))
        return group.members[member_id]

    def _initialize(self, event: _Event, now: int) -> dict[UUID, TopicPartitions]:
        """The share partitions of subscribed topics that have no state yet."""
        group = event.group
        known = group.partitions
        is_recent = group.tried_at is not None and now - group.tried_at < self._retry_ms
        lacking: dict[UUID, TopicPartitions] = {}
        for name in group.names:
            topic = self._topics.find(name)
            if topic is None:
                continue
            have = known.initialized[topic.id].partitions if topic.id in known.initialized else frozenset()
            if is_recent and topic.id in known.initializing:
                have |= known.initializing[topic.id].partitions
            if len(have) < topic.partitions:
                lacking[topic.id] = TopicPartitions(name, frozenset(range(topic.partitions)) - have)
        if lacking:
            event.do(Partitions(_initializing(known, lacking)))
            group.tried_at = now
        return lacking

    def _hash(self, group: ShareGroup) -> int:
        """The hash of the topics that a group subscribes to."""
        return hash_of_topics(topic for name in group.names if (topic := self._topics.find(name)) is not None)

    def _ids(self, member: ShareMember) -> set[UUID]:
        """The topics that a member subscribes to and that exist."""
        return {topic.id for name in member.topics if (topic := self._topics.find(name)) is not None}

    def _remove(self, group: ShareGroup, member: ShareMember, now: int) -> None:
        member_id = member.member_id
        with self._event(group, now) as event:
            event.do(Current(member_id, None), Target(member_id, None), Subscribed(member_id, None))
            event.do(GroupEpoch(group.epoch + 1, self._hash(group)))
        self._deadlines.cancel(Due(group.group_id, Kind.MEMBER_SESSION, member_id))

    def _expect_heartbeat(self, group: ShareGroup, member_id: str, now: int) -> None:
        timeout = self._timing(group.group_id).session_timeout
        self._deadlines.set(Due(group.group_id, Kind.MEMBER_SESSION, member_id), now + timeout)


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise GroupNotEmptyError("The group is not empty.")


def _united(one: Mapping[UUID, TopicPartitions], other: Mapping[UUID, TopicPartitions]) -> dict[UUID, TopicPartitions]:
    """The partitions of both."""
    united = dict(one)
    for topic, (name, partitions) in other.items():
        united[topic] = TopicPartitions(name, partitions | (one[topic].partitions if topic in one else frozenset()))
    return united


def _initializing(known: SharePartitions, topics: Mapping[UUID, TopicPartitions]) -> SharePartitions:
    """Share partitions of which some get a first state, or another one."""
    deleting = {topic: name for topic, name in known.deleting.items() if topic not in topics}
    return SharePartitions(_united(known.initializing, topics), known.initialized, deleting)
