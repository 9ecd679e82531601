"""Share partitions in their node: their stored state, their locks, their sessions, and the fetches that wait.

Rules:
- The first fetch of a share partition loads its stored state. The partition is forgotten when its group has no session
  any more, when its state is replaced, or when it cannot be read.
- An acknowledgement is answered when its changes are in the log, and synced if the settings ask for it.
- The acknowledgements of a fetch are stored before it reads, and take effect after its first look for records
  (`apply_acknowledgements`), as in Apache Kafka. So the records that it releases come after those that were available
  before. Every other event on a share partition lets them take effect first.
- Errors of the topic of states have the codes that clients expect of a leader. Java's share consumer ends with an
  IllegalStateException at any other code of a fetched partition.
- Locks use a clock that cannot be set. They are not stored.
- A session ends with its connection. The records that its member holds are then available again.
- Snapshots of quiet partitions are written, and old records deleted, every prune interval.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.group_settings import (
    AUTO_OFFSET_RESET,
    DELIVERY_COUNT_LIMIT,
    ISOLATION_LEVEL,
    MAX_RECORD_LOCKS,
    RECORD_LOCK_DURATION,
    RENEWS,
    reset_duration,
)
from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._metadata.topics import SHARE_GROUP_STATE
from kafkawire.broker._ops import threads
from kafkawire.broker.groups.deadlines import Deadlines
from kafkawire.broker.groups.offsets_log import coordinator_error
from kafkawire.broker.share.partition import SharePartition
from kafkawire.broker.share.sessions import ShareSessions
from kafkawire.broker.share.state_log import StateLog
from kafkawire.broker.share.stored import UNKNOWN, Change, ShareKey, ShareStates
from kafkawire.log import find_timestamp
from kafkawire.messages.errors import (
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    FencedStateEpochError,
    InvalidRecordStateError,
    InvalidRequestError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from kafkawire.broker._clock import Timer
    from kafkawire.broker._fetch.watch import Watch
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import HostedPartition, Node
    from kafkawire.broker.share.partition import Acknowledgement, Update
    from kafkawire.broker.share.sessions import SessionKey, ShareSession
    from kafkawire.broker.share.stored import Snapshot

_log: Final = logging.getLogger(__name__)
FENCED: Final = (FencedLeaderEpochError, FencedStateEpochError)


class LoadedPartition:
    """A share partition in use, and the epochs that its writes carry."""

    __slots__ = ("partition", "state_epoch", "unapplied")

    def __init__(self, partition: SharePartition, state_epoch: int) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.unapplied: list[Update] = []
        """Acknowledgements that are stored and have not taken effect yet."""


class Shares:
    """Every share partition and share session of a node."""

    def __init__(self, node: Node) -> None:
        config = node.config
        self._node = node
        self._log = StateLog(
            node, ShareStates(config.integer("share.coordinator.snapshot.update.records.per.snapshot"))
        )
        self._loaded: dict[ShareKey, LoadedPartition] = {}
        self._locks: Deadlines[ShareKey] = Deadlines()
        self._timer: Timer | None = None
        self._rings_at = 0
        self._pruning: Timer | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.sessions = ShareSessions(config.integer("group.share.max.share.sessions"))
        self.watches: dict[tuple[str, int], set[Watch]] = {}
        """The fetches that wait, by the group and topic, and the partition, whose release wakes them."""
        self.releases = 0
        """How often records may have become available again."""

    def start(self) -> None:
        self._log.load()
        self._prune_later()

    def stop(self) -> None:
        for timer in (self._timer, self._pruning):
            if timer is not None:
                timer.cancel()
        self._timer = self._pruning = None
        for task in self._tasks:
            task.cancel()

    def topic_deleted(self, topic: Topic) -> None:
        if topic.name == SHARE_GROUP_STATE:
            self._log.states = ShareStates(
                self._node.config.integer("share.coordinator.snapshot.update.records.per.snapshot")
            )
            self._log.forget()
            self._loaded.clear()
            return
        try:
            self.delete(self._log.states.of_topic(topic.id))
        except KafkaError as error:
            _log.error("share state of the deleted topic %s is still kept: %s", topic.name, error)

    def gauges(self) -> Iterator[Gauge]:
        yield Gauge("kafkawire_share_sessions", {}, len(self.sessions))
        for key, loaded in list(self._loaded.items()):
            topic = self._node.topics.find_id(key.topic_id)
            if topic is not None:
                labels = {"group": key.group_id, "topic": topic.name, "partition": str(key.partition)}
                yield Gauge("kafkawire_share_records_in_flight", labels, loaded.partition.in_flight)
                log = self._node.logs.partitions.get((topic.name, key.partition))
                if log is not None:
                    lag = log.high_watermark - loaded.partition.start - loaded.partition.completed
                    yield Gauge("kafkawire_share_group_lag", labels, max(0, lag))

    async def prepare(self) -> None:
        """Create the topic of share states if it does not exist."""
        try:
            await self._node.ensure_internal_topic(SHARE_GROUP_STATE)
        except KafkaError as error:
            raise coordinator_error(SHARE_GROUP_STATE, error) from error

    def initialize(self, group_id: str, epoch: int, starts: Mapping[UUID, Mapping[int, int]]) -> None:
        """Store first states of share partitions, by topic, partition and start offset (-1: where the group begins)."""
        now = self._node.clock.now()
        changes = [
            self._log.states.initialization(ShareKey(group_id, topic_id, partition), epoch, start, now)
            for topic_id, partitions in starts.items()
            for partition, start in partitions.items()
        ]
        self._log.append(changes, now)
        for change in changes:
            self._unload(change.key)

    def delete(self, keys: Iterable[ShareKey]) -> None:
        """Delete the states of share partitions."""
        known = [key for key in keys if self._log.states.find(key) is not None]
        self._log.append([Change(key, None) for key in known], self._node.clock.now())
        for key in known:
            self._unload(key)

    def state(self, key: ShareKey) -> Snapshot | None:
        """The stored state of a share partition."""
        return self._log.states.find(key)

    def keys_of(self, group_id: str) -> list[ShareKey]:
        """The share partitions of a group that have a state."""
        return self._log.states.of_group(group_id)

    async def durable(self, keys: Iterable[ShareKey]) -> None:
        """Wait until the disk has what was written about share partitions, where that is promised."""
        for sync in self._log.durable(keys):
            await sync

    def lock_duration(self, group_id: str) -> int:
        """How long a member may hold records, in milliseconds."""
        return self._node.group_configs.integer(group_id, RECORD_LOCK_DURATION)

    def most_locks(self, group_id: str) -> int:
        """How many records of a partition may be in flight."""
        return self._node.group_configs.integer(group_id, MAX_RECORD_LOCKS)

    def delivery_limit(self, group_id: str) -> int:
        """How often a record is delivered at most."""
        return self._node.group_configs.integer(group_id, DELIVERY_COUNT_LIMIT)

    def reads_committed(self, group_id: str) -> bool:
        """Whether a group gets only records of committed transactions."""
        return self._node.group_configs.text(group_id, ISOLATION_LEVEL) == "read_committed"

    async def load(self, key: ShareKey, hosted: HostedPartition, *, applies: bool = True) -> LoadedPartition:
        """A share partition, loaded from its stored state if need be."""
        loaded = self._applied(key) if applies else self._loaded.get(key)
        if loaded is not None:
            return loaded
        epoch = self._node.leader_epoch
        try:
            stored, change = self._log.states.reading(key, epoch)
        except InvalidRequestError as error:
            raise UnknownServerError("Read operation on uninitialized share partition not allowed.") from error
        start = stored.start
        if start == UNKNOWN:
            start = await self._reset(key.group_id, hosted)
            if self._log.states.find(key) is not stored:
                return await self.load(key, hosted)
        if change is not None:
            try:
                self._log.append([change], self._node.clock.now())
            except KafkaError as error:
                raise KafkaStorageError(f"the state of the share partition cannot be written: {error}") from error
        loaded = self._loaded.get(key)
        if loaded is None:
            loaded = self._loaded[key] = LoadedPartition(SharePartition(start, stored.batches), stored.state_epoch)
        return loaded

    def acknowledge(
        self, key: ShareKey, member_id: str, acknowledgements: Sequence[Acknowledgement], *, applies: bool = True
    ) -> None:
        """Take in acknowledgements of one partition, all or none; refusals are raised.

        With `applies=False` they take effect later, by `apply_acknowledgements`.
        """
        loaded = self._applied(key)
        if loaded is None:
            raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
        update = loaded.partition.acknowledge(member_id, acknowledgements, self.delivery_limit(key.group_id))
        if update.renewals and self._node.group_configs.text(key.group_id, RENEWS).lower() != "true":
            raise InvalidRecordStateError("Renewing acquisition locks is not enabled for the group.")
        self._store(key, loaded, update)
        if applies:
            self._apply(key, loaded, update)
        else:
            loaded.unapplied.append(update)

    def find(self, key: ShareKey) -> LoadedPartition | None:
        """A share partition that is in use."""
        return self._loaded.get(key)

    def apply_acknowledgements(self, keys: Iterable[ShareKey]) -> None:
        """Let the acknowledgements of share partitions take effect."""
        for key in keys:
            self._applied(key)

    def end_session(self, key: SessionKey) -> None:
        """End a session, and release the records of its member."""
        session = self.sessions.end(key)
        if session is not None:
            self._release(session)

    def disconnected(self, connection: object) -> None:
        """End the sessions of a connection that is closed."""
        for session in self.sessions.of_connection(connection):
            self.sessions.end(session.key)
            self._release(session)
            if not self.sessions.has_group(session.key.group_id):
                for key in [key for key in self._loaded if key.group_id == session.key.group_id]:
                    self._unload(key)

    def locked(self, key: ShareKey) -> None:
        """Set the timer for the next lock of a share partition that ends."""
        loaded = self._loaded.get(key)
        due = None if loaded is None else loaded.partition.next_deadline()
        if due is None:
            self._locks.cancel(key)
        else:
            self._locks.set(key, due)
        self._set_timer()

    def fail(self, key: ShareKey) -> None:
        """Forget a share partition whose log cannot be read."""
        self._unload(key)

    async def _reset(self, group_id: str, hosted: HostedPartition) -> int:
        """The offset where a group begins in a partition."""
        log, reset = hosted.log, self._node.group_configs.text(group_id, AUTO_OFFSET_RESET)
        duration = reset_duration(reset)
        if duration is None:
            return log.log_start_offset if reset == "earliest" else log.high_watermark
        found = await threads.run(find_timestamp(log, max(0, self._node.clock.now() - duration)))
        if found is None or found.offset >= log.high_watermark:
            raise OffsetNotAvailableError(f"no record of {hosted.topic.name}-{hosted.number} is younger than {reset}")
        return found.offset

    def _release(self, session: ShareSession) -> None:
        group_id, member_id = session.key
        limit = self.delivery_limit(group_id)
        for topic_id, index in session.partitions:
            key = ShareKey(group_id, topic_id, index)
            loaded = self._applied(key)
            if loaded is not None:
                self._store_anyway(key, loaded, loaded.partition.release(member_id, limit))

    def _applied(self, key: ShareKey) -> LoadedPartition | None:
        """A share partition that is in use, after all of its acknowledgements."""
        loaded = self._loaded.get(key)
        while loaded is not None and loaded.unapplied:
            self._apply(key, loaded, loaded.unapplied.pop(0))
        return loaded

    def _store(self, key: ShareKey, loaded: LoadedPartition, update: Update) -> None:
        if not update.batches:
            return
        now = self._node.clock.now()
        try:
            change = self._log.states.writing(
                key,
                self._node.leader_epoch,
                loaded.state_epoch,
                update.start,
                update.completed,
                update.batches,
                now,
            )
        except FENCED as error:
            self._unload(key)
            raise NotLeaderOrFollowerError(str(error)) from error
        except KafkaError:
            self._unload(key)
            raise
        try:
            self._log.append([change], now)
        except KafkaError as error:
            raise CoordinatorNotAvailableError(str(error)) from error

    def _store_anyway(self, key: ShareKey, loaded: LoadedPartition, update: Update) -> None:
        """Take in an update that happens, whether or not it can be stored."""
        try:
            self._store(key, loaded, update)
        except KafkaError as error:
            _log.warning("group %r: a release of records is not stored: %s", key.group_id, error)
        self._apply(key, loaded, update)

    def _apply(self, key: ShareKey, loaded: LoadedPartition, update: Update) -> None:
        locked_until = self._node.clock.elapsed() + self.lock_duration(key.group_id) if update.renewals else 0
        if loaded.partition.apply(update, locked_until):
            self._wake(key)
        if update.renewals:
            self.locked(key)

    def _wake(self, key: ShareKey) -> None:
        self.releases += 1
        name = watch_name(key)
        for watch in self.watches.get(name, ()):
            watch.note(name)

    def _unload(self, key: ShareKey) -> None:
        if self._loaded.pop(key, None) is not None:
            self._locks.cancel(key)
            self._wake(key)

    def _set_timer(self) -> None:
        due = self._locks.next()
        if due is None or (self._timer is not None and self._rings_at <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = due
        self._timer = self._node.clock.call_later(max(0, due - self._node.clock.elapsed()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._node.clock.elapsed()
        while (key := self._locks.take(now)) is not None:
            loaded = self._applied(key)
            if loaded is not None:
                self._store_anyway(key, loaded, loaded.partition.expire(now, self.delivery_limit(key.group_id)))
                self.locked(key)
        self._set_timer()

    def _prune_later(self) -> None:
        delay = max(1, self._node.config.integer("share.coordinator.state.topic.prune.interval.ms"))
        self._pruning = self._node.clock.call_later(delay, self._begin_pruning)

    def _begin_pruning(self) -> None:
        task = asyncio.get_running_loop().create_task(self._prune())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _prune(self) -> None:
        try:
            interval = self._node.config.integer("share.coordinator.cold.partition.snapshot.interval.ms")
            now = self._node.clock.now()
            self._log.append(self._log.states.cold_snapshots(interval, now), now)
            await self._log.prune()
        except KafkaError as error:
            _log.warning("old records of %s are still kept: %s", SHARE_GROUP_STATE, error)
        self._prune_later()


def watch_name(key: ShareKey) -> tuple[str, int]:
    """The name that wakes the fetches of a share partition."""
    return f"{key.group_id}:{key.topic_id}", key.partition
