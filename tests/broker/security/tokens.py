"""JSON Web Tokens of tests, and the key set that their signatures are checked with."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = 1_700_000_000
GOOD: dict[str, Any] = {"iss": "https://issuer", "aud": "kafka"}
RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int) -> str:
    return encoded(value.to_bytes(size))


def jwks() -> dict[str, Any]:
    of_rsa, of_ec = RSA_KEY.public_key().public_numbers(), EC_KEY.public_key().public_numbers()
    return {
        "keys": [
            {"kty": "RSA", "kid": "r", "n": number(of_rsa.n, 256), "e": number(of_rsa.e, 3), "alg": "RS256"},
            {"kty": "EC", "kid": "e", "crv": "P-256", "x": number(of_ec.x, 32), "y": number(of_ec.y, 32)},
        ]
    }


def signed(
    claims: Mapping[str, Any], algorithm: str = "RS256", kid: str | None = None, key: rsa.RSAPrivateKey = RSA_KEY
) -> str:
    head = {"alg": algorithm, "kid": kid or {"RS256": "r", "ES256": "e"}.get(algorithm, "r")}
    text = f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(dict(claims)).encode())}"
    if algorithm == "ES256":
        one, other = decode_dss_signature(EC_KEY.sign(text.encode(), ec.ECDSA(SHA256())))
        return f"{text}.{encoded(one.to_bytes(32) + other.to_bytes(32))}"
    return f"{text}.{encoded(key.sign(text.encode(), padding.PKCS1v15(), SHA256()))}"


def unsecured(claims: Mapping[str, Any]) -> str:
    head = encoded(json.dumps({"alg": "none"}).encode())
    return f"{head}.{encoded(json.dumps(dict(claims)).encode())}."


def claims(now: float = NOW, **more: Any) -> dict[str, Any]:
    found = {"sub": "ann", "iat": now - 10, "exp": now + 600, **more}
    return {name: value for name, value in found.items() if value is not None}
