"""OAUTHBEARER (RFC 7628), from the broker's side, and its settings.

Rules:
- The client sends its token in its first message. A failure takes a further round: the broker answers with a JSON text,
  the client sends one byte, and then the exchange fails with this text.
- The end of the token is the end of the session.
- Fail closed: without sasl.oauthbearer.jwks.endpoint.url the broker does not start. Unsecured tokens need Kafka's class
  for them by name in sasl.server.callback.handler.class. Kafka's class for signed tokens is accepted there too.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.bearer_tokens import InvalidTokenError, TokenRules, check_signed, check_unsecured
from kafkawire.broker._security.exchanges import Authenticated, AuthenticationFailure
from kafkawire.broker._security.jwks import KeySet
from kafkawire.broker._security.peer import USER, Principal
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._config.listener_settings import ListenerSettings
    from kafkawire.broker._security.bearer_tokens import Claims

OAUTHBEARER: Final = "OAUTHBEARER"
UNSECURED: Final = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
SIGNED: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
"""Kafka's class for signed tokens, by its names since 4.0 and before."""
INVALID: Final = '{"status":"invalid_token"}'
_FIRST: Final = re.compile(
    "n,(?:a=([^,]*))?,\x01auth=[Bb]earer ([-A-Za-z0-9._~+/=]+)\x01((?:[A-Za-z]+=[^\x01]*\x01)*)\x01"
)
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_HANDLER: Final = "sasl.server.callback.handler.class"


class TokenCheck:
    """Checks the tokens of one listener."""

    def __init__(self, settings: ListenerSettings) -> None:
        url, handler = settings.text(_URL, OAUTHBEARER), settings.text(_HANDLER, OAUTHBEARER).strip()
        if handler in SIGNED:
            handler = ""
        elif handler and handler != UNSECURED:
            raise InvalidConfigError(
                f"{settings.name(_HANDLER, OAUTHBEARER)}: expected {SIGNED[0]}, {UNSECURED} or nothing"
            )
        if bool(url) == bool(handler):
            found, name = "both" if url else "neither", settings.name(_HANDLER, OAUTHBEARER)
            raise InvalidConfigError(
                f"OAUTHBEARER on listener {settings.listener}: set {settings.name(_URL, OAUTHBEARER)} to the keys "
                f"that sign tokens, or {name}={UNSECURED} to accept any token; found {found}"
            )
        self._rules = TokenRules(
            settings.text("sasl.oauthbearer.expected.issuer", OAUTHBEARER),
            tuple(settings.words("sasl.oauthbearer.expected.audience", OAUTHBEARER)),
            settings.text("sasl.oauthbearer.sub.claim.name", OAUTHBEARER) or "sub",
            settings.integer("sasl.oauthbearer.clock.skew.seconds", OAUTHBEARER) * 1000,
        )
        refresh = settings.integer("sasl.oauthbearer.jwks.endpoint.refresh.ms", OAUTHBEARER)
        self._keys = KeySet(url, refresh, settings.name(_URL, OAUTHBEARER)) if url else None
        if self._keys is None:
            log_event(
                "unsecured tokens accepted",
                level=logging.WARNING,
                listener=settings.listener,
                advice=f"every client can write such a token; set {settings.name(_URL, OAUTHBEARER)} outside of tests",
            )

    def claims(self, token: str, now: int) -> Claims:
        """The claims of a token; InvalidTokenError if it is not accepted."""
        if self._keys is None:
            return check_unsecured(token, self._rules, now)
        return check_signed(token, self._keys.find, self._rules, now)


class OAuthExchange:
    """One exchange."""

    def __init__(self, check: TokenCheck, now: Callable[[], int]) -> None:
        self._check = check
        self._now = now
        self._is_refused = False

    def step(self, token: bytes) -> tuple[bytes, Authenticated | None]:
        if self._is_refused:
            raise AuthenticationFailure(INVALID)
        found = _FIRST.fullmatch(token.decode("utf-8", "replace"))
        if found is None:
            raise AuthenticationFailure("authentication failed: the message of the client is malformed")
        try:
            claims = self._check.claims(found[2], self._now())
            if found[1] and found[1] != claims.principal:
                raise InvalidTokenError("the authorization id is not the principal of the token")
        except InvalidTokenError as error:
            log_event("token refused", level=logging.WARNING, reason=str(error))
            self._is_refused = True
            return INVALID.encode(), None
        return b"", Authenticated(Principal(USER, claims.principal), claims.expires_ms)
