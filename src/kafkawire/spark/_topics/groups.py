"""Read and commit the offsets of a consumer group for a query that is not a member of it.

Rules:
- The query does not join the group. It commits as an administrator, which the coordinator rejects while the group has
  members. That error fails the query.
- A committed offset is that of the next record to read, as for consumers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client import Cluster, OffsetAndMetadata, commit_offsets, fetch_committed
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ConsumerOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kafkawire.client import TopicPartition
    from kafkawire.spark._topics.lookup import Offsets
    from kafkawire.spark._topics.options import TopicOptions

_Result = TypeVar("_Result")


def read_group(options: TopicOptions, partitions: Sequence[TopicPartition]) -> Offsets:
    """The committed offsets of the group; partitions without one are absent."""
    group = _name(options)

    async def ask(cluster: Cluster) -> Offsets:
        found = await fetch_committed(cluster, group, partitions)
        return {partition: each.offset for partition, each in found.items()}

    return _with_cluster(options, f"offsets of group {group!r}", ask)


def commit_group(options: TopicOptions, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit offsets to the group."""
    group = _name(options)
    wanted = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
    if wanted:
        _with_cluster(options, f"commit to group {group!r}", lambda cluster: commit_offsets(cluster, group, wanted))


def _name(options: TopicOptions) -> str:
    assert options.group is not None
    return options.group


def _with_cluster(options: TopicOptions, what: str, work: Callable[[Cluster], Awaitable[_Result]]) -> _Result:
    async def run() -> _Result:
        cluster = Cluster(read_options(ConsumerOptions, dict(options.client), {}))
        try:
            await cluster.retry(what, cluster.start)
            return await cluster.retry(what, lambda: work(cluster))
        finally:
            await cluster.close()

    return asyncio.run(run())
