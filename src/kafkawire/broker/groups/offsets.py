"""Committed offsets: who may commit, what is kept, and for how long.

Rules:
- A member commits in its own generation, and not between join and sync; during a rebalance it still may, for its old
  partitions. A commit counts as a heartbeat.
- Without generation and member (simple consumers, administrators) a commit is taken only while the group is empty.
- Text beside an offset has a limit, and only the partition that breaks it is refused.
- An offset expires when its own time is over (old clients set one), or with the retention: counted from the day the
  group became empty, for simple groups from the commit, and in a stable group of consumers from the commit for topics
  that nobody is subscribed to any more. Otherwise never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.groups.exchanges import NO_MEMBER
from kafkawire.broker.groups.group import CommittedOffset
from kafkawire.broker.groups.states import State
from kafkawire.messages.errors import ErrorCode, GroupNotEmptyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker.groups.exchanges import MemberKey
    from kafkawire.broker.groups.group import Group, TopicPartition
    from kafkawire.broker.groups.rebalance import Rebalances
    from kafkawire.broker.groups.settings import GroupSettings
    from kafkawire.broker.groups.writing import GroupWriter

Errors = dict["TopicPartition", ErrorCode]


class Commit(NamedTuple):
    """What is to be written down about a partition; `expires` where the request says how long to keep it."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    committed_at: int | None = None
    expires: int | None = None


class Offsets:
    """The offsets of groups."""

    def __init__(self, settings: GroupSettings, rebalances: Rebalances, writer: GroupWriter) -> None:
        self._settings = settings
        self._rebalances = rebalances
        self._writer = writer

    def commit(self, group: Group, key: MemberKey, commits: Mapping[TopicPartition, Commit], now: int) -> Errors:
        """Write offsets down; the error of each partition."""
        refusal = check_commit(group, key)
        if refusal:
            return dict.fromkeys(commits, refusal)
        member = group.members.get(key.member_id)
        if member is not None:
            self._rebalances.renew_session(group, member, now)
        errors, taken = {}, {}
        for place, commit in commits.items():
            metadata = commit.metadata or ""
            if len(metadata) > self._settings.metadata_max_bytes:
                errors[place] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            errors[place] = ErrorCode.NONE
            at = now if commit.committed_at is None else commit.committed_at
            taken[place] = CommittedOffset(commit.offset, commit.leader_epoch, metadata, at, commit.expires)
        self._writer.write_offsets(group.group_id, taken, now)
        group.offsets.update(taken)
        return errors

    def delete(self, group: Group, places: Iterable[TopicPartition], now: int) -> Errors:
        """Forget offsets of topics that the group does not consume; the error of each partition."""
        if group.members and not group.uses_consumer_protocol:
            raise GroupNotEmptyError(f"group {group.group_id!r} has members that are no consumers")
        errors = {
            place: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(place[0]) else ErrorCode.NONE
            for place in places
        }
        self._forget(group, [place for place, error in errors.items() if not error], now)
        return errors

    def expire(self, group: Group, now: int) -> None:
        """Forget what has expired."""
        self._forget(group, list(expired(group, now, self._settings.retention_ms)), now)

    def forget_topic(self, group: Group, topic: str, now: int) -> None:
        """Forget the offsets of a topic that is gone."""
        self._forget(group, [place for place in group.offsets if place[0] == topic], now)

    def _forget(self, group: Group, places: Iterable[TopicPartition], now: int) -> None:
        gone = [place for place in places if place in group.offsets]
        self._writer.write_offsets(group.group_id, dict.fromkeys(gone), now)
        for place in gone:
            del group.offsets[place]


def check_commit(group: Group, key: MemberKey) -> ErrorCode:
    """Why a commit is refused, or NONE."""
    if key.generation < 0 and group.state is State.EMPTY:
        return ErrorCode.NONE
    if key.generation < 0 and key.member_id == NO_MEMBER and key.instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(key.member_id, key.instance_id)
    if error:
        return error
    if key.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is State.COMPLETING else ErrorCode.NONE


def expired(group: Group, now: int, retention: int) -> Iterable[TopicPartition]:
    """The offsets whose time is over."""
    if group.is_simple:
        since = None
    elif group.state is State.EMPTY:
        since = group.since
    elif group.state is State.STABLE and group.subscribed_topics is not None:
        since = None
    else:
        return
    subscribed = group.subscribed_topics or frozenset()
    for place, committed in group.offsets.items():
        if place[0] in subscribed:
            continue
        if committed.expires is not None:
            over = committed.expires
        else:
            over = (committed.committed_at if since is None else since) + retention
        if now >= over:
            yield place
