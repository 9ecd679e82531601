"""Rebalances: from one generation of a group to the next.

Rules:
- A rebalance begins when membership changes. It ends when everyone has joined, or after the longest rebalance timeout
  of a member. Members that have not joined by then are removed. A static member stays until its session expires.
- If no member has joined by then, the rebalance waits for the first one, and its timeout starts again.
- The first rebalance of an empty group waits for the initial delay instead. The delay is extended while members keep
  joining, up to the rebalance timeout in all.
- If a rebalance begins while members wait for an assignment, they must join again.
- Members get a rebalance timeout to sync. Those that have not synced by then are removed.
- A heartbeat, a sync or a commit renews a session. A member that waits for a response need not send any.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import NO_MEMBER, JoinResult, Reply, SyncResult
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.groups.classic.group import Group
    from kafkawire.broker.groups.classic.members import Member
    from kafkawire.broker.groups.deadlines import Deadlines
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.protocol import Protocol
    from kafkawire.broker.groups.settings import GroupSettings

NEW_MEMBER_JOIN_MS: Final = 300_000
"""How long a new member's first join may take: it cannot send heartbeats, so its death would not be noticed."""


class Kind(Enum):
    """The subject of a deadline; from MEMBER_SESSION on, of a consumer or a streams group."""

    REBALANCE = auto()
    SYNC = auto()
    SESSION = auto()
    PENDING = auto()
    MEMBER_SESSION = auto()
    REVOCATION = auto()
    REJOIN = auto()
    RESYNC = auto()
    INITIAL_DELAY = auto()


MODERN_KINDS: Final = frozenset({Kind.MEMBER_SESSION, Kind.REVOCATION, Kind.REJOIN, Kind.RESYNC, Kind.INITIAL_DELAY})
"""Deadlines of groups that are not classic."""


class Due(NamedTuple):
    """The name of a deadline."""

    group_id: str
    kind: Kind
    member_id: str = NO_MEMBER


class Rebalances:
    """The changes that a group goes through; replies collect in `replies`."""

    def __init__(self, settings: GroupSettings, deadlines: Deadlines[Due], writer: GroupWriter) -> None:
        self.settings = settings
        self.replies: list[Reply] = []
        self._deadlines = deadlines
        self._writer = writer

    def begin(self, group: Group, now: int) -> None:
        """Ask all members to join again, unless a rebalance is under way."""
        if group.state is State.PREPARING:
            return
        if group.state is State.COMPLETING:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now)
        self._deadlines.cancel(Due(group.group_id, Kind.SYNC))
        delay = group.rebalance_timeout
        if group.state is State.EMPTY:
            delay = self.settings.initial_rebalance_delay_ms
            group.initial_delay_left = max(group.rebalance_timeout - delay, 0)
        group.grew_while_waiting = False
        group.go(State.PREPARING, now)
        self._deadlines.set(Due(group.group_id, Kind.REBALANCE), now + delay)
        self.end_if_everyone_joined(group, now)

    def member_joined(self, group: Group, now: int) -> None:
        """Someone waits for the rebalance, so its end must be in sight."""
        due = Due(group.group_id, Kind.REBALANCE)
        if group.state is State.PREPARING and due not in self._deadlines:
            self._deadlines.set(due, now + group.rebalance_timeout)
        self.end_if_everyone_joined(group, now)

    def end_if_everyone_joined(self, group: Group, now: int) -> None:
        """End the rebalance if there is no member to wait for."""
        if group.state is State.PREPARING and group.initial_delay_left is None and group.everyone_joined:
            self._end(group, now)

    def time_is_over(self, group: Group, now: int) -> None:
        """The rebalance has lasted as long as it may."""
        left = group.initial_delay_left
        if left and group.grew_while_waiting:
            delay = min(self.settings.initial_rebalance_delay_ms, left)
            group.grew_while_waiting = False
            group.initial_delay_left = left - delay
            self._deadlines.set(Due(group.group_id, Kind.REBALANCE), now + delay)
        else:
            self._end(group, now)

    def sync_is_over(self, group: Group, now: int) -> None:
        """Remove the members that have not synced."""
        if group.unsynced:
            for member_id in sorted(group.unsynced):
                log_event("member dropped", group=group.group_id, member=member_id, reason="did not sync in time")
                self._drop(group, group.members[member_id], ErrorCode.UNKNOWN_MEMBER_ID)
            self.begin(group, now)

    def renew_session(self, group: Group, member: Member, now: int) -> None:
        self._deadlines.set(Due(group.group_id, Kind.SESSION, member.member_id), now + member.session_timeout)

    def expect_first_join(self, group: Group, member: Member, now: int) -> None:
        self._deadlines.cancel(Due(group.group_id, Kind.PENDING, member.member_id))
        self._deadlines.set(Due(group.group_id, Kind.SESSION, member.member_id), now + NEW_MEMBER_JOIN_MS)

    def add_pending(self, group: Group, member_id: str, session_timeout: int, now: int) -> None:
        """Remember an id that was given out until it joins, or its session would have ended."""
        group.pending.add(member_id)
        self._deadlines.set(Due(group.group_id, Kind.PENDING, member_id), now + session_timeout)

    def forget_pending(self, group: Group, member_id: str, now: int) -> None:
        group.pending.discard(member_id)
        self._deadlines.cancel(Due(group.group_id, Kind.PENDING, member_id))
        self.end_if_everyone_joined(group, now)

    def remove(self, group: Group, member: Member, now: int) -> None:
        """Let a member go, and the others share its part."""
        self._drop(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state in (State.STABLE, State.COMPLETING):
            self.begin(group, now)
        else:
            self.end_if_everyone_joined(group, now)

    def dismiss(self, group: Group, error: ErrorCode) -> None:
        """Send everyone away who waits for an answer, and forget the group's deadlines."""
        for member in group.members.values():
            self._answer(member, error)
            self._deadlines.cancel(Due(group.group_id, Kind.SESSION, member.member_id))
        for member_id in group.pending:
            self._deadlines.cancel(Due(group.group_id, Kind.PENDING, member_id))
        for kind in (Kind.REBALANCE, Kind.SYNC):
            self._deadlines.cancel(Due(group.group_id, kind))

    def replace(self, group: Group, member: Member, member_id: str, now: int) -> None:
        """Let the process behind a static member be another; who still waits under the old id is fenced."""
        self._answer(member, ErrorCode.FENCED_INSTANCE_ID)
        self._deadlines.cancel(Due(group.group_id, Kind.SESSION, member.member_id))
        group.rename(member, member_id)
        self.renew_session(group, member, now)

    def wait_for_join(
        self, member: Member, token: object, protocols: tuple[Protocol, ...], session: int, rebalance: int
    ) -> None:
        """Take in what a member says of itself, and let it wait; an older join of its own ends here."""
        if member.joining is not None:
            result = JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            self.replies.append(Reply(member.joining, result))
        member.protocols, member.session_timeout, member.rebalance_timeout = protocols, session, rebalance
        member.joining = token

    def fail_syncs(self, group: Group, error: ErrorCode, now: int) -> None:
        """Send everyone who waits for an assignment away; from then on they are expected to show themselves again."""
        for member in group.members.values():
            member.assignment = b""
            if member.syncing is not None:
                self.renew_session(group, member, now)
            self._answer_sync(member, SyncResult(error))

    def assign(self, group: Group, assignments: dict[str, bytes], now: int) -> ErrorCode:
        """Write the leader's assignment down and pass it on; who is not in it gets an empty part."""
        parts = {member_id: assignments.get(member_id, b"") for member_id in group.members}
        try:
            self._writer.write_group(group, parts, now)
        except KafkaError as refusal:
            error = ErrorCode(refusal.code)
            self.fail_syncs(group, error, now)
            self.begin(group, now)
            return error
        for member_id, member in group.members.items():
            member.assignment = parts[member_id]
            if member.syncing is not None:
                self.renew_session(group, member, now)
            result = SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
            self._answer_sync(member, result, needs_sync=True)
        group.go(State.STABLE, now)
        log_event(
            "group stable",
            group=group.group_id,
            generation=group.generation,
            members=len(group.members),
            protocol=group.protocol_name,
        )
        return ErrorCode.NONE

    def _end(self, group: Group, now: int) -> None:
        for member in [each for each in group.members.values() if each.joining is None and not each.is_static]:
            log_event("member dropped", group=group.group_id, member=member.member_id, reason="did not join in time")
            self._drop(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
        self._deadlines.cancel(Due(group.group_id, Kind.REBALANCE))
        group.initial_delay_left = None
        if group.members and not group.elect_leader():
            return
        group.begin_generation(now)
        if group.state is State.EMPTY:
            self._writer.note_empty(group, now)
            log_event("group empty", group=group.group_id, generation=group.generation)
            return
        for member in group.members.values():
            member.is_new = False
            if member.joining is not None:
                token, member.joining = member.joining, None
                self.replies.append(Reply(token, group.joined(member.member_id)))
            self.renew_session(group, member, now)
        self._deadlines.set(Due(group.group_id, Kind.SYNC), now + group.rebalance_timeout)

    def _drop(self, group: Group, member: Member, error: ErrorCode) -> None:
        self._answer(member, error, NO_MEMBER)
        self._deadlines.cancel(Due(group.group_id, Kind.SESSION, member.member_id))
        group.remove(member.member_id)

    def _answer(self, member: Member, error: ErrorCode, member_id: str | None = None) -> None:
        if member.joining is not None:
            token, member.joining = member.joining, None
            told = member.member_id if member_id is None else member_id
            self.replies.append(Reply(token, JoinResult(error, told)))
        self._answer_sync(member, SyncResult(error))

    def _answer_sync(self, member: Member, result: SyncResult, *, needs_sync: bool = False) -> None:
        if member.syncing is not None:
            token, member.syncing = member.syncing, None
            self.replies.append(Reply(token, result, needs_sync))
