"""The group coordinator: every group of the broker, the requests to them, and their timeouts.

It does no I/O: records go to the log that it is given, and responses to waiting requests come from `take_replies`. Its
driver calls `tick` at `next_deadline`. Work over many groups or offsets can also run in steps (`steps`).
Rules:
- A join without a member id, or a commit without a generation, creates a group. Queries create none.
- Members cannot join the group with the empty name, but offsets may be committed under it, as Kafka allows for old
  clients.
- `removals` ends groups and offsets.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from kafkawire.broker._metadata.topics import Topics
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.membership import Membership, unique_suffix
from kafkawire.broker.groups.classic.rebalance import MODERN_KINDS, Due, Kind, Rebalances
from kafkawire.broker.groups.consumer.coordinator import ConsumerGroups
from kafkawire.broker.groups.consumer.events import ConsumerEvents
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.settings import Timing
from kafkawire.broker.groups.deadlines import Deadlines
from kafkawire.broker.groups.offsets import Offsets
from kafkawire.broker.groups.offsets_log import GroupWriter
from kafkawire.broker.groups.pending import PendingOffsets
from kafkawire.broker.groups.protocol import NO_MEMBER, JoinResult, Reply, SyncResult
from kafkawire.broker.groups.removals import Removals
from kafkawire.broker.groups.share.events import ShareEvents
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.steps import finish
from kafkawire.broker.groups.streams.coordinator import StreamsGroups
from kafkawire.broker.groups.streams.events import StreamsEvents
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.broker.groups.streams.settings import StreamsTiming
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.consumer.heartbeat import Beat, BeatResult
    from kafkawire.broker.groups.consumer.resolution import Wanted
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets import Commit, Errors, PreparedCommit
    from kafkawire.broker.groups.offsets_log import EntryLog
    from kafkawire.broker.groups.protocol import Join, Leaver, MemberKey, Sync, Token
    from kafkawire.broker.groups.settings import GroupSettings
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.groups.streams.heartbeat import StreamsBeat, StreamsResult


NEWEST_COMMIT: Final = 10
"""The newest version of OffsetCommit."""


def _default_timing(group_id: str) -> Timing:
    return Timing()


def _default_streams_timing(group_id: str) -> StreamsTiming:
    return StreamsTiming()


class GroupCoordinator:
    """Every group, driven by events and the time."""

    def __init__(
        self,
        settings: GroupSettings,
        log: EntryLog,
        *,
        topics: Topics | None = None,
        timing: Callable[[str], Timing] = _default_timing,
        streams_timing: Callable[[str], StreamsTiming] = _default_streams_timing,
        share_timing: Callable[[str], Timing] = _default_timing,
        suffix: Callable[[], str] = unique_suffix,
    ) -> None:
        self.settings = settings
        self._groups: dict[str, AnyGroup] = {}
        self._deadlines: Deadlines[Due] = Deadlines()
        self._writer = GroupWriter(log)
        self._rebalances = Rebalances(settings, self._deadlines, self._writer)
        self._membership = Membership(self._rebalances, self._writer, suffix)
        self._offsets = Offsets(settings, self._rebalances, self._writer)
        known_topics = Topics() if topics is None else topics
        consumers = ConsumerGroups(settings.consumer, timing, known_topics, self._deadlines, self._writer)
        self._consumers = ConsumerEvents(self._groups, consumers, self._rebalances)
        self._streams = StreamsEvents(
            self._groups,
            settings.streams_max_size,
            StreamsGroups(streams_timing, known_topics, self._deadlines),
            self._deadlines,
            self._writer,
            self._rebalances,
        )
        self.removals = Removals(self._groups, self._offsets, self._writer, self._streams)
        self.shares = ShareEvents(
            self._groups,
            share_timing,
            known_topics,
            self._deadlines,
            self._writer,
            max_size=settings.share_max_size,
            retry_ms=settings.share_retry_ms,
        )

    def __iter__(self) -> Iterator[AnyGroup]:
        return iter(self._groups.values())

    def find(self, group_id: str) -> AnyGroup | None:
        return self._groups.get(group_id)

    def load(self, groups: Iterable[AnyGroup], now: int, pending: PendingOffsets | None = None) -> None:
        """Take over groups that were read from the log; their members have one session to show themselves."""
        if pending is not None:
            self._offsets.pending = pending
        for group in groups:
            self._groups[group.group_id] = group
            if isinstance(group, ConsumerGroup):
                self._consumers.consumers.load(group, now)
                continue
            if isinstance(group, StreamsGroup):
                self._streams.load(group, now)
                continue
            if isinstance(group, ShareGroup):
                self.shares.load(group, now)
                continue
            for member in group.members.values():
                self._rebalances.renew_session(group, member, now)

    def join(self, join: Join, token: Token, now: int) -> None:
        error = self._check_join(join)
        if error:
            self._rebalances.replies.append(Reply(token, JoinResult(error, join.member_id)))
            return
        known = self._groups.get(join.group_id)
        if isinstance(known, ShareGroup):
            result = JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NO_MEMBER)
            self._rebalances.replies.append(Reply(token, result))
            return
        if isinstance(known, ConsumerGroup) and known.members:
            self._consumers.join(known, join, token, now)
            return
        if isinstance(known, StreamsGroup) and known.members:
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            self._rebalances.replies.append(Reply(token, JoinResult(error, NO_MEMBER)))
            return
        group = self._classic_group(join.group_id, now)
        self._membership.join(group, join, token, now)
        self.removals.remove_if_unused(group)

    def consumer_heartbeat(self, beat: Beat, now: int) -> BeatResult:
        """The answer to a heartbeat of the consumer protocol; a refusal is raised."""
        return self._consumers.heartbeat(beat, now)

    def streams_heartbeat(self, beat: StreamsBeat, now: int) -> StreamsResult:
        """The answer to a heartbeat of the streams protocol; a refusal is raised."""
        return self._streams.heartbeat(beat, now)

    def take_resolutions(self) -> list[Wanted]:
        """The regular expressions that are to be resolved."""
        resolutions = self._consumers.consumers.resolutions
        wanted, resolutions.wanted = resolutions.wanted, []
        return wanted

    def resolving(self, wanted: Wanted, now: int) -> Steps[None]:
        """The steps of finding the topics of regular expressions."""
        return self._consumers.resolving(wanted, now)

    def sync(self, sync: Sync, token: Token, now: int) -> None:
        group = self._groups.get(sync.group_id)
        if group is None or isinstance(group, StreamsGroup | ShareGroup):
            self._rebalances.replies.append(Reply(token, SyncResult(_missing(sync.group_id))))
        elif isinstance(group, ConsumerGroup):
            self._consumers.sync(group, sync, token, now)
        else:
            self._membership.sync(group, sync, token, now)

    def heartbeat(self, group_id: str, key: MemberKey, now: int) -> ErrorCode:
        group = self._groups.get(group_id)
        if group is None or isinstance(group, StreamsGroup | ShareGroup):
            return _missing(group_id)
        if isinstance(group, ConsumerGroup):
            return self._consumers.classic_heartbeat(group, key, now)
        return self._membership.heartbeat(group, key, now)

    def leave(self, group_id: str, leavers: Iterable[Leaver], now: int) -> list[ErrorCode]:
        """Let members go; the error of each."""
        return finish(self.leaving(group_id, leavers, now))

    def leaving(self, group_id: str, leavers: Iterable[Leaver], now: int) -> Steps[list[ErrorCode]]:
        """The steps of `leave`."""
        errors: list[ErrorCode] = []
        left = iter(leavers)
        for leaver in left:
            group = self._groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                rest = yield from self._consumers.leaving(group, chain([leaver], left), now)
                return [*errors, *rest]
            if isinstance(group, Group):
                errors.append(self._membership.leave(group, leaver, now))
            else:
                errors.append(_missing(group_id))
            yield
        return errors

    def commit(self, group_id: str, key: MemberKey, commits: Mapping[TopicPartition, Commit], now: int) -> Errors:
        """Write offsets down; the error of each partition. GROUP_ID_NOT_FOUND for a member of no group."""
        prepared = {place: self.prepare(group_id, place, commit, now) for place, commit in commits.items()}
        return self.commit_prepared(group_id, key, prepared, now)

    def prepare(self, group_id: str, place: TopicPartition, commit: Commit, now: int) -> PreparedCommit:
        """The prepared commit of one partition, for `commit_prepared`."""
        return self._offsets.prepare(group_id, place, commit, now)

    def commit_prepared(
        self,
        group_id: str,
        key: MemberKey,
        commits: Mapping[TopicPartition, PreparedCommit],
        now: int,
        *,
        version: int = NEWEST_COMMIT,
    ) -> Errors:
        """Write prepared offsets down; the error of each partition. GROUP_ID_NOT_FOUND for a member of no group."""
        group = self._group_of_commit(group_id, key, now)
        try:
            self.removals.forget_before(group, commits, now)
            return self._offsets.commit(group, key, commits, now, version=version)
        except KafkaError as refusal:
            return dict.fromkeys(commits, ErrorCode(refusal.code))
        finally:
            self.removals.remove_if_unused(group)

    def commit_in_transaction(
        self,
        group_id: str,
        key: MemberKey,
        commits: Mapping[TopicPartition, PreparedCommit],
        producer: tuple[int, int],
        index: int,
        now: int,
    ) -> Errors:
        """Write prepared offsets down as part of a producer's transaction; the error of each partition."""
        group = self._group_of_commit(group_id, key, now)
        try:
            self.removals.forget_before(group, commits, now)
            return self._offsets.commit_in_transaction(group, key, commits, producer, index, now)
        except KafkaError as refusal:
            return dict.fromkeys(commits, ErrorCode(refusal.code))
        finally:
            self.removals.remove_if_unused(group)

    def end_transaction(self, index: int, producer_id: int, *, commit: bool, now: int) -> None:
        """A producer's marker was written to a partition of `__consumer_offsets`."""
        for group_id, place, committed in self._offsets.pending.end((index, producer_id), commit=commit):
            self._group(group_id, now).offsets[place] = committed

    def unstable(self, group_id: str) -> Collection[TopicPartition]:
        """The partitions of a group with offsets of open transactions."""
        return self._offsets.pending.of(group_id)

    def delete_offsets(self, group_id: str, places: Iterable[TopicPartition], now: int) -> Errors:
        """Forget offsets; the error of each partition. GROUP_ID_NOT_FOUND and NON_EMPTY_GROUP concern all of them."""
        return finish(self.removals.deleting_offsets(group_id, places, now))

    def delete(self, group_id: str, now: int) -> ErrorCode:
        """Forget a group that has no members, and all of its offsets."""
        return finish(self.removals.deleting(group_id, now))

    def forget_topic(self, topic: str, now: int) -> None:
        """Forget every offset of a topic that is gone."""
        finish(self.removals.forgetting_topic(topic, now))

    def expire(self, now: int) -> None:
        """Forget expired offsets, and groups that have nothing left."""
        finish(self.removals.expiring(now))

    def unload(self) -> None:
        """Forget every group, because their log is gone; members have to find their coordinator again."""
        for group in self:
            if isinstance(group, ConsumerGroup):
                self._consumers.consumers.forget_deadlines(group, group.members)
            elif isinstance(group, StreamsGroup):
                self._streams.forget_deadlines(group, group.members)
            elif isinstance(group, ShareGroup):
                self.shares.forget_deadlines(group)
            else:
                self._rebalances.dismiss(group, ErrorCode.NOT_COORDINATOR)
        self._groups.clear()
        self._offsets.pending = PendingOffsets()
        self.removals.clear()

    def next_deadline(self) -> int | None:
        """When `tick` must be called, unless something happens before."""
        return self._deadlines.next()

    def clock_was_set(self, by: int) -> None:
        """The time that events come with has jumped; what is due stays as far away as it was."""
        self._deadlines.move_all(by)

    def tick(self, now: int) -> None:
        """Do what is due."""
        finish(self.ticking(now))

    def ticking(self, now: int) -> Steps[None]:
        """The steps of `tick`."""
        while (due := self._deadlines.take(now)) is not None:
            yield
            group = self._groups.get(due.group_id)
            if group is None or isinstance(group, Group) == (due.kind in MODERN_KINDS):
                continue
            if isinstance(group, ConsumerGroup):
                self._consumers.time_is_over(group, due, now)
            elif isinstance(group, StreamsGroup):
                self._streams.time_is_over(group, due, now)
            elif isinstance(group, ShareGroup):
                self.shares.time_is_over(group, due, now)
            elif due.kind is Kind.REBALANCE:
                self._rebalances.time_is_over(group, now)
            elif due.kind is Kind.SYNC:
                self._rebalances.sync_is_over(group, now)
            elif due.kind is Kind.PENDING:
                self._rebalances.forget_pending(group, due.member_id, now)
            elif due.member_id in group.members:
                self._membership.session_is_over(group, due.member_id, now)

    def take_replies(self) -> list[Reply]:
        """The answers that are ready."""
        replies, self._rebalances.replies = self._rebalances.replies, []
        return replies

    def _check_join(self, join: Join) -> ErrorCode:
        settings = self.settings
        if not join.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not settings.min_session_timeout_ms <= join.session_timeout <= settings.max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if join.group_id not in self._groups and join.member_id != NO_MEMBER:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def _classic_group(self, group_id: str, now: int) -> Group:
        """The group of a name for the classic protocol: it replaces an empty group of another kind."""
        group = self._group(group_id, now)
        if isinstance(group, StreamsGroup):
            return self._streams.become_classic(group, now)
        assert not isinstance(group, ShareGroup)  # `join` refuses it
        return group if isinstance(group, Group) else self._consumers.become_classic(group, now)

    def _group(self, group_id: str, now: int) -> AnyGroup:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = Group(group_id, since=now)
        return group

    def _group_of_commit(self, group_id: str, key: MemberKey, now: int) -> AnyGroup:
        """The group of a name; a commit without a generation creates it."""
        if group_id not in self._groups and key.generation >= 0:
            raise GroupIdNotFoundError(f"group {group_id!r} has no members, found generation {key.generation}")
        return self._group(group_id, now)


def _missing(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
