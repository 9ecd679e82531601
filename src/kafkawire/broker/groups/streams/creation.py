"""Internal topics of streams applications, created by the broker.

Rules:
- A heartbeat that lacks topics has them created in the background, and says that they are missing. A later heartbeat
  finds them.
- A topic whose creation failed is tried again after twice the heartbeat interval. Until then heartbeats name the error.
- MOST_ERRORS errors are remembered, the newest ones.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker._metadata.changes import NewTopic
    from kafkawire.broker._node import Node

MOST_ERRORS: Final = 1_000


class _Failure(NamedTuple):
    message: str
    until: int


class InternalTopics:
    """The topics that are being created, and the errors of those that were not."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._creating: set[str] = set()
        self._failures: dict[str, _Failure] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def create(self, wanted: Mapping[str, NewTopic | KafkaError], retry_ms: int) -> None:
        """Create topics in the background, but for those that are being created or failed just now."""
        fresh = []
        for name, topic in wanted.items():
            if name in self._creating or self._failure(name) is not None:
                continue
            if isinstance(topic, KafkaError):
                self._fail(name, topic, retry_ms)
            else:
                fresh.append(topic)
        if fresh:
            self._creating.update(topic.name for topic in fresh)
            task = asyncio.get_running_loop().create_task(self._create(fresh, retry_ms))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def errors(self, names: Iterable[str]) -> dict[str, str]:
        """The errors of topics that could not be created."""
        found = ((name, self._failure(name)) for name in names)
        return {name: message for name, message in found if message is not None}

    async def _create(self, topics: list[NewTopic], retry_ms: int) -> None:
        try:
            for topic, made in zip(topics, await self._node.create_topics(topics), strict=True):
                if isinstance(made, KafkaError) and made.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    self._fail(topic.name, made, retry_ms)
        finally:
            self._creating.difference_update(topic.name for topic in topics)

    def _failure(self, name: str) -> str | None:
        failure = self._failures.get(name)
        return failure.message if failure is not None and failure.until > self._node.clock.elapsed() else None

    def _fail(self, name: str, error: KafkaError, retry_ms: int) -> None:
        self._failures.pop(name, None)
        self._failures[name] = _Failure(error.message or "", self._node.clock.elapsed() + retry_ms)
        while len(self._failures) > MOST_ERRORS:
            del self._failures[next(iter(self._failures))]
