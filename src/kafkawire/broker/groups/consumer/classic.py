"""Members of the classic protocol in a consumer group (online migration).

Rules:
- The generation of such a member is its epoch. No member leads: SyncGroup returns the assignment of the broker, and
  ignores assignments of the request.
- A join takes the partitions that the subscription reports for those that the member owns. The member has its rebalance
  timeout to rejoin when a heartbeat asks for it, and to sync after it has joined.
- A heartbeat asks to rejoin if the member is behind the targets, has to give up partitions, or waits for partitions
  that are free now.
- Such a member has its own session timeout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kafkawire.broker.groups.classic.members import CONSUMER
from kafkawire.broker.groups.classic.rebalance import Kind
from kafkawire.broker.groups.consumer.heartbeat import find_member
from kafkawire.broker.groups.consumer.member import ClassicDetails, MemberState
from kafkawire.broker.groups.consumer.migration import decode_subscription, encode_assignment, owned_partitions
from kafkawire.broker.groups.consumer.settings import MigrationPolicy
from kafkawire.broker.groups.protocol import NO_MEMBER, JoinResult, SyncResult
from kafkawire.messages.errors import (
    ErrorCode,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)

if TYPE_CHECKING:
    from kafkawire.broker.groups.consumer.coordinator import ConsumerGroups
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.member import ConsumerMember
    from kafkawire.broker.groups.consumer.work import Work
    from kafkawire.broker.groups.protocol import Join, MemberKey, Sync
    from kafkawire.messages import ConsumerProtocolSubscription


class ClassicMembers:
    """The requests of classic members to consumer groups; refusals are raised."""

    def __init__(self, consumers: ConsumerGroups) -> None:
        self._consumers = consumers

    def check_join(self, group: ConsumerGroup, join: Join, member_id: str) -> None:
        """Refuse a member that cannot be one of this group."""
        if self._consumers.settings.policy is MigrationPolicy.DISABLED:
            raise InconsistentGroupProtocolError(
                f"Cannot join the consumer group {group.group_id} with the classic protocol because the group "
                "migration is disabled."
            )
        self._consumers.check_room(group, member_id)
        names = {each.name for each in join.protocols}
        shared = group.is_empty or any(group.classic_protocols[name] == group.classic_members for name in names)
        if join.protocol_type != CONSUMER or not names or not shared:
            raise InconsistentGroupProtocolError(f"Member {member_id}'s protocols are not supported.")

    def subscribe(
        self, work: Work, join: Join, member_id: str, subscription: ConsumerProtocolSubscription, now: int
    ) -> bool:
        """Take in a member that joins; whether its subscription has changed."""
        if join.instance_id is not None and join.member_id != NO_MEMBER:
            member = find_member(work.group, member_id, join.instance_id)
        else:
            member = self._consumers.joining(work, member_id, join.instance_id, is_classic=True)
        updated = replace(
            member,
            instance_id=member.instance_id if join.instance_id is None else join.instance_id,
            rack=member.rack if subscription.rack_id is None else subscription.rack_id,
            rebalance_timeout=join.rebalance_timeout,
            topics=frozenset(subscription.topics),
            regex="",
            client_id=join.client_id,
            client_host=join.client_host,
            classic=ClassicDetails(join.session_timeout, join.protocols),
        )
        return self._consumers.subscribe(work, member, updated, now)

    def reconcile(
        self,
        work: Work,
        member_id: str,
        subscription: ConsumerProtocolSubscription,
        now: int,
        *,
        changed: bool,
    ) -> ConsumerMember:
        """The member after its next step."""
        owned = owned_partitions(subscription, self._consumers.topics)
        return self._consumers.reconcile(work, member_id, owned, now, subscription_changed=changed)

    def joined(self, group: ConsumerGroup, member: ConsumerMember, now: int) -> None:
        """Start the timeouts of a member that has joined."""
        assert member.classic is not None
        consumers = self._consumers
        consumers.forget_deadline(group, Kind.REJOIN, member.member_id)
        consumers.forget_deadline(group, Kind.RESYNC, member.member_id)
        consumers.expect_heartbeat(group, member, now, member.classic.session_timeout)
        consumers.expect(group, Kind.RESYNC, member, now)

    def sync(self, group: ConsumerGroup, sync: Sync, now: int) -> SyncResult:
        """The assignment of a member."""
        member = self._member(group, sync.member_id, sync.generation, sync.instance_id)
        classic = member.classic
        assert classic is not None
        first = classic.protocols[0]
        if sync.protocol_type not in (None, CONSUMER) or sync.protocol_name not in (None, first.name):
            raise InconsistentGroupProtocolError(
                f"protocol {sync.protocol_type!r} {sync.protocol_name!r}, expected {CONSUMER!r} {first.name!r}"
            )
        if group.assignment_epoch > member.epoch and member.state is not MemberState.UNREVOKED:
            self._consumers.expect(group, Kind.REJOIN, member, now)
            raise RebalanceInProgressError(f"member {member.member_id!r} must rejoin to catch up")
        self._consumers.forget_deadline(group, Kind.RESYNC, member.member_id)
        self._consumers.expect_heartbeat(group, member, now, classic.session_timeout)
        assigned = {topic: frozenset(partitions) for topic, partitions in member.assigned.items()}
        assignment = encode_assignment(assigned, first.metadata, self._consumers.topics)
        return SyncResult(ErrorCode.NONE, sync.protocol_type, sync.protocol_name, assignment)

    def heartbeat(self, group: ConsumerGroup, key: MemberKey, now: int) -> ErrorCode:
        """Whether the member has to rejoin."""
        member = self._member(group, key.member_id, key.generation, key.instance_id)
        assert member.classic is not None
        self._consumers.expect_heartbeat(group, member, now, member.classic.session_timeout)
        is_behind = member.epoch < group.assignment_epoch or member.state is MemberState.UNREVOKED
        if is_behind or (member.state is MemberState.UNRELEASED and not _waits_for_others(group, member)):
            self._consumers.expect(group, Kind.REJOIN, member, now)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _member(self, group: ConsumerGroup, member_id: str, generation: int, instance_id: str | None) -> ConsumerMember:
        member = find_member(group, member_id, instance_id)
        if member.classic is None:
            raise UnknownMemberIdError(f"Member {member_id} does not use the classic protocol.")
        if generation != member.epoch:
            raise IllegalGenerationError(
                f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
                f"{member_id}."
            )
        return member


def join_result(member: ConsumerMember) -> JoinResult:
    """The answer to a join."""
    assert member.classic is not None
    name = member.classic.protocols[0].name
    return JoinResult(ErrorCode.NONE, member.member_id, member.epoch, CONSUMER, name)


def parse_subscription(join: Join) -> ConsumerProtocolSubscription:
    """The subscription of the first protocol."""
    return decode_subscription(join.protocols[0].metadata)


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether another member still owns a partition of the target."""
    return any(
        partition not in member.assigned.get(topic, {}) and not group.is_free(topic, partition)
        for topic, partitions in group.target(member.member_id).items()
        for partition in partitions
    )
