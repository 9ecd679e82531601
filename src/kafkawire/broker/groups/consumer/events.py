"""Events of consumer groups in the registry of all groups: they begin, change their kind, and end.

Rules:
- A heartbeat with epoch 0 creates a group. It replaces an empty classic group, and upgrades one with members.
- A classic join to an empty consumer group replaces it by a classic one.
- A group is registered, and the group that it replaces dismissed, when its records are written.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import uuid4

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.rebalance import Kind
from kafkawire.broker.groups.consumer.classic import ClassicMembers, join_result, parse_subscription
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.heartbeat import BeatResult, find_member
from kafkawire.broker.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, MemberState
from kafkawire.broker.groups.consumer.migration import check_upgrade, downgraded, ending, upgraded
from kafkawire.broker.groups.consumer.work import Work
from kafkawire.broker.groups.protocol import NO_MEMBER, JoinResult, Reply, SyncResult
from kafkawire.broker.groups.records import encode_group, encode_group_end
from kafkawire.messages import CodecError
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kafkawire.broker.groups.classic.rebalance import Due, Rebalances
    from kafkawire.broker.groups.consumer.coordinator import ConsumerGroups
    from kafkawire.broker.groups.consumer.heartbeat import Beat
    from kafkawire.broker.groups.consumer.member import ConsumerMember
    from kafkawire.broker.groups.consumer.resolution import Wanted
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.protocol import Join, Leaver, MemberKey, Sync, Token
    from kafkawire.broker.groups.steps import Steps

_log: Final = logging.getLogger(__name__)
_REASONS: Final = {
    Kind.MEMBER_SESSION: "no heartbeat in time",
    Kind.REVOCATION: "did not give up partitions in time",
    Kind.REJOIN: "did not rejoin in time",
    Kind.RESYNC: "did not sync in time",
}


class _Downgrade(NamedTuple):
    """The classic group that replaces a consumer group, and the members of the latter."""

    group: Group
    members: list[str]


class ConsumerEvents:
    """The requests and timeouts of consumer groups."""

    def __init__(self, groups: dict[str, AnyGroup], consumers: ConsumerGroups, rebalances: Rebalances) -> None:
        self.consumers = consumers
        self._groups = groups
        self._rebalances = rebalances
        self._classic = ClassicMembers(consumers)

    def heartbeat(self, beat: Beat, now: int) -> BeatResult:
        """The answer to a heartbeat."""
        if beat.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(beat, now)
        work = self._begin(beat)
        group = work.group
        before = group.members.get(beat.member_id)
        with self.consumers.event(work, now):
            if work.replaces is not None and work.replaces.members:
                work.do(upgraded(work.replaces, self.consumers.topics))
            result = self.consumers.beat(work, beat, now)
        self._register(work, now)
        member = group.members[result.member_id]
        self.consumers.expect_heartbeat(group, member, now)
        self.consumers.watch_revocation(group, before, member, now)
        return result

    def join(self, group: ConsumerGroup, join: Join, token: Token, now: int) -> None:
        """A classic member joins a consumer group that has members."""
        member_id = join.member_id or str(uuid4())
        try:
            self._classic.check_join(group, join, member_id)
            if join.needs_known_id and join.member_id == NO_MEMBER and join.instance_id is None:
                self._reply(token, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
                return
            result = self._join(group, join, member_id, now)
        except CodecError as error:
            _log.warning("group %r: the subscription of %r cannot be read: %s", group.group_id, member_id, error)
            result = JoinResult(ErrorCode.UNKNOWN_SERVER_ERROR, join.member_id)
        except KafkaError as refusal:
            result = JoinResult(ErrorCode(refusal.code), join.member_id)
        self._reply(token, result)

    def sync(self, group: ConsumerGroup, sync: Sync, token: Token, now: int) -> None:
        """A classic member asks for its assignment."""
        try:
            result = self._classic.sync(group, sync, now)
        except KafkaError as refusal:
            result = SyncResult(ErrorCode(refusal.code))
        self._reply(token, result)

    def classic_heartbeat(self, group: ConsumerGroup, key: MemberKey, now: int) -> ErrorCode:
        try:
            return self._classic.heartbeat(group, key, now)
        except KafkaError as refusal:
            return ErrorCode(refusal.code)

    def leaving(self, group: ConsumerGroup, leavers: Iterable[Leaver], now: int) -> Steps[list[ErrorCode]]:
        """Classic members leave, or an administrator removes members; the error of each. All of them leave together."""
        errors: list[ErrorCode] = []
        gone: dict[str, ConsumerMember] = {}
        for member_id, instance in leavers:
            error = ErrorCode.NONE
            try:
                holder = group.static_member(instance) if member_id == NO_MEMBER else None
                member = holder or find_member(group, member_id, instance)
                gone[member.member_id] = member
            except KafkaError as refusal:
                error = ErrorCode(refusal.code)
            errors.append(error)
            yield
        left = [member for member in gone.values() if group.members.get(member.member_id) is member]
        if left and self._groups.get(group.group_id) is group:
            self.remove(group, left, now)
        return errors

    def remove(self, group: ConsumerGroup, members: Collection[ConsumerMember], now: int) -> None:
        """Let members go; the group becomes classic if only classic members stay."""
        leaving = {member.member_id for member in members}
        downgrades = self._can_downgrade(group, leaving)
        downgrade = None
        with self.consumers.event(Work(group), now) as work:
            if downgrades:
                downgrade = self._end_as_classic(work, leaving, now)
            else:
                self.consumers.remove(work, members)
        if downgrade is None:
            self.consumers.forget_deadlines(group, leaving)
        else:
            self._make_classic(group, downgrade, now, rebalance=True)

    def time_is_over(self, group: ConsumerGroup, due: Due, now: int) -> None:
        """Remove the member that a timeout is about."""
        member = group.members.get(due.member_id)
        if member is None or (due.kind is Kind.REVOCATION and member.state is not MemberState.UNREVOKED):
            return
        try:
            self.remove(group, [member], now)
        except KafkaError as error:
            _log.warning("group %r: removing %r failed: %s", group.group_id, due.member_id, error)
            self.consumers.retry(due, now)
        else:
            log_event("member dropped", group=group.group_id, member=due.member_id, reason=_REASONS[due.kind])

    def resolving(self, wanted: Wanted, now: int) -> Steps[None]:
        """Find the topics of regular expressions, and take them in."""
        group, topics = wanted.group, self.consumers.topics
        version = topics.version
        try:
            resolved = yield from self.consumers.resolutions.resolve(wanted, now)
            if self._groups.get(group.group_id) is group:
                with self.consumers.event(Work(group), now) as work:
                    self.consumers.resolutions.take(work, resolved)
                group.resolved_topics = version
        finally:
            group.is_resolving = False

    def become_classic(self, group: ConsumerGroup, now: int) -> Group:
        """The classic group that replaces an empty consumer group."""
        with self.consumers.event(Work(group), now) as work:
            work.do(ending(group))
        classic = Group(group.group_id, since=now)
        classic.offsets = group.offsets
        self._groups[group.group_id] = classic
        return classic

    def _begin(self, beat: Beat) -> Work:
        group = self._groups.get(beat.group_id)
        if isinstance(group, ConsumerGroup):
            return Work(group)
        if group is None:
            if beat.epoch != JOIN_EPOCH:
                raise GroupIdNotFoundError(f"Consumer group {beat.group_id} not found.")
            return Work(ConsumerGroup(beat.group_id))
        if beat.epoch != JOIN_EPOCH or not isinstance(group, Group):
            raise GroupIdNotFoundError(f"Group {beat.group_id} is not a consumer group.")
        if group.members:
            check_upgrade(group, self.consumers.settings)
        work = Work(ConsumerGroup(beat.group_id), replaces=group)
        work.before.append(encode_group_end(group.group_id))
        return work

    def _register(self, work: Work, now: int) -> None:
        old, group = work.replaces, work.group
        if old is not None:
            self._rebalances.dismiss(old, ErrorCode.REBALANCE_IN_PROGRESS)
            group.offsets = old.offsets
            for member in group.members.values():
                if member.classic is not None:
                    self.consumers.expect_heartbeat(group, member, now, member.classic.session_timeout)
        if self._groups.get(group.group_id) is not group:
            self._groups[group.group_id] = group
            log_event("consumer group", group=group.group_id, upgraded=bool(old is not None and old.members))

    def _leave(self, beat: Beat, now: int) -> BeatResult:
        group = self._groups.get(beat.group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {beat.group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFoundError(f"Group {beat.group_id} is not a consumer group.")
        member = find_member(group, beat.member_id, beat.instance_id)
        if beat.epoch == STATIC_LEAVE_EPOCH:
            with self.consumers.event(Work(group), now) as work:
                self.consumers.pause(work, member)
        else:
            self.remove(group, [member], now)
        return BeatResult(beat.member_id, beat.epoch)

    def _join(self, group: ConsumerGroup, join: Join, member_id: str, now: int) -> JoinResult:
        subscription = parse_subscription(join)
        holder = group.static_member(join.instance_id)
        downgrades = holder is not None and not holder.is_classic and self._can_downgrade(group, {holder.member_id}, 1)
        downgrade = None
        with self.consumers.event(Work(group), now) as work:
            changed = self._classic.subscribe(work, join, member_id, subscription, now)
            if not downgrades:
                self.consumers.update_targets(work, now)
            is_stale = group.assignment_epoch < group.epoch
            if not downgrades or not is_stale:
                self._classic.reconcile(work, member_id, subscription, now, changed=changed)
            member = group.members[member_id]
            if downgrades:
                downgrade = self._end_as_classic(work, (), now)
        if downgrade is None:
            self._classic.joined(group, member, now)
        else:
            self._make_classic(group, downgrade, now, rebalance=is_stale)
        return join_result(member)

    def _can_downgrade(self, group: ConsumerGroup, leaving: Collection[str], returning: int = 0) -> bool:
        """Whether only classic members remain, and may form a classic group."""
        left = [member for member in group.members.values() if member.member_id not in leaving]
        return (
            bool(left or returning)
            and all(member.is_classic for member in left)
            and self.consumers.settings.policy.allows_downgrade
            and len(left) + returning <= self._rebalances.settings.max_size
        )

    def _end_as_classic(self, work: Work, leaving: Collection[str], now: int) -> _Downgrade:
        """End a consumer group, and write the classic group that goes on."""
        classic = downgraded(work.group, leaving, self.consumers.topics, now)
        assignments = {member.member_id: member.assignment for member in classic.members.values()}
        work.after.append(encode_group(classic, assignments, now))
        members = list(work.group.members)
        work.do(ending(work.group))
        return _Downgrade(classic, members)

    def _make_classic(self, group: ConsumerGroup, downgrade: _Downgrade, now: int, *, rebalance: bool) -> None:
        classic = downgrade.group
        self.consumers.forget_deadlines(group, downgrade.members)
        self._groups[group.group_id] = classic
        log_event("consumer group became classic", group=group.group_id, members=len(classic.members))
        for member in classic.members.values():
            self._rebalances.renew_session(classic, member, now)
        if rebalance:
            self._rebalances.begin(classic, now)

    def _reply(self, token: Token, result: JoinResult | SyncResult) -> None:
        needs_sync = result.error is ErrorCode.NONE
        self._rebalances.replies.append(Reply(token, result, needs_sync))
