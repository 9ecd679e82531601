"""DeleteRecords: v0-2. Deletes the records before an offset.

Rules:
- -1 is the high watermark; an offset past it, or below -1, is OFFSET_OUT_OF_RANGE.
- A topic that is only compacted keeps its records: POLICY_VIOLATION. Internal topics: INVALID_TOPIC_EXCEPTION.
- A partition that occurs more than once is answered once; its last offset counts.
- The new log start is on the disk before the response.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import DeleteRecordsResponse
from kafkawire.messages.errors import InvalidTopicError, KafkaError, OffsetOutOfRangeError, PolicyViolationError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DeleteRecordsRequest


def refuse(request: DeleteRecordsRequest, refusal: Refusal, context: RequestContext) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_result(each.partition_index, -1, refusal.code) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


@serves("DeleteRecords", refuse=refuse)
async def handle(node: Node, request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        for each in topic.partitions:
            offsets[each.partition_index] = each.offset
            await context.yield_if_due()
    response = DeleteRecordsResponse()
    has_changed = False
    for name, offsets in wanted.items():
        answered = DeleteRecordsResponse.DeleteRecordsTopicResult(name=name)
        response.topics.append(answered)
        for index, offset in offsets.items():
            try:
                answered.partitions.append(_result(index, await _delete(node, name, index, offset), 0))
                has_changed = True
            except KafkaError as error:
                answered.partitions.append(_result(index, -1, error.code))
            await context.yield_if_due()
    if has_changed:
        await asyncio.get_running_loop().run_in_executor(None, node.logs.begin_checkpoint())
    return response


async def _delete(node: Node, name: str, index: int, offset: int) -> int:
    log = node.log(name, index)
    if node.topics.get(name).is_internal:
        raise InvalidTopicError(f"topic {name!r} is internal")
    if not log.config.deletes:
        raise PolicyViolationError(f"topic {name!r} is only compacted")
    if offset < -1:
        raise OffsetOutOfRangeError(f"offset {offset}, expected -1 or more")
    before = log.high_watermark if offset == -1 else offset
    if log.recovery_point < before <= log.end_offset:
        await node.flusher.wait(name, index, log, before - 1)  # a thread syncs what a log start must not be ahead of
    start = log.delete_records(before)
    node.notify(name, index)
    return start


def _result(index: int, start: int, code: int) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
    return DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=start, error_code=code
    )
