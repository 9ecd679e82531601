"""Access control lists of a cluster, as the admin client changes and lists them.

Rules:
- The types are those of `kafkawire.wire.acls`: `Acl`, `AclFilter`, `Pattern` and the numbers in them.
- An entry that exists already is created without an error. A filter that finds nothing deletes nothing.
- A broker without an authorizer raises SECURITY_DISABLED. Brokers older than 2.0 refuse prefixed patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.client._admin.controller import at_controller
from kafkawire.client._admin.types import raise_errors
from kafkawire.messages import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from kafkawire.messages.errors import error_for
from kafkawire.wire.acls import Acl, AclFilter, Operation, Pattern, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster

EVERY_ACL = AclFilter()


class AclAdmin:
    """The methods of the admin client for access control lists."""

    _cluster: Cluster

    async def create_acls(self, acls: Iterable[Acl]) -> None:
        """Create entries."""
        wanted = list(acls)
        request = CreateAclsRequest(
            creations=[
                CreateAclsRequest.AclCreation(
                    resource_type=acl.pattern.resource_type,
                    resource_name=acl.pattern.name,
                    resource_pattern_type=acl.pattern.pattern_type,
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission,
                )
                for acl in wanted
            ]
        )
        answer = await at_controller(self._cluster, request, CreateAclsResponse)
        raise_errors(
            {
                acl_text(acl): error_for(result.error_code, result.error_message)
                for acl, result in zip(wanted, answer.results, strict=True)
                if result.error_code
            }
        )

    async def describe_acls(self, wanted: AclFilter = EVERY_ACL) -> list[Acl]:
        """The entries that a filter finds, by default all."""
        request = DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission,
        )
        answer = await at_controller(self._cluster, request, DescribeAclsResponse)
        if answer.error_code:
            raise error_for(answer.error_code, answer.error_message)
        return sorted(
            Acl(
                Pattern(each.resource_type, each.resource_name, each.pattern_type),
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for each in answer.resources
            for acl in each.acls
        )

    async def delete_acls(self, filters: Iterable[AclFilter]) -> list[Acl]:
        """Delete the entries that any of the filters finds; returns them, each once."""
        wanted = list(filters)
        request = DeleteAclsRequest(
            filters=[
                DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=each.resource_type,
                    resource_name_filter=each.name,
                    pattern_type_filter=each.pattern_type,
                    principal_filter=each.principal,
                    host_filter=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in wanted
            ]
        )
        answer = await at_controller(self._cluster, request, DeleteAclsResponse)
        deleted: set[Acl] = set()
        errors = {}
        for each, result in zip(wanted, answer.filter_results, strict=True):
            if result.error_code:
                errors[str(each)] = error_for(result.error_code, result.error_message)
            for found in result.matching_acls:
                pattern = Pattern(found.resource_type, found.resource_name, found.pattern_type)
                acl = Acl(pattern, found.principal, found.host, found.operation, found.permission_type)
                if found.error_code:
                    errors[acl_text(acl)] = error_for(found.error_code, found.error_message)
                else:
                    deleted.add(acl)
        raise_errors(errors)
        return sorted(deleted)


def acl_text(acl: Acl) -> str:
    """An entry in one line.

    >>> acl_text(Acl(Pattern(2, "orders"), "User:a", "*", 3, 3))
    'ALLOW User:a READ on TOPIC orders from *'
    """
    operation = _name(Operation, acl.operation)
    resource = f"{_name(ResourceType, acl.pattern.resource_type)} {acl.pattern.name}"
    return f"{_name(Permission, acl.permission)} {acl.principal} {operation} on {resource} from {acl.host}"


def _name(kind: type[Operation | ResourceType | Permission], number: int) -> str:
    return next((each.name for each in kind if each == number), str(number))
