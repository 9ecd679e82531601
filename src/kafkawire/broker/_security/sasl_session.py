"""The authentication of one connection: which requests are legal when, and until when its session lasts. No I/O.

Rules:
- Before authentication ApiVersions and SaslHandshake are served, in this order, then SaslAuthenticate. ApiVersions may
  be repeated only after one that was refused. Any other API before the handshake closes the connection unread. After
  it, such an API is answered ILLEGAL_SASL_STATE, and the connection is closed.
- A mechanism that is not enabled is answered with those that are; then the connection is closed.
- After SaslHandshake v0 the tokens are bare frames, without a header.
- A failed exchange is answered after a delay, and then the connection is closed.
- A session lasts until the credential expires, and at most connections.max.reauth.ms. After that any request but a
  SaslHandshake closes the connection. A handshake authenticates again, with the same mechanism and as the same
  principal (KIP-368). It is refused within REST_MS of the last one, and if the session has no end.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from kafkawire.broker._security.exchanges import AuthenticationFailure
from kafkawire.messages.errors import IllegalSaslStateError, UnsupportedSaslMechanismError
from kafkawire.wire.headers import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._security.exchanges import Authenticated, Exchange
    from kafkawire.broker._security.peer import Peer

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
REST_MS: Final = 1000


class State(Enum):
    """How far a connection is."""

    NEW = auto()
    VERSIONED = auto()
    TOKENS = auto()
    RAW_TOKENS = auto()
    OPEN = auto()
    CLOSING = auto()


class Admission(Enum):
    """The fate of a request."""

    SERVE = auto()
    ANSWER_ILLEGAL = auto()
    CLOSE = auto()


class SaslSession:
    """The authentication of one connection."""

    __slots__ = (
        "_begun",
        "_exchange",
        "_lifetime",
        "_open_exchange",
        "_peer",
        "_reauthenticates",
        "expires_ms",
        "failure_delay",
        "mechanism",
        "mechanisms",
        "state",
    )

    def __init__(
        self,
        peer: Peer,
        mechanisms: tuple[str, ...],
        open_exchange: Callable[[str], Exchange],
        lifetime: Callable[[str], int],
        failure_delay: float,
    ) -> None:
        self.state = State.NEW
        self.expires_ms: int | None = None
        """When the session ends; None if it does not, or has not begun."""
        self._peer = peer
        self.mechanism = ""
        """The mechanism of the last handshake."""
        self.mechanisms = mechanisms
        """The mechanisms that are enabled."""
        self.failure_delay = failure_delay
        """Seconds before a failure is answered."""
        self._open_exchange = open_exchange
        self._lifetime = lifetime
        self._exchange: Exchange | None = None
        self._reauthenticates = False
        self._begun = 0

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closed after the answers so far."""
        return self.state is State.CLOSING

    def admit(self, key: int, now: int) -> Admission:
        """The fate of a request of an API."""
        state = self.state
        if state is State.OPEN:
            expired = self.expires_ms is not None and now >= self.expires_ms
            return Admission.CLOSE if expired and key != SASL_HANDSHAKE else Admission.SERVE
        if state is State.TOKENS:
            return Admission.SERVE if key == SASL_AUTHENTICATE else Admission.ANSWER_ILLEGAL
        if state is State.NEW and key == API_VERSIONS:
            return Admission.SERVE
        is_next = key == SASL_HANDSHAKE and state in (State.NEW, State.VERSIONED)
        return Admission.SERVE if is_next else Admission.CLOSE

    def versions_answered(self) -> None:
        """ApiVersions was answered without an error."""
        if self.state is State.NEW:
            self.state = State.VERSIONED

    def fail(self) -> None:
        """Close the connection after the answers so far."""
        self.state = State.CLOSING

    def handshake(self, mechanism: str, version: int, now: int) -> tuple[str, ...]:
        """Begin an exchange; returns the mechanisms that are enabled."""
        if self.state is State.OPEN:
            if self.expires_ms is None or now - self._begun < REST_MS:
                raise IllegalSaslStateError("the connection is authenticated already")
            if mechanism != self.mechanism:
                self.fail()
                return self.mechanisms
            self._reauthenticates = True
        if mechanism not in self.mechanisms:
            self.fail()
            raise UnsupportedSaslMechanismError(f"expected one of {', '.join(self.mechanisms)}")
        self.mechanism = mechanism
        self._exchange = self._open_exchange(mechanism)
        self.state = State.TOKENS if version > 0 else State.RAW_TOKENS
        return self.mechanisms

    def authenticate(self, token: bytes, now: int) -> tuple[bytes, int]:
        """The answer to a token, and the lifetime of the session in ms once the exchange is over; 0 has no end."""
        if self._exchange is None or self.state not in (State.TOKENS, State.RAW_TOKENS):
            raise IllegalSaslStateError("SaslHandshake comes first")
        try:
            answer, outcome = self._exchange.step(token)
            if outcome is None:
                return answer, 0
            return answer, self._begin(outcome, now)
        except AuthenticationFailure:
            self.fail()
            raise

    def _begin(self, outcome: Authenticated, now: int) -> int:
        peer = self._peer
        if self._reauthenticates and outcome.principal != peer.principal:
            raise AuthenticationFailure("authentication failed: a connection cannot change its principal")
        most = self._lifetime(self.mechanism)
        ends = [now + most] if most > 0 else []
        if outcome.expires_ms is not None:
            if outcome.expires_ms <= now:
                raise AuthenticationFailure("authentication failed: the credential has expired")
            ends.append(outcome.expires_ms)
        self.expires_ms = min(ends) if ends else None
        self._begun = now
        self._exchange = None
        peer.principal, peer.used_token = outcome.principal, outcome.used_token
        self.state = State.OPEN
        return 0 if self.expires_ms is None else self.expires_ms - now
