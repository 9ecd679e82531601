"""What is said first on every connection: who we are, which versions we share, and who may come in.

Rules:
- The conversation is a generator of (request, version) that is sent the answers, so that asyncio and blocking sockets
  hold the same one.
- ApiVersions goes first, in our latest version; a broker that does not know it says which it knows (KIP-511), and one
  older than that is asked in version 0.
- Authentication follows on SASL listeners, token by token; no other request goes out before it ends. A broker may let
  us in for a while only (KIP-368); a connection is used for most of that.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire import __version__
from kafkawire.client.errors import AuthenticationFailedError, ClientError, ConnectionLostError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    ApiVersionsResponse,
    Message,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    api,
)
from kafkawire.messages.errors import ErrorCode, error_for
from kafkawire.wire import Negotiated, retry_version
from kafkawire.wire.headers import API_VERSIONS
from kafkawire.wire.negotiation import introduction
from kafkawire.wire.sasl import SaslError, sasl_client

if TYPE_CHECKING:
    from kafkawire.client.options import ClientOptions

SOFTWARE_NAME = "kafkawire"
_USED_OF_SESSION: Final = 0.85


class Greeted(NamedTuple):
    """What the broker serves, and for how many seconds the connection may be used."""

    negotiated: Negotiated
    usable: float


Greeting = Generator[tuple[Message, int], Message, Greeted]


def greet(options: ClientOptions) -> Greeting:
    """The first words of a connection; the result is what was agreed on."""
    hello = introduction(SOFTWARE_NAME, __version__)
    answer = yield hello, api(API_VERSIONS).versions.last
    assert isinstance(answer, ApiVersionsResponse)
    again = retry_version(answer)
    if again is not None:
        answer = yield hello, again
        assert isinstance(answer, ApiVersionsResponse)
    if answer.error_code:
        raise error_for(answer.error_code, "ApiVersions")
    negotiated = Negotiated.from_response(answer)
    session = 0.0
    if options.security_protocol.startswith("SASL"):
        session = yield from _authenticate(options, negotiated)
    return Greeted(negotiated, session * _USED_OF_SESSION if session > 0 else math.inf)


def lost_before(message: Message, options: ClientOptions, error: ConnectionLostError) -> ConnectionLostError:
    """The error of a connection that ended before one of these requests was answered, with what may be wrong."""
    if isinstance(error.__cause__, KafkaWireError):
        return error  # it was answered, with what makes no sense
    hint = "" if options.security_protocol.endswith("SSL") else "; does this listener want TLS?"
    name = type(message).__name__.removesuffix("Request")
    return ConnectionLostError(f"{error} before it answered {name}{hint}")


def _authenticate(options: ClientOptions, negotiated: Negotiated) -> Generator[tuple[Message, int], Message, float]:
    mechanism = options.sasl_mechanism
    if options.sasl_plain_username is None or options.sasl_plain_password is None:
        raise AuthenticationFailedError(f"SASL {mechanism} needs sasl_plain_username and sasl_plain_password")
    handshake = negotiated.version("SaslHandshake")
    if handshake < 1:
        raise ClientError("the broker frames SASL tokens as before Kafka 1.0 (SaslHandshake v0), which we do not")
    shaken = yield SaslHandshakeRequest(mechanism=mechanism), handshake
    assert isinstance(shaken, SaslHandshakeResponse)
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms) or "none"
        name = ErrorCode(shaken.error_code).name
        raise AuthenticationFailedError(f"SASL {mechanism}: {name}; the broker offers {offered}")
    version = negotiated.version("SaslAuthenticate")
    try:
        client = sasl_client(mechanism, options.sasl_plain_username, options.sasl_plain_password)
        token = client.first()
        while True:
            answer = yield SaslAuthenticateRequest(auth_bytes=token), version
            assert isinstance(answer, SaslAuthenticateResponse)
            if answer.error_code:
                reason = answer.error_message or ErrorCode(answer.error_code).meaning
                raise AuthenticationFailedError(f"SASL {mechanism} as {options.sasl_plain_username!r}: {reason}")
            token = b"" if client.done else client.answer(bytes(answer.auth_bytes))
            if not token:
                return answer.session_lifetime_ms / 1000
    except SaslError as error:
        raise AuthenticationFailedError(str(error)) from error
