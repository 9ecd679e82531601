"""Fetch: v0-18. Reads records of partitions.

Rules:
- The response is sent at once if max_wait_ms is 0, min_bytes can be read, or a partition has an error. Else it is sent
  when min_bytes can be read, or after max_wait_ms. A fetch that waits holds no thread; an append wakes it.
- A partition that occurs more than once is read as its last occurrence asks, at the position of its first.
- A request that is too large to be decoded at once does not wait for records. Only one such request is served at a
  time. Other requests, and sessions, have so few partitions that only reading them yields.
- Partitions are read in order. Each gets the smaller of its own limit and the rest of the request's limit. From v3 on
  the first partition with records returns at least one whole batch. A later first batch that does not fit is left out.
  Before v3 the limits are hard, and a batch may be cut off.
- Consumers read up to the high watermark, with read_committed up to the last stable offset, replicas to the log end.
- A partition that the client may not read is TOPIC_AUTHORIZATION_FAILED, whether it exists or not; all are for a
  replica without CLUSTER_ACTION. Only a topic id that does not exist is UNKNOWN_TOPIC_ID for every client.
- An error carries no offsets: high watermark, last stable offset and log start are -1.
- A fetch that waits keeps what it has read. When it is woken, it reads the partitions that changed, and those whose
  records it holds, because their files may be gone meanwhile.
- v7+: incremental sessions (`_fetch.sessions`). A refused session is a top-level error without partitions.
- v13+: topics by id. v16+: the current leader, if the client's leader epoch is too old.
- A client with a consumer quota gets at most the bytes of its burst. If its rate is exceeded, the response is empty.
  Its session stays as it was, and the bytes are not counted.
- Stored bytes are not read, because a `FileRange` is the records field of a partition. Clients before v4 get an older
  format, which a thread converts (`_fetch.down_conversion`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._fetch.down_conversion import convert_all
from kafkawire.broker._fetch.sessions import PartitionUpdate
from kafkawire.broker._fetch.watch import Watch
from kafkawire.messages import FetchResponse
from kafkawire.messages.errors import (
    ErrorCode,
    KafkaError,
    OffsetOutOfRangeError,
    TopicAuthorizationError,
    UnsupportedCompressionTypeError,
    UnsupportedVersionError,
)
from kafkawire.records.layout import PREFIX_SIZE, stated_size
from kafkawire.wire.acls import Operation, ResourceType
from kafkawire.wire.fetch_sessions import FetchPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from kafkawire.broker._acls.access import Access
    from kafkawire.broker._fetch.sessions import Key, SessionFetch
    from kafkawire.broker._node import Node
    from kafkawire.log import FileRange, Partition
    from kafkawire.messages import FetchRequest

    TopicPartition = tuple[str, int]

READ_COMMITTED: Final = 1
PARTITION_BYTES: Final = 40
_LEADER_ERRORS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def refuse(request: FetchRequest, refusal: Refusal, context: RequestContext) -> FetchResponse:
    response = FetchResponse(error_code=refusal.code)
    if context.version < 7:
        for topic in request.topics:
            failed = FetchResponse.FetchableTopicResponse(topic=topic.topic)
            for each in topic.partitions:
                failed.partitions.append(
                    FetchResponse.PartitionData(
                        partition_index=each.partition, error_code=refusal.code, high_watermark=-1, records=b""
                    )
                )
            response.responses.append(failed)
    return response


@serves("Fetch", refuse=refuse)
async def handle(node: Node, request: FetchRequest, context: RequestContext) -> FetchResponse:
    version = context.version
    fetch = node.sessions.begin(
        request.session_id if version >= 7 else 0,
        request.session_epoch if version >= 7 else -1,
        await _listed(request, context),
        await _forgotten(request, context) if version >= 7 else (),
        uses_ids=version >= 13,
    )
    if fetch.error:
        return FetchResponse(error_code=fetch.error)
    most, min_bytes = node.max_fetch_bytes, request.min_bytes
    burst = None if context.quota is None else context.quota.most_fetched
    if burst is not None:
        most, min_bytes = min(most, int(burst)), min(min_bytes, int(burst))
    limits = Limits(
        version,
        request.isolation_level if version >= 4 else 0,
        request.replica_state.replica_id if version >= 15 else request.replica_id,
        min(request.max_bytes, most) if version >= 3 else most,
        None if context.access is None else Visibility(node, context.access),
    )
    seen = node.changed_partitions
    read = PartitionRead(node, list(fetch.positions.items()), limits)
    await read.read(context)
    if not (request.max_wait_ms <= 0 or not read.partitions or context.is_large or read.is_enough(min_bytes)):
        await _poll(node, read, _numbers(node, fetch.positions), request, min_bytes, context, seen)
    if context.quota is not None and limits.replica < 0:
        context.throttle(context.quota.fetched(_size(read.partitions)))
        if context.throttle_ms:
            return FetchResponse(session_id=fetch.session_id)
    if version < 4 and read.holds_records:
        magic = 0 if version < 2 else 1
        offsets = (position.offset for position in fetch.positions.values())
        stored = list(zip(read.partitions, offsets, strict=True))
        await asyncio.get_running_loop().run_in_executor(None, convert_all, stored, magic)
    return await _response(node, fetch, read.partitions, context)


class Limits(NamedTuple):
    """The limits of one request."""

    version: int
    isolation: int
    replica: int
    max_bytes: int
    visibility: Visibility | None = None
    """The partitions that the client may read; None if it may read all."""


class Visibility:
    """The topics that a client may read, each decided once per request."""

    __slots__ = ("_access", "_decisions", "_node")

    def __init__(self, node: Node, access: Access) -> None:
        self._node = node
        self._access = access
        self._decisions: dict[str | UUID, bool] = {}

    def check(self, name: str | UUID, replica: int) -> None:
        """Refuse a topic that the client may not read; a topic id that does not exist is not refused here."""
        if name not in self._decisions:
            self._decisions[name] = self._decide(name, replica)
        if not self._decisions[name]:
            raise TopicAuthorizationError

    def _decide(self, name: str | UUID, replica: int) -> bool:
        if replica >= 0:
            return self._access.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
        if not isinstance(name, str):
            topic = self._node.topics.find_id(name)
            if topic is None:
                return True
            name = topic.name
        return self._access.may(Operation.READ, ResourceType.TOPIC, name)


class PartitionRead:
    """The partitions of one fetch as they were read, in the order of the request."""

    def __init__(self, node: Node, wanted: Sequence[tuple[Key, FetchPosition]], limits: Limits) -> None:
        self.partitions: list[FetchResponse.PartitionData] = []
        self._is_final = False
        self._node = node
        self._wanted = wanted
        self._limits = limits
        self._size = 0
        self._holding: set[int] = set()

    @property
    def holds_records(self) -> bool:
        return bool(self._holding)

    def is_enough(self, min_bytes: int) -> bool:
        """Whether to stop waiting: there are enough bytes, or waiting would not change the response."""
        return self._is_final or self._size >= min_bytes

    async def read(self, context: RequestContext) -> None:
        """Read every partition, within the limits."""
        for number, (key, position) in enumerate(self._wanted):
            if number:
                await context.yield_if_due()
            self.partitions.append(self._read(number, key, position))

    async def read_again(self, numbers: Iterable[int], context: RequestContext) -> None:
        """Read the partitions with these numbers again, and those whose records are held."""
        for number in sorted(self._holding.union(numbers)):
            self._size -= len(self.partitions[number].records or b"")
            self._holding.discard(number)
            self.partitions[number] = self._read(number, *self._wanted[number])
            await context.yield_if_due()

    def _read(self, number: int, key: Key, position: FetchPosition) -> FetchResponse.PartitionData:
        size, limits = self._size, self._limits
        data = read_partition(self._node, key, position, limits, max(0, limits.max_bytes - size), is_first=not size)
        if data.records:
            self._size = size + len(data.records)
            self._holding.add(number)
        elif _is_final(data):
            self._is_final = True
        return data


def read_partition(
    node: Node, key: Key, position: FetchPosition, limits: Limits, left: int, *, is_first: bool
) -> FetchResponse.PartitionData:
    """Read one partition; an error is part of the result."""
    try:
        return _read(node, key, position, limits, left, is_first=is_first)
    except KafkaError as error:
        code = error.code
        if code == ErrorCode.KAFKA_STORAGE_ERROR and limits.version <= 5:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        data = FetchResponse.PartitionData(
            partition_index=key[1], error_code=code, high_watermark=-1, records=b"", aborted_transactions=None
        )
        if code in _LEADER_ERRORS and limits.version >= 16:
            data.current_leader = FetchResponse.LeaderIdAndEpoch(leader_id=node.id, leader_epoch=node.leader_epoch)
        return data


def _read(
    node: Node, key: Key, position: FetchPosition, limits: Limits, left: int, *, is_first: bool
) -> FetchResponse.PartitionData:
    version, isolation, replica, _, visibility = limits
    offset, max_bytes, leader_epoch, last_fetched_epoch, _ = position
    if visibility is not None:
        visibility.check(key[0], replica)
    topic, index, log = node.partition(*key)
    if leader_epoch != -1:
        node.check_leader_epoch(topic.name, index, leader_epoch)
    watermark, stable = log.high_watermark, log.last_stable_offset
    data = FetchResponse.PartitionData(
        partition_index=index,
        high_watermark=watermark,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        records=b"",
    )
    if last_fetched_epoch != -1 and _diverges(log, position, data, node.epoch_of(topic.name, index)):
        return data
    up_to = log.end_offset if replica >= 0 else stable if isolation == READ_COMMITTED else watermark
    most = min(max_bytes, left)
    found = log.read(offset, max(0, most), up_to=up_to, min_one_batch=version >= 3 and is_first)
    if isolation == READ_COMMITTED:
        data.aborted_transactions = [
            FetchResponse.AbortedTransaction(producer_id=entry.producer_id, first_offset=entry.first_offset)
            for entry in log.aborted_transactions(offset, up_to)
        ]
    if not found.length or (version >= 3 and not is_first and found.length >= most and _is_cut(found)):
        return data
    if version < 4 and not topic.converts_down:
        raise UnsupportedVersionError(f"topic {topic.name!r} does not convert records for old clients")
    if version < 10 and log.config.compression_type == "zstd":
        raise UnsupportedCompressionTypeError(f"zstd for Fetch v{version}, expected v10 or later")
    data.records = cast("memoryview", found)  # the encoder takes it as it is (`_codec.parts`)
    return data


def _diverges(log: Partition, position: FetchPosition, data: FetchResponse.PartitionData, current: int) -> bool:
    """Whether the client's last batch is not in this log; the point of divergence is then in the response."""
    if position.offset < log.log_start_offset:
        raise OffsetOutOfRangeError(f"offset {position.offset}, the log starts at {log.log_start_offset}")
    epoch, end = log.epochs.end_offset(position.last_fetched_epoch, log.end_offset, current)
    if epoch == -1 or end == -1:
        raise OffsetOutOfRangeError(f"leader epoch {position.last_fetched_epoch} is not known here")
    if epoch < position.last_fetched_epoch or end < position.offset:
        data.diverging_epoch = FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end)
        return True
    return False


def _is_final(data: FetchResponse.PartitionData) -> bool:
    """Whether waiting longer would not change the result of a partition."""
    return data.error_code != ErrorCode.NONE or data.diverging_epoch.epoch != -1


def _is_cut(found: FileRange) -> bool:
    """Whether a range ends inside its first batch."""
    return found.length < stated_size(found.file.read(found.position, PREFIX_SIZE))


async def _poll(
    node: Node,
    read: PartitionRead,
    numbers: dict[TopicPartition, int],
    request: FetchRequest,
    min_bytes: int,
    context: RequestContext,
    seen: int,
) -> None:
    """Wait until there is enough; `seen` is the number of changes before the partitions were read."""
    deadline = node.clock.elapsed() + request.max_wait_ms
    with Watch(node.watches, numbers.keys()) as watch:
        if node.changed_partitions != seen:
            await read.read_again(numbers.values(), context)
        in_time = True
        while in_time and not read.is_enough(min_bytes):
            in_time = await watch.wait(node.clock, deadline - node.clock.elapsed())
            context.begin_turn()
            context.was_paused = False  # the turns before the wait say nothing about the size of the response
            await read.read_again((numbers[key] for key in watch.take()), context)


def _size(partitions: list[FetchResponse.PartitionData]) -> int:
    """The bytes of a response with these partitions, but for a few of its names."""
    return sum(PARTITION_BYTES + len(each.records or b"") for each in partitions)


async def _response(
    node: Node, fetch: SessionFetch, partitions: list[FetchResponse.PartitionData], context: RequestContext
) -> FetchResponse:
    session_id, sent = 0, None
    if fetch.has_session:
        session_id, sent = fetch.finish(list(zip(fetch.positions, map(_update, partitions), strict=True)))
    response = FetchResponse(session_id=session_id)
    topic: FetchResponse.FetchableTopicResponse | None = None
    last: object = None
    for number, ((name, _), data) in enumerate(zip(fetch.positions, partitions, strict=True)):
        if sent is not None and not sent[number]:
            continue
        if topic is None or name != last:
            topic = FetchResponse.FetchableTopicResponse()
            if isinstance(name, str):
                topic.topic = name
            else:
                topic.topic_id = name
            response.responses.append(topic)
            last = name
        topic.partitions.append(data)
        if not response.node_endpoints and data.current_leader.leader_id != -1:
            here = node.endpoints[context.listener]
            response.node_endpoints = [
                FetchResponse.NodeEndpoint(node_id=node.id, host=here.host, port=here.port, rack=node.rack)
            ]
        if context.is_large:
            await context.yield_if_due()
    return response


def _update(data: FetchResponse.PartitionData) -> PartitionUpdate:
    """The part of a partition's result that sessions compare."""
    failed, has_records = data.error_code != ErrorCode.NONE, bool(data.records)
    is_news = has_records or _is_final(data)
    return PartitionUpdate(data.high_watermark, data.log_start_offset, is_news, has_records, failed)


async def _listed(request: FetchRequest, context: RequestContext) -> dict[Key, FetchPosition]:
    version = context.version
    found: dict[Key, FetchPosition] = {}
    for topic in request.topics:
        name = topic.topic if version < 13 else topic.topic_id
        for each in topic.partitions:
            found[name, each.partition] = FetchPosition(
                each.fetch_offset,
                each.partition_max_bytes,
                each.current_leader_epoch if version >= 9 else -1,
                each.last_fetched_epoch if version >= 12 else -1,
            )
            if context.is_large:
                await context.yield_if_due()
    return found


async def _forgotten(request: FetchRequest, context: RequestContext) -> list[Key]:
    found: list[Key] = []
    for topic in request.forgotten_topics_data:
        name = topic.topic if context.version < 13 else topic.topic_id
        for index in topic.partitions:
            found.append((name, index))
            if context.is_large:
                await context.yield_if_due()
    return found


def _numbers(node: Node, wanted: Iterable[Key]) -> dict[TopicPartition, int]:
    """The numbers in the response of the partitions that can change."""
    numbers: dict[TopicPartition, int] = {}
    for number, (name, index) in enumerate(wanted):
        topic = node.topics.find(name) if isinstance(name, str) else node.topics.find_id(name)
        if topic is not None:
            numbers[topic.name, index] = number
    return numbers
