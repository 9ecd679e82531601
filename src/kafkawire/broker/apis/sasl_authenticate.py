"""SaslAuthenticate: v0-2. One token of an authentication, after SaslHandshake v1.

Rules:
- Every token is answered, with empty bytes if the mechanism has nothing to say. The last answer contains the lifetime
  of the session from v1 on.
- A failure is SASL_AUTHENTICATION_FAILED with a text that does not say whether the user exists. It leaves after
  connection.failed.authentication.delay.ms. Then the connection is closed.
- Without a handshake before it: ILLEGAL_SASL_STATE.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._net.listeners import Endpoint
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.exchanges import AuthenticationFailure
from kafkawire.messages import SaslAuthenticateResponse
from kafkawire.messages.errors import IllegalSaslStateError, SaslAuthenticationError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import SaslAuthenticateRequest


@serves("SaslAuthenticate")
async def handle(node: Node, request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    session = context.peer.session
    if session is None:
        raise IllegalSaslStateError("this listener does not authenticate by SASL")
    try:
        answer, lifetime = session.authenticate(bytes(request.auth_bytes), node.clock.now())
    except AuthenticationFailure as failure:
        client, listener = str(Endpoint(*context.address)), context.listener
        mechanism = session.mechanism
        log_event(
            "authentication failed",
            level=logging.WARNING,
            client=client,
            listener=listener,
            mechanism=mechanism,
            reason=str(failure),
        )
        await asyncio.sleep(session.failure_delay)
        raise SaslAuthenticationError(str(failure)) from None
    return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime)
