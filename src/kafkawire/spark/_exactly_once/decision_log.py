"""The decisions of sinks, in a compacted topic of the cluster that they write to.

Rules:
- A record has the name of a sink as its key and a decision as its value, null if the sink is forgotten. The last record
  of a key counts.
- A decision is written in a transaction of the driver's transactional id, which one process at a time owns. The
  transaction of a process that was fenced is aborted before the next one reads.
- The log is read up to its end, not up to the first open transaction, because the driver of another sink may have one
  open. The read waits for it: at most its timeout.
- The topic has one partition and keeps the last record of each key. A topic that deletes old records is refused,
  because a sink that forgets its decision writes a batch twice.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.client import Admin, BulkReader, BulkWriter, ConfigResource, NewTopic, ResourceType, TransactionError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ClientOptions, ProducerOptions
from kafkawire.messages.errors import (
    ClusterAuthorizationFailedError,
    ErrorCode,
    KafkaError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafkawire.spark._exactly_once.decision import Decision
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.spark._exactly_once.names import SinkNames
    from kafkawire.spark._exactly_once.options import SinkOptions

_TIMEOUT_MS: Final = 30_000
_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(50 * 1024 * 1024)}
_COMMITTED: Final = "read_committed"
_REPLACED: Final = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}


class DecisionLog:
    """The decisions of one sink; a process keeps it from batch to batch."""

    def __init__(self, options: SinkOptions, names: SinkNames) -> None:
        self._client = dict(options.client)
        self._topic = options.decisions
        self._names = names
        self._writer: BulkWriter | None = None
        self._last: Decision | None = None

    def close(self) -> None:
        """Close the connections; the next `take_over` reads again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    async def take_over(self) -> Decision | None:
        """Fence earlier drivers of the sink, once in a process; the last decision."""
        if self._writer is None:
            await self._ensure_topic()
            self._writer = BulkWriter(
                config=self._client, transactional_id=self._names.of_driver, transaction_timeout_ms=_TIMEOUT_MS
            )
            try:
                self._writer.begin()
                self._last = self._read()
            except BaseException:
                self.close()
                raise
        return self._last

    async def read(self) -> Decision | None:
        """The last decision of the sink; None if there is none, or no topic yet."""
        async with Admin(**shared_options(self._client)) as admin:
            if not await self._create_topic(admin, validate_only=True):
                return None
        return self._read()

    def _read(self) -> Decision | None:
        found = None
        for sink, decision in read_decisions(self._client, self._topic, must_exist=True):
            if sink == self._names.of_driver:
                found = decision
        return found

    def store(self, decision: Decision | None) -> None:
        """Store a decision, or forget the sink."""
        writer = self._writer
        assert writer is not None, "take_over comes first"
        rows = pa.record_batch(
            {
                "key": pa.array([self._names.of_driver.encode()], pa.binary()),
                "value": pa.array([None if decision is None else decision.encode()], pa.binary()),
                "partition": pa.array([0], pa.int32()),
            }
        )
        try:
            writer.write(self._topic, rows)
            writer.commit()
            writer.begin()
        except BaseException as error:
            self.close()
            if isinstance(error, TransactionError) and _code_of(error) in _REPLACED:
                raise SinkError(
                    f"sink {self._names.sink!r}: another driver has taken over, or this one was silent for too long:"
                    f" {error.__cause__}. Stop one of two queries with this sink, or restart this query"
                ) from error
            raise
        self._last = decision

    async def _ensure_topic(self) -> None:
        async with Admin(**shared_options(self._client)) as admin:
            if await self._create_topic(admin):
                await self._check_topic(admin)

    async def _create_topic(self, admin: Admin, *, validate_only: bool = False) -> bool:
        """Create the topic, or only ask whether it could be; whether it exists already, which the controller knows."""
        name = self._topic
        try:
            await admin.create_topics([NewTopic(name, 1, -1, topic_configs=_CONFIGS)], validate_only=validate_only)
        except TopicAlreadyExistsError:
            return True
        except (TopicAuthorizationFailedError, ClusterAuthorizationFailedError) as error:
            if name in await admin.list_topics():
                return True
            if not validate_only:
                raise SinkError(
                    f"the topic of decisions {name!r} does not exist, and this user may not create it: {error}."
                    " Create it with one partition and cleanup.policy=compact, or name another in decisionTopic"
                ) from error
        return False

    async def _check_topic(self, admin: Admin) -> None:
        name = self._topic
        resource = ConfigResource(ResourceType.TOPIC, name)
        with suppress(TopicAuthorizationFailedError, UnknownTopicOrPartitionError):
            found = await admin.describe_configs([resource])
            policy = found[resource]["cleanup.policy"].value
            if policy is not None and policy != "compact":
                raise SinkError(
                    f"the topic of decisions {name!r} has cleanup.policy={policy}, expected compact: a decision that is"
                    " deleted would let a batch be written twice"
                )


def _code_of(error: BaseException) -> int | None:
    return error.__cause__.code if isinstance(error.__cause__, KafkaError) else None


def read_decisions(
    client: Mapping[str, str], topic: str, *, must_exist: bool = False
) -> Iterator[tuple[str, Decision | None]]:
    """Every decision in a topic, by the transactional id of its driver, in order.

    A broker that has just started may not know a topic that exists. Such an answer is repeated if the topic must exist.
    """
    with BulkReader(**shared_options(client)) as reader:
        try:
            if not must_exist:
                reader.partitions(topic)
            start = reader.earliest(topic, [0])[0]
            end = reader.latest(topic, [0], isolation="read_uncommitted")[0]
        except UnknownTopicOrPartitionError:
            if must_exist:
                raise
            return
        columns = ["key", "value", "offset"]
        for batch in reader.read(topic, 0, start, end, columns=columns, isolation=_COMMITTED):
            for key, value, offset in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                where = f"{topic}-0 at offset {offset}"
                yield bytes(key or b"").decode(errors="replace"), value and Decision.decode(value, where)


def shared_options(client: Mapping[str, str]) -> dict[str, Any]:
    """The options of a producer that every client has: addresses, security, timeouts."""
    options = read_options(ProducerOptions, client, {})
    return {name: getattr(options, name) for name in ClientOptions.__dataclass_fields__}
