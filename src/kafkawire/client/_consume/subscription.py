"""The partitions of a consumer: by topics, by a pattern or assigned by hand; their positions and commits.

Rules:
- Either topics are subscribed to, or partitions are assigned by hand, never both.
- With a group the coordinator assigns partitions; without one a subscriber has every partition of its topics.
- A new partition without a position starts at the committed offset of the group, else where `auto_offset_reset` says.
- Before partitions are revoked, their offsets are committed (with auto-commit), and the listener is called.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.client._cluster.discovery import calls_for_refresh
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.committer import Committer
from kafkawire.client._consume.consumer_member import join_as_consumer
from kafkawire.client._consume.group_member import Membership
from kafkawire.client._consume.offsets import ask_leaders
from kafkawire.client._consume.positions import COMMITTED, Assignment
from kafkawire.client.errors import ClientError, NoOffsetError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._consume.commits import OffsetAndMetadata
    from kafkawire.client._consume.consumer_member import ConsumerMembership
    from kafkawire.client._consume.positions import Stretch
    from kafkawire.client.options import ConsumerOptions

_log = logging.getLogger("kafkawire.client")
_INTERNAL: Final = "__"


class SubscriptionPattern(NamedTuple):
    """A regular expression (RE2) that the broker resolves, with `group_protocol=consumer`; it matches whole names."""

    pattern: str


AnyPattern = str | re.Pattern[str] | SubscriptionPattern


class RebalanceListener:
    """Called when partitions are assigned and revoked; either method may be a coroutine."""

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> Any:
        """These partitions are about to be revoked, or are lost; the last chance to commit."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> Any:
        """These partitions are new; the others stay assigned."""


class Subscription:
    """The partitions of a consumer; `changed` is called whenever there may be records to fetch or an error to raise."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, changed: Callable[[], None]) -> None:
        self.assignment = Assignment(options.auto_offset_reset)
        self.topics: set[str] = set()
        self.pattern: re.Pattern[str] | SubscriptionPattern | None = None
        self.listener = RebalanceListener()
        self.commits = Committer(cluster, options, self.assignment)
        self.error: Exception | None = None
        self._cluster = cluster
        self._options = options
        self._changed = changed
        self.last_poll = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._aside: set[asyncio.Task[None]] = set()
        self._missing: set[str] = set()
        self._running = False

    async def start(self) -> None:
        self._running = True
        self.polled()
        self._cluster.on_update.append(self._updated)
        if self._options.group_id is not None and self._options.enable_auto_commit:
            self._committing = asyncio.create_task(self.commits.commit_by_itself())
        await self.follow()

    async def close(self) -> None:
        self._running = False
        tasks = [each for each in (self._looking, self._committing, *self._aside) if each is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.membership is not None:
            await self.membership.close()
        else:
            await self.commits.commit_quietly()

    @property
    def membership(self) -> Membership | ConsumerMembership | None:
        return self.commits.membership

    def subscribe(self, topics: Iterable[str], pattern: AnyPattern | None, listener: RebalanceListener | None) -> None:
        """Subscribe to these topics, or to those whose whole name matches the pattern."""
        wanted = {topics} if isinstance(topics, str) else set(topics)
        if bool(wanted) == (pattern is not None):
            raise ClientError("expected either topics or a pattern")
        if self.assignment.partitions and not self.is_automatic:
            raise ClientError("partitions are assigned by hand; unsubscribe first")
        if isinstance(pattern, SubscriptionPattern) and (
            self._options.group_protocol != "consumer" or self._options.group_id is None
        ):
            raise ClientError("a pattern that the broker resolves needs a group_id and group_protocol=consumer")
        self.error = None
        self.topics = wanted
        self.pattern = re.compile(pattern) if isinstance(pattern, str) else pattern
        self.listener = listener or RebalanceListener()
        self._cluster.wants_all = isinstance(self.pattern, re.Pattern)
        self._cluster.wanted = set(wanted)

    @property
    def is_automatic(self) -> bool:
        """Whether partitions come from a subscription."""
        return bool(self.topics) or self.pattern is not None

    async def follow(self) -> None:
        """Apply the subscription: join the group, or take all partitions."""
        if not self._running or not self.is_automatic:
            return
        await self._cluster.retry("metadata", self._cluster.refresh)
        if self._options.group_id is None:
            self._take_everything()
        elif self.membership is None:
            join = join_as_consumer if self._options.group_protocol == "consumer" else Membership
            self.commits.membership = join(self._cluster, self._options, self)
            self.commits.membership.start()
        else:
            self.membership.rejoin()

    def follow_soon(self) -> None:
        """As `follow`, without a caller that waits: the next poll raises the error."""
        self._do_aside(self._follow_or_fail())

    async def _follow_or_fail(self) -> None:
        try:
            await self.follow()
        except KafkaWireError as error:
            self.fail(error)

    def _do_aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def unsubscribe(self) -> None:
        """Drop the subscription and leave the group."""
        if self.membership is not None:
            await self.membership.close()
            self.commits.membership = None
        self.topics, self.pattern, self.error = set(), None, None
        self._cluster.wants_all = False
        self.assignment.replace((), None)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign exactly these partitions."""
        if self.is_automatic:
            raise ClientError("topics are subscribed to; unsubscribe first")
        wanted = [TopicPartition(*each) for each in partitions]
        self._cluster.wanted |= {each.topic for each in wanted}
        self.assignment.replace(wanted, self._first_goal())
        self.look_up()

    def polled(self) -> None:
        """The application polls."""
        self.last_poll = time.monotonic()
        if self.commits.membership is not None:
            self.commits.polled(self.commits.membership)

    def since_poll(self) -> float:
        """Seconds since the last poll; 0 while a poll waits for records."""
        return 0.0 if self.assignment.waiting else time.monotonic() - self.last_poll

    def wanted_topics(self) -> list[str]:
        """The topics of the subscription."""
        if self.pattern is None:
            return sorted(self.topics)
        if isinstance(self.pattern, SubscriptionPattern):
            return sorted({each.topic for each in self.assignment.partitions})
        internal = self._options.exclude_internal_topics
        return sorted(
            topic.name
            for topic in self._cluster.metadata.topics.values()
            if self.pattern.fullmatch(topic.name)
            and not (internal and (topic.is_internal or topic.name.startswith(_INTERNAL)))
        )

    def subscribed(self) -> tuple[list[str], str | None]:
        """The topics and the regular expression that the coordinator gets."""
        if isinstance(self.pattern, SubscriptionPattern):
            return [], self.pattern.pattern
        return self.wanted_topics(), None

    async def give_up(self, partitions: list[TopicPartition], *, lost: bool) -> None:
        """Partitions are revoked; the offsets of lost partitions must not be committed any more."""
        gone = set(partitions)
        if not lost:
            await self.commits.commit_before_revocation()
        await self._notify(self.listener.on_partitions_revoked, partitions)
        stay = [each for each in self.assignment.partitions if each not in gone]
        self.assignment.replace(stay, None)
        self._want_assigned()

    async def receive(self, partitions: list[TopicPartition], added: list[TopicPartition]) -> None:
        """Partitions are assigned."""
        self.assignment.replace(partitions, self._first_goal())
        self._want_assigned()
        await self._welcome(added)
        self.look_up()

    def _want_assigned(self) -> None:
        """The metadata of topics that the broker found by a pattern is wanted while partitions of them are assigned."""
        if isinstance(self.pattern, SubscriptionPattern):
            self._cluster.wanted = {each.topic for each in self.assignment.partitions}

    def fail(self, error: Exception) -> None:
        """Membership has failed; the next poll raises the error."""
        self.error = error
        self._changed()

    def recovered_from(self, error: Exception) -> None:
        """The error of the membership has passed."""
        if self.error is error:
            self.error = None

    def look_up(self) -> None:
        """Look up missing positions, unless a look-up is running."""
        self._changed()
        missing = any(state.goal is not None and not state.error for state in self.assignment.partitions.values())
        if missing and (self._looking is None or self._looking.done()) and self._running:
            self._looking = asyncio.create_task(self._look_up())

    def _first_goal(self) -> str | int:
        if self._options.group_id is not None:
            return COMMITTED
        goal = self.assignment.reset_goal
        return COMMITTED if goal is None else goal

    async def _look_up(self) -> None:
        failures = 0
        while True:
            missing = {
                partition: state
                for partition, state in self.assignment.partitions.items()
                if state.goal is not None and not state.error
            }
            if not missing:
                return
            stretches = {partition: state.stretch for partition, state in missing.items()}
            try:
                failed = await self._find({partition: state.goal for partition, state in missing.items()}, stretches)
            except Exception as error:
                failed = dict.fromkeys(missing, error)
            self._failed(failed, stretches)
            self._changed()
            failures = failures + 1 if failed else 0
            if failed:
                await self._rest(failures, failed.values())

    def _failed(self, failed: Mapping[TopicPartition, Exception], stretches: dict[TopicPartition, Stretch]) -> None:
        for error in {id(each): each for each in failed.values()}.values():
            _log.warning("looking up positions: %s", error)
        for partition, error in failed.items():
            state = self.assignment.partitions.get(partition)
            if state is not None and state.stretch is stretches[partition] and not is_retriable(error):
                state.error = error

    async def _rest(self, failures: int, errors: Iterable[Exception]) -> None:
        await asyncio.sleep(self._cluster.pause_before(failures))
        stale = next((error for error in errors if calls_for_refresh(error)), None)
        if stale is not None:
            await self._cluster.recover(stale)

    async def _find(
        self, goals: dict[TopicPartition, Any], stretches: dict[TopicPartition, Stretch]
    ) -> Mapping[TopicPartition, Exception]:
        """Look up what can be found now; returns the errors of the other partitions."""
        committed: dict[TopicPartition, OffsetAndMetadata] = {}
        by_commit = [partition for partition, goal in goals.items() if goal == COMMITTED]
        if by_commit and self._options.group_id is not None:
            committed = await self.commits.committed(by_commit)
        reset = self.assignment.reset_goal
        special: dict[TopicPartition, int] = {}
        for partition, goal in goals.items():
            if partition in committed:
                self._found(partition, committed[partition].offset, stretches, committed[partition].leader_epoch)
            elif goal != COMMITTED:
                special[partition] = goal
            elif reset is not None:
                special[partition] = reset
            else:
                state = self.assignment.partitions.get(partition)
                if state is not None and state.stretch is stretches[partition]:
                    state.error = NoOffsetError(f"{partition}: nothing is committed, and auto_offset_reset is none")
        if not {each.topic for each in special} <= self._cluster.metadata.topics.keys():
            await self._cluster.refresh()
        found, failed = await ask_leaders(self._cluster, special, self._options.isolation)
        for partition, offset in found.items():
            self._found(partition, 0 if offset is None else offset.offset, stretches)
        return failed

    def _found(
        self, partition: TopicPartition, offset: int, stretches: dict[TopicPartition, Stretch], leader_epoch: int = -1
    ) -> None:
        state = self.assignment.partitions.get(partition)
        if state is not None and state.stretch is stretches[partition]:
            state.move(offset, leader_epoch)

    async def _notify(self, method: Callable[[set[TopicPartition]], Any], partitions: list[TopicPartition]) -> None:
        try:
            result = method(set(partitions))
            if inspect.isawaitable(result):
                await result
        except Exception:
            _log.exception("a rebalance listener failed")

    async def _welcome(self, added: list[TopicPartition]) -> None:
        """Call the listener for new partitions, which start where it seeks to."""
        states = [self.assignment.partitions[each] for each in added if each in self.assignment.partitions]
        for state in states:
            state.is_held = True
        await self._notify(self.listener.on_partitions_assigned, added)
        for state in states:
            state.is_held = False
        self._changed()

    def _take_everything(self) -> None:
        topics = self._cluster.metadata.topics
        every = [
            TopicPartition(name, number)
            for name in self.wanted_topics()
            if name in topics
            for number in topics[name].partitions
        ]
        if set(every) != set(self.assignment.partitions):
            added = [each for each in every if each not in self.assignment.partitions]
            self.assignment.replace(every, self._first_goal())
            self._do_aside(self._welcome(added))
        self.look_up()

    def _updated(self) -> None:
        known = self._cluster.metadata
        missing = self.topics - known.topics.keys()
        for name in sorted(missing - self._missing):
            code = ErrorCode(known.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            _log.warning("topic %r: %s; it is read as soon as it exists", name, code.name)
        self._missing = missing
        if self.membership is not None:
            self.membership.topics_changed()
        elif self.is_automatic and self._options.group_id is None:
            self._take_everything()
