"""Offsets of consumer groups: who may commit and fetch them.

Rules:
- Without an epoch a commit is taken only while the group is empty.
- A member commits in its own epoch. With an older epoch it may commit partitions that it was assigned in that epoch or
  before, and still has; one other partition refuses the whole commit (KIP-1251).
- Members of the consumer protocol use OffsetCommit v9 or later. Members of the classic protocol get ILLEGAL_GENERATION
  where others get STALE_MEMBER_EPOCH.
- A fetch that names a member must name its epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.member import ConsumerMember
    from kafkawire.broker.groups.protocol import MemberKey

FIRST_VERSION: Final = 9
"""The first version of OffsetCommit that has member epochs."""


def check_consumer_commit(
    group: ConsumerGroup, key: MemberKey, partitions: Iterable[tuple[UUID, int]], *, version: int = FIRST_VERSION
) -> ErrorCode:
    """Why a commit is refused, or NONE."""
    if key.generation < 0 and group.is_empty:
        return ErrorCode.NONE
    member = group.members.get(key.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not member.is_classic and version < FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if key.generation == member.epoch:
        return ErrorCode.NONE
    if key.generation > member.epoch:
        return _stale(member)
    for topic, partition in partitions:
        assigned_in = member.assignment_epoch(topic, partition)
        if assigned_in is None or key.generation < assigned_in:
            return _stale(member)
    return ErrorCode.NONE


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Why a fetch of offsets is refused, or NONE."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = None if member_id is None else group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else _stale(member)


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH
