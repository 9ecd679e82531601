"""DescribeDelegationToken: v0-3. The tokens of owners, with the HMACs that are their passwords.

Rules:
- The connection must prove the client, and not by a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Then, without a secret
  key: DELEGATION_TOKEN_AUTH_DISABLED.
- Null owners mean all, an empty list means none. A token also counts for its requester and its renewers.
- Every client sees the tokens that it owns, asked for, or may renew. Others need DESCRIBE on the token or
  DESCRIBE_TOKENS on its owner. Tokens that the client may not see are left out.
- A token past its end is listed until it is removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._security.peer import Principal
from kafkawire.broker._tokens.service import check_connection
from kafkawire.broker._tokens.stored import principal_of
from kafkawire.messages import DescribeDelegationTokenResponse
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker._tokens.stored import Token
    from kafkawire.messages import DescribeDelegationTokenRequest

Described = DescribeDelegationTokenResponse.DescribedDelegationToken
Renewer = DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer
REQUESTERS_SINCE: Final = 3


@serves("DescribeDelegationToken")
async def handle(
    node: Node, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse:
    check_connection(context.peer)
    node.tokens.check_enabled()
    response = DescribeDelegationTokenResponse()
    owners = None
    if request.owners is not None:
        owners = {str(Principal(each.principal_type, each.principal_name)) for each in request.owners}
        if not owners:
            return response
    for token in node.tokens.stored:
        if (owners is None or not owners.isdisjoint(token.visible_to)) and _may_see(token, context):
            response.tokens.append(_described(token, node.tokens.password(token.id), context.version))
        await context.yield_if_due()
    return response


def _may_see(token: Token, context: RequestContext) -> bool:
    return (
        str(context.principal) in token.visible_to
        or context.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.id)
        or context.may(Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token: Token, password: bytes, version: int) -> Described:
    owner, requester = principal_of(token.owner), principal_of(token.requester)
    described = Described(
        principal_type=owner.type,
        principal_name=owner.name,
        issue_timestamp=token.issued,
        expiry_timestamp=token.expires,
        max_timestamp=token.ends,
        token_id=token.id,
        hmac=password,
        renewers=[
            Renewer(principal_type=each.type, principal_name=each.name) for each in map(principal_of, token.renewers)
        ],
    )
    if version >= REQUESTERS_SINCE:
        described.token_requester_principal_type = requester.type
        described.token_requester_principal_name = requester.name
    return described
