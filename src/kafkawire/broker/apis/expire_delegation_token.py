"""ExpireDelegationToken: v0-2. Lets a token expire earlier, or removes it.

Rules:
- The connection must prove the client, and not by a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
- The token is found by its HMAC. Unknown: DELEGATION_TOKEN_NOT_FOUND. Of others: DELEGATION_TOKEN_OWNER_MISMATCH.
  Without a secret key: DELEGATION_TOKEN_AUTH_DISABLED.
- A negative period removes the token at once, even after its end. Otherwise a token past its end is
  DELEGATION_TOKEN_EXPIRED. The new end may be later than before, but not after that of the token.
- Sessions that are open with the token last until the end that it had when they began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._tokens.service import check_connection
from kafkawire.messages import ExpireDelegationTokenResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ExpireDelegationTokenRequest

NOT_ALLOWED: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def refuse(
    request: ExpireDelegationTokenRequest, refusal: Refusal, context: RequestContext
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(
        error_code=refusal.code, expiry_timestamp_ms=-1 if refusal.code == NOT_ALLOWED else 0
    )


@serves("ExpireDelegationToken", refuse=refuse)
async def handle(
    node: Node, request: ExpireDelegationTokenRequest, context: RequestContext
) -> ExpireDelegationTokenResponse:
    check_connection(context.peer)
    password, principal = bytes(request.hmac), str(context.principal)
    expires = await node.changes.run(node.tokens.expiry(password, principal, request.expiry_time_period_ms))
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expires)
