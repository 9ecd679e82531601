"""The delegation tokens of a node: who may create, renew, expire and see one, and the login with one (KIP-48).

Rules:
- Without delegation.token.secret.key there are no tokens: every request is DELEGATION_TOKEN_AUTH_DISABLED.
- A token is asked for by a client that proved who it is in another way. So requests over PLAINTEXT, over SSL without a
  client certificate, and over a connection that itself used a token are DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. This is
  checked first.
- The owner and the renewers renew a token and let it expire. They and its requester see it.
- The password of a token is its HMAC: HMAC-SHA-512 of its id under the secret key, in base64 for SCRAM. It is derived,
  never stored, and appears only in responses to those who may see the token.
- A token expires at `expires`. It can be renewed until `ends`. An expired token does not log in, and the end of the
  token is the end of a session. The periodic sweep removes it.
- Changes are durable before they are answered, as all changes of the journal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.peer import ANONYMOUS, SecurityProtocol
from kafkawire.broker._security.scram_users import LEAST_ITERATIONS, Login, ScramCredential
from kafkawire.broker._tokens.stored import StoredTokens, Token, principal_of
from kafkawire.messages import RemoveDelegationTokenRecord, uuid_text
from kafkawire.messages.errors import (
    DelegationTokenAuthDisabledError,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DelegationTokenRequestNotAllowedError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._metadata.journal.log import Journal
    from kafkawire.broker._security.peer import Peer
    from kafkawire.log import BackgroundWork

SECRET_KEY: Final = "delegation.token.secret.key"
_SALT_BYTES: Final = 16
_LATEST: Final = 2**63 - 1


class Tokens:
    """All tokens of a node, and the secret that their passwords come from."""

    def __init__(self, config: BrokerConfig, clock: Clock, journal: Journal, stored: StoredTokens) -> None:
        self.stored = stored
        self._clock = clock
        self._journal = journal
        self._secret = config.text(SECRET_KEY).encode()
        self._longest = config.integer("delegation.token.max.lifetime.ms")
        self._period = config.integer("delegation.token.expiry.time.ms")
        self._by_digest: dict[bytes, str] = {}
        self._indexed = -1
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    def __repr__(self) -> str:
        return f"Tokens({len(self.stored)})"

    @property
    def is_enabled(self) -> bool:
        """Whether this node has tokens at all."""
        return bool(self._secret)

    def check_enabled(self) -> None:
        """Refuse a request to a node without tokens."""
        if not self.is_enabled:
            raise DelegationTokenAuthDisabledError(f"set {SECRET_KEY} on the broker to enable delegation tokens")

    def password(self, token_id: str) -> bytes:
        """The HMAC of a token, which is its password."""
        return hmac.digest(self._secret, token_id.encode(), "sha512")

    def login(self, token_id: str, mechanism: str) -> Login | None:
        """The login of a token; None if there is none that is still valid."""
        token = self.stored.find(token_id)
        if token is None or not self.is_enabled or token.has_expired(self._clock.now()):
            return None
        key = token_id, mechanism
        credential = self._credentials.get(key)
        if credential is None:
            password = base64.b64encode(self.password(token_id))
            salt = secrets.token_bytes(_SALT_BYTES)
            credential = ScramCredential.of_password(mechanism, password, salt, LEAST_ITERATIONS)
            self._credentials[key] = credential
        return Login(credential, principal_of(token.owner), token.expires, used_token=True)

    def creation(self, owner: str, requester: str, renewers: Iterable[str], lifetime: int) -> BackgroundWork[Token]:
        """Create a token; returns it."""
        now = self._clock.now()
        ends = min(now + (min(self._longest, lifetime) if lifetime > 0 else self._longest), _LATEST)
        token_id = uuid_text(uuid4())
        token = Token(token_id, owner, requester, tuple(renewers), now, min(ends, now + self._period), ends)
        yield partial(self._journal.write, [token.record])
        self.stored.apply(token.record)
        log_event("delegation token created", id=token_id, owner=owner, requester=requester)
        return token

    def renewal(self, password: bytes, principal: str, period: int) -> BackgroundWork[int]:
        """Renew a token; returns its new end."""
        token = self._held(password, principal, expired_first=True)
        now = self._clock.now()
        expires = min(token.ends, now + (min(self._period, period) if period > 0 else self._period))
        yield from self._replacement(token._replace(expires=expires))
        return expires

    def expiry(self, password: bytes, principal: str, period: int) -> BackgroundWork[int]:
        """Let a token expire after a period, or remove it at once if this is negative; returns its new end."""
        token = self._held(password, principal, expired_first=False)
        now = self._clock.now()
        if period < 0:
            yield from self.removal([token])
            return now
        if token.has_expired(now):
            raise DelegationTokenExpiredError
        expires = min(token.ends, now + period)  # `ends` is below 2**63, so that the sum of large periods is too
        yield from self._replacement(token._replace(expires=expires))
        return expires

    def expired(self) -> list[Token]:
        """The tokens that no longer allow a login."""
        now = self._clock.now()
        return [token for token in self.stored if token.has_expired(now)]

    def removal(self, tokens: Iterable[Token]) -> BackgroundWork[None]:
        """Remove tokens that are still there."""
        records = [RemoveDelegationTokenRecord(token_id=each.id) for each in tokens if self.stored.find(each.id)]
        if not records:
            return
        yield partial(self._journal.write, records)
        for record in records:
            self.stored.apply(record)
            for key in [key for key in self._credentials if key[0] == record.token_id]:
                del self._credentials[key]
        log_event("delegation tokens removed", count=len(records), left=len(self.stored))

    def _replacement(self, token: Token) -> BackgroundWork[None]:
        yield partial(self._journal.write, [token.record])
        self.stored.apply(token.record)

    def _held(self, password: bytes, principal: str, *, expired_first: bool) -> Token:
        """The token with a password, if the principal may change it."""
        self.check_enabled()
        self._index()
        token = self.stored.find(self._by_digest.get(_digest(password), ""))
        if token is None:
            raise DelegationTokenNotFoundError
        if expired_first and token.has_expired(self._clock.now()):
            raise DelegationTokenExpiredError
        if not token.may_be_changed_by(principal):
            raise DelegationTokenOwnerMismatchError
        return token

    def _index(self) -> None:
        if self._indexed != self.stored.version:
            self._indexed = self.stored.version
            self._by_digest = {_digest(self.password(token.id)): token.id for token in self.stored}


def _digest(password: bytes) -> bytes:
    """The key of a password in the index, so that the time of a look-up says nothing about other passwords."""
    return hashlib.sha512(password).digest()


def check_connection(peer: Peer) -> None:
    """Refuse requests about tokens from a connection without authentication, or with a token only."""
    is_anonymous = peer.protocol is SecurityProtocol.SSL and peer.principal == ANONYMOUS
    if peer.used_token or peer.protocol is SecurityProtocol.PLAINTEXT or is_anonymous:
        raise DelegationTokenRequestNotAllowedError(
            "delegation tokens need a connection that is authenticated by SASL or a certificate, and not by a token"
        )
