"""Heartbeats of the share protocol: what a member says, and the checks of its request and its epoch.

Rules:
- The checks are those of Apache Kafka, in its order.
- Epoch 0 joins or rejoins, -1 leaves. Null fields mean "as before".
- A member may repeat its previous epoch, because an answer may have been lost.
- A member may name MOST_TOPICS topics, as in consumer groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.heartbeat import MOST_TOPICS
from kafkawire.broker.groups.share.member import JOIN_EPOCH, LEAVE_EPOCH
from kafkawire.messages.errors import FencedMemberEpochError, InvalidRequestError, UnknownMemberIdError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment
    from kafkawire.broker.groups.share.changes import TopicPartitions
    from kafkawire.broker.groups.share.group import ShareGroup
    from kafkawire.broker.groups.share.member import ShareMember


@dataclass(frozen=True, slots=True)
class ShareBeat:
    """A heartbeat."""

    group_id: str
    member_id: str
    epoch: int
    client_id: str = ""
    client_host: str = ""
    rack: str | None = None
    topics: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ShareResult:
    """The answer to a heartbeat; no assignment means that it has not changed.

    `initializing` are share partitions whose first state is to be stored, with the epoch that it carries.
    """

    member_id: str
    epoch: int
    interval: int = 0
    assignment: Assignment | None = None
    initializing: Mapping[UUID, TopicPartitions] = field(default_factory=dict)
    state_epoch: int = 0


def check_request(beat: ShareBeat) -> None:
    """Refuse a heartbeat that no member may send."""
    for name, value in (("MemberId", beat.member_id), ("GroupId", beat.group_id), ("RackId", beat.rack)):
        if value is not None and not value.strip():
            raise InvalidRequestError(f"{name} can't be empty.")
    if beat.epoch == JOIN_EPOCH:
        if not beat.topics:
            raise InvalidRequestError("SubscribedTopicNames must be set in first request.")
    elif beat.epoch < LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if beat.topics is not None and len(beat.topics) > MOST_TOPICS:
        raise InvalidRequestError(f"{len(beat.topics)} subscribed topics, expected at most {MOST_TOPICS}")


def find_member(group: ShareGroup, member_id: str) -> ShareMember:
    """The member of a request."""
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def check_epoch(member: ShareMember, epoch: int) -> None:
    """Refuse a member that is not in its epoch."""
    if epoch in (JOIN_EPOCH, member.epoch) or (epoch < member.epoch and epoch == member.previous_epoch):
        return
    if epoch > member.epoch:
        raise FencedMemberEpochError(
            f"The share group member has a greater member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.epoch}). The member must abandon all its partitions and rejoin."
        )
    raise FencedMemberEpochError(
        f"The share group member has a smaller member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}), and it does not match the previous member epoch ({member.previous_epoch}). The member must "
        "abandon all its partitions and rejoin."
    )
