"""A connection of a SASL listener.

Rules:
- `_security/sasl_session` says whether a request may be served. Until the client is authenticated, requests are at most
  sasl.server.max.receive.size long, and no other code of the broker sees those that may not be served.
- The tokens after a SaslHandshake v0 are frames without a header. They are answered here. A failure closes the
  connection after the delay, without an answer.
- A connection whose authentication failed serves nothing more. It is closed when its last response is sent.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkawire.broker._net.connection import Connection
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.exchanges import AuthenticationFailure
from kafkawire.broker._security.sasl_session import Admission, State
from kafkawire.messages.errors import IllegalSaslStateError
from kafkawire.wire.frames import SIZE
from kafkawire.wire.headers import KEY_AND_VERSION

if TYPE_CHECKING:
    from socket import socket

    from kafkawire.broker._dispatch.dispatcher import Dispatcher
    from kafkawire.broker._net.server import Server
    from kafkawire.broker._security.listeners import ListenerSecurity
    from kafkawire.broker._security.sasl import ListenerSasl


class SaslConnection(Connection):
    """Receives frames, authenticates, and sends responses."""

    def __init__(
        self, server: Server, dispatcher: Dispatcher, security: ListenerSecurity, sasl: ListenerSasl, socket: socket
    ) -> None:
        super().__init__(server, dispatcher, security, socket)
        self._session = self.peer.session = sasl.session(self.peer, dispatcher.node)
        self._received.limit(min(sasl.largest_request, server.max_request))
        self._is_limited = True
        self._is_delayed = False  # whether a failed exchange waits to be closed

    def _serve(self, frame: bytes | memoryview) -> bool:
        session = self._session
        if session.is_closing:
            return False
        now = self._dispatcher.node.clock.now()
        if session.state is State.RAW_TOKENS:
            return self._take_token(bytes(frame[SIZE.size :]), now)
        if len(frame) < SIZE.size + KEY_AND_VERSION.size:
            self.refuse("authentication", f"a frame of {len(frame)} bytes is not a request")
            return False
        key, _ = KEY_AND_VERSION.unpack_from(frame, SIZE.size)
        admission = session.admit(key, now)
        if admission is Admission.CLOSE:
            expired = "its session has expired" if session.state is State.OPEN else "it is not authenticated"
            self.refuse("authentication", f"a request of API {key} on a connection, but {expired}")
            return False
        if admission is Admission.ANSWER_ILLEGAL:
            session.fail()
            self._answer_pending()
            refused = self._dispatcher.refuse(frame, self.peer, IllegalSaslStateError("SaslAuthenticate is expected"))
            return self._queue.put(*refused)
        flushes = super()._serve(frame)
        if self._is_limited and session.state is State.OPEN:
            self._is_limited = False
            self._received.limit(self._server.max_request)
        return flushes

    def _take_token(self, token: bytes, now: int) -> bool:
        """Answer a bare token."""
        try:
            answer, _ = self._session.authenticate(token, now)
        except AuthenticationFailure as failure:
            log_event(
                "authentication failed",
                level=logging.WARNING,
                client=self._client,
                listener=self.peer.listener,
                mechanism=self._session.mechanism,
                reason=str(failure),
            )
            self._is_delayed = True
            self._server.loop.call_later(self._session.failure_delay, self.abort)
            return False
        return self._queue.put([SIZE.pack(len(answer)), answer], SIZE.size + len(answer))

    def _make_room(self) -> None:
        if self._session.is_closing and not self._transport.is_closing():
            self._pause()
            if not self.is_busy and not self._is_delayed:
                self._transport.close()
            return
        super()._make_room()
