"""DeleteRecords: v0-2. Records before an offset, gone.

Rules:
- -1 is the high watermark; an offset past it, or below -1, is OFFSET_OUT_OF_RANGE.
- A topic that is only compacted keeps its records: POLICY_VIOLATION. Internal topics: INVALID_TOPIC_EXCEPTION.
- The new start of the log is on the disk before the answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DeleteRecordsResponse
from kafkawire.messages.errors import InvalidTopicError, KafkaError, OffsetOutOfRangeError, PolicyViolationError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker.node import Node
    from kafkawire.messages import DeleteRecordsRequest


def refuse(request: DeleteRecordsRequest, refusal: ErrorAnswer, context: RequestContext) -> DeleteRecordsResponse:
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
def handle(node: Node, request: DeleteRecordsRequest, context: RequestContext) -> Awaitable[DeleteRecordsResponse]:
    response = DeleteRecordsResponse()
    for topic in request.topics:
        answered = DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name)
        for each in topic.partitions:
            try:
                start = _delete(node, topic.name, each.partition_index, each.offset)
                answered.partitions.append(_result(each.partition_index, start, 0))
            except KafkaError as error:
                answered.partitions.append(_result(each.partition_index, -1, error.code))
        response.topics.append(answered)
    return _checkpoint(node, response)


async def _checkpoint(node: Node, response: DeleteRecordsResponse) -> DeleteRecordsResponse:
    await asyncio.get_running_loop().run_in_executor(None, node.logs.begin_checkpoint())
    return response


def _delete(node: Node, name: str, index: int, offset: int) -> int:
    log = node.log(name, index)
    if node.topics.get(name).is_internal:
        raise InvalidTopicError(f"topic {name!r} is internal")
    if not log.config.deletes:
        raise PolicyViolationError(f"topic {name!r} is only compacted")
    if offset < -1:
        raise OffsetOutOfRangeError(f"offset {offset}, expected -1 or more")
    start = log.delete_records(offset)
    node.watchers.notify(name, index)
    return start


def _result(index: int, start: int, code: int) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
    return DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=start, error_code=code
    )
