"""Requests of members to a group: join, sync, heartbeat, leave.

Rules:
- A join with an unknown id creates a member, or returns a static one. If the version allows it, a new dynamic member
  first gets an id and joins again with it. So a repeated join leaves no dead members behind.
- A join by a current member starts a rebalance if it leads, or if its metadata has changed. Otherwise it gets the same
  response as before.
- A static member that returns to a stable group starts no rebalance, unless its protocols would change the choice.
- Requests are checked in Kafka's order: member first, then generation, then protocol, then state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.members import Member, elect_protocol
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import NO_MEMBER, JoinResult, Reply, SyncResult
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker.groups.classic.group import Group
    from kafkawire.broker.groups.classic.rebalance import Rebalances
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.protocol import Join, Leaver, MemberKey, Sync, Token


def unique_suffix() -> str:
    return str(uuid4())


class Membership:
    """The answers to members."""

    def __init__(self, rebalances: Rebalances, writer: GroupWriter, suffix: Callable[[], str] = unique_suffix) -> None:
        self._rebalances = rebalances
        self._writer = writer
        self._suffix = suffix

    def join(self, group: Group, join: Join, token: Token, now: int) -> None:
        if not self._has_room(group, join.member_id):
            self._turn_away(group, join.member_id, now)
            self._refuse(token, ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER)
        elif not group.supports(join.protocol_type, join.protocols):
            self._refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, join.member_id)
        elif join.member_id == NO_MEMBER:
            self._join_as_new(group, join, token, now)
        elif join.member_id in group.pending:
            self._add(group, join, join.member_id, token, now)
        else:
            self._join_as_member(group, join, token, now)

    def sync(self, group: Group, sync: Sync, token: Token, now: int) -> None:
        error = self._check_sync(group, sync)
        if error:
            self._rebalances.replies.append(Reply(token, SyncResult(error)))
            return
        member = group.members[sync.member_id]
        group.unsynced.discard(sync.member_id)
        if group.state is State.STABLE:
            self._rebalances.renew_session(group, member, now)
            result = SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
            self._rebalances.replies.append(Reply(token, result, needs_sync=True))
            return
        if member.syncing is not None:
            result = SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)
            self._rebalances.replies.append(Reply(member.syncing, result))
        member.syncing = token
        if group.leader == sync.member_id:
            self._rebalances.assign(group, sync.assignments, now)

    def heartbeat(self, group: Group, key: MemberKey, now: int) -> ErrorCode:
        error = group.check_member(key.member_id, key.instance_id)
        if error:
            return error
        if key.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.renew_session(group, group.members[key.member_id], now)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is State.PREPARING else ErrorCode.NONE

    def leave(self, group: Group, leaver: Leaver, now: int) -> ErrorCode:
        member_id, instance_id = leaver
        if member_id == NO_MEMBER and instance_id is not None:
            member_id = group.instances.get(instance_id, NO_MEMBER)
        elif member_id in group.pending:
            self._rebalances.forget_pending(group, member_id, now)
            return ErrorCode.NONE
        error = group.check_member(member_id, instance_id)
        if not error:
            self._rebalances.remove(group, group.members[member_id], now)
        return error

    def session_is_over(self, group: Group, member_id: str, now: int) -> None:
        member = group.members[member_id]
        if not member.is_waiting:
            log_event("member dropped", group=group.group_id, member=member_id, reason="no heartbeat in time")
            self._rebalances.remove(group, member, now)

    def _has_room(self, group: Group, member_id: str) -> bool:
        limit = self._rebalances.settings.max_size
        known = group.members.get(member_id)
        if group.state is State.PREPARING:
            joined = [each for each in group.members.values() if each.joining is not None]
            return (known is not None and known.joining is not None) or len(joined) < limit
        return group.state is State.EMPTY or known is not None or len(group.members) < limit

    def _turn_away(self, group: Group, member_id: str, now: int) -> None:
        if member_id in group.pending:
            self._rebalances.forget_pending(group, member_id, now)
        elif member_id in group.members:
            self._rebalances.remove(group, group.members[member_id], now)

    def _join_as_new(self, group: Group, join: Join, token: Token, now: int) -> None:
        member_id = f"{join.instance_id or join.client_id}-{self._suffix()}"
        if join.instance_id is not None:
            holder = group.instances.get(join.instance_id)
            if holder is None:
                self._add(group, join, member_id, token, now)
            else:
                self._bring_back(group, group.members[holder], join, member_id, token, now)
        elif join.needs_known_id:
            self._rebalances.add_pending(group, member_id, join.session_timeout, now)
            self._refuse(token, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        else:
            self._add(group, join, member_id, token, now)

    def _add(self, group: Group, join: Join, member_id: str, token: Token, now: int) -> None:
        member = Member(
            member_id,
            join.instance_id,
            join.client_id,
            join.client_host,
            join.session_timeout,
            join.rebalance_timeout,
            join.protocols,
            is_new=True,
            joining=token,
        )
        group.grew_while_waiting = True
        group.add(member, join.protocol_type)
        self._rebalances.expect_first_join(group, member, now)
        self._take_in(group, now)

    def _bring_back(self, group: Group, member: Member, join: Join, member_id: str, token: Token, now: int) -> None:
        leader = group.leader
        before = member.member_id, member.protocols, member.session_timeout, member.rebalance_timeout
        self._rebalances.replace(group, member, member_id, now)
        self._wait(member, join, token)
        if group.state is not State.STABLE or elect_protocol(group.members.values()) != group.protocol_name:
            self._take_in(group, now)
            return
        member.joining = None
        self._rebalances.renew_session(group, member, now)
        try:
            self._writer.write_group(group, {each.member_id: each.assignment for each in group.members.values()}, now)
        except KafkaError as refusal:
            old_id, member.protocols, member.session_timeout, member.rebalance_timeout = before
            self._rebalances.replace(group, member, old_id, now)
            self._refuse(token, ErrorCode(refusal.code), NO_MEMBER)
            return
        told_leader = None if join.can_skip_assignment else leader
        result = group.joined(member_id, leader=told_leader, skip_assignment=True)
        self._rebalances.replies.append(Reply(token, result, needs_sync=True))

    def _join_as_member(self, group: Group, join: Join, token: Token, now: int) -> None:
        error = group.check_member(join.member_id, join.instance_id)
        if error:
            self._refuse(token, error, join.member_id)
            return
        member = group.members[join.member_id]
        changed = member.protocols != join.protocols
        leads_stable = group.state is State.STABLE and group.leader == join.member_id
        if group.state is not State.PREPARING and not changed and not leads_stable:
            self._rebalances.replies.append(Reply(token, group.joined(join.member_id)))
            return
        self._wait(member, join, token)
        self._take_in(group, now)

    def _wait(self, member: Member, join: Join, token: Token) -> None:
        self._rebalances.wait_for_join(member, token, join.protocols, join.session_timeout, join.rebalance_timeout)

    def _take_in(self, group: Group, now: int) -> None:
        self._rebalances.begin(group, now)
        self._rebalances.member_joined(group, now)

    def _check_sync(self, group: Group, sync: Sync) -> ErrorCode:
        error = group.check_member(sync.member_id, sync.instance_id)
        if error:
            return error
        if sync.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if sync.protocol_type not in (None, group.protocol_type) or sync.protocol_name not in (
            None,
            group.protocol_name,
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is State.PREPARING else ErrorCode.NONE

    def _refuse(self, token: Token, error: ErrorCode, member_id: str) -> None:
        self._rebalances.replies.append(Reply(token, JoinResult(error, member_id)))
