"""The coordinator at work in a node: its timer, its log, and the requests that wait.

Rules:
- Groups are loaded before the first connection; from then on every change goes through here, so that answers leave and
  the timer is set after each.
- An answer that tells of something written leaves when the log says that it is settled. Until then nobody is told of
  it, not even those who only ask.
- One timer serves all groups; it may ring early, and never late.
- Work over many groups takes turns with requests (`steps`). A turn has at least FEWEST_STEPS, so that small work is
  done when its call returns. Work under way is finished before the broker stops.
- Groups live by the time of day, which offsets and their log are dated with; when somebody sets it, everything that is
  due moves along, and no session ends by it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.exchanges import JoinResult, SyncResult
from kafkawire.broker.groups.offsets_log import OffsetsLog
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.broker.groups.steps import finish, finish_in_turns
from kafkawire.broker.groups.writing import coordinator_error
from kafkawire.broker.service import Gauge
from kafkawire.broker.topics import CONSUMER_OFFSETS
from kafkawire.broker.turns import Turns
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from kafkawire.broker.clock import Timer
    from kafkawire.broker.groups.exchanges import Join, Leaver, MemberKey, Reply, Sync
    from kafkawire.broker.groups.group import Group, TopicPartition
    from kafkawire.broker.groups.offsets import Commit, Errors
    from kafkawire.broker.groups.steps import Steps
    from kafkawire.broker.node import Node
    from kafkawire.broker.serving import RequestContext
    from kafkawire.broker.topics import Topic
    from kafkawire.messages.errors import ErrorCode

_log: Final = logging.getLogger(__name__)
ROUNDING_MS: Final = 10
"""How far two readings of the clocks may be apart without anybody having set one."""


FEWEST_STEPS: Final = 16


class _Waiting(NamedTuple):
    group_id: str
    future: Future[JoinResult | SyncResult]


class Groups:
    """Every group of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._entries = OffsetsLog(node)
        self._coordinator = GroupCoordinator(GroupSettings.of(node.config), self._entries)
        self._timer: Timer | None = None
        self._rings_at = 0
        self._apart = node.clock.now() - node.clock.elapsed()
        self._cleaning: Timer | None = None
        self._settling: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        self._under_way: list[Steps[None]] = []

    def __iter__(self) -> Iterator[Group]:
        return iter(self._coordinator)

    def find(self, group_id: str) -> Group | None:
        return self._coordinator.find(group_id)

    def start(self) -> None:
        self._coordinator.load(self._entries.load(), self._now)
        self._settle()
        self._clean_later()

    def stop(self) -> None:
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
            steps = self._coordinator.forgetting_topic(topic.name, self._now)
            self._work_through(steps, f"offsets of the deleted topic {topic.name} are still kept")
        self._settle()

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
        self._settle()
        result = await waiting.future
        assert isinstance(result, JoinResult)
        return result

    async def sync(self, sync: Sync) -> SyncResult:
        waiting = self._wait(sync.group_id)
        self._coordinator.sync(sync, waiting, self._now)
        self._settle()
        result = await waiting.future
        assert isinstance(result, SyncResult)
        return result

    def heartbeat(self, group_id: str, key: MemberKey) -> ErrorCode:
        error = self._coordinator.heartbeat(group_id, key, self._now)
        self._settle()
        return error

    async def leave(self, group_id: str, leavers: Iterable[Leaver], context: RequestContext) -> list[ErrorCode]:
        """Let members go; the error of each."""
        errors = []
        for leaver in leavers:
            errors += self._coordinator.leave(group_id, [leaver], self._now)
            self._settle()
            await context.yield_if_due()
        return errors

    async def commit(
        self, group_id: str, key: MemberKey, commits: Mapping[TopicPartition, Commit], context: RequestContext
    ) -> Errors:
        """Write offsets down; the error of each partition."""
        now = self._now
        prepared = {}
        for place, commit in commits.items():
            prepared[place] = self._coordinator.prepare(group_id, place, commit, now)
            await context.yield_if_due()
        errors = self._coordinator.commit_prepared(group_id, key, prepared, self._now)
        self._settle()
        return errors

    async def delete_offsets(self, group_id: str, places: Iterable[TopicPartition], context: RequestContext) -> Errors:
        """Forget offsets; the error of each partition."""
        return await finish_in_turns(self._coordinator.deleting_offsets(group_id, places, self._now), context)

    async def delete(self, group_id: str, context: RequestContext) -> ErrorCode:
        """Forget a group without members."""
        return await finish_in_turns(self._coordinator.deleting(group_id, self._now), context)

    async def settle(self, group_ids: Iterable[str], context: RequestContext) -> None:
        """Wait until the disk has everything that was written about these groups, where that is promised."""
        for group_id in group_ids:
            settled = self._entries.settled(group_id)
            if settled is not None:
                try:
                    await settled
                except KafkaError as error:
                    raise coordinator_error(group_id, error) from error
                context.begin_turn()
            await context.yield_if_due()

    @property
    def _now(self) -> int:
        """The time of day; where somebody has set it, sessions and rebalances go on as if nobody had."""
        clock = self._node.clock
        now = clock.now()
        set_by = now - clock.elapsed() - self._apart
        if abs(set_by) > ROUNDING_MS:
            self._apart += set_by
            self._rings_at += set_by
            self._coordinator.clock_was_set(set_by)
        return now

    def _wait(self, group_id: str) -> _Waiting:
        return _Waiting(group_id, asyncio.get_running_loop().create_future())

    def _settle(self) -> None:
        """Send the answers that are ready, and set the timer."""
        for reply in self._coordinator.take_replies():
            waiting = reply.token
            assert isinstance(waiting, _Waiting)
            settled = self._entries.settled(waiting.group_id) if reply.settled else None
            if settled is None:
                _answer(waiting, reply)
            else:
                task = asyncio.get_running_loop().create_task(_answer_later(settled, waiting, reply))
                self._settling.add(task)
                task.add_done_callback(self._settling.discard)
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
        steps = self._coordinator.expiring(self._now)
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
        self._settle()
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


def _answer(waiting: _Waiting, reply: Reply) -> None:
    if not waiting.future.done():
        waiting.future.set_result(reply.result)


async def _answer_later(settled: Awaitable[None], waiting: _Waiting, reply: Reply) -> None:
    try:
        await settled
    except KafkaError as error:
        if not waiting.future.done():
            waiting.future.set_exception(coordinator_error(waiting.group_id, error))
    else:
        _answer(waiting, reply)
