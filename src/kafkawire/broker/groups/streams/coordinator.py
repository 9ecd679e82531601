"""The steps of events of streams groups; `events` has the events.

Rules:
- A heartbeat takes in the member and the topology, and compares the topology with the topics that exist. It computes
  targets, and lets the member take a step towards its own.
- The group's epoch rises when a member joins, changes or leaves. It also rises when topics of the topology or settings
  of the assignor change, and when the topology becomes valid or invalid.
- Targets are computed when the group's epoch is newer than theirs, at most once per assignment interval. Without a
  valid topology they are empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.classic.rebalance import Due, Kind
from kafkawire.broker.groups.consumer.member import JOIN_EPOCH
from kafkawire.broker.groups.consumer.subscriptions import hash_of_topics
from kafkawire.broker.groups.streams.changes import (
    Current,
    Described,
    GroupEpoch,
    Reconciled,
    Stated,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.streams.configuration import Status, StatusCode, configure
from kafkawire.broker.groups.streams.heartbeat import check_epoch, check_tasks, find_member
from kafkawire.broker.groups.streams.member import StreamsMember
from kafkawire.broker.groups.streams.reconciliation import Goal, reconcile
from kafkawire.broker.groups.streams.sticky import MemberSpec, assign
from kafkawire.broker.groups.streams.tasks import NO_TASKS
from kafkawire.messages.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.deadlines import Deadlines
    from kafkawire.broker.groups.streams.changes import Change
    from kafkawire.broker.groups.streams.configuration import ConfiguredTopology
    from kafkawire.broker.groups.streams.group import StreamsGroup
    from kafkawire.broker.groups.streams.heartbeat import StreamsBeat
    from kafkawire.broker.groups.streams.settings import StreamsTiming
    from kafkawire.broker.groups.streams.tasks import TaskSet
    from kafkawire.broker.groups.streams.topology import Topology
    from kafkawire.broker.groups.work import GroupWork

    Work = GroupWork[StreamsGroup, Change]

_STANDBYS: Final = "num.standby.replicas"
_INITIAL_DELAY: Final = "initial rebalance delay"
_INTERVAL: Final = "assignment interval"


class StreamsGroups:
    """The steps of events of streams groups."""

    def __init__(self, timing: Callable[[str], StreamsTiming], topics: Topics, deadlines: Deadlines[Due]) -> None:
        self.timing = timing
        self.topics = topics
        self._deadlines = deadlines

    def member(self, group: StreamsGroup, beat: StreamsBeat) -> StreamsMember:
        """The member of a heartbeat, new if it joins."""
        if beat.epoch == JOIN_EPOCH:
            return group.members.get(beat.member_id, StreamsMember(beat.member_id))
        member = find_member(group, beat.member_id)
        check_epoch(member, beat.epoch, beat.owned)
        return member

    def describe(self, work: Work, member: StreamsMember, beat: StreamsBeat) -> tuple[StreamsMember, bool]:
        """The member as it describes itself now, and whether that has changed."""
        updated = replace(
            member,
            rack=member.rack if beat.rack is None else beat.rack,
            rebalance_timeout=member.rebalance_timeout if beat.rebalance_timeout == -1 else beat.rebalance_timeout,
            topology_epoch=member.topology_epoch if beat.topology is None else beat.topology.epoch,
            client_id=beat.client_id,
            client_host=beat.client_host,
            process_id=member.process_id if beat.process_id is None else beat.process_id,
            tags=member.tags if beat.tags is None else beat.tags,
            endpoint=member.endpoint if beat.endpoint is None else beat.endpoint,
        )
        if updated == member:
            return member, False
        work.do([Described(updated.member_id, updated)])
        return updated, True

    def state_topology(self, work: Work, member: StreamsMember, beat: StreamsBeat, statuses: list[Status]) -> Topology:
        """The topology of the group, which the first member states."""
        known, stated = work.group.topology, beat.topology
        if known is None:
            if stated is None:
                raise InvalidRequestError("Topology must be non-null when (re-)joining.")
            work.do([Stated(stated)])
            return stated
        if stated is not None and stated.epoch >= known.epoch and stated != known:
            raise InvalidRequestError("Topology updates are not supported yet.")
        if member.topology_epoch < known.epoch:
            detail = (
                f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
                f"{known.epoch}."
            )
            statuses.append(Status(StatusCode.STALE_TOPOLOGY, detail))
        return known

    def configure(self, work: Work, topology: Topology, beat: StreamsBeat, *, bump: bool) -> ConfiguredTopology:
        """Compare the topology with the topics that exist, and raise the epoch if need be."""
        group = work.group
        configured, found_hash = group.configured, group.metadata_hash
        if configured is None or group.checked_topics != self.topics.version:
            found = (self.topics.find(name) for name in topology.required_topics())
            found_hash = hash_of_topics(topic for topic in found if topic is not None)
            bump |= found_hash != group.metadata_hash
            if configured is None or found_hash != group.metadata_hash:
                configured = configure(topology, self.topics)
        validated = topology.epoch if configured.is_ready else -1
        if configured.is_ready:
            check_tasks(beat.owned, configured.subtopologies or {})
        configs = {_STANDBYS: str(self.timing(group.group_id).standbys)}
        if bump or validated != group.validated_epoch or configs != group.configs:
            work.do([GroupEpoch(group.epoch + 1, found_hash, validated, configs)])
        group.configured = configured
        group.checked_topics = self.topics.version
        return configured

    def update_targets(
        self,
        work: Work,
        member: StreamsMember,
        configured: ConfiguredTopology,
        now: int,
        statuses: list[Status],
        *,
        starts: bool,
    ) -> tuple[int, TaskSet]:
        """Compute targets for the newest epoch, unless they have to wait; the epoch and target of the member."""
        group = work.group
        waits_for = ""
        if starts or Due(group.group_id, Kind.INITIAL_DELAY) in self._deadlines:
            waits_for = _INITIAL_DELAY
        elif group.assignment_epoch < group.epoch and not self.may_compute(group, now):
            waits_for = _INTERVAL
        elif group.assignment_epoch < group.epoch:
            self.compute_targets(work, configured, now)
        if waits_for:
            detail = f"Assignment delayed due to the configured {waits_for}."
            statuses.append(Status(StatusCode.ASSIGNMENT_DELAYED, detail))
        target = NO_TASKS if waits_for == _INITIAL_DELAY else group.target(member.member_id)
        return group.assignment_epoch, target

    def may_compute(self, group: StreamsGroup, now: int) -> bool:
        """Whether enough time has passed since the last computation."""
        interval = self.timing(group.group_id).assignment_interval
        return not group.assigned_at or not interval or now >= group.assigned_at + interval

    def compute_targets(self, work: Work, configured: ConfiguredTopology, now: int) -> None:
        """Compute the targets of all members."""
        group = work.group
        targets = dict.fromkeys(group.members, NO_TASKS)
        if configured.is_ready:
            members = {
                member_id: MemberSpec(member.process_id, group.target(member_id))
                for member_id, member in group.members.items()
            }
            targets = assign(members, configured.subtopologies or {}, int(group.configs.get(_STANDBYS, "0")))
        changed = (
            Target(member_id, tasks) for member_id, tasks in targets.items() if group.targets.get(member_id) != tasks
        )
        work.do([*changed, TargetEpoch(group.epoch, now)])

    def reconcile(self, work: Work, member_id: str, beat: StreamsBeat, epoch: int, target: TaskSet) -> StreamsMember:
        """Let a member take its next step towards its target."""
        group = work.group
        member = group.members[member_id]
        if member.has_reconciled(epoch):
            return member
        process = member.process_id

        def is_free(subtopology: str, partition: int) -> bool:
            task = subtopology, partition
            return task not in group.active and not group.runs_in(process, task)

        def is_absent(subtopology: str, partition: int) -> bool:
            task = subtopology, partition
            return not group.is_active_in(process, task) and not group.runs_in(process, task)

        after = reconcile(member, Goal(epoch, target, is_free, is_absent, beat.owned))
        if after != member:
            work.do([Current(member_id, Reconciled.of(after))])
        return after
