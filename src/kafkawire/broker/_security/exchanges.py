"""The broker's side of SASL exchanges: PLAIN and SCRAM, as state machines without I/O.

Rules:
- `step` takes a token of the client and returns the answer, and who it is once the exchange is over. A failure raises
  AuthenticationFailure, whose text the client may see. It is the same for an unknown user and for a wrong password.
- Passwords and proofs are compared in constant time. An unknown user costs as much as a known one.
- An authorization id is empty or the user itself. Channel binding is not offered.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkawire.broker._security.peer import USER, Principal
from kafkawire.broker._security.scram_users import HASHES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._security.scram_users import Login, ScramUsers, TokenLogin

WRONG: Final = "authentication failed: the user name or the password is wrong"
REPEATED_NONCE: Final = (
    "authentication failed: the client repeats its part of the nonce, as librdkafka before 2.6 does, and Apache Kafka "
    "refuses this too: use a newer client, or the mechanism PLAIN over TLS"
)
_MALFORMED: Final = "authentication failed: the message of the client is malformed"
_NONCE_BYTES: Final = 17


class AuthenticationFailure(Exception):  # noqa: N818  # an expected outcome, which becomes SASL_AUTHENTICATION_FAILED
    """An exchange that failed; the text is for the client."""


class Authenticated(NamedTuple):
    """The principal that an exchange proved, and the time of its end; None for no end."""

    principal: Principal
    expires_ms: int | None = None
    used_token: bool = False


class Exchange(Protocol):
    """One exchange, from the broker's side."""

    def step(self, token: bytes) -> tuple[bytes, Authenticated | None]:
        """The answer to a token, and the outcome once there is one."""


class PlainExchange:
    """PLAIN (RFC 4616): everything in one token."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users

    def step(self, token: bytes) -> tuple[bytes, Authenticated | None]:
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise AuthenticationFailure(_MALFORMED) from None
        if len(parts) != 3 or not parts[1] or not parts[2]:
            raise AuthenticationFailure(_MALFORMED)
        authorization, name, password = parts
        known = self._users.get(name)
        # digests have one length, so the comparison does not depend on that of the password
        given, expected = (hashlib.sha256(each.encode()).digest() for each in (password, known or ""))
        is_right = hmac.compare_digest(given, expected)
        if known is None or not known or not is_right:
            raise AuthenticationFailure(WRONG)
        if authorization and authorization != name:
            raise AuthenticationFailure("authentication failed: the authorization id is not the user")
        return b"", Authenticated(Principal(USER, name))


class ScramExchange:
    """SCRAM (RFC 5802): the client proves that it knows the password, and the broker proves it too."""

    def __init__(self, mechanism: str, users: ScramUsers, token_login: TokenLogin) -> None:
        self._mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._users = users
        self._token_login = token_login
        self._login: Login | None = None
        self._nonce = self._signed = self._binding = ""
        self._is_refused = False

    def step(self, token: bytes) -> tuple[bytes, Authenticated | None]:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise AuthenticationFailure(_MALFORMED) from None
        return (self._first(text), None) if self._login is None else self._final(text, self._login)

    def _first(self, text: str) -> bytes:
        binding, _, rest = text.partition(",")
        authorization, _, bare = rest.partition(",")
        attributes = bare.split(",")
        if binding != "n" or authorization[:2] not in ("", "a=") or len(attributes) < 2:
            raise AuthenticationFailure(_MALFORMED)
        if not attributes[0].startswith("n=") or not attributes[1].startswith("r=") or len(attributes[1]) < 3:
            raise AuthenticationFailure(_MALFORMED)
        name = _name(attributes[0][2:])
        is_token = "tokenauth=true" in attributes[2:]
        login = self._token_login(name, self._mechanism) if is_token else None
        self._login = login or self._users.login(name, self._mechanism)
        # a user may have the name of a token that does not exist
        self._is_refused = (is_token and login is None) or _name(authorization[2:]) not in ("", name)
        self._nonce = attributes[1][2:] + secrets.token_hex(_NONCE_BYTES)
        self._binding = base64.b64encode(f"{binding},{authorization},".encode()).decode()
        credential = self._login.credential
        challenge = f"r={self._nonce},s={base64.b64encode(credential.salt).decode()},i={credential.iterations}"
        self._signed = f"{bare},{challenge}"
        return challenge.encode()

    def _final(self, text: str, login: Login) -> tuple[bytes, Authenticated]:
        without, found, proof_text = text.rpartition(",p=")
        binding, _, nonce = without.partition(",r=")
        nonce = nonce.partition(",")[0]
        if not found or binding != f"c={self._binding}" or not nonce.endswith(self._nonce):
            raise AuthenticationFailure(_MALFORMED)
        if nonce != self._nonce:  # the proof covers all of it, but Apache Kafka refuses it since 3.9
            raise AuthenticationFailure(REPEATED_NONCE)
        try:
            proof = base64.b64decode(proof_text, validate=True)
        except (binascii.Error, ValueError):
            raise AuthenticationFailure(_MALFORMED) from None
        credential = login.credential
        signed = f"{self._signed},{without}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._hash)
        if len(proof) != len(signature):
            raise AuthenticationFailure(_MALFORMED)
        key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        is_right = hmac.compare_digest(hashlib.new(self._hash, key).digest(), credential.stored_key)
        if not is_right or self._is_refused:
            raise AuthenticationFailure(WRONG)
        answer = base64.b64encode(hmac.digest(credential.server_key, signed, self._hash)).decode()
        return f"v={answer}".encode(), Authenticated(login.principal, login.expires_ms, login.used_token)


def _name(text: str) -> str:
    """The name in an attribute, where =2C is a comma and =3D an equals sign."""
    parts = text.replace("=2C", ",").split("=3D")
    if any("=" in part for part in parts):
        raise AuthenticationFailure(_MALFORMED)
    return "=".join(parts)
