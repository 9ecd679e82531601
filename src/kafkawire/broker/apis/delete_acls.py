"""DeleteAcls: v0-3. Deletes the access control entries that filters find.

Rules:
- Without an authorizer: SECURITY_DISABLED for each filter.
- One result per filter, in order, with the entries that it finds. An entry that two filters find is in both results.
  A filter that finds nothing succeeds.
- A number 0 (UNKNOWN) in a filter closes the connection, as in Kafka. A number that does not exist: INVALID_REQUEST.
- More than MOST_FILTERS filters, or more than MOST_CHANGES entries in all results: INVALID_REQUEST, and nothing is
  deleted. Apache Kafka has no limit of filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.changes import MOST_CHANGES, deletion
from kafkawire.broker._dispatch.registry import CloseConnectionError, Refusal, RequestContext, serves
from kafkawire.messages import DeleteAclsResponse
from kafkawire.messages.errors import InvalidRequestError, SecurityDisabledError
from kafkawire.wire.acls import AclFilter

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DeleteAclsRequest
    from kafkawire.wire.acls import Acl

MOST_FILTERS: Final = 1_000


def refuse(request: DeleteAclsRequest, refusal: Refusal, context: RequestContext) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsResponse.DeleteAclsFilterResult(error_code=refusal.code, error_message=refusal.message)
            for _ in request.filters
        ]
    )


@serves("DeleteAcls", refuse=refuse)
async def handle(node: Node, request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse:
    for each in request.filters:
        if 0 in (each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type):
            raise CloseConnectionError("a filter with a number 0 (UNKNOWN)")
        await context.yield_if_due()
    if node.authorizer is None:
        raise SecurityDisabledError("no authorizer is configured")
    if len(request.filters) > MOST_FILTERS:
        raise InvalidRequestError(f"{len(request.filters)} filters, expected at most {MOST_FILTERS}")
    response = DeleteAclsResponse()
    unwanted: dict[Acl, None] = {}
    count = 0
    for each in request.filters:
        result = DeleteAclsResponse.DeleteAclsFilterResult(error_message=None)
        response.filter_results.append(result)
        wanted = AclFilter(
            each.resource_type_filter,
            each.resource_name_filter,
            each.pattern_type_filter,
            each.principal_filter,
            each.host_filter,
            each.operation,
            each.permission_type,
        )
        if not wanted.is_known:
            result.error_code = InvalidRequestError.CODE
            result.error_message = "a resource type, pattern type, operation or permission that does not exist"
            continue
        for acl in node.acls.search(wanted):
            if wanted.finds(acl):
                unwanted[acl] = None
                result.matching_acls.append(_matching(acl))
                count += 1
                if count > MOST_CHANGES:
                    raise InvalidRequestError(f"more than {MOST_CHANGES} entries in one request")
            await context.yield_if_due()
    await node.changes.run(deletion(node, unwanted))
    return response


def _matching(acl: Acl) -> DeleteAclsResponse.DeleteAclsMatchingAcl:
    return DeleteAclsResponse.DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.pattern.resource_type,
        resource_name=acl.pattern.name,
        pattern_type=acl.pattern.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
