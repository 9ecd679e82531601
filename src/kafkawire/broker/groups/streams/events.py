"""Events of streams groups in the registry of all groups: heartbeats, departures and timeouts of their members.

Rules:
- An event is one batch of records, all or nothing (`groups.work`). An answer may be sent when they are durable.
- A heartbeat with epoch 0 creates a group. It replaces an empty classic group. A classic join to an empty streams group
  replaces it by a classic one.
- Members that join an empty group wait for the initial delay, so that those that start together share one assignment.
- A member that leaves, or is silent for a session, or takes longer than its rebalance timeout to give up tasks, is
  removed. The next heartbeat of another member computes new targets.
- Timeouts are not stored. After a restart every member has a fresh session.
- A timeout whose records cannot be written is tried again after RETRY_MS.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.rebalance import Due, Kind
from kafkawire.broker.groups.consumer.coordinator import RETRY_MS
from kafkawire.broker.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH
from kafkawire.broker.groups.records import encode_group_end
from kafkawire.broker.groups.streams.changes import Current, Described, GroupEpoch, Target
from kafkawire.broker.groups.streams.configuration import Status, StatusCode
from kafkawire.broker.groups.streams.endpoints import endpoint_partitions
from kafkawire.broker.groups.streams.group import StreamsGroup, ending
from kafkawire.broker.groups.streams.heartbeat import StreamsResult, find_member
from kafkawire.broker.groups.streams.member import StreamsMember, StreamsMemberState
from kafkawire.broker.groups.streams.records import encode
from kafkawire.broker.groups.work import GroupWork
from kafkawire.messages.errors import (
    ErrorCode,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    KafkaError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker.groups.classic.rebalance import Rebalances
    from kafkawire.broker.groups.deadlines import Deadlines
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.streams.configuration import ConfiguredTopology
    from kafkawire.broker.groups.streams.coordinator import StreamsGroups, Work
    from kafkawire.broker.groups.streams.heartbeat import StreamsBeat

STREAMS_KINDS: Final = (Kind.MEMBER_SESSION, Kind.REVOCATION)
_log: Final = logging.getLogger(__name__)
_REASONS: Final = {
    Kind.MEMBER_SESSION: "no heartbeat in time",
    Kind.REVOCATION: "did not give up tasks in time",
}


class StreamsEvents:
    """The requests and timeouts of streams groups."""

    def __init__(
        self,
        groups: dict[str, AnyGroup],
        max_size: int,
        streams: StreamsGroups,
        deadlines: Deadlines[Due],
        writer: GroupWriter,
        rebalances: Rebalances,
    ) -> None:
        self._groups = groups
        self._max_size = max_size
        self._streams = streams
        self._timing = streams.timing
        self._deadlines = deadlines
        self._writer = writer
        self._rebalances = rebalances

    def load(self, group: StreamsGroup, now: int) -> None:
        """Give the members of a group that was read from the log one session to show themselves."""
        for member in group.members.values():
            self._expect_heartbeat(group, member, now)
            if member.state is StreamsMemberState.UNREVOKED:
                self._expect_revocation(group, member, now)

    def heartbeat(self, beat: StreamsBeat, now: int) -> StreamsResult:
        """The answer to a heartbeat."""
        if beat.epoch == LEAVE_EPOCH:
            return self._leave(beat, now)
        work = self._begin(beat)
        group = work.group
        is_new = self._groups.get(group.group_id) is not group
        starts = group.is_empty and self._timing(group.group_id).initial_delay > 0
        statuses: list[Status] = []
        with self._event(work, now):
            before = self._streams.member(group, beat)
            described, bump = self._streams.describe(work, before, beat)
            topology = self._streams.state_topology(work, described, beat, statuses)
            configured = self._streams.configure(work, topology, beat, bump=bump)
            epoch, target = self._streams.update_targets(work, described, configured, now, statuses, starts=starts)
            after = self._streams.reconcile(work, described.member_id, beat, epoch, target)
        self._register(work, now)
        if starts and Due(group.group_id, Kind.INITIAL_DELAY) not in self._deadlines:
            self._deadlines.set(
                Due(group.group_id, Kind.INITIAL_DELAY), now + self._timing(group.group_id).initial_delay
            )
        self._expect_heartbeat(group, after, now)
        self._watch_revocation(group, described, after, now)
        if beat.shuts_down and group.shutdown_by is None:
            group.shutdown_by = beat.member_id
        return self._result(group, beat, before, after, configured, statuses, is_new=is_new)

    def remove(self, group: StreamsGroup, member: StreamsMember, now: int) -> None:
        """Let a member go."""
        with self._event(_work(group), now) as work:
            work.do(
                [Current(member.member_id, None), Target(member.member_id, None), Described(member.member_id, None)]
            )
            work.do([GroupEpoch(group.epoch + 1, group.metadata_hash, group.validated_epoch, group.configs)])
        self.forget_deadlines(group, [member.member_id])

    def time_is_over(self, group: StreamsGroup, due: Due, now: int) -> None:
        """Remove the member that a timeout is about, or end the initial delay."""
        try:
            if due.kind is Kind.INITIAL_DELAY:
                self._end_delay(group, now)
                return
            member = group.members.get(due.member_id)
            if member is None or (due.kind is Kind.REVOCATION and member.state is not StreamsMemberState.UNREVOKED):
                return
            self.remove(group, member, now)
        except KafkaError as error:
            _log.warning("group %r: a timeout could not be written: %s", group.group_id, error)
            self._deadlines.set(due, now + RETRY_MS)
        else:
            log_event("member dropped", group=group.group_id, member=due.member_id, reason=_REASONS[due.kind])

    def become_classic(self, group: StreamsGroup, now: int) -> Group:
        """The classic group that replaces an empty streams group."""
        with self._event(_work(group), now) as work:
            work.do(ending(group))
        self.forget_deadlines(group, ())
        classic = Group(group.group_id, since=now)
        classic.offsets = group.offsets
        self._groups[group.group_id] = classic
        return classic

    def forget_deadlines(self, group: StreamsGroup, member_ids: Iterable[str]) -> None:
        """Forget the timeouts of members, and of the group if it is empty."""
        for member_id in member_ids:
            for kind in STREAMS_KINDS:
                self._deadlines.cancel(Due(group.group_id, kind, member_id))
        if group.is_empty:
            self._deadlines.cancel(Due(group.group_id, Kind.INITIAL_DELAY))

    def _begin(self, beat: StreamsBeat) -> Work:
        group = self._groups.get(beat.group_id)
        joins = beat.epoch == JOIN_EPOCH
        if group is None and not joins:
            raise GroupIdNotFoundError(f"Streams group {beat.group_id} not found.")
        if isinstance(group, Group) and group.is_empty and joins:
            work = _work(StreamsGroup(beat.group_id), replaces=group)
            work.before.append(encode_group_end(beat.group_id))
            return work
        if group is None:
            group = StreamsGroup(beat.group_id)
        if not isinstance(group, StreamsGroup):
            raise GroupIdNotFoundError(f"Group {beat.group_id} is not a streams group.")
        if joins and len(group.members) >= self._max_size:
            raise GroupMaxSizeReachedError(
                f"The streams group has reached its maximum capacity of {self._max_size} members."
            )
        return _work(group)

    def _result(
        self,
        group: StreamsGroup,
        beat: StreamsBeat,
        before: StreamsMember,
        after: StreamsMember,
        configured: ConfiguredTopology,
        statuses: list[Status],
        *,
        is_new: bool,
    ) -> StreamsResult:
        assigns = beat.epoch == JOIN_EPOCH or before.assigned != after.assigned
        epoch = group.endpoints_epoch + (assigns and after.endpoint is not None)
        endpoints = None
        if epoch != beat.endpoints_epoch:
            endpoints = endpoint_partitions(group, after, self._streams.topics)
        missing, problem = configured.missing, configured.problem
        if is_new:
            # Apache Kafka forgets both: the first heartbeat works on a group that is not yet in its registry
            epoch, group.configured = 0, None
        group.endpoints_epoch = epoch
        if problem is not None:
            statuses.append(problem)
        if group.shutdown_by is not None:
            detail = (
                f"Streams group member {group.shutdown_by} encountered a fatal error and requested a shutdown for the "
                "entire application."
            )
            statuses.append(Status(StatusCode.SHUTDOWN_APPLICATION, detail))
        return StreamsResult(
            after.member_id,
            after.epoch,
            self._timing(group.group_id).heartbeat_interval,
            statuses,
            after.assigned if assigns else None,
            epoch,
            endpoints,
            missing,
        )

    def _leave(self, beat: StreamsBeat, now: int) -> StreamsResult:
        group = self._groups.get(beat.group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {beat.group_id} not found.")
        if not isinstance(group, StreamsGroup):
            raise GroupIdNotFoundError(f"Group {beat.group_id} is not a streams group.")
        if beat.shuts_down and group.shutdown_by is None:
            group.shutdown_by = beat.member_id
        self.remove(group, find_member(group, beat.member_id), now)
        return StreamsResult(beat.member_id, beat.epoch)

    def _end_delay(self, group: StreamsGroup, now: int) -> None:
        """Compute the first targets of a group."""
        is_due = group.members and group.epoch > group.assignment_epoch and self._streams.may_compute(group, now)
        if is_due and group.configured is not None:
            with self._event(_work(group), now) as work:
                self._streams.compute_targets(work, group.configured, now)

    def _register(self, work: Work, now: int) -> None:
        group, old = work.group, work.replaces
        if old is not None:
            self._rebalances.dismiss(old, ErrorCode.REBALANCE_IN_PROGRESS)
            group.offsets = old.offsets
        if self._groups.get(group.group_id) is not group:
            self._groups[group.group_id] = group
            log_event("streams group", group=group.group_id)

    @contextmanager
    def _event(self, work: Work, now: int) -> Iterator[Work]:
        """The changes of the block, written at its end; undone if it fails."""
        try:
            yield work
            entries = work.entries()
            if entries:
                self._writer.write(work.group.group_id, entries, now)
        except BaseException:
            work.undo()
            work.group.configured = None
            raise

    def _expect_heartbeat(self, group: StreamsGroup, member: StreamsMember, now: int) -> None:
        timeout = self._timing(group.group_id).session_timeout
        self._deadlines.set(Due(group.group_id, Kind.MEMBER_SESSION, member.member_id), now + timeout)

    def _watch_revocation(self, group: StreamsGroup, before: StreamsMember, after: StreamsMember, now: int) -> None:
        """Start the rebalance timeout of a member that has to give up tasks, or end it."""
        if before == after:
            return
        if after.state is StreamsMemberState.UNREVOKED:
            self._expect_revocation(group, after, now)
        else:
            self._deadlines.cancel(Due(group.group_id, Kind.REVOCATION, after.member_id))

    def _expect_revocation(self, group: StreamsGroup, member: StreamsMember, now: int) -> None:
        due = Due(group.group_id, Kind.REVOCATION, member.member_id)
        self._deadlines.set(due, now + member.rebalance_timeout)


def _work(group: StreamsGroup, *, replaces: Group | None = None) -> Work:
    return GroupWork(group, encode, replaces=replaces)
