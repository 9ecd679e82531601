"""The transaction coordinator in its node: its log, its markers, its timers, and the requests that wait.

Rules:
- Transactional ids are loaded before the first connection. The markers of prepared transactions are then written
  again.
- A producer id in the log is never given out again, also if the journal of ids was lost.
- A change that has begun ends, whether or not the client that asked for it is still there.
- The answer about the end of a transaction leaves when its prepared record is durable, as in Kafka. The markers are
  written in the next turn of the loop, or before any other request is served if that comes first (`finish_due`). So
  the next transaction does not find the last one incomplete, and readers see an answered commit.
- If records have to be synced, or if there are more than AT_ONCE markers, the answer waits for the markers. If a marker
  fails, the answer leaves at once, and the markers are tried again every RETRY_MS.
- A marker that the partition refuses because of its epoch is not tried again until the next start, as in Kafka.
- Work over many ids takes turns with requests.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kafkawire.broker._clock import ClockJumps
from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._dispatch.turns import StartedCoroutine, TurnBudget, Turns
from kafkawire.broker._metadata.features import TRANSACTION_VERSION
from kafkawire.broker._metadata.topics import TRANSACTION_STATE
from kafkawire.broker._ops.watchdog import Watchdog
from kafkawire.broker.groups.offsets_log import coordinator_error
from kafkawire.broker.transactions.coordinator import TransactionCoordinator
from kafkawire.broker.transactions.log import TransactionLog
from kafkawire.broker.transactions.markers import AT_ONCE, Marker, Markers
from kafkawire.broker.transactions.settings import TransactionSettings
from kafkawire.broker.transactions.states import PREPARED, State
from kafkawire.broker.transactions.transaction import Outcome
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterator, Set

    from kafkawire.broker._clock import Timer
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.ending import Ending
    from kafkawire.broker.transactions.initiation import Initiation
    from kafkawire.broker.transactions.transaction import Change, Entry, TopicPartition

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
RETRY_MS: Final = 1000
_GIVE_UP: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


class _Done(Generic[T]):
    """The result of work that is done."""

    def __init__(self, result: T) -> None:
        self._result = result

    def __await__(self) -> Generator[Any, Any, T]:
        yield from ()
        return self._result


class Transactions:
    """Every transactional id of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.settings = TransactionSettings.of(node.config)
        self._turns = Turns()
        self._log = TransactionLog(node)
        self._markers = Markers(node, self._turns)
        self._coordinator = TransactionCoordinator(self.settings, node.producer_ids.take, lambda: self.level)
        self._jumps = ClockJumps(node.clock)
        self._watchdog = Watchdog()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timers: dict[object, Timer] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._coordinator)

    def find(self, transactional_id: str) -> Entry | None:
        return self._coordinator.find(transactional_id)

    @property
    def level(self) -> int:
        """The level of transaction.version that is in force."""
        return self._node.features.level(TRANSACTION_VERSION)

    @property
    def is_coordinator(self) -> bool:
        """Whether the log of transactional ids exists."""
        return self._log.exists

    def start(self) -> None:
        transactions = self._log.load()
        for each in transactions:
            self._node.producer_ids.skip(max(each.producer_id, each.next_producer_id))
        for entry in self._coordinator.load(transactions):
            self._finish_later(entry, 0)
        self._repeat("time out", self.settings.abort_interval_ms, self._abort_overdue)
        self._repeat("expire", self.settings.expiration_interval_ms, self._remove_expired)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._node.ended.clear()
        for task in self._tasks:
            task.cancel()

    def topic_deleted(self, topic: Topic) -> None:
        if topic.name == TRANSACTION_STATE:
            self._coordinator.unload()

    def gauges(self) -> Iterator[Gauge]:
        counts = dict.fromkeys(State, 0)
        for entry in list(self):
            counts[entry.current.state] += 1
        for state, count in counts.items():
            if count:
                yield Gauge("kafkawire_transactional_ids", {"state": state.title}, count)

    async def prepare(self) -> None:
        """Create the log of transactional ids if it does not exist."""
        try:
            await self._node.ensure_internal_topic(TRANSACTION_STATE)
        except KafkaError as error:
            raise coordinator_error(TRANSACTION_STATE, error) from error

    async def initiate(self, wanted: Initiation) -> Outcome:
        """The producer id and epoch of a producer that starts."""
        await self._prepare_id()
        return await self._answer(lambda: self._coordinator.initiate(wanted, self._now))

    async def add(
        self, transactional_id: str, producer: tuple[int, int], places: Set[TopicPartition], level: int
    ) -> Outcome:
        """Add partitions to a producer's transaction."""
        now = self._now
        return await self._answer(lambda: self._coordinator.add(transactional_id, producer, places, level, now))

    def verify(
        self, transactional_id: str, producer: tuple[int, int], places: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether partitions are part of a producer's transaction; the error of each."""
        if not self.is_coordinator:
            return dict.fromkeys(places, ErrorCode.NOT_COORDINATOR)
        return self._coordinator.verify(transactional_id, producer, places)

    async def end(self, ending: Ending) -> Outcome:
        """Commit or abort on behalf of a producer."""
        await self._prepare_id()
        return await self._answer(lambda: self._coordinator.end(ending, self._now))

    def write_marker(self, place: TopicPartition, marker: Marker) -> Awaitable[None] | None:
        """Write a marker on behalf of an administrator; returns the sync to await."""
        return self._markers.write(place, marker)

    @property
    def _now(self) -> int:
        """The time of day. If the clock was set, all timeouts move with it."""
        set_by = self._jumps.take()
        if set_by:
            self._coordinator.clock_was_set(set_by)
        return self._node.clock.now()

    async def _prepare_id(self) -> None:
        """Make sure that a producer id can be taken."""
        while self._node.producer_ids.is_empty:
            await self._node.changes.run(self._node.changes.producer_id_block())

    async def _answer(self, decide: Callable[[], Outcome]) -> Outcome:
        """The outcome of a request, once its change is durable."""
        if not self.is_coordinator:
            return Outcome(ErrorCode.NOT_COORDINATOR)
        outcome = decide()
        if outcome.change is not None:
            try:
                await self._begin(self._carry_out(outcome.change))
            except KafkaError as error:
                return Outcome(ErrorCode(error.code))
        return outcome

    async def _carry_out(self, change: Change) -> None:
        """Write the record of a change, and the markers if it ends a transaction."""
        was_synced = await self._write(change)
        if change.target is not None and change.target.state in PREPARED:
            if was_synced or len(change.entry.unmarked) > AT_ONCE:
                await self._finish(change.entry)
            else:
                self._node.ended.append(change.entry)
                asyncio.get_running_loop().call_soon(self.finish_due)

    async def _write(self, change: Change) -> bool:
        """Write the record of a change; whether it had to be synced."""
        try:
            durable = self._log.write(change, self.level, self._now)
            if durable is not None:
                await durable
        except Exception as error:
            self._coordinator.refused(change)
            raise coordinator_error(change.entry.current.transactional_id, error) from error
        self._coordinator.written(change)
        return durable is not None

    async def _finish(self, entry: Entry) -> None:
        """Write the missing markers of a prepared transaction, and that it is complete."""
        name = entry.current.transactional_id
        try:
            await self._markers.write_all(entry)
            await self._write(self._coordinator.complete(entry, self._now))
        except Exception as error:
            if code_for(error) in _GIVE_UP:
                _log.error("the transaction of %r cannot be completed: %s", name, error)
            else:
                _log.warning("the transaction of %r is completed later: %s", name, error)
                self._finish_later(entry, RETRY_MS)

    def finish_due(self) -> None:
        """Write the markers of the transactions that were just answered."""
        ended, self._node.ended = self._node.ended, []
        for entry in ended:
            self._begin(self._finish(entry))

    def _finish_later(self, entry: Entry, delay_ms: int) -> None:
        self._later(entry, delay_ms, lambda: self._begin(self._finish(entry)))

    async def _abort_overdue(self) -> None:
        """Abort the transactions that are open for longer than their timeout."""
        budget = TurnBudget(self._turns)
        for entry in list(self):
            await budget.yield_if_due()
            if entry.is_overdue(self._now):
                await self._prepare_id()
                await self._try(self._coordinator.time_out(entry, self._now))

    async def _remove_expired(self) -> None:
        """Remove the transactional ids that were unused for too long."""
        budget = TurnBudget(self._turns)
        for entry in list(self):
            await budget.yield_if_due()
            await self._try(self._coordinator.expire(entry, self._now))

    async def _try(self, change: Change | None) -> None:
        if change is not None:
            try:
                await self._carry_out(change)
                self.finish_due()  # the markers belong to this turn, because no client waits
            except KafkaError as error:
                _log.warning("%s", error)

    def _begin(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Run work up to its first wait, and the rest in a task of its own. Work that does not wait costs no task."""
        try:
            waits_for = work.send(None)
        except StopIteration as end:
            return _Done(end.value)

        async def rest() -> T:
            return await StartedCoroutine(work, waits_for, self._watchdog, "transactions")

        task = asyncio.get_running_loop().create_task(rest())
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # the client may be gone

    def _later(self, key: object, delay_ms: int, work: Callable[[], object]) -> None:
        def ring() -> None:
            del self._timers[key]
            work()

        self._timers[key] = self._node.clock.call_later(delay_ms, ring)

    def _repeat(self, name: str, period_ms: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            try:
                await work()
            except KafkaError as error:
                _log.error("%s", error)
            self._repeat(name, period_ms, work)

        self._later(name, max(1, period_ms), lambda: self._begin(run()))
