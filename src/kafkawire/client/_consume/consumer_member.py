"""Membership of a consumer group, by the consumer protocol (KIP-848): the asyncio driver of `member_state`.

Rules:
- Two tasks run beside the application. One sends heartbeats, the other moves partitions one step after the other. So
  heartbeats continue while offsets are committed and the listener works.
- Partitions are given up with a commit and a call of the listener. Lost ones are not committed.
- A heartbeat leaves at once if there is something to say, else after the interval that the coordinator states.
- A member that does not poll for `max_poll_interval_ms` leaves, and joins again at the next poll.
- An assignment names topics by id. The names of unknown ids are looked up; until then only the known part is taken.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
from typing import TYPE_CHECKING, Final, Protocol
from uuid import uuid4

from kafkawire.client._cluster.discovery import GROUP
from kafkawire.client._cluster.metadata import NO_ID, TopicPartition
from kafkawire.client._consume.member_state import MemberState, Phase, Places, Reaction
from kafkawire.client.errors import GroupError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ConsumerGroupHeartbeatResponse, MetadataRequest, MetadataResponse
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for
from kafkawire.wire import NegotiationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from uuid import UUID

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.connection import Connection
    from kafkawire.client._consume.member_state import HeartbeatResponse
    from kafkawire.client.options import ConsumerOptions

_log = logging.getLogger("kafkawire.client")
_BY_ID: Final = 12  # the first version of Metadata in which a topic may be asked for by its id alone
_REGEX_FROM: Final = 1
LEAVES_WITHIN: Final = 5.0
_NO_PROTOCOL: Final = (
    "the broker does not serve the consumer protocol; set group_protocol=classic, or use a broker of Kafka 4.0 or newer"
    ", with the feature group.version 1 and consumer among its group.coordinator.rebalance.protocols"
)
_NO_REGEX: Final = "the broker does not resolve regular expressions; subscribe with a pattern of the module re instead"


class Owner(Protocol):
    """The consumer, as its membership uses it."""

    async def give_up(self, partitions: list[TopicPartition], *, lost: bool) -> None: ...
    async def receive(self, partitions: list[TopicPartition], added: list[TopicPartition]) -> None: ...
    def subscribed(self) -> tuple[Iterable[str], str | None]: ...
    def since_poll(self) -> float: ...
    def fail(self, error: Exception) -> None: ...
    def recovered_from(self, error: Exception) -> None: ...


class ConsumerMembership:
    """One member of one group."""

    no_protocol = _NO_PROTOCOL

    def __init__(self, cluster: Cluster, state: MemberState, owner: Owner, max_poll_interval_ms: int) -> None:
        self._cluster = cluster
        self._max_poll_interval_ms = max_poll_interval_ms
        self._owner = owner
        self._group = state.group_id
        self._state = state
        self.generation = -1
        self._names: dict[UUID, str] = {}
        self._beat_now = asyncio.Event()
        self._move_now = asyncio.Event()
        self._moved = asyncio.Event()
        self._polled = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failures = 0
        self._is_closing = False
        self._reported: KafkaError | None = None

    @property
    def member_id(self) -> str:
        return self._state.member_id

    @property
    def commits_within(self) -> float:
        """Seconds for the commit before partitions are given up; few while the application waits for the close."""
        seconds = self._state.rebalance_ms / 1000
        return min(seconds, LEAVES_WITHIN) if self._is_closing else seconds

    @property
    def era(self) -> int:
        """Changes when the membership is lost."""
        return self._state.era

    def start(self) -> None:
        self._is_closing = False
        self._state.subscribe(*self._owner.subscribed())
        self._tasks = [
            asyncio.create_task(self._guarded(self._beat)),
            asyncio.create_task(self._guarded(self._move)),
        ]

    async def close(self) -> None:
        """Give up the partitions and leave; a static member leaves for a while."""
        self._is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._give_up(self._state.owned, lost=self._state.phase is not Phase.MEMBER)
        if self._state.may_be_known:
            await self._leave()
        self.generation = -1

    def rejoin(self) -> None:
        """The subscription has changed; membership that has failed is started again."""
        self._state.subscribe(*self._owner.subscribed())
        self._beat_now.set()
        if any(task.done() for task in self._tasks):
            for task in self._tasks:
                task.cancel()
            self.start()

    def topics_changed(self) -> None:
        """Metadata has changed: a pattern may match other topics, and topics may have names now."""
        if self._state.phase is not Phase.FAILED:
            self._state.subscribe(*self._owner.subscribed())
        self._beat_now.set()
        self._move_now.set()

    def polled(self) -> None:
        """The application polls."""
        self._polled.set()

    def committer(self) -> tuple[str, int]:
        """The member id and epoch of a commit; raises an error if the membership is lost."""
        if self._state.phase in (Phase.LOST, Phase.AWAY, Phase.RELEASING) or (self._state.era and self.generation < 0):
            raise error_for(ErrorCode.UNKNOWN_MEMBER_ID, f"group {self._group!r}: the membership was lost")
        return ("", -1) if self.generation < 0 else (self.member_id, self.generation)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:
            _log.exception("group %s: membership ends", self._group)
            self._owner.fail(error)

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._beat_now.clear()
            if self._poll_left() <= 0:
                await self._step_out()
                continue
            left = min(self._state.due_at() - loop.time(), self._poll_left())
            if left > 0:
                await _heard(self._beat_now, left)
                continue
            try:
                answer = await self._heartbeat(loop.time())
                if answer.error_code:
                    raise error_for(answer.error_code, answer.error_message or f"group {self._group!r}")
            except KafkaWireError as error:
                self._failures += 1
                self._failed(error, loop.time() + self._cluster.pause_before(self._failures))
            else:
                self._state.answered(answer)
                self._failures = 0
                if self._reported is not None:
                    self._owner.recovered_from(self._reported)
                    self._reported = None
            self._follow()

    def _follow(self) -> None:
        """Make the epoch known, and let partitions move."""
        self.generation = self._state.epoch if self._state.phase is Phase.MEMBER else -1
        self._move_now.set()

    def _failed(self, error: KafkaWireError, until: float) -> None:
        if isinstance(error, NegotiationError):
            reason = _NO_REGEX if self._state.regex and error.args == (_NO_REGEX,) else self.no_protocol
            self._fail(GroupError(f"group {self._group!r}: {reason}"), error)
        elif not isinstance(error, KafkaError):
            if not getattr(error, "retriable", False):
                self._fail(error)
                return
            _log.info("group %s: heartbeat: %s", self._group, error)
            self._cluster.forget_coordinator(GROUP, self._group)
            self._state.unanswered(until)
        else:
            self._refused(error, until)

    def _refused(self, error: KafkaError, until: float) -> None:
        reaction = self._state.refused(error, until)
        if reaction is Reaction.FAIL:
            if error.code == ErrorCode.UNSUPPORTED_VERSION:
                self._fail(GroupError(f"group {self._group!r}: {self.no_protocol} ({error})"), error)
            else:
                self._fail(error)
        elif reaction is Reaction.REPORT:
            self._reported = error
            self._owner.fail(error)
        elif reaction is Reaction.MOVED:
            self._cluster.forget_coordinator(GROUP, self._group)
        elif reaction is Reaction.REJOIN:
            _log.warning("group %s: %s; joining again", self._group, error)

    def _fail(self, error: KafkaWireError, cause: BaseException | None = None) -> None:
        self._state.fail()
        error.__cause__ = cause
        self._owner.fail(error)

    async def _heartbeat(self, now: float) -> HeartbeatResponse:
        """Send the next heartbeat."""
        request = self._state.request(now)
        connection = await self._to_coordinator()
        version = connection.version("ConsumerGroupHeartbeat")
        if request.subscribed_topic_regex is not None and version < _REGEX_FROM:
            raise NegotiationError(_NO_REGEX)
        return await connection.request(request, ConsumerGroupHeartbeatResponse, version=version)

    async def _goodbye(self) -> HeartbeatResponse:
        """Send the heartbeat that leaves."""
        connection = await self._to_coordinator()
        return await connection.request(
            self._state.leave_request(), ConsumerGroupHeartbeatResponse, timeout=LEAVES_WITHIN
        )

    async def _to_coordinator(self) -> Connection:
        node = await self._cluster.coordinator(GROUP, self._group)
        return await self._cluster.connection(node, "group")

    def _poll_left(self) -> float:
        """Seconds until the application must poll."""
        if self._state.phase not in (Phase.JOINING, Phase.MEMBER):
            return math.inf
        return self._max_poll_interval_ms / 1000 - self._owner.since_poll()

    async def _step_out(self) -> None:
        self._polled.clear()  # before any wait, so that a poll meanwhile counts
        waited = self._max_poll_interval_ms
        _log.warning("group %s: no poll for %d ms; leaving until the next one", self._group, waited)
        self._state.step_out()
        self._follow()
        await self._leave()
        while self._state.must_drop:
            self._moved.clear()
            await self._moved.wait()
        await self._polled.wait()
        self._state.come_back()

    async def _leave(self) -> None:
        try:
            answer = await self._goodbye()
            if answer.error_code:
                raise error_for(answer.error_code, answer.error_message or f"group {self._group!r}")
        except KafkaWireError as error:
            _log.info("group %s: leaving: %s", self._group, error)

    async def _move(self) -> None:
        attempts = 0
        while True:
            self._move_now.clear()
            if self._state.must_drop:
                await self._give_up(self._state.owned, lost=True)
                self._state.dropped()
                self._stepped()
                continue
            step = self._state.step(self._cluster.metadata.names)
            if step is None or not (step.give_up or step.take or step.nameless):
                attempts = 0
                await self._move_now.wait()
            elif step.give_up:
                await self._give_up(step.give_up, lost=False)
                self._state.gave_up(step.give_up, step.era)
                self._stepped()
            elif step.take:
                await self._take(step.take, step.era)
            else:
                attempts += 1
                await self._learn(step.nameless)
                if self._state.step(self._cluster.metadata.names) == step:
                    await _heard(self._move_now, self._cluster.pause_before(attempts))

    def _stepped(self) -> None:
        self._beat_now.set()
        self._moved.set()

    async def _give_up(self, places: Places, *, lost: bool) -> None:
        if places:
            await self._owner.give_up(self._partitions(places), lost=lost)

    async def _take(self, places: Places, era: int) -> None:
        known = {topic: self._names[topic] for topic, _ in self._state.owned}
        self._names = known | {topic: self._cluster.metadata.names[topic] for topic, _ in places}
        if self._state.took(places, era):
            self._stepped()
            await self._owner.receive(self._partitions(self._state.owned), self._partitions(places))

    def _partitions(self, places: Places) -> list[TopicPartition]:
        return sorted(TopicPartition(self._names[topic], number) for topic, number in places)

    async def _learn(self, topics: Iterable[UUID]) -> None:
        """Look up the names of topics by their ids; those that do not exist any more stay unknown."""
        try:
            connection = await self._cluster.connection(self._cluster.any_node())
            wanted = [MetadataRequest.MetadataRequestTopic(topic_id=topic, name=None) for topic in sorted(topics)]
            request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
            version = max(_BY_ID, connection.version("Metadata"))
            answer = await connection.request(request, MetadataResponse, version=version)
            names = [each.name for each in answer.topics if each.name and each.topic_id != NO_ID]
            if names:
                await self._cluster.refresh(names)
        except KafkaWireError as error:
            _log.info("group %s: names of topics: %s", self._group, error)


def join_as_consumer(cluster: Cluster, options: ConsumerOptions, owner: Owner) -> ConsumerMembership:
    """A member of the group of a consumer; `start` joins."""
    assert options.group_id is not None
    own = options.rebalance_timeout_ms
    state = MemberState(
        options.group_id,
        new_member_id(),
        rebalance_ms=options.max_poll_interval_ms if own is None else own,
        instance_id=options.group_instance_id,
        assignor=options.group_remote_assignor,
    )
    return ConsumerMembership(cluster, state, owner, options.max_poll_interval_ms)


def new_member_id() -> str:
    """A member id as Java's clients make it: 22 characters, and the first is not a dash.

    >>> len(new_member_id())
    22
    """
    made = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
    return new_member_id() if made.startswith("-") else made


async def _heard(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; False on timeout."""
    try:
        async with asyncio.timeout(None if seconds == math.inf else seconds):
            await event.wait()
        return True
    except TimeoutError:
        return False
