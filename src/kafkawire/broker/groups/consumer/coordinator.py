"""Consumer groups: heartbeats, departures and timeouts of their members.

Rules:
- An event is one batch of records, all or nothing (`work`). An answer may be sent when they are durable.
- The group's epoch rises when subscriptions or members change, and when subscribed topics do. Targets follow
  (`targets`), then each member with its own heartbeats (`reconciliation`).
- A member that leaves, or is silent for a session, or takes longer than its rebalance timeout to give up partitions, is
  removed. The next heartbeat of another member computes new targets.
- Timeouts are not stored. After a restart every member has a fresh session.
- A timeout whose records cannot be written is tried again after RETRY_MS.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.rebalance import Due, Kind
from kafkawire.broker.groups.consumer.changes import Current, GroupEpoch, Resolved, Subscribed, Target
from kafkawire.broker.groups.consumer.heartbeat import BeatResult, check_epoch, find_member
from kafkawire.broker.groups.consumer.member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    MemberState,
)
from kafkawire.broker.groups.consumer.reconciliation import Goal, reconcile
from kafkawire.broker.groups.consumer.resolution import RegexUpdate, Resolutions
from kafkawire.broker.groups.consumer.subscriptions import metadata_hash, subscribed_ids
from kafkawire.broker.groups.consumer.targets import may_compute, new_targets, preferred_assignor
from kafkawire.messages.errors import GroupMaxSizeReachedError, UnreleasedInstanceIdError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.heartbeat import Beat
    from kafkawire.broker.groups.consumer.settings import ConsumerSettings, Timing
    from kafkawire.broker.groups.consumer.work import Work
    from kafkawire.broker.groups.deadlines import Deadlines
    from kafkawire.broker.groups.offsets_log import GroupWriter

    Owned = Mapping[UUID, AbstractSet[int]] | None

RETRY_MS: Final = 500
CONSUMER_KINDS: Final = (Kind.MEMBER_SESSION, Kind.REVOCATION, Kind.REJOIN, Kind.RESYNC)


class ConsumerGroups:
    """The steps of events of consumer groups; `events` has the events."""

    def __init__(
        self,
        settings: ConsumerSettings,
        timing: Callable[[str], Timing],
        topics: Topics,
        deadlines: Deadlines[Due],
        writer: GroupWriter,
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.timing = timing
        self.resolutions = Resolutions(settings.regex_refresh_ms, topics)
        self._deadlines = deadlines
        self._writer = writer

    def load(self, group: ConsumerGroup, now: int) -> None:
        """Give the members of a group that was read from the log one session to show themselves."""
        for member in group.members.values():
            self.expect_heartbeat(group, member, now)
            if member.state is MemberState.UNREVOKED:
                self._expect_revocation(group, member, now)

    def beat(self, work: Work, beat: Beat, now: int) -> BeatResult:
        """A heartbeat of a member that stays, or joins."""
        group = work.group
        self.check_room(group, beat.member_id)
        member = self._member(work, beat.member_id or str(uuid4()), beat)
        updated = replace(
            member,
            instance_id=member.instance_id if beat.instance_id is None else beat.instance_id,
            rack=member.rack if beat.rack is None else beat.rack,
            rebalance_timeout=member.rebalance_timeout if beat.rebalance_timeout == -1 else beat.rebalance_timeout,
            assignor=member.assignor if beat.assignor is None else beat.assignor,
            topics=member.topics if beat.topics is None else beat.topics,
            regex=member.regex if beat.regex is None else beat.regex,
            client_id=beat.client_id,
            client_host=beat.client_host,
            classic=None,
        )
        changed = self.subscribe(work, member, updated, now, beat.sees)
        self.update_targets(work, now)
        after = self.reconcile(work, updated.member_id, beat.owned, now, subscription_changed=changed)
        assigns = beat.epoch == JOIN_EPOCH or beat.is_full or member.assigned != after.assigned
        interval = self.timing(group.group_id).heartbeat_interval
        return BeatResult(after.member_id, after.epoch, interval, after.assigned if assigns else None)

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """Refuse one member more than a group may have."""
        if len(group.members) >= self.settings.max_size and member_id not in group.members:
            raise GroupMaxSizeReachedError(
                f"The consumer group has reached its maximum capacity of {self.settings.max_size} members."
            )

    def subscribe(
        self,
        work: Work,
        member: ConsumerMember,
        updated: ConsumerMember,
        now: int,
        sees: Callable[[str], bool] | None = None,
    ) -> bool:
        """Take in the subscription of a member, and raise the epoch if need be; whether it has changed."""
        group = work.group
        names_changed = False
        if updated != member:
            work.do([Subscribed(updated.member_id, updated)])
            names_changed = updated.topics != member.topics
        regex = self.resolutions.update(work, member.regex, updated.regex, now, sees)
        bump = names_changed or regex is RegexUpdate.RESOLVED
        if bump or group.checked_topics != self.topics.version:
            found = metadata_hash(group, self.topics)
            if bump or found != group.metadata_hash:
                work.do([GroupEpoch(group.epoch + 1, found)])
            group.checked_topics = self.topics.version
        return names_changed or regex is not RegexUpdate.NONE

    def update_targets(self, work: Work, now: int) -> None:
        """Compute targets for the newest epoch, unless the last computation was just before."""
        group = work.group
        interval = self.timing(group.group_id).assignment_interval
        if group.assignment_epoch < group.epoch and may_compute(group, interval, now):
            assignor = preferred_assignor(group, self.settings.assignors[0])
            work.do(list(new_targets(group, assignor, self.topics, now)))

    def reconcile(
        self, work: Work, member_id: str, owned: Owned, now: int, *, subscription_changed: bool
    ) -> ConsumerMember:
        """Let a member take its next step towards its target."""
        group = work.group
        member = group.members[member_id]
        if not subscription_changed and member.has_reconciled(group.assignment_epoch):
            return member
        goal = Goal(
            group.assignment_epoch,
            group.target(member_id),
            subscribed_ids(group, member, self.topics).keys(),
            group.is_free,
            owned,
            subscription_changed,
        )
        after = reconcile(member, goal)
        if after != member:
            work.do([Current.of(after)])
        return after

    def pause(self, work: Work, member: ConsumerMember) -> None:
        """Let a static member go that comes back: it keeps its partitions until its session ends."""
        assigned = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
        work.do([Current.of(replace(member, epoch=STATIC_LEAVE_EPOCH, assigned=assigned, revoking={}))])

    def remove(self, work: Work, members: Collection[ConsumerMember]) -> None:
        """Let members go."""
        group = work.group
        for member in members:
            work.do(removal(member.member_id))
        work.do([Resolved(regex, None) for regex in [*group.resolved] if regex not in group.regexes])
        work.do([GroupEpoch(group.epoch + 1, metadata_hash(group, self.topics))])

    def write(self, work: Work, now: int) -> None:
        """Write what an event has changed."""
        entries = work.entries()
        if entries:
            self._writer.write(work.group.group_id, entries, now)

    @contextmanager
    def event(self, work: Work, now: int) -> Iterator[Work]:
        """The changes of the block, written at its end; undone if it fails."""
        try:
            yield work
            self.write(work, now)
        except BaseException:
            work.undo()
            work.group.checked_topics = -1
            raise

    def expect_heartbeat(
        self, group: ConsumerGroup, member: ConsumerMember, now: int, timeout: int | None = None
    ) -> None:
        """Start the session of a member again."""
        after = self.timing(group.group_id).session_timeout if timeout is None else timeout
        self._deadlines.set(Due(group.group_id, Kind.MEMBER_SESSION, member.member_id), now + after)

    def watch_revocation(
        self, group: ConsumerGroup, before: ConsumerMember | None, after: ConsumerMember, now: int
    ) -> None:
        """Start the rebalance timeout of a member that has to give up partitions, or end it."""
        if before == after or after.is_classic:
            return
        if after.state is MemberState.UNREVOKED:
            if before is None or before.revoking != after.revoking or before.state is not MemberState.UNREVOKED:
                self._expect_revocation(group, after, now)
        else:
            self._deadlines.cancel(Due(group.group_id, Kind.REVOCATION, after.member_id))

    def expect(self, group: ConsumerGroup, kind: Kind, member: ConsumerMember, now: int) -> None:
        """Start a timeout of a classic member, unless it runs."""
        due = Due(group.group_id, kind, member.member_id)
        if due not in self._deadlines:
            self._deadlines.set(due, now + member.rebalance_timeout)

    def forget_deadline(self, group: ConsumerGroup, kind: Kind, member_id: str) -> None:
        self._deadlines.cancel(Due(group.group_id, kind, member_id))

    def forget_deadlines(self, group: ConsumerGroup, member_ids: Iterable[str]) -> None:
        for member_id in member_ids:
            for kind in CONSUMER_KINDS:
                self._deadlines.cancel(Due(group.group_id, kind, member_id))

    def retry(self, due: Due, now: int) -> None:
        """Try a timeout again whose records could not be written."""
        self._deadlines.set(due, now + RETRY_MS)

    def _expect_revocation(self, group: ConsumerGroup, member: ConsumerMember, now: int) -> None:
        due = Due(group.group_id, Kind.REVOCATION, member.member_id)
        self._deadlines.set(due, now + member.rebalance_timeout)

    def _member(self, work: Work, member_id: str, beat: Beat) -> ConsumerMember:
        """The member of a heartbeat, new if it joins."""
        group = work.group
        if beat.epoch != JOIN_EPOCH:
            member = find_member(group, member_id, beat.instance_id)
            check_epoch(member, beat.epoch, beat.owned)
            return member
        return self.joining(work, member_id, beat.instance_id, is_classic=False)

    def joining(self, work: Work, member_id: str, instance_id: str | None, *, is_classic: bool) -> ConsumerMember:
        """A member that joins: new, known, or a static one that takes the place of its former self."""
        group = work.group
        holder = group.static_member(instance_id)
        if holder is None:
            log_event("member joins", group=group.group_id, member=member_id, instance=instance_id or "")
            return group.members.get(member_id, ConsumerMember(member_id))
        if not is_classic and not holder.is_classic and holder.epoch != STATIC_LEAVE_EPOCH:
            raise UnreleasedInstanceIdError(
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance "
                f"id is owned by {holder.member_id} member."
            )
        log_event("member returns", group=group.group_id, member=member_id, instance=instance_id or "")
        member = replace(holder, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
        target = group.target(holder.member_id)
        work.do(removal(holder.member_id))
        work.do([Subscribed(member_id, member), Target(member_id, target), Current.of(member)])
        return member


def removal(member_id: str) -> list[Current | Target | Subscribed]:
    """The changes that remove a member."""
    return [Current(member_id, None), Target(member_id, None), Subscribed(member_id, None)]
