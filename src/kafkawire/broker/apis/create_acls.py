"""CreateAcls: v0-3. Creates access control entries.

Rules:
- Without an authorizer: SECURITY_DISABLED for each.
- An entry that cannot exist: INVALID_REQUEST for it, and the others are created (`_acls.changes`). One that exists
  already is created without an error.
- A number 0 (UNKNOWN) in an entry closes the connection, as in Kafka.
- More than MOST_CHANGES entries: POLICY_VIOLATION for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._acls import changes
from kafkawire.broker._dispatch.registry import CloseConnectionError, Refusal, RequestContext, serves
from kafkawire.messages import CreateAclsResponse
from kafkawire.messages.errors import InvalidRequestError, PolicyViolationError, SecurityDisabledError
from kafkawire.wire.acls import Acl, Pattern

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import CreateAclsRequest


def refuse(request: CreateAclsRequest, refusal: Refusal, context: RequestContext) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_result(refusal) for _ in request.creations])


@serves("CreateAcls", refuse=refuse)
async def handle(node: Node, request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    for each in request.creations:
        if 0 in (each.resource_type, each.resource_pattern_type, each.operation, each.permission_type):
            raise CloseConnectionError("an entry with a number 0 (UNKNOWN)")
        await context.yield_if_due()
    if node.authorizer is None:
        raise SecurityDisabledError("no authorizer is configured")
    if len(request.creations) > changes.MOST_CHANGES:
        raise PolicyViolationError(f"{len(request.creations)} entries, expected at most {changes.MOST_CHANGES}")
    response = CreateAclsResponse()
    wanted: dict[Acl, None] = {}
    for each in request.creations:
        pattern = Pattern(each.resource_type, each.resource_name, each.resource_pattern_type)
        acl = Acl(pattern, each.principal, each.host, each.operation, each.permission_type)
        answer = Refusal(0, None)
        try:
            changes.check(acl)
            wanted[acl] = None
        except InvalidRequestError as error:
            answer = Refusal.of(error)
        response.results.append(_result(answer))
        await context.yield_if_due()
    await node.changes.run(changes.creation(node, wanted))
    return response


def _result(answer: Refusal) -> CreateAclsResponse.AclCreationResult:
    return CreateAclsResponse.AclCreationResult(error_code=answer.code, error_message=answer.message)
