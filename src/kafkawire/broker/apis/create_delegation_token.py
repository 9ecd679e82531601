"""CreateDelegationToken: v0-3. Creates a token, by which a client logs in as its owner.

Rules:
- The connection must prove the requester, and not by a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
- The owner is the requester, unless v3 names another principal. That needs CREATE_TOKENS on the owner.
- Renewers are users: INVALID_PRINCIPAL_TYPE.
- Without a secret key: DELEGATION_TOKEN_AUTH_DISABLED. These checks are made in this order.
- An owner without a type is UNKNOWN_SERVER_ERROR, as in Kafka.
- A refusal names the owner and the requester, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._security.peer import ANONYMOUS, USER, Principal
from kafkawire.broker._tokens.service import check_connection
from kafkawire.messages import CreateDelegationTokenResponse
from kafkawire.messages.errors import ErrorCode, InvalidPrincipalTypeError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import CreateDelegationTokenRequest

REQUESTERS_SINCE: Final = 3


def refuse(
    request: CreateDelegationTokenRequest, refusal: Refusal, context: RequestContext
) -> CreateDelegationTokenResponse:
    return _refused(_owner(request, context), context.principal, refusal, context)


@serves("CreateDelegationToken", refuse=refuse)
async def handle(
    node: Node, request: CreateDelegationTokenRequest, context: RequestContext
) -> CreateDelegationTokenResponse:
    if request.owner_principal_name and request.owner_principal_type is None:
        refusal = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)  # Kafka fails here, before it looks at the connection
        return _refused(ANONYMOUS, ANONYMOUS, refusal, context)
    check_connection(context.peer)
    requester, owner = context.principal, _owner(request, context)
    if owner != requester:
        context.require(Operation.CREATE_TOKENS, ResourceType.USER, str(owner))
    renewers = []
    for each in request.renewers:
        if each.principal_type != USER:
            raise InvalidPrincipalTypeError(f"a renewer of type {each.principal_type!r}, expected {USER}")
        renewers.append(str(Principal(USER, each.principal_name)))
        await context.yield_if_due()
    node.tokens.check_enabled()
    token = await node.changes.run(node.tokens.creation(str(owner), str(requester), renewers, request.max_lifetime_ms))
    response = _response(owner, requester, context)
    response.issue_timestamp_ms = token.issued
    response.expiry_timestamp_ms = token.expires
    response.max_timestamp_ms = token.ends
    response.token_id = token.id
    response.hmac = node.tokens.password(token.id)
    return response


def _owner(request: CreateDelegationTokenRequest, context: RequestContext) -> Principal:
    if not request.owner_principal_name:
        return context.principal
    return Principal(request.owner_principal_type or "", request.owner_principal_name)


def _refused(
    owner: Principal, requester: Principal, refusal: Refusal, context: RequestContext
) -> CreateDelegationTokenResponse:
    response = _response(owner, requester, context)
    response.error_code = refusal.code
    # the controller of Kafka, which finds out that tokens are disabled, leaves the times out
    time = 0 if refusal.code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED else -1
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = time
    return response


def _response(owner: Principal, requester: Principal, context: RequestContext) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(principal_type=owner.type, principal_name=owner.name)
    if context.version >= REQUESTERS_SINCE:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response
