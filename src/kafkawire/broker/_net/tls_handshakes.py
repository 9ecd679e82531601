"""TLS handshakes of new connections, before they are connections of the broker.

Rules:
- A handshake counts for max.connections and max.connections.per.ip, so that clients that never finish one cannot take
  all descriptors. It has HANDSHAKE_SECONDS.
- A handshake that fails sends TLS's alert and closes the connection. One line in the log contains the reason in words,
  and says if the client does not speak TLS at all.
- Every handshake uses the context that is current when it begins.
"""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, Final

from kafkawire.broker._net.listeners import Endpoint
from kafkawire.broker._net.tls_alerts import send_alert
from kafkawire.broker._ops.event_log import log_event

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable

    from kafkawire.broker._net.server import Server
    from kafkawire.broker._security.tls import ListenerTls

HANDSHAKE_SECONDS: Final = 10.0
_NO_TLS: Final = "the client does not speak TLS; on this listener it needs security.protocol={protocol}"
_DISTRUST: Final = "the client does not trust the certificate of this listener"
_REASONS: Final = {
    "HTTP_REQUEST": "an HTTP request on a TLS port",
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "UNKNOWN_PROTOCOL": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "BAD_RECORD_TYPE": _NO_TLS,
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate, and ssl.client.auth is required",
    "UNSUPPORTED_PROTOCOL": "the client has no version of TLS that ssl.enabled.protocols allows",
    "NO_SHARED_CIPHER": "the client has no cipher suite that this listener allows",
    "TLSV1_ALERT_UNKNOWN_CA": _DISTRUST,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _DISTRUST,
    "SSLV3_ALERT_BAD_CERTIFICATE": _DISTRUST,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the certificate of this listener has expired, the client says",
}


class TlsHandshakes:
    """The handshakes of one listener."""

    def __init__(self, server: Server, listener: str, protocol: str, tls: ListenerTls) -> None:
        self._server = server
        self._listener = listener
        self._protocol = protocol
        self._tls = tls

    async def make(self, accepted: socket.socket, connected: Callable[[], asyncio.BaseProtocol]) -> None:
        """Turn an accepted socket into a connection, or close it."""
        try:
            address = accepted.getpeername()[:2]
        except OSError:
            accepted.close()
            return
        host = str(address[0])
        refusal = self._server.begin_handshake(host)
        wire: socket.socket | None = None
        try:
            if refusal:
                accepted.close()
                self._refuse(address, "limit", refusal)
                return
            wire = accepted.dup()  # the loop closes the other one when the handshake fails
            await self._server.loop.connect_accepted_socket(
                connected, accepted, ssl=self._tls.context(), ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, ValueError) as error:
            # uvloop reports a transport that was closed in the meantime as a ValueError
            if wire is not None:
                send_alert(wire, error)
            accepted.close()
            self._refuse(address, "tls", handshake_failure(error, self._protocol))
        finally:
            if wire is not None:
                wire.close()
            self._server.end_handshake(host)

    def _refuse(self, address: tuple[str, int], kind: str, reason: str) -> None:
        client = str(Endpoint(*address))
        level = logging.WARNING
        log_event("connection closed", level=level, client=client, listener=self._listener, kind=kind, reason=reason)
        self._server.metrics.refuse(kind)


def handshake_failure(error: Exception, protocol: str) -> str:
    """Why a handshake failed, in words.

    >>> handshake_failure(ConnectionResetError(), "SSL")
    'the client closed the connection during the TLS handshake'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        known = _REASONS.get(error.reason or "")
        return known.format(protocol=protocol) if known else f"the TLS handshake failed: {error.reason or error}"
    if isinstance(error, ConnectionAbortedError) or "handshake is taking longer" in str(error):
        return f"the TLS handshake took longer than {HANDSHAKE_SECONDS:.0f} s"
    return "the client closed the connection during the TLS handshake"
