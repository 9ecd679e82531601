"""Administration of the offsets of share groups.

Rules:
- The start offset of a partition is the first offset that may still be delivered. It is None until it is known: a group
  finds it at its first fetch.
- Offsets can only be changed while a group has no members. A group that does not exist is created by the change.
- Offsets are deleted for whole topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.client._admin.types import ShareOffset, raise_errors
from kafkawire.client._cluster.cluster import GROUP, Cluster
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.errors import GroupError
from kafkawire.messages import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ShareGroupAdmin:
    """The methods of the admin client for the offsets of share groups."""

    _cluster: Cluster

    async def list_share_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ShareOffset]:
        """The start offsets of a share group, for these partitions or for all that it has read."""
        wanted = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
        if partitions is not None:
            wanted.topics = [
                DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic(
                    topic_name=topic, partitions=sorted(numbers)
                )
                for topic, numbers in _by_topic(partitions).items()
            ]
        request = DescribeShareGroupOffsetsRequest(groups=[wanted])

        async def ask() -> dict[TopicPartition, ShareOffset]:
            node = await self._cluster.coordinator(GROUP, group)
            answer = await self._cluster.request(node, request, DescribeShareGroupOffsetsResponse)
            if not answer.groups:
                raise GroupError(f"group {group!r}: the broker's answer leaves it out")
            found = answer.groups[0]
            self._check_group(group, found.error_code, found.error_message)
            errors: dict[str, KafkaError] = {}
            offsets = {}
            for topic in found.topics:
                for each in topic.partitions:
                    place = TopicPartition(topic.topic_name, each.partition_index)
                    if each.error_code:
                        errors[str(place)] = error_for(each.error_code, each.error_message or str(place))
                    else:
                        offsets[place] = ShareOffset(
                            None if each.start_offset < 0 else each.start_offset,
                            None if each.lag < 0 else each.lag,
                            each.leader_epoch,
                        )
            raise_errors(errors)
            return offsets

        return await self._cluster.retry(f"offsets of share group {group!r}", ask)

    async def alter_share_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the start offsets of a share group that has no members; records in flight are forgotten."""
        topics = [
            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(
                        partition_index=number, start_offset=offsets[TopicPartition(topic, number)]
                    )
                    for number in sorted(numbers)
                ],
            )
            for topic, numbers in _by_topic(offsets).items()
        ]
        request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)

        async def ask() -> AlterShareGroupOffsetsResponse:
            node = await self._cluster.coordinator(GROUP, group)
            answer = await self._cluster.request(node, request, AlterShareGroupOffsetsResponse)
            self._check_group(group, answer.error_code, answer.error_message)
            return answer

        answer = await self._cluster.retry(f"offsets of share group {group!r}", ask)
        raise_errors(
            {
                f"{topic.topic_name}-{each.partition_index}": error_for(each.error_code, each.error_message)
                for topic in answer.responses
                for each in topic.partitions
                if each.error_code
            }
        )

    async def delete_share_group_offsets(self, group: str, topics: Iterable[str]) -> None:
        """Delete the offsets of topics from a share group that has no members."""
        wanted = [
            DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics
        ]
        request = DeleteShareGroupOffsetsRequest(group_id=group, topics=wanted)

        async def ask() -> DeleteShareGroupOffsetsResponse:
            node = await self._cluster.coordinator(GROUP, group)
            answer = await self._cluster.request(node, request, DeleteShareGroupOffsetsResponse)
            self._check_group(group, answer.error_code, answer.error_message)
            return answer

        answer = await self._cluster.retry(f"offsets of share group {group!r}", ask)
        raise_errors(
            {
                each.topic_name: error_for(each.error_code, each.error_message or each.topic_name)
                for each in answer.responses
                if each.error_code
            }
        )

    def _check_group(self, group: str, code: int, message: str | None) -> None:
        if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._cluster.forget_coordinator(GROUP, group)
        if code:
            raise error_for(code, message or f"group {group!r}")


def _by_topic(places: Iterable[Any]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in places:
        topics.setdefault(topic, []).append(number)
    return topics
