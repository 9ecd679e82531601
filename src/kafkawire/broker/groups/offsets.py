"""Committed offsets: who may commit, what is kept, and for how long.

Rules:
- A member commits in its own generation, and not between join and sync; during a rebalance it still may, for its old
  partitions. A commit counts as a heartbeat.
- Without generation and member (simple consumers, administrators) a commit is taken only while the group is empty.
- A commit is prepared first, its records encoded, and then checked and taken in one step: preparing many takes long.
- Offsets are forgotten AT_ONCE of them at a time, in one batch each. All in one batch could be larger than a batch may
  be.
- Text beside an offset has a limit, and only the partition that breaks it is refused.
- An offset expires when its own time is over (old clients set one), or with the retention: counted from the day the
  group became empty, for simple groups from the commit, and in a stable group of consumers from the commit for topics
  that nobody is subscribed to any more. Otherwise never.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.groups.exchanges import NO_MEMBER
from kafkawire.broker.groups.group import CommittedOffset
from kafkawire.broker.groups.records import Entry, encode_offset
from kafkawire.broker.groups.states import State
from kafkawire.messages.errors import ErrorCode, GroupNotEmptyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker.groups.exchanges import MemberKey
    from kafkawire.broker.groups.group import Group, TopicPartition
    from kafkawire.broker.groups.rebalance import Rebalances
    from kafkawire.broker.groups.settings import GroupSettings
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.groups.writing import GroupWriter

Errors = dict["TopicPartition", ErrorCode]
AT_ONCE: Final = 1_000


class Commit(NamedTuple):
    """What is to be written down about a partition; `expires` where the request says how long to keep it."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    committed_at: int | None = None
    expires: int | None = None


class Prepared(NamedTuple):
    """A commit of one partition, ready to be taken; without an offset, its error."""

    error: ErrorCode
    committed: CommittedOffset | None = None
    entry: Entry = (b"", None)


class Offsets:
    """The offsets of groups."""

    def __init__(self, settings: GroupSettings, rebalances: Rebalances, writer: GroupWriter) -> None:
        self._settings = settings
        self._rebalances = rebalances
        self._writer = writer

    def prepare(self, group_id: str, place: TopicPartition, commit: Commit, now: int) -> Prepared:
        """What a commit becomes, whoever may make it."""
        metadata = commit.metadata or ""
        if len(metadata) > self._settings.metadata_max_bytes:
            return Prepared(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        at = now if commit.committed_at is None else commit.committed_at
        committed = CommittedOffset(commit.offset, commit.leader_epoch, metadata, at, commit.expires)
        return Prepared(ErrorCode.NONE, committed, encode_offset(group_id, place, committed))

    def commit(self, group: Group, key: MemberKey, commits: Mapping[TopicPartition, Prepared], now: int) -> Errors:
        """Write offsets down; the error of each partition."""
        refusal = check_commit(group, key)
        if refusal:
            return dict.fromkeys(commits, refusal)
        member = group.members.get(key.member_id)
        if member is not None:
            self._rebalances.renew_session(group, member, now)
        errors, taken, entries = {}, {}, []
        for place, (error, committed, entry) in commits.items():
            errors[place] = error
            if committed is not None:
                taken[place] = committed
                entries.append(entry)
        self._writer.write_offsets(group.group_id, entries, now)
        group.offsets.update(taken)
        return errors

    def delete(self, group: Group, places: Iterable[TopicPartition], now: int) -> Steps[Errors]:
        """Forget offsets of topics that the group does not consume; the error of each partition."""
        if group.members and not group.uses_consumer_protocol:
            raise GroupNotEmptyError(f"group {group.group_id!r} has members that are no consumers")
        subscribed = group.subscribed_topics
        assumed = subscribed is None and group.uses_consumer_protocol
        errors: Errors = {}
        left = iter(places)
        while piece := list(islice(left, AT_ONCE)):
            for place in piece:
                consumed = assumed or (subscribed is not None and place[0] in subscribed)
                errors[place] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if consumed else ErrorCode.NONE
            yield from self.forget(group, (place for place in piece if not errors[place]), now)
            yield
        return errors

    def expire(self, group: Group, now: int) -> Steps[None]:
        """Forget what has expired."""
        return self.forget(group, list(expired(group, now, self._settings.retention_ms)), now)

    def forget_topic(self, group: Group, topic: str, now: int) -> Steps[None]:
        """Forget the offsets of a topic that is gone."""
        return self.forget(group, [place for place in group.offsets if place[0] == topic], now)

    def forget(self, group: Group, places: Iterable[TopicPartition], now: int) -> Steps[None]:
        """Forget offsets; a place that has none is passed over."""
        left = iter(places)
        while piece := list(islice(left, AT_ONCE)):
            gone = [place for place in piece if place in group.offsets]
            self._writer.write_offsets(
                group.group_id, [encode_offset(group.group_id, place, None) for place in gone], now
            )
            for place in gone:
                del group.offsets[place]
            yield


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
