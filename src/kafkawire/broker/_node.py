"""The node: owner of everything that outlives a request.

Rules:
- Every method runs on the broker's loop and leaves the state consistent when it returns.
- Topics and settings change only through `changes`.
- A handler looks its partition up once (`partition`), and works with the result until it awaits something.
- An append wakes the fetches that wait for its partition when the high watermark moves. With flush.on.ack this is
  when the records are synced.
- Batches that are slow to admit are admitted in a thread, and appended on the loop. A connection has one request under
  way at a time, so the records of one client stay in order.
- Internal topics are created when they are first needed. Only their coordinators write to them.
- A coordinator starts with the node if its topic exists, and else when it is first needed.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkawire.broker._acls.authorizer import authorizer_of
from kafkawire.broker._acls.entries import Entries
from kafkawire.broker._config.client_metrics import ClientMetricsConfigs
from kafkawire.broker._config.group_settings import GroupConfigs
from kafkawire.broker._config.settings import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE
from kafkawire.broker._coordinator import COORDINATORS
from kafkawire.broker._dispatch.large_requests import collector_disabled
from kafkawire.broker._dispatch.write_group import WriteGroup
from kafkawire.broker._fetch.sessions import ServerSessions
from kafkawire.broker._metadata.changes import Changes, NewTopic
from kafkawire.broker._metadata.directories import cluster_id_of, directory_id_of
from kafkawire.broker._metadata.features import Features
from kafkawire.broker._metadata.journal.log import Journal
from kafkawire.broker._metadata.producer_ids import ProducerIds
from kafkawire.broker._metadata.restoration import naming_files, restore
from kafkawire.broker._metadata.start import take_over, topic_configs
from kafkawire.broker._metadata.topics import CLUSTER_METADATA, Topic, Topics
from kafkawire.broker._net.listeners import DEFAULT_HOST, PLAINTEXT, Endpoint
from kafkawire.broker._ops.fsync import Flusher
from kafkawire.broker._quotas.service import Quotas
from kafkawire.broker._quotas.stored import StoredQuotas
from kafkawire.broker._security.scram_users import ScramUsers
from kafkawire.broker._telemetry.service import Telemetry
from kafkawire.broker._tokens.service import Tokens
from kafkawire.broker._tokens.stored import StoredTokens
from kafkawire.log import admit
from kafkawire.log.config import FOREVER, LogConfig
from kafkawire.log.directory import LogDirectory
from kafkawire.messages.errors import (
    FencedLeaderEpochError,
    KafkaError,
    KafkaStorageError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from kafkawire.broker._acls.authorizer import Authorizer
    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._coordinator import Coordinator
    from kafkawire.broker._fetch.watch import Watch
    from kafkawire.broker._security.listeners import Listeners
    from kafkawire.broker._security.peer import Peer
    from kafkawire.broker.groups.service import Groups
    from kafkawire.broker.share.service import Shares
    from kafkawire.broker.transactions.service import Transactions
    from kafkawire.broker.transactions.transaction import Entry
    from kafkawire.log import AppendResult, Verification
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import Bytes, FileSystem

C = TypeVar("C", bound="Coordinator")
_log = logging.getLogger("kafkawire.broker")
JOURNAL_CONFIG = LogConfig(retention_ms=-1, segment_ms=FOREVER, max_message_bytes=2**30)
QUIET_MS = 10_000


class HostedPartition(NamedTuple):
    """A partition of this broker: its topic, its number and its log."""

    topic: Topic
    number: int
    log: Partition


class Node:
    """One broker's state."""

    def __init__(self, config: BrokerConfig, clock: Clock, *, root: Path, files: FileSystem) -> None:
        self.config = config
        self.clock = clock
        self.id = config.integer("node.id")
        self.rack = config.text("broker.rack") or None
        self.endpoints = {PLAINTEXT: Endpoint(DEFAULT_HOST, 0)}
        """The advertised address of each listener; known once the server listens."""
        self.listeners: Listeners | None = None
        """The security of the listeners; None without a server."""
        with naming_files():
            restore(files, root, config, clock.now())
            self.cluster_id = cluster_id_of(files, root)
            self.logs = LogDirectory(
                root,
                files=files,
                clock=clock.now,
                config=config.log_config({}),
                topic_configs=topic_configs(files, root, config),
                properties={"node.id": str(self.id), "cluster.id": self.cluster_id},
            )
        self.group_configs = GroupConfigs(config)
        self.client_metrics = ClientMetricsConfigs()
        self.telemetry = Telemetry(self.client_metrics, clock, config.integer("telemetry.max.bytes"))
        """The metrics that clients push."""
        self.own_settings = {GROUP_RESOURCE: self.group_configs, CLIENT_METRICS_RESOURCE: self.client_metrics}
        """Settings of resources that nothing else describes, by type."""
        self.directory_id = directory_id_of(self.logs.properties)
        self.topics = Topics()
        self.watches: dict[tuple[str, int], set[Watch]] = {}
        """The fetches that wait, by the partitions that wake them."""
        self.changed_partitions = 0
        """The number of changes so far. A fetch that reads first and waits later sees whether it missed one."""
        self.flusher = Flusher(self.notify)
        self.max_fetch_bytes = config.integer("fetch.max.bytes")
        self.sessions = ServerSessions(config.integer("max.incremental.fetch.session.cache.slots"), clock.elapsed)
        self.journal = Journal(self.logs.create(CLUSTER_METADATA, 0))
        self.logs.configure(CLUSTER_METADATA, JOURNAL_CONFIG)
        self.changes = Changes(self)
        self.producer_ids = ProducerIds(self.id)
        self.features = Features()  # the finalized levels: `features.level(name)`
        self.scram_users = ScramUsers()
        self.tokens = Tokens(config, clock, self.journal, StoredTokens())
        """The delegation tokens of the journal."""
        self.acls = Entries()  # the access control entries of the journal
        self.quotas = Quotas(config, clock, StoredQuotas())
        """The quotas of the journal, and the meters of clients."""
        self.authorizer: Authorizer | None = None
        """The decisions about requests; None if everything is allowed."""
        self.leader_epoch = 0
        self.moves: dict[tuple[str, int], int] = {}
        """How often the leader of a partition moved. Only tests with several brokers move leaders."""
        self.coordinators: list[Coordinator] = []  # those that were needed so far
        self.ended: list[Entry] = []  # transactions whose end is answered, and whose markers come next
        self._is_started = False
        self.guard: Callable[[str, int], None] | None = None
        """Called before a partition is read or written, or a topic (partition -1) is described. An error that it raises
        is the response for this partition. Tests use it."""
        self.removed: dict[UUID, str] = {}
        """The names of deleted topics, by id."""
        self.held: WriteGroup | None = None
        """The records that are held in memory, until `write_held`."""
        self._quiet_until = 0
        take_over(self)
        self.authorizer = authorizer_of(config, self.acls)

    def start(self) -> None:
        """Load the state of the coordinators.

        Its objects stay, so a garbage collection would visit all of them, repeatedly, and free none.
        """
        with collector_disabled():
            for topic, name in COORDINATORS.items():
                if topic in self.topics:
                    getattr(self, name)
            for coordinator in self.coordinators:
                coordinator.start()
            self._is_started = True

    @cached_property
    def shares(self) -> Shares:
        from kafkawire.broker.share.service import Shares

        return self._begin(Shares(self))

    @cached_property
    def groups(self) -> Groups:
        from kafkawire.broker.groups.service import Groups

        return self._begin(Groups(self))

    @cached_property
    def transactions(self) -> Transactions:
        from kafkawire.broker.transactions.service import Transactions

        return self._begin(Transactions(self))

    def _begin(self, coordinator: C) -> C:
        self.coordinators.append(coordinator)
        if self._is_started:
            coordinator.start()
        return coordinator

    def disconnected(self, peer: Peer) -> None:
        """Drop what is kept for a connection that was closed."""
        if "shares" in vars(self):
            self.shares.disconnected(peer)
        self.telemetry.disconnected(peer)

    def close(self) -> None:
        """Stop the coordinators, and leave the logs as a clean start expects them."""
        for coordinator in self.coordinators:
            coordinator.stop()
        self.logs.close()

    def partition(self, topic: str | UUID, index: int) -> HostedPartition:
        """A partition by the name or the id of its topic.

        Raises UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID if it does not exist.
        """
        if isinstance(topic, str):
            found = self.topics.by_name.get(topic)
            if found is None:
                raise UnknownTopicOrPartitionError(f"no topic {topic!r}")
        else:
            found = self.topics.by_id.get(topic)
            if found is None:
                raise UnknownTopicIdError(f"no topic with id {topic}")
        if self.guard is not None:
            self.guard(found.name, index)
        log = self.logs.partitions.get((found.name, index))
        if log is None:
            raise UnknownTopicOrPartitionError(f"no partition {found.name}-{index}")
        return HostedPartition(found, index, log)

    def log(self, topic: str, index: int) -> Partition:
        """The log of a partition; UNKNOWN_TOPIC_OR_PARTITION if it does not exist."""
        return self.partition(topic, index).log

    def check(self, topic: str, index: int = -1) -> None:
        """Call the guard if there is one."""
        if self.guard is not None:
            self.guard(topic, index)

    def epoch_of(self, topic: str, index: int) -> int:
        """The leader epoch of a partition."""
        return self.leader_epoch + self.moves.get((topic, index), 0) if self.moves else self.leader_epoch

    def check_leader_epoch(self, topic: str, index: int, epoch: int) -> None:
        """Refuse an epoch that is not the partition's current one; -1 skips the check."""
        if epoch == -1 or epoch == (current := self.epoch_of(topic, index)):
            return
        words = f"leader epoch {epoch}, this broker's is {current}"
        raise FencedLeaderEpochError(words) if epoch < current else UnknownLeaderEpochError(words)

    def hold(self, log: Partition, *, more: bool) -> WriteGroup | None:
        """The group that the next append to a log joins; None if this append is written at once.

        An append is held if `more` of them follow, or if the log holds records already. A log that acknowledges only
        synced records holds nothing.
        """
        group, config = self.held, log.config
        if config.flush_on_ack or config.flush_messages < FOREVER:
            return None
        if not more and (group is None or log not in group):
            return None
        if group is None:
            group = self.held = WriteGroup(self.report)
        group.add(log)
        return group

    def append(self, topic: str, index: int, batches: Bytes, *, hold: bool = False) -> AppendResult:
        """Append batches to a partition, as `append_to` does."""
        return self.append_to(self.partition(topic, index), batches, hold=hold)

    def append_to(
        self,
        partition: HostedPartition,
        batches: Bytes,
        *,
        hold: bool = False,
        verification: Verification | None = None,
    ) -> AppendResult:
        """Append batches to a partition and wake the fetches that wait for it; acknowledge them after `durable`.

        With `hold` the bytes stay in memory until the group of `Node.hold` is written.
        """
        topic, index, log = partition
        epoch = self.epoch_of(topic.name, index)
        try:
            result = log.append(batches, leader_epoch=epoch, hold=hold, flush=False, verification=verification)
        except KafkaStorageError as error:
            self.report(error)
            raise
        if not log.config.flush_on_ack:
            self.notify(topic.name, index)
        if log.owes_flush:
            self.flusher.flush(topic.name, index, log)
        return result

    async def append_slowly(
        self, partition: HostedPartition, batches: Bytes, verification: Verification | None = None
    ) -> AppendResult:
        """Append batches whose admission would block the loop: a thread admits them."""
        topic, index, log = partition
        now, epoch = self.clock.now(), self.epoch_of(topic.name, index)
        admitted = await asyncio.get_running_loop().run_in_executor(None, admit, batches, log.config, now)
        partition = self.partition(topic.name, index)
        append = partition.log.append_admitted
        return self.write(
            partition, partial(append, admitted, now, leader_epoch=epoch, flush=False, verification=verification)
        )

    def write(self, partition: HostedPartition, append: Callable[[], AppendResult]) -> AppendResult:
        """Append to a partition in its own way, and wake the fetches that wait for it."""
        topic, index, log = partition
        try:
            result = append()
        except KafkaStorageError as error:
            self.report(error)
            raise
        if not log.config.flush_on_ack:
            self.notify(topic.name, index)
        return result

    def write_held(self) -> None:
        """Write the records that are held in memory; their group keeps the failures for the responses."""
        group, self.held = self.held, None
        if group is not None:
            group.write()

    def durable(self, partition: HostedPartition, last_offset: int) -> Awaitable[None] | None:
        """The sync to await before records up to an offset are acknowledged; None if no sync is needed.

        It is needed with flush.on.ack, or when flush.messages is reached. One sync serves all requests that wait for
        it. A failed sync raises KAFKA_STORAGE_ERROR.
        """
        topic, index, log = partition
        if log.recovery_point > last_offset or not (log.config.flush_on_ack or log.owes_flush):
            return None
        return self.flusher.wait(topic.name, index, log, last_offset)

    def notify(self, topic: str, index: int) -> None:
        """Wake the fetches that wait for a partition, because it has changed."""
        self.changed_partitions += 1
        key = topic, index
        for watch in self.watches.get(key, ()):
            watch.note(key)

    async def create_topics(self, wanted: Sequence[NewTopic]) -> list[Topic | KafkaError]:
        """Create topics; returns for each the topic, or the error."""
        return await self.changes.run(self.changes.creation(wanted))

    async def ensure_internal_topic(self, name: str) -> None:
        """Create an internal topic with its own settings if it does not exist."""
        if name not in self.topics:
            (made,) = await self.create_topics([NewTopic(name, *self.config.internal_topic(name))])
            if isinstance(made, KafkaError) and name not in self.topics:
                raise made

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> Topic:
        """Create a topic, and return when it exists."""
        (made,) = self.changes.run_now(self.changes.creation([NewTopic(name, partitions, configs or {})]))
        if isinstance(made, KafkaError):
            raise made
        return made

    def internal_topic(self, name: str) -> Topic:
        """An internal topic, which is created if it does not exist."""
        return self.topics.find(name) or self.create_topic(name, *self.config.internal_topic(name))

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and its logs, and return when it is gone."""
        (failure,) = self.changes.run_now(self.changes.deletion([topic]))
        if failure is not None:
            raise failure

    def add_partitions(self, topic: Topic, count: int) -> None:
        """Increase the number of partitions of a topic."""
        self.changes.run_now(self.changes.growth(topic, count))

    def configure_topic(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None restores the default."""
        self.changes.run_now(self.changes.topic_settings(topic, changes))

    def configure_broker(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of this broker, or with name '' the defaults of all brokers."""
        self.changes.run_now(self.changes.broker_settings(name, changes))

    def forget(self, topic: Topic) -> None:
        """Remove a topic from the table; the caller removes its logs."""
        self.removed[topic.id] = topic.name
        self.topics.remove(topic)

    def apply_settings(self, topic: Topic) -> LogConfig:
        """Apply the settings of a topic; returns those of its logs."""
        topic.min_insync_replicas = int(self.config.topic_value("min.insync.replicas", topic.configs))
        topic.converts_down = self.config.topic_value("message.downconversion.enable", topic.configs).lower() == "true"
        return self.config.log_config(topic.configs)

    def report(self, error: KafkaStorageError) -> None:
        """Log a disk failure, at most once per QUIET_MS; every client gets its own error."""
        now = self.clock.elapsed()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_MS
            _log.error("records are refused, %s", error.message)
