"""Bearer tokens of OAUTHBEARER: JSON Web Tokens, signed or, if asked for, unsecured. No I/O.

Rules:
- A signed token is RS256 or ES256 with a key of the JWKS. Its algorithm must be that of the key. `none` is refused.
- `exp` and `iat` are required, `nbf` is honoured, each with the clock skew. Issuer and audience must be those of the
  settings, if they are set. A token with an audience is refused while none is expected, as in Kafka.
- The principal is the claim `sub`, or that of the settings. It must not be blank.
- An unsecured token has the algorithm `none` and an empty signature. It is accepted only if this was asked for by name.
- Numbers may have decimals, because librdkafka writes them so. No error contains a part of a token.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire._extras import naming_extras

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST: Final = 64 * 1024
ALGORITHMS: Final = {"RS256": "RSA", "ES256": "EC"}


class InvalidTokenError(Exception):
    """A token that is not accepted; the text is for the broker's log."""


class Claims(NamedTuple):
    """The principal of a token and its end in ms."""

    principal: str
    expires_ms: int


class TokenRules(NamedTuple):
    """The claims that a token must have."""

    issuer: str = ""
    audiences: Sequence[str] = ()
    principal_claim: str = "sub"
    skew_ms: int = 30_000


def check_signed(token: str, key_of: Callable[[str], Mapping[str, Any] | None], rules: TokenRules, now: int) -> Claims:
    """The claims of a token that a key has signed; `key_of` returns the key with an id."""
    header, claims, signature, signed = _split(token)
    algorithm, key_id = header.get("alg"), header.get("kid", "")
    if algorithm not in ALGORITHMS or not isinstance(key_id, str):
        raise InvalidTokenError(f"expected a signature by {' or '.join(ALGORITHMS)}")
    key = key_of(key_id)
    if key is None:
        raise InvalidTokenError("no key of the JWKS has the id of the token")
    if key.get("kty") != ALGORITHMS[algorithm] or key.get("alg", algorithm) != algorithm or key.get("use") == "enc":
        raise InvalidTokenError(f"the key of the token does not sign with {algorithm}")
    _verify(algorithm, key, signed, signature)
    return _claims(claims, rules, now, needs_issue=True)


def check_unsecured(token: str, rules: TokenRules, now: int) -> Claims:
    """The claims of a token without a signature."""
    header, claims, signature, _ = _split(token)
    if header.get("alg") != "none" or signature:
        raise InvalidTokenError("expected an unsecured token: alg none, and no signature")
    return _claims(claims, rules, now, needs_issue=False)


def _split(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST or not token.isascii():
        raise InvalidTokenError("expected a JSON Web Token of three parts")
    header, claims, signature = (_bytes(part) for part in parts)
    return _object(header), _object(claims), signature, f"{parts[0]}.{parts[1]}".encode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidTokenError("expected parts in base64url") from None


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidTokenError("expected JSON in the parts") from None
    if not isinstance(found, dict):
        raise InvalidTokenError("expected a JSON object in the parts")
    return found


def _verify(algorithm: str, key: Mapping[str, Any], signed: bytes, signature: bytes) -> None:
    with naming_extras("a signed OAUTHBEARER token"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256
    try:
        if algorithm == "RS256":
            public = rsa.RSAPublicNumbers(_number(key, "e"), _number(key, "n")).public_key()
            public.verify(signature, signed, padding.PKCS1v15(), SHA256())
            return
        if key.get("crv") != "P-256" or len(signature) != 64:
            raise InvalidTokenError("expected a signature with P-256")
        numbers = ec.EllipticCurvePublicNumbers(_number(key, "x"), _number(key, "y"), ec.SECP256R1())
        joined = encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))
        numbers.public_key().verify(joined, signed, ec.ECDSA(SHA256()))
    except InvalidSignature:
        raise InvalidTokenError("the signature is wrong") from None
    except ValueError:
        raise InvalidTokenError("the key of the token is not valid") from None


def _number(key: Mapping[str, Any], name: str) -> int:
    value = key.get(name)
    if not isinstance(value, str):
        raise InvalidTokenError(f"the key of the token has no {name}")
    return int.from_bytes(_bytes(value))


def _claims(claims: Mapping[str, Any], rules: TokenRules, now: int, *, needs_issue: bool) -> Claims:
    expires, issued, not_before = (_time(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or (needs_issue and issued is None):
        raise InvalidTokenError("expected the claims exp and iat")
    if now >= expires + rules.skew_ms:
        raise InvalidTokenError("the token has expired")
    for name, time in (("iat", issued), ("nbf", not_before)):
        if time is not None and time - rules.skew_ms > now:
            raise InvalidTokenError(f"the token is not valid yet ({name})")
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise InvalidTokenError("the issuer is not sasl.oauthbearer.expected.issuer")
    if needs_issue:
        _check_audience(claims.get("aud"), rules.audiences)
    principal = claims.get(rules.principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise InvalidTokenError(f"expected a name in the claim {rules.principal_claim}")
    return Claims(principal, expires)


def _check_audience(audience: Any, expected: Sequence[str]) -> None:
    named = audience if isinstance(audience, list) else [] if audience is None else [audience]
    if expected and not set(expected) & {each for each in named if isinstance(each, str)}:
        raise InvalidTokenError("the audience is none of sasl.oauthbearer.expected.audience")
    if named and not expected:
        raise InvalidTokenError("the token has an audience, but sasl.oauthbearer.expected.audience is not set")


def _time(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e12 < value < 1e12:
        raise InvalidTokenError(f"expected a number of seconds in the claim {name}")
    return int(value * 1000)
