"""The peer of a connection: its principal, the listener that it came through, and its address.

Rules:
- A connection has one `Peer`, and every request of it shares this object. A handler reads it through its context.
- The principal is User:ANONYMOUS until the connection is authenticated. It changes at no other time: a
  re-authentication as another user closes the connection (KIP-368).
- On SSL listeners the principal comes from the client's certificate, on SASL listeners from the SASL exchange.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from kafkawire.broker._security.sasl_session import SaslSession

USER: Final = "User"
UNKNOWN_SOFTWARE: Final = ("unknown", "unknown")


class Principal(NamedTuple):
    """The user for whom requests are served.

    >>> str(Principal("User", "alice")), Principal.parse("User:CN=a:b")
    ('User:alice', Principal(type='User', name='CN=a:b'))
    """

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Principal:
        """The principal that a text such as User:alice names; ValueError if it has no colon."""
        kind, colon, name = text.partition(":")
        if not kind or not colon:
            raise ValueError(f"expected Type:name, such as User:alice, found {text!r}")
        return cls(kind, name)


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")


class SecurityProtocol(Enum):
    """How a listener protects its connections, under Kafka's names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_tls(self) -> bool:
        """Whether bytes are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        """Whether clients authenticate by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Peer:
    """The client at the other end of a connection."""

    __slots__ = ("address", "listener", "principal", "protocol", "session", "software", "used_token")

    def __init__(
        self,
        listener: str = "PLAINTEXT",
        protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
        address: tuple[str, int] = ("", 0),
        principal: Principal = ANONYMOUS,
    ) -> None:
        self.listener = listener
        self.protocol = protocol
        self.address = address
        self.principal = principal
        self.used_token = False
        """Whether the connection was authenticated by a delegation token."""
        self.software = UNKNOWN_SOFTWARE
        """The name and the version of the client, from ApiVersions v3."""
        self.session: SaslSession | None = None
        """The authentication by SASL; None on other listeners."""

    def __repr__(self) -> str:
        return f"Peer({self.principal}, {self.listener}, {self.protocol.value}, {self.address})"
