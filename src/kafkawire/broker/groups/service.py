"""The coordinator in its node: its timer, its log, and the requests that wait.

Rules:
- Groups are loaded before the first connection. From then on every change goes through here, so that replies are sent
  and the timer is set after each.
- A reply about written records leaves when they are durable. Until then queries do not return them either.
- One timer serves all groups. It may fire early, but never late.
- Work over many groups takes turns with requests (`steps`). A turn has at least FEWEST_STEPS, so that small work is
  done when its call returns. Work under way is finished before the broker stops.
- Groups use the time of day, because offsets and their log do. When the system's clock is set, all deadlines move with
  it, and no session expires.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._clock import ClockJumps
from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._dispatch.turns import Turns
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.groups.consumer.commits import check_fetch
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.member import JOIN_EPOCH
from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.offsets_log import OffsetsLog, coordinator_error
from kafkawire.broker.groups.protocol import JoinResult, SyncResult
from kafkawire.broker.groups.settings import GroupSettings, GroupTimings
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.share.service import ShareMemberships
from kafkawire.broker.groups.steps import finish, finish_in_turns
from kafkawire.broker.groups.streams.commits import check_streams_fetch
from kafkawire.broker.groups.streams.creation import InternalTopics
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from kafkawire.broker._clock import Timer
    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.consumer.heartbeat import Beat, BeatResult
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.offsets import Commit, Errors
    from kafkawire.broker.groups.protocol import Join, Leaver, MemberKey, Reply, Sync
    from kafkawire.broker.groups.share.heartbeat import ShareBeat, ShareResult
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.groups.streams.heartbeat import StreamsBeat, StreamsResult

_log: Final = logging.getLogger(__name__)


FEWEST_STEPS: Final = 16


class _WaitingRequest(NamedTuple):
    group_id: str
    future: Future[JoinResult | SyncResult]


class Groups:
    """Every group of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._entries = OffsetsLog(node)
        timings = GroupTimings(node.group_configs)
        self._coordinator = GroupCoordinator(
            GroupSettings.of(node.config),
            self._entries,
            topics=node.topics,
            timing=timings.consumer,
            streams_timing=timings.streams,
            share_timing=timings.share,
        )
        self.internal_topics = InternalTopics(node)
        """The internal topics of streams applications that are being created."""
        self.shares = ShareMemberships(node, self._coordinator.shares, lambda: self._now, self._dispatch_replies)
        """The members of share groups."""
        self._timer: Timer | None = None
        self._rings_at = 0
        self._jumps = ClockJumps(node.clock)
        self._cleaning: Timer | None = None
        self._pending_replies: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        self._under_way: list[Steps[None]] = []

    def __iter__(self) -> Iterator[AnyGroup]:
        return iter(self._coordinator)

    def find(self, group_id: str) -> AnyGroup | None:
        return self._coordinator.find(group_id)

    def start(self) -> None:
        groups, pending = self._entries.load()
        self._coordinator.load(groups, self._now, pending)
        self._dispatch_replies()
        self._clean_later()

    def stop(self) -> None:
        self.shares.stop()
        for work in self._under_way:
            finish(work)
        for timer in (self._timer, self._cleaning):
            if timer is not None:
                timer.cancel()
        self._timer = self._cleaning = None

    def topic_deleted(self, topic: Topic) -> None:
        if topic.name == CONSUMER_OFFSETS:
            self._entries.forget()
            self._coordinator.unload()
        else:
            self.shares.topic_deleted(list(self), topic)
            steps = self._coordinator.removals.forgetting_topic(topic.name, self._now)
            self._work_through(steps, f"offsets of the deleted topic {topic.name} are still kept")
        self._dispatch_replies()

    def gauges(self) -> Iterator[Gauge]:
        groups = list(self)
        states = Counter(group.state.value for group in groups)
        for state, count in sorted(states.items()):
            yield Gauge("kafkawire_groups", {"state": state}, count)
        for group in groups:
            yield Gauge("kafkawire_group_members", {"group": group.group_id}, len(group.members))
            for (topic, index), committed in list(group.offsets.items()):
                log = self._node.logs.partitions.get((topic, index))
                if log is not None:
                    labels = {"group": group.group_id, "topic": topic, "partition": str(index)}
                    yield Gauge("kafkawire_group_lag", labels, max(0, log.high_watermark - committed.offset))

    async def prepare(self) -> None:
        """Make the groups' topic if it is not there yet; comes before the first record of a group is written."""
        try:
            await self._node.ensure_internal_topic(CONSUMER_OFFSETS)
        except KafkaError as error:
            raise coordinator_error(CONSUMER_OFFSETS, error) from error

    async def join(self, join: Join) -> JoinResult:
        await self.prepare()
        waiting = self._wait(join.group_id)
        self._coordinator.join(join, waiting, self._now)
        self._dispatch_replies()
        result = await waiting.future
        assert isinstance(result, JoinResult)
        return result

    async def sync(self, sync: Sync) -> SyncResult:
        waiting = self._wait(sync.group_id)
        self._coordinator.sync(sync, waiting, self._now)
        self._dispatch_replies()
        result = await waiting.future
        assert isinstance(result, SyncResult)
        return result

    async def consumer_heartbeat(self, beat: Beat) -> BeatResult:
        """The answer to a heartbeat of the consumer protocol; a refusal is raised."""
        if beat.epoch == JOIN_EPOCH:
            await self.prepare()
        try:
            return self._coordinator.consumer_heartbeat(beat, self._now)
        finally:
            for wanted in self._coordinator.take_resolutions():
                failure = f"regular expressions of group {beat.group_id!r} are not resolved"
                self._work_through(self._coordinator.resolving(wanted, self._now), failure)
            self._dispatch_replies()

    async def streams_heartbeat(self, beat: StreamsBeat) -> StreamsResult:
        """The answer to a heartbeat of the streams protocol; a refusal is raised."""
        if beat.epoch == JOIN_EPOCH:
            await self.prepare()
        try:
            return self._coordinator.streams_heartbeat(beat, self._now)
        finally:
            self._dispatch_replies()

    async def share_heartbeat(self, beat: ShareBeat, context: RequestContext) -> ShareResult:
        """The answer to a heartbeat of the share protocol; a refusal is raised."""
        if beat.epoch == JOIN_EPOCH:
            await self.prepare()
        return await self.shares.heartbeat(beat, context)

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> ErrorCode:
        """Why a member may not fetch the offsets of a group, or NONE."""
        group = self._coordinator.find(group_id)
        if isinstance(group, StreamsGroup):
            return check_streams_fetch(group, member_id, epoch)
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        return check_fetch(group, member_id, epoch) if isinstance(group, ConsumerGroup) else ErrorCode.NONE

    @property
    def assignors(self) -> Sequence[str]:
        """The assignors of consumer groups, the default first."""
        return self._coordinator.settings.consumer.assignors

    def heartbeat(self, group_id: str, key: MemberKey) -> ErrorCode:
        error = self._coordinator.heartbeat(group_id, key, self._now)
        self._dispatch_replies()
        return error

    async def leave(self, group_id: str, leavers: Iterable[Leaver], context: RequestContext) -> list[ErrorCode]:
        """Let members go; the error of each."""
        try:
            return await finish_in_turns(self._coordinator.leaving(group_id, leavers, self._now), context)
        finally:
            self._dispatch_replies()

    async def commit(
        self, group_id: str, key: MemberKey, commits: Mapping[TopicPartition, Commit], context: RequestContext
    ) -> Errors:
        """Write the offsets of an OffsetCommit down; the error of each partition."""
        now = self._now
        prepared = {}
        for place, commit in commits.items():
            prepared[place] = self._coordinator.prepare(group_id, place, commit, now)
            await context.yield_if_due()
        errors = self._coordinator.commit_prepared(group_id, key, prepared, self._now, version=context.version)
        self._dispatch_replies()
        return errors

    async def commit_in_transaction(
        self,
        group_id: str,
        key: MemberKey,
        commits: Mapping[TopicPartition, Commit],
        producer: tuple[int, int],
        context: RequestContext,
    ) -> Errors:
        """Write offsets down as part of a producer's transaction; the error of each partition."""
        now = self._now
        prepared = {}
        for place, commit in commits.items():
            prepared[place] = self._coordinator.prepare(group_id, place, commit, now)
            await context.yield_if_due()
        index = self._entries.partition_of(group_id)
        return self._coordinator.commit_in_transaction(group_id, key, prepared, producer, index, self._now)

    def end_transaction(self, index: int, last_offset: int, producer_id: int, *, commit: bool) -> None:
        """A producer's marker was written to a partition of `__consumer_offsets`."""
        self._entries.note(index, last_offset)
        self._coordinator.end_transaction(index, producer_id, commit=commit, now=self._now)

    def unstable(self, group_id: str) -> Collection[TopicPartition]:
        """The partitions of a group with offsets of open transactions."""
        return self._coordinator.unstable(group_id)

    def offsets_partition(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that holds a group; the topic exists."""
        return self._entries.partition_of(group_id)

    async def delete_offsets(self, group_id: str, places: Iterable[TopicPartition], context: RequestContext) -> Errors:
        """Forget offsets; the error of each partition."""
        return await finish_in_turns(self._coordinator.removals.deleting_offsets(group_id, places, self._now), context)

    async def delete(self, group_id: str, context: RequestContext) -> ErrorCode:
        """Forget a group without members."""
        group = self.find(group_id)
        if isinstance(group, ShareGroup) and group.is_empty:
            try:
                await self.shares.end(group, context)
            except KafkaError as refusal:
                return ErrorCode(refusal.code)
        return await finish_in_turns(self._coordinator.removals.deleting(group_id, self._now), context)

    async def durable(self, group_ids: Iterable[str], context: RequestContext) -> None:
        """Wait until the disk has everything that was written about these groups, where that is promised."""
        for group_id in group_ids:
            durable = self._entries.durable(group_id)
            if durable is not None:
                try:
                    await durable
                except KafkaError as error:
                    raise coordinator_error(group_id, error) from error
                context.begin_turn()
            await context.yield_if_due()

    @property
    def _now(self) -> int:
        """The time of day. If the system's clock was set, sessions and rebalances continue as if it was not."""
        set_by = self._jumps.take()
        if set_by:
            self._rings_at += set_by
            self._coordinator.clock_was_set(set_by)
        return self._node.clock.now()

    def _wait(self, group_id: str) -> _WaitingRequest:
        return _WaitingRequest(group_id, asyncio.get_running_loop().create_future())

    def _dispatch_replies(self) -> None:
        """Send the answers that are ready, and set the timer."""
        for reply in self._coordinator.take_replies():
            waiting = reply.token
            assert isinstance(waiting, _WaitingRequest)
            durable = self._entries.durable(waiting.group_id) if reply.needs_sync else None
            if durable is None:
                _answer(waiting, reply)
            else:
                task = asyncio.get_running_loop().create_task(_answer_later(durable, waiting, reply))
                self._pending_replies.add(task)
                task.add_done_callback(self._pending_replies.discard)
        self._set_timer()

    def _set_timer(self) -> None:
        now = self._now
        due = self._coordinator.next_deadline()
        if due is None or (self._timer is not None and self._rings_at <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = due
        self._timer = self._node.clock.call_later(max(0, due - now), self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._work_through(self._coordinator.ticking(self._now), "what is due is not done")

    def _clean_later(self) -> None:
        delay = max(1, self._coordinator.settings.retention_check_ms)
        self._cleaning = self._node.clock.call_later(delay, self._clean)

    def _clean(self) -> None:
        steps = self._coordinator.removals.expiring(self._now)
        self._work_through(steps, "expired offsets are still kept", self._clean_later)

    def _work_through(self, steps: Steps[None], failure: str, then: Callable[[], None] | None = None) -> None:
        """Run steps, in turns with requests if there are many; a failure is logged."""
        work = self._work(steps, failure, then)
        for _ in islice(work, FEWEST_STEPS):
            """Small work needs no turns."""
        if has_loop():
            self._under_way.append(work)
            self._turns.run(self._until_done(work))
        else:
            finish(work)

    def _work(self, steps: Steps[None], failure: str, then: Callable[[], None] | None) -> Steps[None]:
        try:
            yield from steps
        except KafkaError as error:
            _log.error("%s: %s", failure, error)
        self._dispatch_replies()
        if then is not None:
            then()

    def _until_done(self, work: Steps[None]) -> Steps[None]:
        yield from work
        self._under_way.remove(work)


def has_loop() -> bool:
    """Whether requests are served meanwhile; a node that is only opened has no loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _answer(waiting: _WaitingRequest, reply: Reply) -> None:
    if not waiting.future.done():
        waiting.future.set_result(reply.result)


async def _answer_later(durable: Awaitable[None], waiting: _WaitingRequest, reply: Reply) -> None:
    try:
        await durable
    except KafkaError as error:
        if not waiting.future.done():
            waiting.future.set_exception(coordinator_error(waiting.group_id, error))
    else:
        _answer(waiting, reply)
