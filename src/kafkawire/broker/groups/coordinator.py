"""The group coordinator: every group of the broker, what is asked of them, and what time does to them.

It does no I/O: records go to the log it is given, and requests that wait come back in `take_replies`. Whoever drives it
calls `tick` at `next_deadline`. Work over many groups or offsets is also there in steps (`steps`).
Rules:
- A group is made by a join with no member id, or by a commit from no generation; asking about a group makes none.
- The empty name is no group for members, but offsets may be kept under it, as Kafka allows for old clients.
- A group without members and offsets is gone at the next look for expired offsets, and its name is free again.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kafkawire.broker.groups.deadlines import Deadlines
from kafkawire.broker.groups.exchanges import NO_MEMBER, JoinResult, Reply, SyncResult
from kafkawire.broker.groups.group import Group
from kafkawire.broker.groups.membership import Membership, unique_suffix
from kafkawire.broker.groups.offsets import AT_ONCE, Offsets
from kafkawire.broker.groups.rebalance import Due, Kind, Rebalances
from kafkawire.broker.groups.states import State
from kafkawire.broker.groups.steps import finish
from kafkawire.broker.groups.writing import GroupWriter
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kafkawire.broker.groups.exchanges import Join, Leaver, MemberKey, Sync, Token
    from kafkawire.broker.groups.group import TopicPartition
    from kafkawire.broker.groups.offsets import Commit, Errors, Prepared
    from kafkawire.broker.groups.settings import GroupSettings
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.groups.writing import EntryLog


class GroupCoordinator:
    """Every group, driven by events and the time."""

    def __init__(self, settings: GroupSettings, log: EntryLog, *, suffix: Callable[[], str] = unique_suffix) -> None:
        self.settings = settings
        self._groups: dict[str, Group] = {}
        self._forgetting: dict[str, dict[str, Group]] = {}
        """The groups that may still have offsets of a topic that is gone, by its name."""
        self._deadlines: Deadlines[Due] = Deadlines()
        self._writer = GroupWriter(log)
        self._rebalances = Rebalances(settings, self._deadlines, self._writer)
        self._membership = Membership(self._rebalances, self._writer, suffix)
        self._offsets = Offsets(settings, self._rebalances, self._writer)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def load(self, groups: Iterable[Group], now: int) -> None:
        """Take over groups that were read from the log; their members have one session to show themselves."""
        for group in groups:
            self._groups[group.group_id] = group
            for member in group.members.values():
                self._rebalances.renew_session(group, member, now)

    def join(self, join: Join, token: Token, now: int) -> None:
        error = self._check_join(join)
        if error:
            self._rebalances.replies.append(Reply(token, JoinResult(error, join.member_id)))
            return
        group = self._group(join.group_id, now)
        self._membership.join(group, join, token, now)
        self._let_go_if_unused(group)

    def sync(self, sync: Sync, token: Token, now: int) -> None:
        group = self._groups.get(sync.group_id)
        if group is None:
            self._rebalances.replies.append(Reply(token, SyncResult(_missing(sync.group_id))))
            return
        self._membership.sync(group, sync, token, now)

    def heartbeat(self, group_id: str, key: MemberKey, now: int) -> ErrorCode:
        group = self._groups.get(group_id)
        return _missing(group_id) if group is None else self._membership.heartbeat(group, key, now)

    def leave(self, group_id: str, leavers: Iterable[Leaver], now: int) -> list[ErrorCode]:
        """Let members go; the error of each."""
        group = self._groups.get(group_id)
        if group is None:
            return [_missing(group_id) for _ in leavers]
        return [self._membership.leave(group, leaver, now) for leaver in leavers]

    def commit(self, group_id: str, key: MemberKey, commits: Mapping[TopicPartition, Commit], now: int) -> Errors:
        """Write offsets down; the error of each partition. GROUP_ID_NOT_FOUND for a member of no group."""
        prepared = {place: self.prepare(group_id, place, commit, now) for place, commit in commits.items()}
        return self.commit_prepared(group_id, key, prepared, now)

    def prepare(self, group_id: str, place: TopicPartition, commit: Commit, now: int) -> Prepared:
        """What the commit of one partition becomes, for `commit_prepared`."""
        return self._offsets.prepare(group_id, place, commit, now)

    def commit_prepared(
        self, group_id: str, key: MemberKey, commits: Mapping[TopicPartition, Prepared], now: int
    ) -> Errors:
        """Write prepared offsets down; the error of each partition. GROUP_ID_NOT_FOUND for a member of no group."""
        group = self._groups.get(group_id)
        if group is None:
            if key.generation >= 0:
                raise GroupIdNotFoundError(f"group {group_id!r} has no members, found generation {key.generation}")
            group = self._group(group_id, now)
        try:
            self._forget_before(group, commits, now)
            return self._offsets.commit(group, key, commits, now)
        except KafkaError as refusal:
            return dict.fromkeys(commits, ErrorCode(refusal.code))
        finally:
            self._let_go_if_unused(group)

    def delete_offsets(self, group_id: str, places: Iterable[TopicPartition], now: int) -> Errors:
        """Forget offsets; the error of each partition. GROUP_ID_NOT_FOUND and NON_EMPTY_GROUP concern all of them."""
        return finish(self.deleting_offsets(group_id, places, now))

    def deleting_offsets(self, group_id: str, places: Iterable[TopicPartition], now: int) -> Steps[Errors]:
        """The steps of `delete_offsets`."""
        return self._offsets.delete(self._get(group_id), places, now)

    def delete(self, group_id: str, now: int) -> ErrorCode:
        """Forget a group that has no members, and all of its offsets."""
        return finish(self.deleting(group_id, now))

    def deleting(self, group_id: str, now: int) -> Steps[ErrorCode]:
        """The steps of `delete`. A group that somebody joins meanwhile stays, without the offsets that are gone."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        try:
            while group.state is State.EMPTY and len(group.offsets) > AT_ONCE:
                yield from self._offsets.forget(group, list(islice(group.offsets, AT_ONCE)), now)
                if not self._has(group):
                    return ErrorCode.GROUP_ID_NOT_FOUND
            if group.state is not State.EMPTY:
                return ErrorCode.NON_EMPTY_GROUP
            self._bury(group, now)
        except KafkaError as refusal:
            return ErrorCode(refusal.code)
        return ErrorCode.NONE

    def forget_topic(self, topic: str, now: int) -> None:
        """Forget every offset of a topic that is gone."""
        finish(self.forgetting_topic(topic, now))

    def forgetting_topic(self, topic: str, now: int) -> Steps[None]:
        """The steps of `forget_topic`.

        A commit about a new topic of the same name must not be forgotten with the old ones: the group that it comes
        from forgets the old ones before it.
        """
        left = self._forgetting.setdefault(topic, {})
        left.update(self._groups)
        return self._forget_in(topic, left, now)

    def expire(self, now: int) -> None:
        """Forget expired offsets, and groups that have nothing left."""
        finish(self.expiring(now))

    def expiring(self, now: int) -> Steps[None]:
        """The steps of `expire`."""
        for group in list(self):
            yield
            if not self._has(group):
                continue
            yield from self._offsets.expire(group, now)
            is_unused = group.state is State.EMPTY and not group.offsets and not group.pending
            if is_unused and self._has(group):
                self._bury(group, now)

    def unload(self) -> None:
        """Forget every group, because their log is gone; members have to find their coordinator again."""
        for group in self:
            self._rebalances.dismiss(group, ErrorCode.NOT_COORDINATOR)
        self._groups.clear()
        for left in self._forgetting.values():
            left.clear()

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
            if group is None:
                continue
            if due.kind is Kind.REBALANCE:
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

    def _group(self, group_id: str, now: int) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = Group(group_id, since=now)
        return group

    def _get(self, group_id: str) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"no group {group_id!r}")
        return group

    def _has(self, group: Group) -> bool:
        """Whether a group is still one of these; between two steps it may have been deleted."""
        return self._groups.get(group.group_id) is group

    def _forget_in(self, topic: str, left: dict[str, Group], now: int) -> Steps[None]:
        while left:
            group = left.popitem()[1]
            if self._has(group):
                yield from self._offsets.forget_topic(group, topic, now)
            yield
        if self._forgetting.get(topic) is left:
            del self._forgetting[topic]

    def _forget_before(self, group: Group, commits: Iterable[TopicPartition], now: int) -> None:
        """Forget what a group has of topics that are gone, before it commits to new ones of their names."""
        if self._forgetting:
            for topic in self._forgetting.keys() & {topic for topic, _ in commits}:
                if self._forgetting[topic].pop(group.group_id, None) is not None:
                    finish(self._offsets.forget_topic(group, topic, now))

    def _let_go_if_unused(self, group: Group) -> None:
        """Forget a group that a refused request has made."""
        if group.is_simple and not group.offsets and not group.pending:
            del self._groups[group.group_id]

    def _bury(self, group: Group, now: int) -> None:
        self._writer.write_end(group, group.offsets, now)
        group.go(State.DEAD, now)
        del self._groups[group.group_id]


def _missing(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
