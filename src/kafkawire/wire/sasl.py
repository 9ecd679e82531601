"""The client's side of SASL exchanges: PLAIN, SCRAM (RFC 5802, 7677) and OAUTHBEARER (RFC 7628), without I/O.

Rules:
- `first` returns the opening message, `answer(challenge)` the next one, until `done`. An invalid challenge raises
  SaslError.
- A SCRAM server proves that it knows the password too: a wrong proof is refused, even after the broker accepted ours.
- Names and passwords are sent as plain UTF-8. Kafka stores them without SASLprep, so SASLprep would lock out users
  whose names it changes.
- Fewer than 4096 iterations are refused, as in Kafka's own client. More than a million would only waste time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final, Protocol

from kafkawire.wire.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterable

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS: Final = ("PLAIN", *_HASHES)
_FEWEST_ITERATIONS: Final = 4096
_MOST_ITERATIONS: Final = 1_000_000
_NO_CHANNEL_BINDING: Final = "n,,"


class SaslError(WireError):
    """An exchange that cannot continue, with what the server sent or left out."""


class SaslClient(Protocol):
    """One exchange, from the client's side."""

    mechanism: str
    done: bool

    def first(self) -> bytes: ...
    def answer(self, challenge: bytes) -> bytes: ...


def sasl_client(mechanism: str, username: str, password: str, *, token_auth: bool = False) -> SaslClient:
    """The exchange of a mechanism; with `token_auth` the user is a delegation token.

    >>> sasl_client("PLAIN", "ada", "secret").first()
    b'\\x00ada\\x00secret'
    """
    if mechanism == "PLAIN":
        return PlainClient(username, password)
    if mechanism in _HASHES:
        return ScramClient(mechanism, username, password, token_auth=token_auth)
    raise SaslError(f"SASL mechanism {mechanism!r}: expected one of {', '.join(MECHANISMS)}")


class PlainClient:
    """PLAIN (RFC 4616): everything in one message; only TLS keeps it secret."""

    mechanism = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        if "\0" in username or "\0" in password:
            raise SaslError("PLAIN: a user name or password cannot contain NUL")
        self._message = f"\0{username}\0{password}".encode()
        self.done = False

    def first(self) -> bytes:
        self.done = True
        return self._message

    def answer(self, challenge: bytes) -> bytes:
        raise SaslError(f"PLAIN: expected no challenge, found {len(challenge)} bytes")


class BearerClient:
    """OAUTHBEARER (RFC 7628): a token, which proves itself; only TLS keeps it secret."""

    mechanism = "OAUTHBEARER"

    def __init__(self, token: str, extensions: Iterable[tuple[str, str]] = ()) -> None:
        if not token.isascii() or not token.isprintable() or " " in token:
            raise SaslError("OAUTHBEARER: expected a token of printable ASCII without blanks")
        pairs = (("auth", f"Bearer {token}"), *extensions)
        if any("\x01" in name + value for name, value in pairs):
            raise SaslError("OAUTHBEARER: an extension cannot contain the byte 1")
        self._message = ("n,,\x01" + "".join(f"{name}={value}\x01" for name, value in pairs) + "\x01").encode()
        self.done = False
        self._is_refused = False

    def first(self) -> bytes:
        return self._message

    def answer(self, challenge: bytes) -> bytes:
        """End the exchange; a challenge means that the broker refuses the token, and says why after this."""
        if self._is_refused:
            raise SaslError("OAUTHBEARER: the broker refuses the token")
        self._is_refused = bool(challenge)
        self.done = not challenge
        return b"\x01" if challenge else b""


class ScramClient:
    """SCRAM: the password stays here, and both sides prove that they know it."""

    def __init__(
        self, mechanism: str, username: str, password: str, nonce: str | None = None, *, token_auth: bool = False
    ) -> None:
        self.mechanism = mechanism
        self.done = False
        self._hash = _HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}{',tokenauth=true' if token_auth else ''}"
        self._server_proof: bytes | None = None

    def first(self) -> bytes:
        return (_NO_CHANNEL_BINDING + self._bare).encode()

    def answer(self, challenge: bytes) -> bytes:
        if self._server_proof is None:
            return self._prove(_text(challenge, self.mechanism))
        self._check(_text(challenge, self.mechanism))
        self.done = True
        return b""

    def _prove(self, challenge: str) -> bytes:
        said = _attributes(challenge, self.mechanism)
        nonce, salt, iterations = said.get("r", ""), said.get("s", ""), said.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError(f"{self.mechanism}: expected the server's nonce to continue ours, found {nonce!r}")
        if not iterations.isascii() or not iterations.isdecimal() or len(iterations) > 9:
            raise SaslError(f"{self.mechanism}: expected a number of iterations, found {iterations!r}")
        rounds = int(iterations)
        if not _FEWEST_ITERATIONS <= rounds <= _MOST_ITERATIONS:
            raise SaslError(
                f"{self.mechanism}: {rounds} iterations, expected {_FEWEST_ITERATIONS} to {_MOST_ITERATIONS}"
            )
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, _base64(salt, "salt", self.mechanism), rounds)
        client_key = self._keyed(salted, b"Client Key")
        binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
        final = f"c={binding},r={nonce}"
        signed = f"{self._bare},{challenge},{final}".encode()
        signature = self._keyed(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._server_proof = self._keyed(self._keyed(salted, b"Server Key"), signed)
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def _check(self, challenge: str) -> None:
        said = _attributes(challenge, self.mechanism)
        if "e" in said:
            raise SaslError(f"{self.mechanism}: the server refuses: {said['e']}")
        assert self._server_proof is not None
        if not hmac.compare_digest(_base64(said.get("v", ""), "proof", self.mechanism), self._server_proof):
            raise SaslError(f"{self.mechanism}: the server does not know the password; this may not be the real broker")

    def _keyed(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)


def _text(challenge: bytes, mechanism: str) -> str:
    try:
        return challenge.decode()
    except UnicodeDecodeError:
        raise SaslError(f"{mechanism}: expected text, found {challenge[:32].hex()}") from None


def _attributes(message: str, mechanism: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in message.split(","):
        name, equals, value = part.partition("=")
        if len(name) != 1 or not equals:
            raise SaslError(f"{mechanism}: expected attributes such as r=..., found {part[:40]!r}")
        if name == "m":
            raise SaslError(f"{mechanism}: the server asks for an unknown extension: {value[:40]!r}")
        found.setdefault(name, value)
    return found


def _base64(text: str, what: str, mechanism: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SaslError(f"{mechanism}: expected the {what} in base64, found {text[:40]!r}") from None
