"""Changes of topics, settings, features and producer ids: durable first, visible afterwards, one at a time.

Rules:
- A change is a generator of steps (`log._cleanup.steps`). Its steps write the journal and make or rename directories;
  threads run them, so that the loop serves requests meanwhile. All else happens on the loop.
- Changes wait for each other in order of arrival: the journal and the table of topics have one writer.
- A change that has begun ends, whether or not the client that asked for it is still there.
- The journal comes first, then the logs, then the table that requests see. A topic whose logs cannot be made is taken
  back in the journal.
- `run_now` is for a node without a loop: its start, and tests.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from uuid import uuid4

from kafkawire.broker._config.settings import BROKER_RESOURCE, SCOPES, TOPIC_RESOURCE, keys
from kafkawire.broker._metadata.journal.records import records
from kafkawire.broker._metadata.journal.state import config_records, partition_records
from kafkawire.broker._metadata.topics import Topic
from kafkawire.broker._ops import threads
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.scram_users import NUMBERS, ScramCredential, record_of
from kafkawire.log import run_steps as run
from kafkawire.messages import RemoveTopicRecord, uuid_text
from kafkawire.messages.errors import KafkaError, UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.broker._metadata.features import FeatureUpdate
    from kafkawire.broker._node import Node
    from kafkawire.log import BackgroundWork
    from kafkawire.log.config import LogConfig
    from kafkawire.messages import RemoveUserScramCredentialRecord, UserScramCredentialRecord

T = TypeVar("T")
_log = logging.getLogger("kafkawire.broker")
AT_ONCE: Final = 50
"""Topics that are processed before the loop serves requests again."""


class NewTopic(NamedTuple):
    """A topic to create."""

    name: str
    partitions: int
    configs: Mapping[str, str] = {}


class Changes:
    """The changes of one node, the one under way and those that wait."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()
        self._undeleted: dict[str, Topic] = {}
        """Deleted topics with directories that the disk refused to rename."""

    async def run(self, work: BackgroundWork[T]) -> T:
        """Run a change when its turn comes; returns its result."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_report_unawaited)
            raise

    def run_now(self, work: BackgroundWork[T]) -> T:
        """Run a change to its end."""
        assert not self._lock.locked(), "another change is under way: await Changes.run"
        return run(work)

    async def drain(self) -> None:
        """Return when no change is under way."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, work: BackgroundWork[T]) -> T:
        async with self._lock:
            return await threads.run(work)

    def creation(self, wanted: Sequence[NewTopic]) -> BackgroundWork[list[Topic | KafkaError]]:
        """Create topics; returns for each the topic, or the error."""
        node = self._node
        results: list[Topic | KafkaError] = []
        fresh: dict[str, tuple[Topic, LogConfig]] = {}
        for number, each in enumerate(wanted):
            if number % AT_ONCE == AT_ONCE - 1:
                yield _pause
            try:
                node.topics.check_new(each.name)
                topic = Topic(each.name, uuid4(), each.partitions, dict(each.configs))
                fresh[each.name] = topic, node.apply_settings(topic)
                node.topics.reserve(each.name)
                results.append(topic)
            except KafkaError as error:
                results.append(error)
        try:
            failures = yield from self._make(fresh)
        finally:
            for name in fresh:
                node.topics.release(name)
        for number, (topic, _) in enumerate(fresh.values()):
            if number % AT_ONCE == AT_ONCE - 1:
                yield _pause
            if topic.name not in failures:
                node.topics.add(topic)
                log_event(
                    "topic created",
                    topic=topic.name,
                    id=uuid_text(topic.id),
                    partitions=topic.partitions,
                    settings=words(topic.configs),
                )
        return [failures.get(each.name, each) if isinstance(each, Topic) else each for each in results]

    def _make(self, fresh: Mapping[str, tuple[Topic, LogConfig]]) -> BackgroundWork[dict[str, KafkaError]]:
        """Write topics to the journal and create their logs; returns the failures."""
        node = self._node
        failures: dict[str, KafkaError] = {}
        if not fresh:
            return failures
        try:
            for topic in [self._undeleted[name] for name in fresh.keys() & self._undeleted.keys()]:
                yield from self._delete_logs(topic)
            yield partial(
                node.journal.write, (record for topic, _ in fresh.values() for record in records(node, topic))
            )
        except KafkaError as error:
            return dict.fromkeys(fresh, error)
        for topic, config in fresh.values():
            try:
                yield from node.logs.creation(topic.name, range(topic.partitions), topic_id=topic.id, config=config)
            except KafkaError as error:
                failures[topic.name] = error
                yield partial(node.journal.write, [RemoveTopicRecord(topic_id=topic.id)])
                yield from self._delete_logs(topic)
        return failures

    def deletion(self, topics: Sequence[Topic]) -> BackgroundWork[list[KafkaError | None]]:
        """Delete topics and their logs; returns for each the error that left its files there, or None."""
        node = self._node
        here = [topic for topic in topics if node.topics.find_id(topic.id) is topic]
        yield partial(node.journal.write, [RemoveTopicRecord(topic_id=topic.id) for topic in here])
        for topic in here:
            node.forget(topic)
        results: dict[str, KafkaError] = {}
        for topic in here:
            try:
                yield from self._delete_logs(topic)
            except KafkaError as error:
                results[topic.name] = error
            for coordinator in node.coordinators:
                coordinator.topic_deleted(topic)
            log_event("topic deleted", topic=topic.name, id=uuid_text(topic.id))
        return [results.get(topic.name) for topic in topics]

    def growth(self, topic: Topic, count: int) -> BackgroundWork[None]:
        """Increase the number of partitions of a topic."""
        node = self._node
        self._check_present(topic)
        fresh = range(topic.partitions, count)
        yield from node.logs.creation(topic.name, fresh, topic_id=topic.id, config=node.apply_settings(topic))
        added = partition_records(topic, fresh, node.id, node.leader_epoch, node.directory_id)
        yield partial(node.journal.write, list(added))
        node.topics.grow(topic, count)
        log_event("partitions added", topic=topic.name, partitions=count)

    def topic_settings(self, topic: Topic, changes: Mapping[str, str | None]) -> BackgroundWork[None]:
        """Change settings of a topic; None restores the default."""
        node = self._node
        self._check_present(topic)
        configs = {name: value for name, value in {**topic.configs, **changes}.items() if value is not None}
        node.config.log_config(configs)
        yield partial(node.journal.write, list(config_records(TOPIC_RESOURCE, topic.name, changes)))
        topic.configs = configs
        yield from self._apply(topic)
        log_event("topic configured", topic=topic.name, settings=words(changes))

    def broker_settings(self, name: str, changes: Mapping[str, str | None]) -> BackgroundWork[None]:
        """Change settings of this broker, or with name '' the defaults of all brokers."""
        node = self._node
        yield partial(node.journal.write, list(config_records(BROKER_RESOURCE, name, changes)))
        node.config.change(name, changes)
        if node.listeners is not None:
            node.listeners.refresh()
        for number, topic in enumerate(list(node.topics)):
            if number % AT_ONCE == AT_ONCE - 1:
                yield _pause
            yield from self._apply(topic)
        log_event("broker configured", node=name, settings=words(changes))

    def own_settings(self, kind: int, name: str, changes: Mapping[str, str | None]) -> BackgroundWork[None]:
        """Change settings of a group or of a subscription to client metrics; None restores the default."""
        node = self._node
        yield partial(node.journal.write, list(config_records(kind, name, changes)))
        node.own_settings[kind].change(name, changes)
        log_event(f"{node.own_settings[kind].what} configured", name=name, settings=words(changes))

    def scram_credentials(
        self, records: Sequence[UserScramCredentialRecord | RemoveUserScramCredentialRecord]
    ) -> BackgroundWork[None]:
        """Set and remove SCRAM credentials of users."""
        yield partial(self._node.journal.write, records)
        for record in records:
            self._node.scram_users.apply(record)
        log_event("SCRAM users changed", credentials=len(records))

    def users(self, passwords: Mapping[str, str]) -> BackgroundWork[None]:
        """Set the SCRAM passwords of users, for every mechanism; those that are set already stay as they are."""
        users = self._node.scram_users
        changed = []
        for name, password in passwords.items():
            for number, mechanism in NUMBERS.items():
                old = users.of(name).get(number)
                secret = password.encode()
                if old is None or old != ScramCredential.of_password(mechanism, secret, old.salt, old.iterations):
                    salt = secrets.token_hex(12).encode()
                    fresh = ScramCredential.of_password(mechanism, secret, salt)
                    changed.append(record_of(name, number, fresh))
        if changed:
            yield from self.scram_credentials(changed)

    def producer_id_block(self) -> BackgroundWork[None]:
        """Make the next block of producer ids durable, unless there are ids left."""
        ids = self._node.producer_ids
        if ids.is_empty:
            record = ids.next_record()
            yield partial(self._node.journal.write, [record])
            ids.extend(record)

    def feature_levels(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool) -> BackgroundWork[None]:
        """Finalize levels of features, all or none; INVALID_UPDATE_VERSION if one cannot change so."""
        node = self._node
        records = node.features.check(updates)
        if validate_only or not records:
            return
        yield partial(node.journal.write, records)
        node.features.apply(records, epoch=node.journal.last_offset)
        for record in records:
            log_event("feature finalized", feature=record.name, level=record.feature_level)

    def _check_present(self, topic: Topic) -> None:
        """Refuse a topic that was deleted while its change waited."""
        if self._node.topics.find_id(topic.id) is not topic:
            raise UnknownTopicOrPartitionError(f"no topic {topic.name!r}")

    def _apply(self, topic: Topic) -> BackgroundWork[None]:
        """Apply the settings of a topic to its logs; a log that starts to flush on acknowledgement is synced first."""
        node = self._node
        config = node.apply_settings(topic)
        if config.flush_on_ack:
            for index in range(topic.partitions):
                log = node.logs.partitions.get((topic.name, index))
                if log is not None and log.recovery_point < log.end_offset:
                    flush = log.begin_flush()
                    try:
                        yield flush.run
                    finally:
                        log.finish_flush(flush)
        node.logs.configure(topic.name, config, range(topic.partitions))

    def _delete_logs(self, topic: Topic) -> BackgroundWork[None]:
        node, name = self._node, topic.name
        here = self._logs_of(topic)
        if not here:
            return
        self._undeleted[name] = topic
        try:
            yield from node.logs.deletion(name, here)
        finally:
            if not self._logs_of(topic):
                del self._undeleted[name]
            for index in here:
                node.notify(name, index)

    def _logs_of(self, topic: Topic) -> list[int]:
        logs = self._node.logs.partitions
        numbered = ((index, logs.get((topic.name, index))) for index in range(topic.partitions))
        return [index for index, log in numbered if log is not None and log.topic_id == topic.id]


def _report_unawaited(task: asyncio.Task[object]) -> None:
    """Take the outcome of a change whose client has left. A refusal concerns the client alone."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, KafkaError):
        _log.error("a change failed after its client had left: %s", error, exc_info=error)


def _pause() -> None:
    """A step that does nothing, so that the loop serves requests before the next one."""


def words(settings: Mapping[str, str | None]) -> str:
    """Settings for the log, without passwords and without values of names that are not known."""
    return " ".join(f"{name}={_word(name, value)}" for name, value in settings.items())


def _word(name: str, value: str | None) -> str:
    if value is None:
        return "default"
    key = next((keys(scope)[name] for scope in SCOPES.values() if name in keys(scope)), None)
    return "hidden" if key is None or key.is_sensitive else value
