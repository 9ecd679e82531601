"""Membership of a consumer group, by the classic protocol: join, sync, heartbeat, leave.

Rules:
- Membership runs in a task beside the application. It joins, sends heartbeats, and rejoins when the coordinator, the
  topics or the application require it.
- Eager strategies give up all partitions before they join. Cooperative strategies keep them, give up only those that
  the new assignment takes away, and then join once more.
- Offsets of lost partitions (the coordinator no longer knows the generation or member id) are not committed.
- A member that does not poll for `max_poll_interval_ms` leaves, and rejoins at the next poll. A poll that waits for
  records counts as polling all the time.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafkawire.client._cluster.discovery import GROUP
from kafkawire.client._consume.assignors import (
    COOPERATIVE,
    assign,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    strategies,
)
from kafkawire.client.errors import GroupError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    Message,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client.options import ConsumerOptions

_log = logging.getLogger("kafkawire.client")
_Answer = TypeVar("_Answer", bound=Message)
_PROTOCOL: Final = "consumer"
_MOVED: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_LOST: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
_NOBODY: Final = ""


class Owner(Protocol):
    """The consumer, as its membership uses it."""

    async def give_up(self, partitions: list[TopicPartition], *, lost: bool) -> None: ...
    async def receive(self, partitions: list[TopicPartition], added: list[TopicPartition]) -> None: ...
    def wanted_topics(self) -> list[str]: ...
    def since_poll(self) -> float: ...
    def fail(self, error: Exception) -> None: ...


class Membership:
    """One member of one group."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, owner: Owner) -> None:
        assert options.group_id is not None
        self._cluster = cluster
        self._options = options
        self._owner = owner
        self._group = options.group_id
        self._strategies = strategies(options.partition_assignment_strategy)
        own = options.rebalance_timeout_ms
        self._rebalance_ms = options.max_poll_interval_ms if own is None else own
        self._is_cooperative = all(name in COOPERATIVE for name in self._strategies)
        self.member_id = _NOBODY
        self.generation = -1
        self.owned: list[TopicPartition] = []
        self._known: dict[str, int] = {}
        self._rejoin = asyncio.Event()
        self._polled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Leave the group, with a LeaveGroup request."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._give_up(self.owned, lost=False)
        await self._leave("the consumer was closed")

    def rejoin(self) -> None:
        """The subscription has changed; membership that has failed is started again."""
        self._rejoin.set()
        if self._task is not None and self._task.done():
            self.start()

    def topics_changed(self) -> None:
        """Metadata has changed: rejoin if topics were added, removed or extended."""
        if self.generation >= 0 and self._counts() != self._known:
            self._rejoin.set()

    def polled(self) -> None:
        """The application polls."""
        self._polled.set()

    def committer(self) -> tuple[str, int]:
        """The member id and generation of a commit."""
        return self.member_id, self.generation

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                if not self._owner.wanted_topics():
                    await self._rejoin.wait()
                self._rejoin.clear()
                await self._join()
                failures = 0
                await self._beat()
            except KafkaWireError as error:
                if not await self._survive(error):
                    self._owner.fail(error)
                    return
                failures += 1
                await asyncio.sleep(self._cluster.pause_before(failures))
            except Exception as error:
                _log.exception("group %s: membership ends", self._group)
                self._owner.fail(error)
                return

    async def _survive(self, error: KafkaWireError) -> bool:
        """Whether membership continues after an error; resets the member id if it is lost."""
        code = error.code if isinstance(error, KafkaError) else 0
        if code in _LOST:
            _log.warning("group %s: %s; rejoining", self._group, error)
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = _NOBODY
            self.generation = -1
            await self._give_up(self.owned, lost=True)
            return True
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            return True
        if code in _MOVED or not isinstance(error, KafkaError):
            self._cluster.forget_coordinator(GROUP, self._group)
        return is_retriable(error)

    async def _ask(self, message: Message, answer: type[_Answer], *, seconds: float | None = None) -> _Answer:
        node = await self._cluster.coordinator(GROUP, self._group)
        return await self._cluster.request(node, message, answer, purpose="group", timeout=seconds)

    async def _join(self) -> None:
        if not self._is_cooperative:
            await self._give_up(self.owned, lost=False)
        response = await self._ask_to_join()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            response = await self._ask_to_join()
        if response.error_code:
            raise error_for(response.error_code, f"JoinGroup of {self._group!r}")
        self.member_id, self.generation = response.member_id, response.generation_id
        strategy = response.protocol_name or self._strategies[0]
        self._known = self._counts()
        plan = await self._plan(strategy, response) if response.leader == self.member_id else []
        synced = await self._ask(
            SyncGroupRequest(
                group_id=self._group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self._options.group_instance_id,
                protocol_type=_PROTOCOL,
                protocol_name=strategy,
                assignments=plan,
            ),
            SyncGroupResponse,
            seconds=self._patience(),
        )
        if synced.error_code:
            raise error_for(synced.error_code, f"SyncGroup of {self._group!r}")
        await self._receive(decode_assignment(synced.assignment))

    async def _ask_to_join(self) -> JoinGroupResponse:
        topics = self._owner.wanted_topics()
        protocols = [
            JoinGroupRequest.JoinGroupRequestProtocol(
                name=name, metadata=encode_subscription(name, topics, self.owned, self.generation)
            )
            for name in self._strategies
        ]
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=self._options.session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_ms,
            member_id=self.member_id,
            group_instance_id=self._options.group_instance_id,
            protocol_type=_PROTOCOL,
            protocols=protocols,
        )
        return await self._ask(request, JoinGroupResponse, seconds=self._patience())

    def _patience(self) -> float:
        # joining and syncing wait for the slowest member, which has this time to rejoin
        return (self._rebalance_ms + self._options.request_timeout_ms) / 1000

    async def _plan(
        self, strategy: str, response: JoinGroupResponse
    ) -> list[SyncGroupRequest.SyncGroupRequestAssignment]:
        if response.skip_assignment:
            return []
        members = [
            decode_subscription(strategy, each.member_id, each.group_instance_id, each.metadata)
            for each in response.members
        ]
        topics = {topic for member in members for topic in member.topics}
        if not topics <= self._cluster.metadata.topics.keys():
            await self._cluster.refresh(topics)
        counts = {
            topic: len(self._cluster.metadata.topics[topic].partitions)
            for topic in topics
            if topic in self._cluster.metadata.topics
        }
        self._known = counts
        return [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in assign(strategy, members, counts).items()
        ]

    async def _receive(self, assigned: list[TopicPartition]) -> None:
        before, after = set(self.owned), set(assigned)
        taken = sorted(before - after)
        if taken:
            await self._give_up(taken, lost=False)
            self._rejoin.set()  # so that the revoked partitions can be assigned to others
        self.owned = assigned
        await self._owner.receive(assigned, sorted(after - before))

    async def _give_up(self, partitions: list[TopicPartition], *, lost: bool) -> None:
        if partitions:
            gone = list(partitions)
            await self._owner.give_up(gone, lost=lost)
            self.owned = [each for each in self.owned if each not in gone]

    async def _beat(self) -> None:
        """Send heartbeats until there is a reason to rejoin."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            try:
                async with asyncio.timeout(self._options.heartbeat_interval_ms / 1000):
                    await self._rejoin.wait()
                return
            except TimeoutError:
                pass
            if self._owner.since_poll() * 1000 > self._options.max_poll_interval_ms:
                await self._step_out()
                return
            try:
                await self._beat_once()
                last = loop.time()
            except KafkaWireError as error:
                code = error.code if isinstance(error, KafkaError) else 0
                if code == ErrorCode.REBALANCE_IN_PROGRESS:
                    return
                if code in _LOST or not is_retriable(error):
                    raise
                if loop.time() - last > self._options.session_timeout_ms / 1000:
                    raise error_for(ErrorCode.UNKNOWN_MEMBER_ID, f"no heartbeat got through: {error}") from error
                if code in _MOVED or not code:
                    self._cluster.forget_coordinator(GROUP, self._group)

    async def _beat_once(self) -> None:
        request = HeartbeatRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._options.group_instance_id,
        )
        answer = await self._ask(request, HeartbeatResponse)
        if answer.error_code:
            raise error_for(answer.error_code, f"Heartbeat of {self._group!r}")

    async def _step_out(self) -> None:
        self._polled.clear()  # before any wait, so that a poll meanwhile counts
        waited = self._options.max_poll_interval_ms
        _log.warning("group %s: no poll for %d ms; leaving until the next one", self._group, waited)
        await self._give_up(self.owned, lost=True)
        await self._leave("max_poll_interval_ms is over")
        await self._polled.wait()

    async def _leave(self, reason: str) -> None:
        if self.member_id == _NOBODY:
            return
        member_id, self.member_id, self.generation = self.member_id, _NOBODY, -1
        if self._options.group_instance_id is not None:
            return  # a static member may come back; its session timeout decides
        try:
            node = await self._cluster.coordinator(GROUP, self._group)
            connection = await self._cluster.connection(node, "group")
            version = connection.version("LeaveGroup")
            request = LeaveGroupRequest(group_id=self._group)
            if version >= 3:
                request.members = [LeaveGroupRequest.MemberIdentity(member_id=member_id, reason=reason)]
            else:
                request.member_id = member_id
            await connection.request(request, LeaveGroupResponse, version=version, timeout=5)
        except KafkaWireError as error:
            _log.info("group %s: leaving: %s", self._group, error)

    def _counts(self) -> dict[str, int]:
        topics = self._cluster.metadata.topics
        wanted: Iterable[str] = {*self._owner.wanted_topics(), *self._known}
        return {name: len(topics[name].partitions) for name in wanted if name in topics}


def check_group(group: str | None) -> str:
    """The group of a consumer; raises an error if it has none."""
    if group is None:
        raise GroupError("this call needs a group_id")
    return group
