"""Changes of topics, settings and producer ids: durable first, visible afterwards, one at a time.

Rules:
- A change is a generator of steps (`log.lengthy`). Its steps write the journal and make or rename directories; threads
  run them, so that the loop serves requests meanwhile. All else happens on the loop.
- Changes wait for each other in order of arrival: the journal and the table of topics have one writer.
- A change that has begun ends, whether or not the client that asked for it is still there.
- The journal comes first, then the logs, then the table that requests see. A topic whose logs cannot be made is taken
  back in the journal.
- `run_now` is for a node without a loop: its start, and tests.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from uuid import uuid4

from kafkawire.broker.configs import BROKER_RESOURCE, TOPIC_RESOURCE, keys
from kafkawire.broker.events import tell
from kafkawire.broker.topics import NO_ID, Topic
from kafkawire.log.lengthy import run
from kafkawire.messages import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from kafkawire.messages.errors import KafkaError, UnknownTopicOrPartitionError
from kafkawire.messages.uuids import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kafkawire.broker.node import Node
    from kafkawire.log.configs import LogConfig
    from kafkawire.log.lengthy import Lengthy
    from kafkawire.messages import Message

T = TypeVar("T")
AT_ONCE: Final = 50
"""Topics that are looked at in one go; other work of the loop comes between."""


class NewTopic(NamedTuple):
    """A topic that somebody asks for."""

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

    async def run(self, work: Lengthy[T]) -> T:
        """Carry out a change when its turn comes; what it returns."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    def run_now(self, work: Lengthy[T]) -> T:
        """Carry out a change here and now."""
        assert not self._lock.locked(), "another change is under way: await Changes.run"
        return run(work)

    async def drain(self) -> None:
        """Return when no change is under way."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, work: Lengthy[T]) -> T:
        loop = asyncio.get_running_loop()
        async with self._lock:
            try:
                step = next(work)
                while True:
                    try:
                        await loop.run_in_executor(None, step)
                    except Exception as error:
                        step = work.throw(error)
                    else:
                        step = next(work)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # what the generator returned

    def creation(self, wanted: Sequence[NewTopic]) -> Lengthy[list[Topic | KafkaError]]:
        """Make topics; for each the topic, or why it was refused."""
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
                tell(
                    "topic created",
                    topic=topic.name,
                    id=uuid_text(topic.id),
                    partitions=topic.partitions,
                    settings=words(topic.configs),
                )
        return [failures.get(each.name, each) if isinstance(each, Topic) else each for each in results]

    def _make(self, fresh: Mapping[str, tuple[Topic, LogConfig]]) -> Lengthy[dict[str, KafkaError]]:
        """Write topics down and make their logs; those that failed."""
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

    def deletion(self, topics: Sequence[Topic]) -> Lengthy[list[KafkaError | None]]:
        """Take topics away, logs and all; for each why its files are still there, None if they are not."""
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
            for service in node.services:
                service.topic_deleted(topic)
            tell("topic deleted", topic=topic.name, id=uuid_text(topic.id))
        return [results.get(topic.name) for topic in topics]

    def growth(self, topic: Topic, count: int) -> Lengthy[None]:
        """Let a topic have that many partitions, more than it has."""
        node = self._node
        self._check_present(topic)
        fresh = range(topic.partitions, count)
        yield from node.logs.creation(topic.name, fresh, topic_id=topic.id, config=node.apply_settings(topic))
        yield partial(node.journal.write, [partition_record(node, topic, index) for index in fresh])
        topic.partitions = max(topic.partitions, count)
        tell("partitions added", topic=topic.name, partitions=count)

    def topic_settings(self, topic: Topic, changes: Mapping[str, str | None]) -> Lengthy[None]:
        """Set settings of a topic, or with None let them go back to the default."""
        node = self._node
        self._check_present(topic)
        configs = {name: value for name, value in {**topic.configs, **changes}.items() if value is not None}
        node.config.log_config(configs)
        yield partial(node.journal.write, list(config_records(TOPIC_RESOURCE, topic.name, changes)))
        topic.configs = configs
        yield from self._apply(topic)
        tell("topic configured", topic=topic.name, settings=words(changes))

    def broker_settings(self, name: str, changes: Mapping[str, str | None]) -> Lengthy[None]:
        """Set settings of this broker, or with name '' the default of all brokers."""
        node = self._node
        yield partial(node.journal.write, list(config_records(BROKER_RESOURCE, name, changes)))
        node.config.change(name, changes)
        for number, topic in enumerate(list(node.topics)):
            if number % AT_ONCE == AT_ONCE - 1:
                yield _pause
            yield from self._apply(topic)
        tell("broker configured", node=name, settings=words(changes))

    def producer_id_block(self) -> Lengthy[None]:
        """Make the next block of producer ids durable, unless there are ids left."""
        ids = self._node.producer_ids
        if ids.is_empty:
            record = ids.next_record()
            yield partial(self._node.journal.write, [record])
            ids.extend(record)

    def _check_present(self, topic: Topic) -> None:
        """Refuse a topic that was deleted while its change waited."""
        if self._node.topics.find_id(topic.id) is not topic:
            raise UnknownTopicOrPartitionError(f"no topic {topic.name!r}")

    def _apply(self, topic: Topic) -> Lengthy[None]:
        """Let the logs of a topic go by its settings, after a sync of what they promise to have synced."""
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

    def _delete_logs(self, topic: Topic) -> Lengthy[None]:
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
                node.watchers.notify(name, index)

    def _logs_of(self, topic: Topic) -> list[int]:
        logs = self._node.logs.partitions
        numbered = ((index, logs.get((topic.name, index))) for index in range(topic.partitions))
        return [index for index, log in numbered if log is not None and log.topic_id == topic.id]


def _pause() -> None:
    """A step that does nothing: the loop serves others before the next one."""


def records(node: Node, topic: Topic) -> Iterator[Message]:
    """A topic as the journal writes it down."""
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    yield from (partition_record(node, topic, index) for index in range(topic.partitions))
    yield from config_records(TOPIC_RESOURCE, topic.name, topic.configs)


def partition_record(node: Node, topic: Topic, index: int) -> PartitionRecord:
    """A partition as the journal writes it down."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.id,
        replicas=[node.id],
        isr=[node.id],
        leader=node.id,
        leader_epoch=node.leader_epoch,
        partition_epoch=0,
        directories=[NO_ID],
    )


def config_records(resource: int, owner: str, settings: Mapping[str, str | None]) -> Iterator[ConfigRecord]:
    """Settings as the journal writes them down."""
    for name, value in settings.items():
        yield ConfigRecord(resource_type=resource, resource_name=owner, name=name, value=value)


def words(settings: Mapping[str, str | None]) -> str:
    """Settings for the log, without passwords and without values of names that are not known."""
    return " ".join(f"{name}={_word(name, value)}" for name, value in settings.items())


def _word(name: str, value: str | None) -> str:
    if value is None:
        return "default"
    key = keys("broker").get(name) or keys("topic").get(name)
    return "hidden" if key is None or key.is_sensitive else value
