"""DescribeLogDirs: v0-5. The partitions in the log directory, and their sizes.

Rules:
- Null topics means all. An unknown partition is left out, and one that occurs twice is answered once.
- v4+ returns the total and free bytes of the volume; -1 if all data is in memory.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import DescribeLogDirsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeLogDirsRequest


def refuse(request: DescribeLogDirsRequest, refusal: Refusal, context: RequestContext) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=refusal.code)


@serves("DescribeLogDirs", refuse=refuse)
async def handle(node: Node, request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    described = DescribeLogDirsResponse.DescribeLogDirsResult(log_dir=str(node.logs.root))
    for name, indexes in (await _wanted(node, request, context)).items():
        partitions = []
        for index in indexes:
            log = node.logs.partitions.get((name, index))
            if log is not None:
                partitions.append(
                    DescribeLogDirsResponse.DescribeLogDirsPartition(
                        partition_index=index, partition_size=log.segments.size
                    )
                )
            await context.yield_if_due()
        if partitions:
            described.topics.append(DescribeLogDirsResponse.DescribeLogDirsTopic(name=name, partitions=partitions))
    with suppress(OSError):
        usage = shutil.disk_usage(node.logs.root)
        described.total_bytes, described.usable_bytes = usage.total, usage.free
    return DescribeLogDirsResponse(results=[described])


async def _wanted(node: Node, request: DescribeLogDirsRequest, context: RequestContext) -> Mapping[str, Iterable[int]]:
    if request.topics is None:
        return {topic.name: range(topic.partitions) for topic in node.topics}
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        if topic.topic in node.topics:
            indexes = wanted.setdefault(topic.topic, {})
            for index in topic.partitions:
                indexes[index] = None
                await context.yield_if_due()
        await context.yield_if_due()
    return wanted
