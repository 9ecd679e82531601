"""A coordinator with a manual clock, requests that keep their answers, and a list as its log."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import Join, JoinResult, Leaver, MemberKey, Protocol, Reply, Sync, SyncResult
from kafkawire.broker.groups.replay import Replay
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.messages import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.records import Entry
    from kafkawire.messages.errors import ErrorCode, KafkaError

START = 1_700_000_000_000
SESSION = 10_000
REBALANCE = 60_000
GROUP = "orders-readers"


def subscription(*topics: str) -> bytes:
    """The metadata of a consumer."""
    return b"\x00\x03" + ConsumerProtocolSubscription(topics=list(topics)).encode(3)


RANGE = (Protocol("range", subscription("orders")),)


class Request:
    """A join or a sync, and what came of it."""

    def __init__(self, asked_at: int) -> None:
        self.asked_at = asked_at
        self.answered_at: int | None = None
        self.reply: Reply | None = None

    @property
    def is_waiting(self) -> bool:
        return self.reply is None

    @property
    def error(self) -> ErrorCode:
        assert self.reply is not None, "no answer yet"
        return self.reply.result.error

    @property
    def joined(self) -> JoinResult:
        assert self.reply is not None, "no answer yet"
        assert isinstance(self.reply.result, JoinResult)
        return self.reply.result

    @property
    def synced(self) -> SyncResult:
        assert self.reply is not None, "no answer yet"
        assert isinstance(self.reply.result, SyncResult)
        return self.reply.result


class ListLog:
    """Records in memory; `failure` is what the next appends raise."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.failure: KafkaError | OSError | None = None

    def append(
        self, group_id: str, entries: Sequence[Entry], now: int, producer: tuple[int, int] | None = None
    ) -> None:
        if self.failure is not None:
            raise self.failure
        self.entries += entries


class ManualCoordinator:
    """One coordinator, its log and its clock."""

    def __init__(self, settings: GroupSettings | None = None, log: ListLog | None = None) -> None:
        self.now = START
        self.log = ListLog() if log is None else log
        numbers = count(1)
        self.coordinator = GroupCoordinator(settings or GroupSettings(), self.log, suffix=lambda: str(next(numbers)))
        self.requests: list[Request] = []

    def restarted(self, settings: GroupSettings | None = None) -> ManualCoordinator:
        """Another coordinator that finds only the log."""
        scene = ManualCoordinator(settings or self.coordinator.settings, self.log)
        scene.now = self.now
        replay = Replay()
        replay.entries(self.log.entries)
        scene.coordinator.load(replay.groups(), scene.now)
        return scene

    @property
    def group(self) -> Group:
        group = self.coordinator.find(GROUP)
        assert isinstance(group, Group)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[Protocol, ...] = RANGE,
        protocol_type: str = "consumer",
        session: int = SESSION,
        rebalance: int = REBALANCE,
        known_id: bool = False,
        can_skip: bool = False,
        group_id: str = GROUP,
    ) -> Request:
        request = self._request()
        join = Join(
            *(group_id, member_id, "client", "/127.0.0.1", session, rebalance, protocol_type, protocols),
            *(instance, known_id, can_skip),
        )
        self.coordinator.join(join, request, self.now)
        self.settle()
        return request

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        group_id: str = GROUP,
    ) -> Request:
        request = self._request()
        sync = Sync(group_id, member_id, generation, instance, protocol_type, protocol_name, assignments or {})
        self.coordinator.sync(sync, request, self.now)
        self.settle()
        return request

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None) -> ErrorCode:
        error = self.coordinator.heartbeat(GROUP, MemberKey(member_id, generation, instance), self.now)
        self.settle()
        return error

    def leave(self, member_id: str, instance: str | None = None) -> ErrorCode:
        (error,) = self.coordinator.leave(GROUP, [Leaver(member_id, instance)], self.now)
        self.settle()
        return error

    def commit(
        self, place: TopicPartition, offset: int, member_id: str = "", generation: int = -1, instance: str | None = None
    ) -> ErrorCode:
        key = MemberKey(member_id, generation, instance)
        errors = self.coordinator.commit(GROUP, key, {place: Commit(offset)}, self.now)
        self.settle()
        return errors[place]

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass; whatever is due happens at its own time."""
        end = self.now + milliseconds
        while (due := self.coordinator.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.coordinator.tick(self.now)
            self.settle()
        self.now = end

    def settle(self) -> None:
        for reply in self.coordinator.take_replies():
            request = reply.token
            assert isinstance(request, Request)
            assert request.reply is None, "answered twice"
            request.reply, request.answered_at = reply, self.now

    def join_new(self, **said: object) -> str:
        """The id of a newcomer, as new clients get theirs: asked for, then used."""
        return self.join(known_id=True, **said).joined.member_id  # type: ignore[arg-type]  # passed on

    def stable_group(self, members: int = 1, **said: object) -> list[str]:
        """Members of a stable group, the leader first, in generation 1 if alone and else 2; each is assigned its id."""
        first = self.join(**said)  # type: ignore[arg-type]  # passed on
        self.pass_time(0)
        for _ in range(members - 1):
            self.join(**said)  # type: ignore[arg-type]  # passed on
        if members > 1:
            self.join(first.joined.member_id, **said)  # type: ignore[arg-type]  # passed on
        ids = list(self.group.members)
        generation = self.group.generation
        parts = {member_id: member_id.encode() for member_id in ids}
        for member_id in sorted(ids, key=lambda each: each != self.group.leader):
            assert not self.sync(member_id, generation, parts).error
        return sorted(ids, key=lambda each: each != self.group.leader)

    def _request(self) -> Request:
        request = Request(self.now)
        self.requests.append(request)
        return request
