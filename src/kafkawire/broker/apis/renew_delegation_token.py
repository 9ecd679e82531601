"""RenewDelegationToken: v0-2. Lets a token be valid for longer.

Rules:
- The connection must prove the client, and not by a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
- The token is found by its HMAC. Unknown: DELEGATION_TOKEN_NOT_FOUND. Past its end: DELEGATION_TOKEN_EXPIRED. Of
  others: DELEGATION_TOKEN_OWNER_MISMATCH. Without a secret key: DELEGATION_TOKEN_AUTH_DISABLED.
- The period is at most delegation.token.expiry.time.ms, which is also used for 0 or less. The end is at most that of
  the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._tokens.service import check_connection
from kafkawire.messages import RenewDelegationTokenResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import RenewDelegationTokenRequest

NOT_ALLOWED: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def refuse(
    request: RenewDelegationTokenRequest, refusal: Refusal, context: RequestContext
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(
        error_code=refusal.code, expiry_timestamp_ms=-1 if refusal.code == NOT_ALLOWED else 0
    )


@serves("RenewDelegationToken", refuse=refuse)
async def handle(
    node: Node, request: RenewDelegationTokenRequest, context: RequestContext
) -> RenewDelegationTokenResponse:
    check_connection(context.peer)
    password, principal = bytes(request.hmac), str(context.principal)
    expires = await node.changes.run(node.tokens.renewal(password, principal, request.renew_period_ms))
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expires)
