"""Quotas of clients, as the admin client changes and lists them.

Rules:
- An entity is a dict of types and names, such as {"user": "alice"} or {"user": None, "client-id": "app"}. The name None
  is the default of its type.
- The value None removes a quota. Removing one that is not set succeeds.
- Keys are those of Kafka: producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate, and for
  an ip connection_creation_rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.client._admin.controller import at_controller
from kafkawire.client._admin.types import raise_errors
from kafkawire.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster

_EXACT, _DEFAULT, _ANY = 0, 1, 2
QuotaEntity = Mapping[str, str | None]


class ClientQuota(NamedTuple):
    """The quotas of one entity."""

    entity: dict[str, str | None]
    values: dict[str, float]


class QuotaAdmin:
    """The methods of the admin client for quotas."""

    _cluster: Cluster

    async def describe_client_quotas(
        self, entity: QuotaEntity | None = None, *, any_of: Iterable[str] = (), strict: bool = False
    ) -> list[ClientQuota]:
        """The quotas of entities with these names, and with any name of the types `any_of`; by default all."""
        kind = DescribeClientQuotasRequest.ComponentData
        components = [
            kind(entity_type=each, match_type=_DEFAULT if name is None else _EXACT, match=name)
            for each, name in (entity or {}).items()
        ]
        components += (kind(entity_type=each, match_type=_ANY, match=None) for each in any_of)
        request = DescribeClientQuotasRequest(components=components, strict=strict)
        answer = await at_controller(self._cluster, request, DescribeClientQuotasResponse)
        if answer.error_code:
            raise error_for(answer.error_code, answer.error_message)
        found = [
            ClientQuota(
                {part.entity_type: part.entity_name for part in sorted(each.entity, key=lambda one: one.entity_type)},
                {value.key: value.value for value in sorted(each.values, key=lambda one: one.key)},
            )
            for each in answer.entries or ()
        ]
        return sorted(found, key=lambda quota: quota_entity_text(quota.entity))

    async def alter_client_quotas(
        self, changes: Iterable[tuple[QuotaEntity, Mapping[str, float | None]]], *, validate_only: bool = False
    ) -> None:
        """Set quotas of entities; None removes one."""
        request = AlterClientQuotasRequest(
            entries=[
                AlterClientQuotasRequest.EntryData(
                    entity=[
                        AlterClientQuotasRequest.EntityData(entity_type=kind, entity_name=name)
                        for kind, name in entity.items()
                    ],
                    ops=[
                        AlterClientQuotasRequest.OpData(
                            key=key, value=0.0 if value is None else float(value), remove=value is None
                        )
                        for key, value in values.items()
                    ],
                )
                for entity, values in changes
            ],
            validate_only=validate_only,
        )
        answer = await at_controller(self._cluster, request, AlterClientQuotasResponse)
        raise_errors(
            {
                quota_entity_text({part.entity_type: part.entity_name for part in each.entity}): error_for(
                    each.error_code, each.error_message
                )
                for each in answer.entries
                if each.error_code
            }
        )


def quota_entity_text(entity: QuotaEntity) -> str:
    """An entity in one line.

    >>> quota_entity_text({"user": "alice", "client-id": None})
    'client-id <default>, user alice'
    """
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in sorted(entity.items()))
