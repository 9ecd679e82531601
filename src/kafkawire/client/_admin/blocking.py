"""The admin client for code without an event loop; import it from `kafkawire.client.blocking`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkawire.client._admin.acls import EVERY_ACL
from kafkawire.client._admin.admin import Admin as AsyncAdmin
from kafkawire.client._admin.transactions import LONGEST_TIMEOUT_MS
from kafkawire.client._admin.users import DEFAULT_ITERATIONS, DEFAULT_MECHANISM
from kafkawire.client._cluster.background_loop import BlockingClient

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.client._admin.quotas import ClientQuota, QuotaEntity
    from kafkawire.client._admin.tokens import DelegationToken
    from kafkawire.client._admin.types import (
        ClusterDescription,
        ConfigEntry,
        ConfigResource,
        GroupDescription,
        GroupListing,
        HangingTransaction,
        LogDirEntry,
        NewTopic,
        ProducerState,
        ResourceType,
        ShareOffset,
        TransactionDescription,
        TransactionListing,
    )
    from kafkawire.client._admin.users import ScramUser
    from kafkawire.client._cluster.metadata import TopicInfo, TopicPartition
    from kafkawire.client._consume.commits import OffsetAndMetadata
    from kafkawire.client._consume.offsets import OffsetAndTimestamp
    from kafkawire.client._produce.batches import Identity
    from kafkawire.client._transactions.prepared import PreparedTransaction
    from kafkawire.messages import Message
    from kafkawire.wire.acls import Acl, AclFilter


class Admin(BlockingClient):
    """`kafkawire.client.Admin` with plain calls: every method of it, by the same name.

    `with Admin(bootstrap_servers="localhost:9092") as admin: print(admin.list_topics())`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncAdmin = self._open(partial(AsyncAdmin, config, **options))

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._close(self._client.stop)

    def create_topics(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        self._run(self._client.create_topics(topics, validate_only=validate_only))

    def delete_topics(self, topics: Iterable[str]) -> None:
        self._run(self._client.delete_topics(topics))

    def create_partitions(self, totals: Mapping[str, int], *, validate_only: bool = False) -> None:
        self._run(self._client.create_partitions(totals, validate_only=validate_only))

    def list_topics(self, *, internal: bool = False) -> list[str]:
        return self._run(self._client.list_topics(internal=internal))

    def describe_topics(self, topics: Iterable[str] | None = None) -> list[TopicInfo]:
        return self._run(self._client.describe_topics(topics))

    def describe_cluster(self) -> ClusterDescription:
        return self._run(self._client.describe_cluster())

    def list_config_resources(self, types: Iterable[ResourceType] = ()) -> list[ConfigResource]:
        return self._run(self._client.list_config_resources(types))

    def describe_configs(self, resources: Iterable[ConfigResource]) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        return self._run(self._client.describe_configs(resources))

    def alter_configs(
        self, resource: ConfigResource, changes: Mapping[str, str | None], *, validate_only: bool = False
    ) -> None:
        self._run(self._client.alter_configs(resource, changes, validate_only=validate_only))

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return self._run(self._client.delete_records(before))

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return self._run(self._client.list_offsets(wanted, read_committed=read_committed))

    def describe_log_dirs(self, nodes: Iterable[int] | None = None) -> list[LogDirEntry]:
        return self._run(self._client.describe_log_dirs(nodes))

    def list_groups(self, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[GroupListing]:
        return self._run(self._client.list_groups(states=states, types=types))

    def describe_groups(self, groups: Iterable[str]) -> list[GroupDescription]:
        return self._run(self._client.describe_groups(groups))

    def delete_groups(self, groups: Iterable[str]) -> None:
        self._run(self._client.delete_groups(groups))

    def list_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return self._run(self._client.list_group_offsets(group, partitions))

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        self._run(self._client.alter_group_offsets(group, offsets))

    def delete_group_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        self._run(self._client.delete_group_offsets(group, partitions))

    def describe_users(self, names: Iterable[str] | None = None) -> list[ScramUser]:
        return self._run(self._client.describe_users(names))

    def set_user(
        self, name: str, password: str, *, mechanism: str = DEFAULT_MECHANISM, iterations: int = DEFAULT_ITERATIONS
    ) -> None:
        self._run(self._client.set_user(name, password, mechanism=mechanism, iterations=iterations))

    def delete_user(self, name: str, *, mechanism: str = DEFAULT_MECHANISM) -> None:
        self._run(self._client.delete_user(name, mechanism=mechanism))

    def create_delegation_token(
        self, *, owner: str | None = None, renewers: Iterable[str] = (), max_lifetime_ms: int = -1
    ) -> DelegationToken:
        return self._run(
            self._client.create_delegation_token(owner=owner, renewers=renewers, max_lifetime_ms=max_lifetime_ms)
        )

    def renew_delegation_token(self, token: DelegationToken | bytes | str, *, period_ms: int = -1) -> int:
        return self._run(self._client.renew_delegation_token(token, period_ms=period_ms))

    def expire_delegation_token(self, token: DelegationToken | bytes | str, *, period_ms: int = -1) -> int:
        return self._run(self._client.expire_delegation_token(token, period_ms=period_ms))

    def describe_delegation_tokens(self, owners: Iterable[str] | None = None) -> list[DelegationToken]:
        return self._run(self._client.describe_delegation_tokens(owners))

    def list_share_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ShareOffset]:
        return self._run(self._client.list_share_group_offsets(group, partitions))

    def alter_share_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        self._run(self._client.alter_share_group_offsets(group, offsets))

    def delete_share_group_offsets(self, group: str, topics: Iterable[str]) -> None:
        self._run(self._client.delete_share_group_offsets(group, topics))

    def create_acls(self, acls: Iterable[Acl]) -> None:
        self._run(self._client.create_acls(acls))

    def describe_acls(self, wanted: AclFilter = EVERY_ACL) -> list[Acl]:
        return self._run(self._client.describe_acls(wanted))

    def delete_acls(self, filters: Iterable[AclFilter]) -> list[Acl]:
        return self._run(self._client.delete_acls(filters))

    def describe_client_quotas(
        self, entity: QuotaEntity | None = None, *, any_of: Iterable[str] = (), strict: bool = False
    ) -> list[ClientQuota]:
        return self._run(self._client.describe_client_quotas(entity, any_of=any_of, strict=strict))

    def alter_client_quotas(
        self, changes: Iterable[tuple[QuotaEntity, Mapping[str, float | None]]], *, validate_only: bool = False
    ) -> None:
        self._run(self._client.alter_client_quotas(changes, validate_only=validate_only))

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        return self._run(
            self._client.list_transactions(
                states=states, producer_ids=producer_ids, longer_than_ms=longer_than_ms, pattern=pattern
            )
        )

    def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        return self._run(self._client.describe_transactions(transactional_ids))

    def describe_producers(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, list[ProducerState]]:
        return self._run(self._client.describe_producers(partitions))

    def abort_transaction(
        self, partition: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        self._run(
            self._client.abort_transaction(
                partition,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                coordinator_epoch=coordinator_epoch,
            )
        )

    def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, Identity]:
        return self._run(self._client.fence_producers(transactional_ids))

    def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition] | None = None, *, older_than_ms: int = LONGEST_TIMEOUT_MS
    ) -> list[HangingTransaction]:
        return self._run(self._client.find_hanging_transactions(partitions, older_than_ms=older_than_ms))

    def end_transaction(self, prepared: PreparedTransaction, *, commit: bool) -> None:
        """Commit or abort a transaction that a producer or a `BulkWriter` has prepared, perhaps in another process."""
        self._run(self._client.end_transaction(prepared, commit=commit))

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, and return the answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))
