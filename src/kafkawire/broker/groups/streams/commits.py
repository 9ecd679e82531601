"""Offsets of streams groups: who may commit and fetch them.

Rules:
- Without an epoch a commit is taken only while the group is empty.
- A member commits in its own epoch, with OffsetCommit v9 or later. With an older epoch it may commit the partitions of
  active tasks that it was assigned in that epoch or before, and still has. One other partition refuses the commit.
- A fetch that names a member must name its epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.commits import FIRST_VERSION
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.protocol import MemberKey
    from kafkawire.broker.groups.streams.group import StreamsGroup


def check_streams_commit(
    group: StreamsGroup, key: MemberKey, places: Iterable[TopicPartition], *, version: int = FIRST_VERSION
) -> ErrorCode:
    """Why a commit is refused, or NONE."""
    if key.generation < 0 and group.is_empty:
        return ErrorCode.NONE
    member = group.members.get(key.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version < FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if key.generation == member.epoch:
        return ErrorCode.NONE
    if key.generation > member.epoch or group.topology is None:
        return ErrorCode.STALE_MEMBER_EPOCH
    for topic, partition in places:
        subtopology = group.topology.readers.get(topic)
        assigned_in = None if subtopology is None else member.assignment_epoch(subtopology, partition)
        if assigned_in is None or key.generation < assigned_in:
            return ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.NONE


def check_streams_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Why a fetch of offsets is refused, or NONE."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = None if member_id is None else group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH
