"""Heartbeats of the consumer protocol: what a member says, and the checks of its request and its epoch.

Rules:
- The checks are those of Apache Kafka, in its order.
- Epoch 0 joins or rejoins, -1 leaves, -2 lets a static member leave for a while. Null fields mean "as before".
- A member may repeat its previous epoch, if it owns nothing that it was not assigned: an answer may have been lost.
- A member may name MOST_TOPICS topics. Apache Kafka has no limit, but all names are compared with every change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from kafkawire.messages.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    InvalidRequestError,
    UnknownMemberIdError,
    UnsupportedAssignorError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.member import ConsumerMember, OwnedPartitions

MOST_TOPICS: Final = 5_000
_BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that Java's `trim` removes."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat."""

    group_id: str
    member_id: str
    epoch: int
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout: int = -1
    topics: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Mapping[UUID, AbstractSet[int]] | None = None
    sees: Callable[[str], bool] | None = field(default=None, compare=False)
    """Whether the member may describe a topic; None if it may describe all of them."""

    @property
    def is_full(self) -> bool:
        """Whether the member sends everything that it has, as after an error."""
        subscribes = self.topics is not None or self.regex is not None
        return self.rebalance_timeout != -1 and subscribes and self.owned is not None


@dataclass(frozen=True, slots=True)
class BeatResult:
    """The answer to a heartbeat; no assignment means that it has not changed."""

    member_id: str
    epoch: int
    interval: int = 0
    assignment: OwnedPartitions | None = None


def check_request(beat: Beat, version: int, assignors: Sequence[str]) -> None:
    """Refuse a heartbeat that no member may send."""
    if is_blank(beat.member_id) and (version >= 1 or beat.epoch > 0 or beat.epoch == LEAVE_EPOCH):
        raise InvalidRequestError("MemberId can't be empty.")
    for name, value in (("GroupId", beat.group_id), ("InstanceId", beat.instance_id), ("RackId", beat.rack)):
        if value is not None and is_blank(value):
            raise InvalidRequestError(f"{name} can't be empty.")
    if beat.epoch == JOIN_EPOCH:
        if beat.rebalance_timeout == -1:
            raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
        if beat.owned is None or beat.owned:
            raise InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
        if beat.topics is None and beat.regex is None:
            raise InvalidRequestError(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif beat.epoch == STATIC_LEAVE_EPOCH:
        if beat.instance_id is None:
            raise InvalidRequestError("InstanceId can't be null.")
    elif beat.epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if beat.assignor is not None and beat.assignor not in assignors:
        raise UnsupportedAssignorError(
            f"ServerAssignor {beat.assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )
    if beat.topics is not None and len(beat.topics) > MOST_TOPICS:
        raise InvalidRequestError(f"{len(beat.topics)} subscribed topics, expected at most {MOST_TOPICS}")


def find_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """The member of a request; a static one must still have its name."""
    if instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")
        return member
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise FencedInstanceIdError(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        )
    return member


def check_epoch(member: ConsumerMember, epoch: int, owned: Mapping[UUID, AbstractSet[int]] | None) -> None:
    """Refuse a member that is not in its epoch."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    is_repeated = epoch < member.epoch and epoch == member.previous_epoch and _is_within(owned, member.assigned)
    if not is_repeated:
        order = "greater" if epoch > member.epoch else "smaller"
        raise FencedMemberEpochError(
            f"The consumer group member has a {order} member epoch ({epoch}) than the one known by the "
            f"group coordinator ({member.epoch}). "
            "The member must abandon all its partitions and rejoin."
        )


def _is_within(owned: Mapping[UUID, AbstractSet[int]] | None, assigned: OwnedPartitions) -> bool:
    if owned is None:
        return False
    return all(topic in assigned and partitions <= assigned[topic].keys() for topic, partitions in owned.items())


def is_blank(text: str) -> bool:
    """Whether a text counts as empty."""
    return not text.strip(_BLANKS)
