"""SaslHandshake: v0-1. Begins an authentication on a SASL listener.

Rules:
- `_security/sasl_session` decides. On other listeners, and on an authenticated connection whose session has no end, the
  answer is ILLEGAL_SASL_STATE, and the connection stays.
- A mechanism that is not enabled: UNSUPPORTED_SASL_MECHANISM with the list of those that are. Then the connection is
  closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import SaslHandshakeResponse
from kafkawire.messages.errors import ErrorCode, UnsupportedSaslMechanismError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import SaslHandshakeRequest


@serves("SaslHandshake")
def handle(node: Node, request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    session = context.peer.session
    if session is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    try:
        mechanisms = session.handshake(request.mechanism, context.version, node.clock.now())
    except UnsupportedSaslMechanismError as error:
        return SaslHandshakeResponse(error_code=error.code, mechanisms=list(session.mechanisms))
    return SaslHandshakeResponse(mechanisms=list(mechanisms))
