"""The SASL mechanisms of one listener, from its settings.

Rules:
- `sasl.enabled.mechanisms` must name mechanisms that this broker serves. Kafka's default, GSSAPI, is none of them, so
  it must be set.
- The users of PLAIN are options user_<name>="<password>" of listener.name.<listener>.plain.sasl.jaas.config. Those of
  SCRAM are in the journal. OAUTHBEARER has its own settings (`oauth_exchange`).
- A setting that would refuse every client, or accept every one, stops the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.listener_settings import JAAS
from kafkawire.broker._security.exchanges import PlainExchange, ScramExchange
from kafkawire.broker._security.oauth_exchange import OAUTHBEARER, OAuthExchange, TokenCheck
from kafkawire.broker._security.sasl_session import SaslSession
from kafkawire.broker._security.scram_users import HASHES
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.wire.jaas import JaasError, Passwords, parse_jaas

if TYPE_CHECKING:
    from kafkawire.broker._config.listener_settings import ListenerSettings
    from kafkawire.broker._node import Node
    from kafkawire.broker._security.exchanges import Exchange
    from kafkawire.broker._security.peer import Peer

PLAIN: Final = "PLAIN"
SERVED: Final = (PLAIN, *HASHES, OAUTHBEARER)
_ENABLED: Final = "sasl.enabled.mechanisms"
_DELAY: Final = "connection.failed.authentication.delay.ms"


class ListenerSasl:
    """The mechanisms of one listener."""

    def __init__(self, settings: ListenerSettings) -> None:
        self._settings = settings
        self.mechanisms = tuple(dict.fromkeys(word.upper() for word in settings.words(_ENABLED)))
        unknown = [each for each in self.mechanisms if each not in SERVED]
        if unknown or not self.mechanisms:
            offered = ", ".join(unknown) or "nothing"
            raise InvalidConfigError(
                f"listener {settings.listener} with {settings.protocol.value} offers {offered}: "
                f"set {settings.name(_ENABLED)} to some of {', '.join(SERVED)}"
            )
        self.largest_request = settings.integer("sasl.server.max.receive.size")
        self._failure_delay = settings.integer(_DELAY) / 1000
        self._users = self._plain_users() if PLAIN in self.mechanisms else Passwords()
        self._tokens = TokenCheck(settings) if OAUTHBEARER in self.mechanisms else None
        self._lifetimes = {each: settings.integer("connections.max.reauth.ms", each) for each in self.mechanisms}

    def session(self, peer: Peer, node: Node) -> SaslSession:
        """The authentication of a new connection."""
        return SaslSession(
            peer,
            self.mechanisms,
            lambda mechanism: self._exchange(mechanism, node),
            self._lifetimes.__getitem__,
            self._failure_delay,
        )

    def _exchange(self, mechanism: str, node: Node) -> Exchange:
        if mechanism == PLAIN:
            return PlainExchange(self._users)
        if self._tokens is not None and mechanism == OAUTHBEARER:
            return OAuthExchange(self._tokens, node.clock.now)
        return ScramExchange(mechanism, node.scram_users, node.tokens.login)

    def _plain_users(self) -> Passwords:
        name = self._settings.name(JAAS, PLAIN)
        text = self._settings.text(JAAS, PLAIN)
        try:
            users = parse_jaas(text, name).users if text else Passwords()
        except JaasError as error:
            raise InvalidConfigError(str(error)) from error
        if not users or not all(users.values()):
            expected = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_<name>="<password>";'
            found = "a user without a password" if users else "no user"
            raise InvalidConfigError(f"{name}: expected {expected} found {found}")
        return users
