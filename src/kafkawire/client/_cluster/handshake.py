"""The first requests on every connection: version negotiation and authentication.

Rules:
- The handshake is a generator of (request, version) that is sent the answers, so that asyncio and blocking sockets run
  the same one.
- ApiVersions comes first, in our latest version. A broker that does not know it answers with the versions that it
  knows (KIP-511); a broker older than that is asked in version 0. It names the broker that the client expects, if it
  expects one (KIP-1242).
- On SASL listeners authentication follows, token by token; no other request is sent before it ends. A broker may limit
  the lifetime of a session (KIP-368); a connection is used for most of it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire import __version__
from kafkawire.client._cluster.tls_refusals import refused_handshake
from kafkawire.client.errors import AuthenticationFailedError, ClientError, ConnectionLostError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    ApiVersionsRequest,
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
from kafkawire.wire.sasl import BearerClient, SaslError, sasl_client

if TYPE_CHECKING:
    from kafkawire.client._cluster.oauth import OAuthToken
    from kafkawire.client.options import ClientOptions
    from kafkawire.wire.sasl import SaslClient

SOFTWARE_NAME = "kafkawire"
_USED_OF_SESSION: Final = 0.85


class Destination(NamedTuple):
    """A broker of a cluster."""

    cluster_id: str
    node_id: int


class Session(NamedTuple):
    """The versions that the broker serves, and for how many seconds the connection may be used."""

    negotiated: Negotiated
    usable_seconds: float


Handshake = Generator[tuple[Message, int], Message, Session]


def greeting(destination: Destination | None = None) -> ApiVersionsRequest:
    """The request for the versions and the features of a broker."""
    return introduction(SOFTWARE_NAME, __version__, *(destination or ()))


def handshake(
    options: ClientOptions, destination: Destination | None = None, token: OAuthToken | None = None
) -> Handshake:
    """Agree on versions and authenticate; a broker that is not the destination answers REBOOTSTRAP_REQUIRED."""
    hello = greeting(destination)
    answer = yield hello, api(API_VERSIONS).versions.last
    assert isinstance(answer, ApiVersionsResponse)
    again = retry_version(answer)
    if again is not None:
        answer = yield hello, again
        assert isinstance(answer, ApiVersionsResponse)
    if answer.error_code:
        raise error_for(answer.error_code, "ApiVersions")
    negotiated = Negotiated.from_response(answer)
    lifetime = 0.0
    if options.security_protocol.startswith("SASL"):
        lifetime = yield from _authenticate(options, negotiated, token)
    return Session(negotiated, lifetime * _USED_OF_SESSION if lifetime > 0 else math.inf)


async def shake_hands(
    ask: Callable[[Message, int], Awaitable[Message]],
    place: str,
    options: ClientOptions,
    destination: Destination | None,
    token: OAuthToken | None,
) -> Session:
    """Run the handshake; `ask` sends a request of a version and returns its answer."""
    steps = handshake(options, destination, token)
    message, version = next(steps)
    while True:
        try:
            answer = await ask(message, version)
        except ConnectionLostError as error:
            raise _lost_before(place, message, options, error) from error
        try:
            message, version = steps.send(answer)
        except StopIteration as done:
            session: Session = done.value
            return session


def _lost_before(place: str, message: Message, options: ClientOptions, error: ConnectionLostError) -> Exception:
    """The error of a connection that ended before one of these requests was answered, with a hint at the cause."""
    if isinstance(error.__cause__, KafkaWireError):
        return error  # it was answered, but the answer cannot be read
    refused = refused_handshake(place, error.__cause__, options)
    if refused is not None:
        return refused
    hint = "" if options.security_protocol.endswith("SSL") else "; does this listener want TLS?"
    name = type(message).__name__.removesuffix("Request")
    return ConnectionLostError(f"{error} before it answered {name}{hint}")


def needs_token(options: ClientOptions) -> bool:
    """Whether a connection authenticates by a token, which is fetched before the handshake."""
    return options.security_protocol.startswith("SASL") and options.sasl_mechanism == "OAUTHBEARER"


def _authenticate(
    options: ClientOptions, negotiated: Negotiated, bearer: OAuthToken | None
) -> Generator[tuple[Message, int], Message, float]:
    mechanism = options.sasl_mechanism
    if bearer is None:
        user, password, is_token = options.login()
        words = f"SASL {mechanism} as {user!r}"
    else:
        words = f"SASL {mechanism}"
    handshake_version = negotiated.version("SaslHandshake")
    if handshake_version < 1:
        raise ClientError(
            "the broker only supports SaslHandshake v0 (Kafka before 1.0), which this client does not implement"
        )
    shaken = yield SaslHandshakeRequest(mechanism=mechanism), handshake_version
    assert isinstance(shaken, SaslHandshakeResponse)
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms) or "none"
        name = ErrorCode(shaken.error_code).name
        raise AuthenticationFailedError(f"SASL {mechanism}: {name}; the broker offers {offered}")
    version = negotiated.version("SaslAuthenticate")
    try:
        client: SaslClient
        if bearer is None:
            client = sasl_client(mechanism, user, password, token_auth=is_token)
        else:
            client = BearerClient(bearer.value, bearer.extensions)
        token = client.first()
        while True:
            answer = yield SaslAuthenticateRequest(auth_bytes=token), version
            assert isinstance(answer, SaslAuthenticateResponse)
            if answer.error_code:
                reason = answer.error_message or ErrorCode(answer.error_code).meaning
                raise AuthenticationFailedError(f"{words}: {reason}")
            token = b"" if client.done else client.answer(bytes(answer.auth_bytes))
            if not token:
                return answer.session_lifetime_ms / 1000
    except SaslError as error:
        raise AuthenticationFailedError(str(error)) from error
