"""ListOffsets: v0-11. Finds offsets by time.

Rules:
- -1 is the latest offset that the isolation level allows to read, -2 the earliest. -3 (v7) is the offset of the largest
  timestamp, -4 (v8) the earliest on local disk. -5 (v9) is the last in tiered storage, -6 (v11) the earliest that waits
  for it. Without tiering -4 equals -2, and -5 and -6 are unknown. A value newer than the version: UNSUPPORTED_VERSION.
- Any other value is a time: the result is the first record at or after it. If there is none: offset -1, timestamp -1.
- v0 returns the base offsets of segments, latest first, selected by their time of modification.
- A partition named twice: INVALID_REQUEST for it, answered once. Leader epochs are checked from v4 on.
- A batch that is slow to decompress is searched in a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._ops import threads
from kafkawire.exceptions import KafkaWireError
from kafkawire.log import find_largest_timestamp, find_timestamp
from kafkawire.messages import ListOffsetsResponse
from kafkawire.messages.errors import InvalidRequestError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.log.partition import Partition
    from kafkawire.messages import ListOffsetsRequest

    RequestPartition = ListOffsetsRequest.ListOffsetsPartition

LATEST, EARLIEST, LARGEST, LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
_SINCE: Final = {LATEST: 0, EARLIEST: 0, LARGEST: 7, LOCAL: 8, TIERED: 9, PENDING: 11}
READ_COMMITTED: Final = 1


def refuse(request: ListOffsetsRequest, refusal: Refusal, context: RequestContext) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name, partitions=[_failed(wanted.partition_index, refusal) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


@serves("ListOffsets", refuse=refuse)
async def handle(node: Node, request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    asked: dict[str, dict[int, RequestPartition | None]] = {}
    for topic in request.topics:
        partitions = asked.setdefault(topic.name, {})
        for wanted in topic.partitions:
            index = wanted.partition_index
            partitions[index] = None if index in partitions else wanted
            await context.yield_if_due()
    response = ListOffsetsResponse()
    for name, partitions in asked.items():
        answered = ListOffsetsResponse.ListOffsetsTopicResponse(name=name)
        response.topics.append(answered)
        for index, only in partitions.items():
            try:
                if only is None:
                    raise InvalidRequestError("the partition is asked for more than once")
                answered.partitions.append(await _find(node, name, only, request, context.version))
            except KafkaWireError as error:
                answered.partitions.append(_failed(index, Refusal.of(error)))
            await context.yield_if_due()
    return response


async def _find(
    node: Node, topic: str, wanted: RequestPartition, request: ListOffsetsRequest, version: int
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    if wanted.timestamp < 0 and version < _SINCE.get(wanted.timestamp, 1 << 15):
        raise UnsupportedVersionError(f"timestamp {wanted.timestamp} in ListOffsets v{version}")
    log = node.log(topic, wanted.partition_index)
    if version >= 4:
        node.check_leader_epoch(topic, wanted.partition_index, wanted.current_leader_epoch)
    found = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    if version == 0:
        found.old_style_offsets = segment_offsets(log, wanted.timestamp, wanted.max_num_offsets, node.clock.now())
        return found
    if request.replica_id >= 0:
        limit = log.end_offset
    else:
        limit = log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark
    found.offset, found.timestamp, epoch = await find_offset(log, wanted.timestamp, limit)
    if version >= 4:
        found.leader_epoch = node.epoch_of(topic, wanted.partition_index) if wanted.timestamp == LATEST else epoch
    return found


async def find_offset(log: Partition, timestamp: int, limit: int) -> tuple[int, int, int]:
    """Offset, timestamp and leader epoch of what a timestamp means; -1 each where there is nothing."""
    if timestamp == LATEST:
        return limit, -1, log.epochs.latest
    if timestamp in (EARLIEST, LOCAL):
        return log.log_start_offset, -1, log.epochs.epoch_at(log.log_start_offset)
    if timestamp in (TIERED, PENDING):
        return -1, -1, -1
    search = find_largest_timestamp(log) if timestamp == LARGEST else find_timestamp(log, timestamp)
    found = await threads.run(search)
    return (
        (-1, -1, -1) if found is None or found.offset >= limit else (found.offset, found.timestamp, found.leader_epoch)
    )


def segment_offsets(log: Partition, timestamp: int, most: int, now: int) -> list[int]:
    """The result of v0: first offsets of segments at or before a time, latest first, the log's end among them."""
    times = [(max(segment.base_offset, log.log_start_offset), segment.modified_ms) for segment in log.segments]
    if log.segments.active.size:
        times.append((log.high_watermark, now))
    if timestamp == LATEST:
        last = len(times)
    elif timestamp == EARLIEST:
        last = 1
    else:
        last = max((number + 1 for number, (_, written) in enumerate(times) if written <= timestamp), default=0)
    return [offset for offset, _ in reversed(times[:last])][: max(0, most)]


def _failed(index: int, refusal: Refusal) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    return ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=index, error_code=refusal.code, offset=-1, timestamp=-1
    )
