"""The admin client: topics, partitions, configs, groups, transactions, offsets, records, ACLs, users, tokens.

Rules:
- A call that fails for one item raises its error; a call that fails for several raises AdminErrors with all of them.
  The other items of the call are changed all the same.
- Changes of topics go to the controller if it is known. Requests about a partition go to its leader, and requests about
  a broker to that broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from kafkawire.client._admin.acls import AclAdmin
from kafkawire.client._admin.controller import at_controller
from kafkawire.client._admin.groups import GroupAdmin
from kafkawire.client._admin.quotas import QuotaAdmin
from kafkawire.client._admin.share_groups import ShareGroupAdmin
from kafkawire.client._admin.tokens import TokenAdmin
from kafkawire.client._admin.transactions import TransactionAdmin
from kafkawire.client._admin.types import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    LogDirEntry,
    NewTopic,
    ResourceType,
    raise_errors,
)
from kafkawire.client._admin.users import UserAdmin
from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client._cluster.metadata import Metadata, Node, TopicInfo, TopicPartition
from kafkawire.client._consume.offsets import OffsetAndTimestamp, by_leader, look_up_offsets
from kafkawire.client.option_names import read_options
from kafkawire.client.options import AdminOptions
from kafkawire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, UnsupportedVersionError, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

_SET, _DELETE = 0, 1
_DOCUMENTED_FROM = 3
_LISTED_BY_TYPE_FROM = 1
_CREATES_ON_DEMAND_FROM = 4


class Admin(GroupAdmin, ShareGroupAdmin, TransactionAdmin, AclAdmin, QuotaAdmin, UserAdmin, TokenAdmin):
    """Administers a cluster; options are `ClientOptions`, by keyword or as a dict of Kafka's names.

    `async with Admin(bootstrap_servers="localhost:9092") as admin: await admin.create_topics([NewTopic(name="t")])`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.options = read_options(AdminOptions, config, options)
        self._cluster = Cluster(self.options)
        self._cluster.allow_creation = False

    async def start(self) -> None:
        """Find the brokers of the cluster; topics are asked for by the calls that need them."""
        self._cluster.wants_all = False
        await self._cluster.start()
        self._cluster.wants_all = True

    async def stop(self) -> None:
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def create_topics(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        """Create topics, or only validate the request."""
        made = [
            CreateTopicsRequest.CreatableTopic(
                name=topic.name,
                num_partitions=-1 if topic.replica_assignments else topic.num_partitions,
                replication_factor=-1 if topic.replica_assignments else topic.replication_factor,
                assignments=[
                    CreateTopicsRequest.CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
                    for number, replicas in topic.replica_assignments.items()
                ],
                configs=[
                    CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
                    for name, value in topic.topic_configs.items()
                ],
            )
            for topic in topics
        ]
        request = CreateTopicsRequest(
            topics=made, timeout_ms=self.options.request_timeout_ms, validate_only=validate_only
        )
        answer = await at_controller(self._cluster, request, CreateTopicsResponse)
        raise_errors(
            {each.name: error_for(each.error_code, each.error_message) for each in answer.topics if each.error_code}
        )
        await self._cluster.refresh()

    async def delete_topics(self, topics: Iterable[str]) -> None:
        """Delete topics and all of their records."""
        names = list(topics)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name) for name in names],
            timeout_ms=self.options.request_timeout_ms,
        )
        older = DeleteTopicsRequest(topic_names=names, timeout_ms=self.options.request_timeout_ms)
        answer = await at_controller(self._cluster, request, DeleteTopicsResponse, older=(5, older))
        raise_errors(
            {
                each.name or str(each.topic_id): error_for(each.error_code, each.error_message or each.name)
                for each in answer.responses
                if each.error_code
            }
        )
        await self._cluster.refresh()

    async def create_partitions(self, totals: Mapping[str, int], *, validate_only: bool = False) -> None:
        """Add partitions to topics; the numbers are the new totals."""
        request = CreatePartitionsRequest(
            topics=[
                CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
                for name, count in totals.items()
            ],
            timeout_ms=self.options.request_timeout_ms,
            validate_only=validate_only,
        )
        answer = await at_controller(self._cluster, request, CreatePartitionsResponse)
        raise_errors(
            {each.name: error_for(each.error_code, each.error_message) for each in answer.results if each.error_code}
        )
        await self._cluster.refresh()

    async def list_topics(self, *, internal: bool = False) -> list[str]:
        """The names of the cluster's topics."""
        return [topic.name for topic in await self.describe_topics() if internal or not topic.is_internal]

    async def describe_topics(self, topics: Iterable[str] | None = None) -> list[TopicInfo]:
        """Topics with their partitions, leaders and replicas: the named ones, or all.

        The named ones are asked for by name, because a list of all topics leaves out those that the client may not see.
        """
        if topics is None:
            await self._cluster.retry("metadata", self._cluster.refresh)
            return sorted(self._cluster.metadata.topics.values(), key=lambda each: each.name)
        wanted = list(topics)
        if not wanted:
            return []
        found = await self._cluster.retry("metadata", lambda: self._ask_for_topics(wanted))
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = [name for name in wanted if name not in found.topics]
        raise_errors({name: error_for(found.errors.get(name, unknown), f"topic {name!r}") for name in missing})
        return [found.topics[name] for name in wanted]

    async def _ask_for_topics(self, names: list[str]) -> Metadata:
        connection = await self._cluster.connection(self._cluster.any_node())
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in dict.fromkeys(names)],
            allow_auto_topic_creation=connection.version("Metadata") < _CREATES_ON_DEMAND_FROM,
        )
        found = Metadata()
        answer = await connection.request(request, MetadataResponse)
        if answer.error_code:
            raise error_for(answer.error_code, "Metadata")
        found.update(answer, is_complete=False, now=0)
        known = self._cluster.metadata
        known.update(answer, is_complete=False, now=known.updated_at)  # the age of the other topics stays
        return found

    async def describe_cluster(self) -> ClusterDescription:
        """The cluster's id, its controller and its brokers."""

        async def ask() -> ClusterDescription:
            node = self._cluster.any_node()
            connection = await self._cluster.connection(node)
            if DescribeClusterRequest.__schema__.key not in connection.negotiated.ranges:
                await self._cluster.refresh()
                known = self._cluster.metadata
                return ClusterDescription(known.cluster_id, known.controller_id, sorted(known.nodes.values()))
            answer = await connection.request(DescribeClusterRequest(), DescribeClusterResponse)
            if answer.error_code:
                raise error_for(answer.error_code, answer.error_message)
            nodes = sorted(Node(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers)
            return ClusterDescription(answer.cluster_id, answer.controller_id, nodes)

        return await self._cluster.retry("the cluster", ask)

    async def describe_configs(
        self, resources: Iterable[ConfigResource]
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """Every config of these resources."""
        found: dict[ConfigResource, dict[str, ConfigEntry]] = {}
        errors: dict[str, KafkaError] = {}
        for resource in resources:
            wanted = DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=resource.type, resource_name=resource.name, configuration_keys=None
            )
            connection = await self._cluster.connection(self._node_of(resource))
            explained = connection.version("DescribeConfigs") >= _DOCUMENTED_FROM
            request = DescribeConfigsRequest(resources=[wanted], include_documentation=explained)
            answer = await connection.request(request, DescribeConfigsResponse)
            for each in answer.results:
                if each.error_code:
                    errors[resource.name] = error_for(each.error_code, each.error_message)
                    continue
                found[resource] = {entry.name: _config_entry(entry) for entry in each.configs}
        raise_errors(errors)
        return found

    async def list_config_resources(self, types: Iterable[ResourceType] = ()) -> list[ConfigResource]:
        """The resources of these types that have configs; of all types by default.

        A broker older than Kafka 4.1 lists client metrics only.
        """
        wanted = [*types]
        connection = await self._cluster.connection(self._cluster.any_node())
        version = connection.version("ListConfigResources")
        if version < _LISTED_BY_TYPE_FROM and wanted != [ResourceType.CLIENT_METRICS]:
            raise UnsupportedVersionError("the broker lists resources of the type CLIENT_METRICS only")
        request = ListConfigResourcesRequest(resource_types=[*map(int, wanted)])
        answer = await connection.request(request, ListConfigResourcesResponse, version=version)
        if answer.error_code:
            raise error_for(answer.error_code)
        return [
            ConfigResource(ResourceType(each.resource_type), each.resource_name) for each in answer.config_resources
        ]

    async def alter_configs(
        self, resource: ConfigResource, changes: Mapping[str, str | None], *, validate_only: bool = False
    ) -> None:
        """Set configs of a resource; None resets a config to its default. Other configs do not change."""
        entries = [
            IncrementalAlterConfigsRequest.AlterableConfig(
                name=name, config_operation=_DELETE if value is None else _SET, value=value
            )
            for name, value in changes.items()
        ]
        wanted = IncrementalAlterConfigsRequest.AlterConfigsResource(
            resource_type=resource.type, resource_name=resource.name, configs=entries
        )
        request = IncrementalAlterConfigsRequest(resources=[wanted], validate_only=validate_only)
        answer = await self._cluster.request(self._node_of(resource), request, IncrementalAlterConfigsResponse)
        raise_errors(
            {
                each.resource_name: error_for(each.error_code, each.error_message)
                for each in answer.responses
                if each.error_code
            }
        )

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before an offset (-1: all records); returns the new first offset of each partition."""
        await self._know({TopicPartition(*each).topic for each in before})
        wanted = {TopicPartition(*each): offset for each, offset in before.items()}
        found: dict[TopicPartition, int] = {}
        errors: dict[str, KafkaError] = {}
        for node, part in by_leader(wanted, self._cluster.metadata).items():
            topics: dict[str, DeleteRecordsRequest.DeleteRecordsTopic] = {}
            for (name, number), offset in part.items():
                topic = topics.setdefault(name, DeleteRecordsRequest.DeleteRecordsTopic(name=name))
                topic.partitions.append(
                    DeleteRecordsRequest.DeleteRecordsPartition(partition_index=number, offset=offset)
                )
            request = DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=self.options.request_timeout_ms)
            answer = await self._cluster.request(node, request, DeleteRecordsResponse)
            for topic_answer in answer.topics:
                for each in topic_answer.partitions:
                    place = TopicPartition(topic_answer.name, each.partition_index)
                    if each.error_code:
                        errors[str(place)] = error_for(each.error_code, str(place))
                    else:
                        found[place] = each.low_watermark
        raise_errors(errors)
        return found

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Offsets of partitions: at a time in milliseconds, or LATEST, EARLIEST, MAX_TIMESTAMP of `offsets`."""
        places = {TopicPartition(*each): when for each, when in wanted.items()}
        await self._know({each.topic for each in places})
        return await look_up_offsets(self._cluster, places, int(read_committed))

    async def describe_log_dirs(self, nodes: Iterable[int] | None = None) -> list[LogDirEntry]:
        """The partitions in the log directories of these brokers, or of all brokers."""
        entries = []
        for node in sorted(self._cluster.metadata.nodes) if nodes is None else list(nodes):
            request = DescribeLogDirsRequest(topics=None)
            answer = await self._cluster.request(node, request, DescribeLogDirsResponse)
            for each in answer.results:
                if each.error_code or answer.error_code:
                    raise error_for(each.error_code or answer.error_code, f"broker {node}, {each.log_dir}")
                entries += [
                    LogDirEntry(
                        *(node, each.log_dir, TopicPartition(topic.name, part.partition_index)),
                        *(part.partition_size, part.offset_lag, part.is_future_key),
                    )
                    for topic in each.topics
                    for part in topic.partitions
                ]
        return entries

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any, and return the answer."""
        return await self._cluster.raw(message, node_id=node_id, version=version)

    async def _know(self, topics: set[str]) -> None:
        if not topics <= self._cluster.metadata.topics.keys():
            await self.describe_topics(sorted(topics))

    def _node_of(self, resource: ConfigResource) -> int:
        is_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and resource.name.isdecimal()
        return int(resource.name) if is_broker else self._cluster.any_node()


def _config_entry(entry: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    source = ConfigSource.DEFAULT if entry.is_default else ConfigSource(entry.config_source)
    return ConfigEntry(
        entry.name, entry.value, source, entry.read_only, entry.is_sensitive, entry.documentation or None
    )
