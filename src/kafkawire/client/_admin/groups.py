"""Administration of groups and their offsets.

Rules:
- Requests about a group go to its coordinator; every broker is asked for its own list of groups.
- Offsets can only be changed while a group has no members; otherwise the coordinator refuses.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client._admin.group_descriptions import describe_group
from kafkawire.client._admin.types import ClusterDescription, GroupDescription, GroupListing, raise_errors
from kafkawire.client._cluster.cluster import GROUP, Cluster
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.commits import OffsetAndMetadata, as_offsets, commit_offsets, fetch_committed
from kafkawire.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    Message,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_Answer = TypeVar("_Answer", bound=Message)


class GroupAdmin:
    """The methods of the admin client for groups."""

    _cluster: Cluster

    @abstractmethod
    async def describe_cluster(self) -> ClusterDescription:
        """The brokers of the cluster."""

    async def list_groups(self, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[GroupListing]:
        """Every group of the cluster."""
        nodes = {each.id for each in (await self.describe_cluster()).nodes}
        if not nodes <= self._cluster.metadata.nodes.keys():
            await self._cluster.refresh()
        found = []
        for node in sorted(nodes):
            request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))

            async def ask(at: int = node, message: ListGroupsRequest = request) -> ListGroupsResponse:
                answer = await self._cluster.request(at, message, ListGroupsResponse)
                if answer.error_code:
                    raise error_for(answer.error_code, "ListGroups")
                return answer

            answer = await self._cluster.retry("the list of groups", ask)
            found += [
                GroupListing(each.group_id, each.protocol_type, each.group_state, each.group_type, node)
                for each in answer.groups
            ]
        return sorted(found, key=lambda each: each.group_id)

    async def describe_groups(self, groups: Iterable[str]) -> list[GroupDescription]:
        """Groups of any type, and their members."""
        described = []
        for group in groups:

            async def ask(name: str = group) -> GroupDescription:
                node = await self._cluster.coordinator(GROUP, name)
                try:
                    return await describe_group(self._cluster, name, node)
                except KafkaError as error:
                    self._forget_if_moved(name, error.code)
                    raise

            described.append(await self._cluster.retry(f"group {group!r}", ask))
        return described

    async def delete_groups(self, groups: Iterable[str]) -> None:
        """Remove groups that have no members, with their offsets."""
        errors: dict[str, KafkaError] = {}
        for group in groups:

            async def ask(name: str = group) -> None:
                request = DeleteGroupsRequest(groups_names=[name])
                answer = await self._at_coordinator(name, request, DeleteGroupsResponse)
                for each in answer.results:
                    self._check(name, each.error_code)

            try:
                await self._cluster.retry(f"deleting group {group!r}", ask)
            except KafkaError as error:
                errors[group] = error
        raise_errors(errors)

    async def list_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets of a group, for these partitions or for all that have one."""
        wanted = None if partitions is None else [TopicPartition(*each) for each in partitions]
        return await self._cluster.retry(
            f"offsets of group {group!r}", lambda: fetch_committed(self._cluster, group, wanted)
        )

    async def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        """Set the offsets of a group that has no members."""
        what = as_offsets(offsets)
        await self._cluster.retry(f"offsets of group {group!r}", lambda: commit_offsets(self._cluster, group, what))

    async def delete_group_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete the committed offsets of partitions that no member of the group reads."""
        topics: dict[str, OffsetDeleteRequest.OffsetDeleteRequestTopic] = {}
        for name, number in partitions:
            topic = topics.setdefault(name, OffsetDeleteRequest.OffsetDeleteRequestTopic(name=name))
            topic.partitions.append(OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=number))

        async def ask() -> OffsetDeleteResponse:
            request = OffsetDeleteRequest(group_id=group, topics=list(topics.values()))
            answer = await self._at_coordinator(group, request, OffsetDeleteResponse)
            self._check(group, answer.error_code)
            return answer

        answer = await self._cluster.retry(f"offsets of group {group!r}", ask)
        raise_errors(
            {
                f"{topic_answer.name}-{each.partition_index}": error_for(each.error_code)
                for topic_answer in answer.topics
                for each in topic_answer.partitions
                if each.error_code
            }
        )

    async def _at_coordinator(self, group: str, request: Message, answer: type[_Answer]) -> _Answer:
        node = await self._cluster.coordinator(GROUP, group)
        return await self._cluster.request(node, request, answer)

    def _check(self, group: str, code: int) -> None:
        self._forget_if_moved(group, code)
        if code:
            raise error_for(code, f"group {group!r}")

    def _forget_if_moved(self, group: str, code: int) -> None:
        if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._cluster.forget_coordinator(GROUP, group)
