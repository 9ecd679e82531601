"""The node: owner of everything that outlives a request.

Rules:
- One loop, one owner: every method runs on the broker's loop and leaves the state whole when it returns.
- Topics change through the node only: the journal first, then the logs, then the table that requests see.
- An append wakes the fetches that wait for its partition: when the high watermark moves, which with flush.on.ack is
  when the disk has the records.
- Batches that are slow to admit are admitted in a thread, and appended on the loop. A connection has one request under
  way at a time, so what one client sends stays in order.
- Internal topics are made when first asked for, and written by their coordinators only.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from uuid import uuid4

from kafkawire.broker.configs import keys
from kafkawire.broker.events import tell
from kafkawire.broker.flushing import Flusher
from kafkawire.broker.groups.service import Groups
from kafkawire.broker.journal import Journal
from kafkawire.broker.journal_state import JournalState
from kafkawire.broker.listeners import DEFAULT_HOST, PLAINTEXT, Endpoint
from kafkawire.broker.producer_ids import ProducerIds
from kafkawire.broker.restoration import naming_files, restore
from kafkawire.broker.sessions import FetchSessions
from kafkawire.broker.topics import CLUSTER_METADATA, NO_ID, Topic, Topics
from kafkawire.broker.watchers import Watchers
from kafkawire.log.admission import admit
from kafkawire.log.checkpoints import META, read_properties
from kafkawire.log.configs import FOREVER, LogConfig
from kafkawire.log.directory import LogDirectory
from kafkawire.messages import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
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
    from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
    from pathlib import Path
    from uuid import UUID

    from kafkawire.broker.clock import Clock
    from kafkawire.broker.configs import BrokerConfig
    from kafkawire.broker.service import Service
    from kafkawire.log.files import Bytes, FileSystem
    from kafkawire.log.partition import AppendResult, Partition
    from kafkawire.messages import Message

_log = logging.getLogger("kafkawire.broker")
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
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
                properties={"node.id": str(self.id), "cluster.id": self.cluster_id},
            )
        self.topics = Topics()
        self.watchers = Watchers()
        self.flusher = Flusher(self.watchers.notify)
        self.sessions = FetchSessions(config.integer("max.incremental.fetch.session.cache.slots"), clock.elapsed)
        self.journal = Journal(self.logs.create(CLUSTER_METADATA, 0))
        self.logs.configure(CLUSTER_METADATA, JOURNAL_CONFIG)
        self.producer_ids = ProducerIds(self.id, self.journal.write)
        self.leader_epoch = 0
        self.groups = Groups(self)
        self.services: list[Service] = [self.groups]
        self.guard: Callable[[str, int], None] | None = None
        """Asked before a partition is given out to be read or written, or a topic (partition -1) to be described; what
        it raises is the answer for it."""
        self._removed: dict[UUID, str] = {}
        self._holding: set[Partition] = set()
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

    def append(self, topic: str, index: int, batches: Bytes, *, hold: bool = False) -> AppendResult:
        """Append batches to a partition and wake who waits for it; `settled` tells when they may be acknowledged.

        With `hold` the bytes wait for those of later appends, until `settle_held`.
        """
        log = self.log(topic, index)
        hold = hold or log in self._holding
        if hold:
            self._holding.add(log)
        try:
            result = log.append(batches, leader_epoch=self.leader_epoch, hold=hold)
        except KafkaStorageError as error:
            self._report(error)
            raise
        if not log.config.flush_on_ack:
            self.watchers.notify(topic, index)
        return result

    async def append_slowly(self, topic: str, index: int, batches: Bytes) -> AppendResult:
        """Append batches whose admission would keep everyone waiting: a thread admits them."""
        config, now = self.log(topic, index).config, self.clock.now()
        admitted = await asyncio.get_running_loop().run_in_executor(None, admit, batches, config, now)
        log = self.log(topic, index)
        try:
            result = log.append_admitted(admitted, now, leader_epoch=self.leader_epoch)
        except KafkaStorageError as error:
            self._report(error)
            raise
        if not log.config.flush_on_ack:
            self.watchers.notify(topic, index)
        return result

    def settle_held(self) -> None:
        """Write everything that appends held back; a KafkaStorageError if some of it was lost, and undone."""
        if not self._holding:
            return
        holding, self._holding = self._holding, set()
        failure: KafkaStorageError | None = None
        for log in holding:
            try:
                log.settle()
            except KafkaStorageError as error:
                failure = error
        if failure is not None:
            self._report(failure)
            raise failure

    def settled(self, topic: str, index: int, last_offset: int) -> Awaitable[None] | None:
        """What to await before records up to an offset are acknowledged; None where nothing needs to be waited for.

        With flush.on.ack that is the disk, one sync for all who wait; a failing one raises KAFKA_STORAGE_ERROR.
        """
        log = self.log(topic, index)
        if not log.config.flush_on_ack or log.recovery_point > last_offset:
            return None
        return self.flusher.wait(topic, index, log, last_offset)

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> Topic:
        """Make a topic that `topics.check_new` lets through."""
        self.topics.check_new(name)
        topic = Topic(name, uuid4(), partitions, dict(configs or {}))
        config = self._apply_settings(topic)
        self._drop_logs(name, self._removed)
        self.journal.write(
            [
                TopicRecord(name=name, topic_id=topic.id),
                *(self._partition_record(topic, index) for index in range(partitions)),
                *(_config_record(TOPIC_RESOURCE, name, key, value) for key, value in topic.configs.items()),
            ]
        )
        try:
            for index in range(partitions):
                self.logs.create(name, index, topic_id=topic.id, config=config)
        except KafkaError:
            self.journal.write([RemoveTopicRecord(topic_id=topic.id)])
            self._drop_logs(name, {topic.id})
            raise
        self.topics.add(topic)
        tell("topic created", topic=name, id=uuid_text(topic.id), partitions=partitions, settings=_words(topic.configs))
        return topic

    def internal_topic(self, name: str) -> Topic:
        """An internal topic, made with its own settings if it is not there yet."""
        topic = self.topics.find(name)
        if topic is not None:
            return topic
        return self.create_topic(name, *self.config.internal_topic(name))

    def delete_topic(self, topic: Topic) -> None:
        """Take a topic away, logs and all."""
        self.journal.write([RemoveTopicRecord(topic_id=topic.id)])
        self._removed[topic.id] = topic.name
        self.topics.remove(topic)
        self._drop_logs(topic.name, {topic.id})
        for service in self.services:
            service.topic_deleted(topic)
        tell("topic deleted", topic=topic.name, id=uuid_text(topic.id))

    def add_partitions(self, topic: Topic, count: int) -> None:
        """Let a topic have that many partitions, more than it has."""
        fresh = range(topic.partitions, count)
        for index in fresh:
            self.logs.create(topic.name, index, topic_id=topic.id)
        self.journal.write([self._partition_record(topic, index) for index in fresh])
        topic.partitions = count
        tell("partitions added", topic=topic.name, partitions=count)

    def configure_topic(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Set settings of a topic, or with None let them go back to the default."""
        configs = {name: value for name, value in {**topic.configs, **changes}.items() if value is not None}
        config = self.config.log_config(configs)
        self.journal.write([_config_record(TOPIC_RESOURCE, topic.name, *change) for change in changes.items()])
        topic.configs = configs
        self._apply_settings(topic)
        self.logs.configure(topic.name, config)
        tell("topic configured", topic=topic.name, settings=_words(changes))

    def configure_broker(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of this broker, or with name '' the default of all brokers."""
        self.config.change(name, changes)
        self.journal.write([_config_record(BROKER_RESOURCE, name, *change) for change in changes.items()])
        for topic in self.topics:
            self.logs.configure(topic.name, self._apply_settings(topic))
        tell("broker configured", node=name, settings=_words(changes))

    def _report(self, error: KafkaStorageError) -> None:
        """Tell the log of a failing disk, now and then: clients are told each time, and try again."""
        now = self.clock.elapsed()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_MS
            _log.error("records are refused, %s", error.message)

    def _drop_logs(self, name: str, ids: Container[UUID | None]) -> None:
        """Delete what there is under a name of topics with these ids; the disk may have refused it before."""
        logs = self.logs.partitions.items()
        here = [index for (topic, index), log in logs if topic == name and log.topic_id in ids]
        if not here:
            return
        try:
            self.logs.delete(name, *here)
        finally:
            for index in here:
                self.watchers.notify(name, index)

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
            config = self._apply_settings(topic)
            for index in range(topic.partitions):
                self.logs.create(topic.name, index, topic_id=topic.id, config=config)
            self.logs.configure(topic.name, config)

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
            yield from (_config_record(BROKER_RESOURCE, name, *value) for value in values.items())
        for topic in self.topics:
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            yield from (self._partition_record(topic, index) for index in range(topic.partitions))
            yield from (_config_record(TOPIC_RESOURCE, topic.name, *value) for value in topic.configs.items())

    def _apply_settings(self, topic: Topic) -> LogConfig:
        topic.min_insync_replicas = int(self.config.topic_value("min.insync.replicas", topic.configs))
        topic.converts_down = self.config.topic_value("message.downconversion.enable", topic.configs).lower() == "true"
        return self.config.log_config(topic.configs)

    def _partition_record(self, topic: Topic, index: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=index,
            topic_id=topic.id,
            replicas=[self.id],
            isr=[self.id],
            leader=self.id,
            leader_epoch=self.leader_epoch,
            partition_epoch=0,
            directories=[NO_ID],
        )


def _words(settings: Mapping[str, str | None]) -> str:
    return " ".join(f"{name}={_word(name, value)}" for name, value in settings.items())


def _word(name: str, value: str | None) -> str:
    """A value as the log tells it: no password, nor what nobody knows to be none."""
    if value is None:
        return "default"
    key = keys("broker").get(name) or keys("topic").get(name)
    return "hidden" if key is None or key.is_sensitive else value


def _config_record(resource: int, owner: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource, resource_name=owner, name=name, value=value)


def _identity(files: FileSystem, root: Path) -> str:
    """The cluster id of a directory, or a new one."""
    found = read_properties(files, root / META) or {}
    return found.get("cluster.id") or uuid_text(uuid4())
