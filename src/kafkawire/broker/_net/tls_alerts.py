"""The alert of a TLS handshake that failed, which contains the reason for the client.

Rules:
- Loops close the socket of a failed handshake, and drop the alert that TLS has written. Without it a client sees a lost
  connection and tries again endlessly. So the error carries the alert, and it is sent on a copy of the socket.
- An alert is a few bytes for an empty send queue: it is sent at once or not at all.
- Bytes that the client sent meanwhile are read and dropped, because a system that closes a socket with unread bytes
  resets the connection.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any, Final

_MOST_PIECES: Final = 4
_PIECE: Final = 64 * 1024


class AlertingObject(ssl.SSLObject):
    """A TLS connection that adds its alert to the error of its handshake."""

    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            error.alert = self.outgoing.read()  # type: ignore[attr-defined]  # read by `send_alert`
            raise


class AlertingContext(ssl.SSLContext):
    """A context whose connections add their alert to the error of their handshake."""

    sslobject_class = AlertingObject

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **more: Any) -> AlertingObject:
        made = super().wrap_bio(incoming, outgoing, *args, **more)
        assert isinstance(made, AlertingObject)
        made.outgoing = outgoing
        return made


def send_alert(wire: socket.socket, error: BaseException) -> None:
    """Send the alert of a failed handshake, if there is one."""
    alert: bytes = getattr(error, "alert", b"")
    if not alert:
        return
    wire.setblocking(False)
    with suppress(OSError):
        wire.send(alert)
        wire.shutdown(socket.SHUT_WR)
        for _ in range(_MOST_PIECES):
            if not wire.recv(_PIECE):
                break
