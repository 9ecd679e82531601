"""AlterReplicaLogDirs: v0-2. Moves partitions to another log directory of the broker.

Rules:
- The broker has one log directory, so a partition that exists is already there: its answer has no error.
- A path that is not this directory is LOG_DIR_NOT_FOUND, also for unknown partitions.
- A partition that occurs more than once is answered once, for the last path, as in Kafka.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import AlterReplicaLogDirsResponse
from kafkawire.messages.errors import LogDirNotFoundError, UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker._node import Node
    from kafkawire.messages import AlterReplicaLogDirsRequest


def refuse(
    request: AlterReplicaLogDirsRequest, refusal: Refusal, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    codes: dict[str, dict[int, int]] = {}
    for each in request.dirs:
        for topic in each.topics:
            codes.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, refusal.code))
    response = AlterReplicaLogDirsResponse()
    for _ in _fill(response, codes):
        """A refusal has no turns."""
    return response


@serves("AlterReplicaLogDirs", refuse=refuse)
async def handle(
    node: Node, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    codes: dict[str, dict[int, int]] = {}
    for each in request.dirs:
        is_ours = Path(each.path) == Path(node.logs.root)
        for topic in each.topics:
            found = codes.setdefault(topic.name, {})
            for index in topic.partitions:
                if not is_ours:
                    found[index] = LogDirNotFoundError.CODE
                else:
                    is_here = (topic.name, index) in node.logs.partitions
                    found[index] = 0 if is_here else UnknownTopicOrPartitionError.CODE
                await context.yield_if_due()
            await context.yield_if_due()
        await context.yield_if_due()
    response = AlterReplicaLogDirsResponse()
    for _ in _fill(response, codes):
        await context.yield_if_due()
    return response


def _fill(response: AlterReplicaLogDirsResponse, codes: dict[str, dict[int, int]]) -> Iterator[None]:
    """Add the results to the response, in steps."""
    for name, partitions in codes.items():
        topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult(topic_name=name)
        response.results.append(topic)
        for index, code in partitions.items():
            topic.partitions.append(
                AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
            )
            yield
        yield
