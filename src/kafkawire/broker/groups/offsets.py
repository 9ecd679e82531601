"""Committed offsets: permissions, limits and expiry.

Rules:
- A member commits in its own generation, and not between join and sync; during a rebalance it still may, for its old
  partitions. A commit counts as a heartbeat.
- Without generation and member (simple consumers, administrators) a commit is taken only while the group is empty.
- A commit is first prepared, its records encoded, and then checked and applied in one step, because preparing many
  takes long.
- Offsets are deleted AT_ONCE at a time, in one batch each, because one batch for all could be too large.
- Metadata of an offset has a limit, and only the partition that exceeds it is refused.
- An offset expires after its own retention time (old clients set one), or after that of the broker. The latter counts
  from the time the group became empty, and for simple groups from the commit. In a stable group of consumers it counts
  from the commit, for topics without a subscriber. Otherwise an offset never expires.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.broker.groups.classic.group import CommittedOffset, Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.consumer.commits import FIRST_VERSION, check_consumer_commit
from kafkawire.broker.groups.pending import PendingOffsets
from kafkawire.broker.groups.protocol import NO_MEMBER
from kafkawire.broker.groups.records import Entry, encode_offset
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.streams.commits import check_streams_commit
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError, GroupNotEmptyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.classic.rebalance import Rebalances
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets_log import GroupWriter
    from kafkawire.broker.groups.protocol import MemberKey
    from kafkawire.broker.groups.settings import GroupSettings
    from kafkawire.broker.groups.steps import Steps

Errors = dict["TopicPartition", ErrorCode]
AT_ONCE: Final = 1_000


class Commit(NamedTuple):
    """An offset to commit for a partition; `expires` where the request says how long to keep it."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    committed_at: int | None = None
    expires: int | None = None
    topic_id: UUID = NO_ID


class PreparedCommit(NamedTuple):
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
        self.pending = PendingOffsets()

    def prepare(self, group_id: str, place: TopicPartition, commit: Commit, now: int) -> PreparedCommit:
        """The prepared form of a commit, before its permissions are checked."""
        metadata = commit.metadata or ""
        if len(metadata) > self._settings.metadata_max_bytes:
            return PreparedCommit(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        at = now if commit.committed_at is None else commit.committed_at
        committed = CommittedOffset(commit.offset, commit.leader_epoch, metadata, at, commit.expires, commit.topic_id)
        return PreparedCommit(ErrorCode.NONE, committed, encode_offset(group_id, place, committed))

    def commit(
        self,
        group: AnyGroup,
        key: MemberKey,
        commits: Mapping[TopicPartition, PreparedCommit],
        now: int,
        *,
        version: int,
    ) -> Errors:
        """Write offsets down; the error of each partition."""
        refusal = check_commit(group, key, commits, version=version)
        if refusal:
            return dict.fromkeys(commits, refusal)
        if isinstance(group, Group):
            member = group.members.get(key.member_id)
            if member is not None:
                self._rebalances.renew_session(group, member, now)
        errors, taken, entries = _divide(commits)
        self._writer.write_offsets(group.group_id, entries, now)
        group.offsets.update(taken)
        if self.pending:
            self.pending.supersede(group.group_id, taken)
        return errors

    def commit_in_transaction(
        self,
        group: AnyGroup,
        key: MemberKey,
        commits: Mapping[TopicPartition, PreparedCommit],
        producer: tuple[int, int],
        index: int,
        now: int,
    ) -> Errors:
        """Write offsets down as part of a producer's transaction; its marker in partition `index` decides."""
        refusal = check_transactional_commit(group, key, commits)
        if refusal:
            return dict.fromkeys(commits, refusal)
        errors, taken, entries = _divide(commits)
        self._writer.write_offsets(group.group_id, entries, now, producer)
        for place, committed in taken.items():
            self.pending.add((index, producer[0]), group.group_id, place, committed)
        return errors

    def delete(self, group: AnyGroup, places: Iterable[TopicPartition], now: int) -> Steps[Errors]:
        """Forget offsets of topics that the group does not consume; the error of each partition."""
        if isinstance(group, ShareGroup):
            raise GroupIdNotFoundError(f"Group {group.group_id} is not a consumer group.")
        if group.members and not group.uses_consumer_protocol:
            raise GroupNotEmptyError(f"group {group.group_id!r} has members that are not consumers")
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

    def expire(self, group: AnyGroup, now: int) -> Steps[None]:
        """Forget what has expired."""
        unstable = self.pending.of(group.group_id)
        gone = expired(group, now, self._settings.retention_ms)
        return self.forget(group, [place for place in gone if place not in unstable], now)

    def forget_topic(self, group: AnyGroup, topic: str, now: int) -> Steps[None]:
        """Forget the offsets of a topic that is gone."""
        places = {*group.offsets, *self.pending.of(group.group_id)}
        return self.forget(group, [place for place in places if place[0] == topic], now)

    def forget(self, group: AnyGroup, places: Iterable[TopicPartition], now: int) -> Steps[None]:
        """Forget offsets; partitions without an offset are skipped."""
        left = iter(places)
        while piece := list(islice(left, AT_ONCE)):
            unstable = self.pending.of(group.group_id)
            gone = [place for place in piece if place in group.offsets or place in unstable]
            self._writer.write_offsets(
                group.group_id, [encode_offset(group.group_id, place, None) for place in gone], now
            )
            for place in gone:
                group.offsets.pop(place, None)
                self.pending.forget(group.group_id, place)
            yield


def _divide(
    commits: Mapping[TopicPartition, PreparedCommit],
) -> tuple[Errors, dict[TopicPartition, CommittedOffset], list[Entry]]:
    """The error of each commit, the offsets that are taken, and their records."""
    errors, taken, entries = {}, {}, []
    for place, (error, committed, entry) in commits.items():
        errors[place] = error
        if committed is not None:
            taken[place] = committed
            entries.append(entry)
    return errors, taken, entries


def check_transactional_commit(
    group: AnyGroup, key: MemberKey, commits: Mapping[TopicPartition, PreparedCommit]
) -> ErrorCode:
    """Why a commit in a transaction is refused, or NONE. Without a member nothing is checked (KIP-447)."""
    if isinstance(group, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if key.generation < 0 and (group.is_empty or (key.member_id == NO_MEMBER and key.instance_id is None)):
        return ErrorCode.NONE
    if not isinstance(group, Group):
        error = _check_epoch(group, key, commits)
        return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error
    error = group.check_member(key.member_id, key.instance_id)
    if error:
        return error
    return ErrorCode.NONE if key.generation == group.generation else ErrorCode.ILLEGAL_GENERATION


def check_commit(
    group: AnyGroup, key: MemberKey, commits: Mapping[TopicPartition, PreparedCommit], *, version: int
) -> ErrorCode:
    """Why a commit is refused, or NONE. Share groups have no offsets."""
    if isinstance(group, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not isinstance(group, Group):
        return _check_epoch(group, key, commits, version=version)
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


def _check_epoch(
    group: ConsumerGroup | StreamsGroup,
    key: MemberKey,
    commits: Mapping[TopicPartition, PreparedCommit],
    *,
    version: int = FIRST_VERSION,
) -> ErrorCode:
    if isinstance(group, StreamsGroup):
        valid = (place for place, prepared in commits.items() if prepared.committed is not None)
        return check_streams_commit(group, key, valid, version=version)
    return check_consumer_commit(group, key, _topic_partitions(commits), version=version)


def _topic_partitions(commits: Mapping[TopicPartition, PreparedCommit]) -> Iterator[tuple[UUID, int]]:
    """The topic ids and numbers of partitions whose commits are valid by themselves."""
    for (_, index), prepared in commits.items():
        if prepared.committed is not None:
            yield prepared.committed.topic_id, index


def expired(group: AnyGroup, now: int, retention: int) -> Iterable[TopicPartition]:
    """The offsets whose time is over."""
    if not isinstance(group, Group) or group.is_simple:
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
