"""The node: owner of everything that outlives a request.

Rules:
- One loop, one owner: every method runs on the broker's loop and leaves the state whole when it returns.
- Topics and settings change through `changes` only.
- An append wakes the fetches that wait for its partition: when the high watermark moves, which with flush.on.ack is
  when the disk has the records.
- Batches that are slow to admit are admitted in a thread, and appended on the loop. A connection has one request under
  way at a time, so what one client sends stays in order.
- Internal topics are made when first asked for, and written by their coordinators only.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from kafkawire.broker.changes import Changes, NewTopic, config_records, records
from kafkawire.broker.configs import BROKER_RESOURCE
from kafkawire.broker.events import tell
from kafkawire.broker.flushing import Flusher
from kafkawire.broker.groups.service import Groups
from kafkawire.broker.held import WriteGroup
from kafkawire.broker.journal import Journal
from kafkawire.broker.journal_files import examine
from kafkawire.broker.journal_state import JournalState
from kafkawire.broker.listeners import DEFAULT_HOST, PLAINTEXT, Endpoint
from kafkawire.broker.producer_ids import ProducerIds
from kafkawire.broker.restoration import naming_files, restore
from kafkawire.broker.sessions import FetchSessions
from kafkawire.broker.topics import CLUSTER_METADATA, Topic, Topics
from kafkawire.broker.watchers import Watchers
from kafkawire.log.admission import admit
from kafkawire.log.checkpoints import META, read_properties
from kafkawire.log.configs import FOREVER, LogConfig
from kafkawire.log.directory import LogDirectory
from kafkawire.messages import (
    ProducerIdsRecord,
    RegisterBrokerRecord,
)
from kafkawire.messages.errors import (
    FencedLeaderEpochError,
    KafkaError,
    KafkaStorageError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from kafkawire.messages.uuids import uuid_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from kafkawire.broker.clock import Clock
    from kafkawire.broker.configs import BrokerConfig
    from kafkawire.broker.service import Service
    from kafkawire.log.files import Bytes, FileSystem
    from kafkawire.log.partition import AppendResult, Partition
    from kafkawire.messages import Message

_log = logging.getLogger("kafkawire.broker")
JOURNAL_CONFIG = LogConfig(retention_ms=-1, segment_ms=FOREVER, max_message_bytes=2**30)
JOURNAL_SLACK = 10_000
QUIET_MS = 10_000


class Node:
    """One broker's state."""

    def __init__(self, config: BrokerConfig, clock: Clock, *, root: Path, files: FileSystem) -> None:
        self.config = config
        self.clock = clock
        self.id = config.integer("node.id")
        self.rack = config.text("broker.rack") or None
        self.endpoints = {PLAINTEXT: Endpoint(DEFAULT_HOST, 0)}
        """Where the clients of each listener are told to connect; known once the server listens."""
        with naming_files():
            restore(files, root, config, clock.now())
            self.cluster_id = _identity(files, root)
            self.logs = LogDirectory(
                root,
                files=files,
                clock=clock.now,
                config=config.log_config({}),
                topic_configs=_topic_configs(files, root, config),
                properties={"node.id": str(self.id), "cluster.id": self.cluster_id},
            )
        self.topics = Topics()
        self.watchers = Watchers()
        self.flusher = Flusher(self.watchers.notify)
        self.sessions = FetchSessions(config.integer("max.incremental.fetch.session.cache.slots"), clock.elapsed)
        self.journal = Journal(self.logs.create(CLUSTER_METADATA, 0))
        self.logs.configure(CLUSTER_METADATA, JOURNAL_CONFIG)
        self.changes = Changes(self)
        self.producer_ids = ProducerIds(self.id)
        self.leader_epoch = 0
        self.groups = Groups(self)
        self.services: list[Service] = [self.groups]
        self.guard: Callable[[str, int], None] | None = None
        """Asked before a partition is given out to be read or written, or a topic (partition -1) to be described; what
        it raises is the answer for it."""
        self._removed: dict[UUID, str] = {}
        self._held: WriteGroup | None = None
        self._quiet_until = 0
        self._replay()
        if not self.logs.was_clean:
            self._begin_epoch()
        self._open_topics()
        self._shorten_journal()

    def start(self) -> None:
        for service in self.services:
            service.start()

    def close(self) -> None:
        """Stop the services, and leave the logs as a clean start expects them."""
        for service in self.services:
            service.stop()
        self.logs.close()

    def log(self, topic: str, index: int) -> Partition:
        """The log of a partition; UNKNOWN_TOPIC_OR_PARTITION if there is none."""
        self.check(topic, index)
        log = self.logs.partitions.get((topic, index))
        if log is None or topic not in self.topics:
            raise UnknownTopicOrPartitionError(f"no partition {topic}-{index}")
        return log

    def check(self, topic: str, index: int = -1) -> None:
        """Ask the guard, where there is one."""
        if self.guard is not None:
            self.guard(topic, index)

    def check_leader_epoch(self, epoch: int) -> None:
        """Refuse an epoch that is not the one in charge; -1 is no check."""
        if epoch == -1 or epoch == self.leader_epoch:
            return
        words = f"leader epoch {epoch}, this broker's is {self.leader_epoch}"
        raise FencedLeaderEpochError(words) if epoch < self.leader_epoch else UnknownLeaderEpochError(words)

    def hold(self, log: Partition, *, more: bool) -> WriteGroup | None:
        """The group whose records the next append to a log joins; None if that append is to be written at once.

        An append is held if `more` of them follow, or if the log holds records already. A log that acknowledges only
        what the disk has synced holds nothing.
        """
        group = self._held
        config = log.config
        if config.flush_on_ack or config.flush_messages < FOREVER:
            return None
        if not more and (group is None or log not in group):
            return None
        if group is None:
            group = self._held = WriteGroup(self._report)
        group.add(log)
        return group

    def append(self, topic: str, index: int, batches: Bytes, *, hold: bool = False) -> AppendResult:
        """Append batches to a partition and wake who waits for it; `settled` tells when they may be acknowledged.

        With `hold` the bytes stay in memory until the group of `Node.hold` is written.
        """
        return self.append_to(self.log(topic, index), topic, index, batches, hold=hold)

    def append_to(self, log: Partition, topic: str, index: int, batches: Bytes, *, hold: bool) -> AppendResult:
        """Append batches to the log of a partition, as `append` does."""
        try:
            result = log.append(batches, leader_epoch=self.leader_epoch, hold=hold, flush=False)
        except KafkaStorageError as error:
            self._report(error)
            raise
        if not log.config.flush_on_ack:
            self.watchers.notify(topic, index)
        if log.owes_flush:
            self.flusher.flush(topic, index, log)
        return result

    async def append_slowly(self, topic: str, index: int, batches: Bytes) -> AppendResult:
        """Append batches whose admission would keep everyone waiting: a thread admits them."""
        config, now = self.log(topic, index).config, self.clock.now()
        admitted = await asyncio.get_running_loop().run_in_executor(None, admit, batches, config, now)
        log = self.log(topic, index)
        try:
            result = log.append_admitted(admitted, now, leader_epoch=self.leader_epoch, flush=False)
        except KafkaStorageError as error:
            self._report(error)
            raise
        if not log.config.flush_on_ack:
            self.watchers.notify(topic, index)
        return result

    def write_held(self) -> None:
        """Write the records that are held in memory; failures stay with their group, for the answers that need them."""
        group, self._held = self._held, None
        if group is not None:
            group.write()

    def settled(self, topic: str, index: int, last_offset: int) -> Awaitable[None] | None:
        """What to await before records up to an offset are acknowledged; None where nothing needs to be waited for.

        With flush.on.ack, or when flush.messages is reached, that is the disk: one sync for all who wait. A failing one
        raises KAFKA_STORAGE_ERROR.
        """
        log = self.log(topic, index)
        if log.recovery_point > last_offset or not (log.config.flush_on_ack or log.owes_flush):
            return None
        return self.flusher.wait(topic, index, log, last_offset)

    async def create_topics(self, wanted: Sequence[NewTopic]) -> list[Topic | KafkaError]:
        """Make topics; for each the topic, or why it was refused."""
        return await self.changes.run(self.changes.creation(wanted))

    async def ensure_internal_topic(self, name: str) -> None:
        """Make an internal topic with its own settings if it is not there yet."""
        if name not in self.topics:
            (made,) = await self.create_topics([NewTopic(name, *self.config.internal_topic(name))])
            if isinstance(made, KafkaError) and name not in self.topics:
                raise made

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> Topic:
        """Make a topic here and now."""
        (made,) = self.changes.run_now(self.changes.creation([NewTopic(name, partitions, configs or {})]))
        if isinstance(made, KafkaError):
            raise made
        return made

    def internal_topic(self, name: str) -> Topic:
        """An internal topic, made here and now if it is not there yet."""
        return self.topics.find(name) or self.create_topic(name, *self.config.internal_topic(name))

    def delete_topic(self, topic: Topic) -> None:
        """Take a topic away here and now, logs and all."""
        (failure,) = self.changes.run_now(self.changes.deletion([topic]))
        if failure is not None:
            raise failure

    def add_partitions(self, topic: Topic, count: int) -> None:
        """Let a topic have that many partitions, more than it has, here and now."""
        self.changes.run_now(self.changes.growth(topic, count))

    def configure_topic(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Set settings of a topic here and now, or with None let them go back to the default."""
        self.changes.run_now(self.changes.topic_settings(topic, changes))

    def configure_broker(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of this broker here and now, or with name '' the default of all brokers."""
        self.changes.run_now(self.changes.broker_settings(name, changes))

    def forget(self, topic: Topic) -> None:
        """Take a topic out of the table; its logs are the caller's to remove."""
        self._removed[topic.id] = topic.name
        self.topics.remove(topic)

    def apply_settings(self, topic: Topic) -> LogConfig:
        """Let a topic go by its settings; those of its logs."""
        topic.min_insync_replicas = int(self.config.topic_value("min.insync.replicas", topic.configs))
        topic.converts_down = self.config.topic_value("message.downconversion.enable", topic.configs).lower() == "true"
        return self.config.log_config(topic.configs)

    def _report(self, error: KafkaStorageError) -> None:
        """Tell the log of a failing disk, now and then: clients are told each time, and try again."""
        now = self.clock.elapsed()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_MS
            _log.error("records are refused, %s", error.message)

    def _replay(self) -> None:
        state = JournalState(self.topics)
        for change in self.journal.replay():
            state.apply(change)
        self._removed = state.removed
        for resource, changes in state.broker_settings.items():
            self.config.change(resource, changes)
        self.producer_ids.restore(state.next_producer_id)
        self.leader_epoch = state.leader_epoch

    def _begin_epoch(self) -> None:
        """After anything but a clean stop, offsets may be given out anew: a new leader epoch tells them apart."""
        if self.journal.end_offset:
            self.leader_epoch += 1
        self.journal.write([RegisterBrokerRecord(broker_id=self.id, broker_epoch=self.leader_epoch, fenced=False)])

    def _open_topics(self) -> None:
        for (name, index), log in list(self.logs.partitions.items()):
            if log.cut_bytes:
                tell(
                    "log cut",
                    level=logging.WARNING,
                    partition=f"{name}-{index}",
                    bytes=log.cut_bytes,
                    end=log.end_offset,
                )
            if log.topic_id in self._removed or (log.topic_id is None and self._is_removed(name)):
                self.logs.delete(name, index)
        for topic in self.topics:
            config = self.apply_settings(topic)
            numbers = range(topic.partitions)
            self.logs.create_all(topic.name, numbers, topic_id=topic.id, config=config)
            self.logs.configure(topic.name, config, numbers)

    def _is_removed(self, name: str) -> bool:
        """Whether the last topic of a name was deleted: a power cut may have taken the id that its log would tell."""
        return name not in self.topics and name in self._removed.values()

    def _shorten_journal(self) -> None:
        live = 2 + sum(1 + topic.partitions + len(topic.configs) for topic in self.topics)
        if len(self.journal) > JOURNAL_SLACK + 4 * live:
            self.journal.replace(self._state())
            self.logs.checkpoint()

    def _state(self) -> Iterator[Message]:
        """Everything the journal says, as if it had happened at once."""
        yield RegisterBrokerRecord(broker_id=self.id, broker_epoch=self.leader_epoch, fenced=False)
        yield ProducerIdsRecord(broker_id=self.id, next_producer_id=self.producer_ids.next_block)
        for name, values in self.config.changed.items():
            yield from config_records(BROKER_RESOURCE, name, values)
        for topic in self.topics:
            yield from records(self, topic)


def _topic_configs(files: FileSystem, root: Path, config: BrokerConfig) -> dict[str, LogConfig]:
    """How the logs of each topic behave: a recovery must know which of them have gaps by compaction."""
    found = {}
    for topic in examine(files, root).state.topics:
        with suppress(KafkaError):
            found[topic.name] = config.log_config(topic.configs)
    return found


def _identity(files: FileSystem, root: Path) -> str:
    """The cluster id of a directory, or a new one."""
    found = read_properties(files, root / META) or {}
    return found.get("cluster.id") or uuid_text(uuid4())
