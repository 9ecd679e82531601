"""Heartbeats of the streams protocol: what a member says, and the checks of its request and its epoch.

Rules:
- The checks are those of Apache Kafka 4.3, in its order. It refuses static members, warm-up tasks, offsets of tasks and
  regular expressions for source topics.
- Epoch 0 joins or rejoins, with a topology and without tasks. -1 leaves. Null fields mean "as before".
- A member may repeat its previous epoch, if it reports no task that it was not assigned: an answer may have been lost.
- A member may have MOST_TAGS tags. Apache Kafka's clients send five at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.consumer.heartbeat import is_blank
from kafkawire.broker.groups.consumer.member import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from kafkawire.broker.groups.streams.tasks import is_within
from kafkawire.messages.errors import (
    FencedMemberEpochError,
    InvalidRequestError,
    StreamsInvalidTopologyError,
    UnknownMemberIdError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.broker.groups.streams.configuration import ConfiguredSubtopology, InternalTopic, Status
    from kafkawire.broker.groups.streams.endpoints import EndpointPartitions
    from kafkawire.broker.groups.streams.group import StreamsGroup
    from kafkawire.broker.groups.streams.member import Endpoint, StreamsMember
    from kafkawire.broker.groups.streams.tasks import OwnedTasks, Tasks, TaskSet
    from kafkawire.broker.groups.streams.topology import Topology
    from kafkawire.messages import StreamsGroupHeartbeatRequest

MOST_TAGS: Final = 100


@dataclass(frozen=True, slots=True)
class StreamsBeat:
    """A heartbeat."""

    group_id: str
    member_id: str
    epoch: int
    client_id: str = ""
    client_host: str = ""
    rack: str | None = None
    rebalance_timeout: int = -1
    topology: Topology | None = None
    owned: TaskSet | None = None
    process_id: str | None = None
    endpoint: Endpoint | None = None
    endpoints_epoch: int = 0
    tags: Mapping[str, str] | None = None
    shuts_down: bool = False


@dataclass(frozen=True, slots=True)
class StreamsResult:
    """The answer to a heartbeat; no tasks mean that they have not changed."""

    member_id: str
    epoch: int
    interval: int = 0
    statuses: Sequence[Status] = ()
    tasks: OwnedTasks | None = None
    endpoints_epoch: int = 0
    endpoints: Sequence[EndpointPartitions] | None = None
    missing: Mapping[str, InternalTopic] | None = None
    """The internal topics that the broker is to create."""


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """Refuse a heartbeat that no member may send."""
    _check_features(request)
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and is_blank(value):
            raise InvalidRequestError(f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        raise InvalidRequestError("InstanceId can't be null.")
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequestError(f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    given = [tasks is not None for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks)]
    if any(given) and not all(given):
        raise InvalidRequestError("If one task-type is non-null, all must be non-null.")
    if request.member_epoch != JOIN_EPOCH and request.topology is not None:
        raise InvalidRequestError("Topology can only be provided when (re-)joining.")
    if request.client_tags is not None and len(request.client_tags) > MOST_TAGS:
        raise InvalidRequestError(f"{len(request.client_tags)} client tags, expected at most {MOST_TAGS}")


def _check_features(request: StreamsGroupHeartbeatRequest) -> None:
    if request.instance_id is not None:
        raise InvalidRequestError("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise InvalidRequestError("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise InvalidRequestError("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise InvalidRequestError("WarmupTasks are not supported yet.")
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        raise InvalidRequestError("Regular expressions for source topics are not supported yet.")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            raise InvalidRequestError(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise InvalidRequestError("Topology must be non-null when (re-)joining.")
    for each in request.topology.subtopologies:
        for topic in each.state_changelog_topics:
            if topic.partitions:
                raise StreamsInvalidTopologyError(
                    f"Changelog topic {topic.name} must have an undefined partition count, "
                    f"but it is set to {topic.partitions}."
                )


def find_member(group: StreamsGroup, member_id: str) -> StreamsMember:
    """The member of a request."""
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def check_epoch(member: StreamsMember, epoch: int, owned: TaskSet | None) -> None:
    """Refuse a member that is not in its epoch."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    is_repeated = epoch < member.epoch and epoch == member.previous_epoch and is_within(owned, member.assigned)
    if not is_repeated:
        order = "greater" if epoch > member.epoch else "smaller"
        raise FencedMemberEpochError(
            f"The streams group member has a {order} member epoch ({epoch}) than the one known by the "
            f"group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )


def check_tasks(owned: TaskSet | None, subtopologies: Mapping[str, ConfiguredSubtopology]) -> None:
    """Refuse a member that reports a task that does not exist."""
    for tasks in owned or ():
        _check_tasks(tasks, subtopologies)


def _check_tasks(tasks: Tasks, subtopologies: Mapping[str, ConfiguredSubtopology]) -> None:
    for name, partitions in tasks.items():
        if name not in subtopologies:
            raise InvalidRequestError(f"Subtopology {name} does not exist in the topology.")
        count = subtopologies[name].tasks
        for partition in partitions:
            if not 0 <= partition < count:
                raise InvalidRequestError(
                    f"Task {partition} for subtopology {name} is invalid. Number of tasks for this subtopology: {count}"
                )
