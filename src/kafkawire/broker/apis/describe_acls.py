"""DescribeAcls: v0-3. Lists the access control entries that a filter finds, by pattern.

Rules:
- Without an authorizer: SECURITY_DISABLED.
- A number 0 (UNKNOWN) in the filter closes the connection, as in Kafka. A number that does not exist finds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import CloseConnectionError, RequestContext, serves
from kafkawire.messages import DescribeAclsResponse
from kafkawire.messages.errors import SecurityDisabledError
from kafkawire.wire.acls import AclFilter

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeAclsRequest
    from kafkawire.wire.acls import Pattern


@serves("DescribeAcls")
async def handle(node: Node, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    if 0 in (request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type):
        raise CloseConnectionError("a filter with a number 0 (UNKNOWN)")
    if node.authorizer is None:
        raise SecurityDisabledError("no authorizer is configured")
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    response = DescribeAclsResponse(error_message=None)
    resources: dict[Pattern, DescribeAclsResponse.DescribeAclsResource] = {}
    for acl in node.acls.search(wanted):
        await context.yield_if_due()
        if not wanted.finds(acl):
            continue
        if acl.pattern not in resources:
            kind, name, pattern_type = acl.pattern
            resources[acl.pattern] = DescribeAclsResponse.DescribeAclsResource(
                resource_type=kind, resource_name=name, pattern_type=pattern_type
            )
            response.resources.append(resources[acl.pattern])
        resources[acl.pattern].acls.append(
            DescribeAclsResponse.AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
    return response
