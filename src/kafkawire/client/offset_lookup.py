"""Offsets of partitions, asked of their leaders.

Rules:
- Every leader is asked, all at once: a partition without a leader, or a broker that is gone, keeps no other waiting.
- Who wants all of them gets all or an error; a partition that its topic does not have is one at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.client.errors import UnknownPartitionError
from kafkawire.client.offsets import by_leader, offsets_request, read_offsets
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ListOffsetsResponse
from kafkawire.messages.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.client.cluster import Cluster
    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.offsets import OffsetAndTimestamp

    Found = dict[TopicPartition, OffsetAndTimestamp | None]


async def look_up_offsets(cluster: Cluster, wanted: Mapping[TopicPartition, int], isolation: int) -> Found:
    """Offsets of times, or of the special values of `offsets`, with retries."""
    for topic in {each.topic for each in wanted}:
        numbers = {each.partition for each in wanted if each.topic == topic}
        known = await cluster.topic(topic)
        if not numbers <= known.partitions.keys():
            await cluster.refresh([topic])
            known = await cluster.topic(topic)
        for unknown in sorted(numbers - known.partitions.keys()):
            raise UnknownPartitionError(f"{topic}-{unknown}: the topic has {len(known.partitions)} partitions")

    async def ask() -> Found:
        found, failed = await ask_leaders(cluster, wanted, isolation)
        for error in failed.values():
            raise error
        return found

    return await cluster.retry("offsets", ask)


async def ask_leaders(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], isolation: int
) -> tuple[Found, dict[TopicPartition, KafkaWireError]]:
    """What can be found now, and what is in the way of the rest."""
    found: Found = {}
    failed: dict[TopicPartition, KafkaWireError] = {}

    async def ask(node: int, part: dict[TopicPartition, int]) -> None:
        try:
            if node < 0:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, ", ".join(map(str, part)))
            request = offsets_request(part, isolation, cluster.metadata, cluster.options.request_timeout_ms)
            answer = read_offsets(await cluster.request(node, request, ListOffsetsResponse), part)
        except KafkaWireError as error:
            failed.update(dict.fromkeys(part, error))
            return
        for partition, offset in answer.items():
            if isinstance(offset, KafkaWireError):
                failed[partition] = offset
            else:
                found[partition] = offset

    await asyncio.gather(*(ask(node, part) for node, part in by_leader(wanted, cluster.metadata).items()))
    return found, failed
