"""Contexts of TLS: versions, cipher suites, and the private key.

Rules:
- TLS 1.2 is the oldest version. Cipher suites are named as IANA names them. Python cannot choose among those of
  TLS 1.3, so a list has all three of them, or none, which excludes TLS 1.3.
- OpenSSL reads a private key from a file only. A key that is inline, or was in PKCS12, is in a private file meanwhile.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire._tls.stores import StoreError

if TYPE_CHECKING:
    from kafkawire._tls.stores import KeyStore, StoreSettings

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_SUITES_OF_1_3: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


def set_versions(context: ssl.SSLContext, settings: StoreSettings) -> None:
    """Allow the versions and the cipher suites of the settings."""
    name = "ssl.enabled.protocols"
    listed = _words(settings.text(name))
    unknown = [each for each in listed if each not in _VERSIONS]
    if unknown or not listed:
        found = ", ".join(unknown) or "none"
        raise StoreError(f"{settings.name(name)}: expected TLSv1.2 and TLSv1.3, found {found}")
    suites = _words(settings.text("ssl.cipher.suites"))
    if suites:
        listed = _set_suites(context, settings, suites, listed)
    versions = sorted(_VERSIONS[each] for each in listed)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _set_suites(context: ssl.SSLContext, settings: StoreSettings, suites: list[str], versions: list[str]) -> list[str]:
    name = settings.name("ssl.cipher.suites")
    newer = _SUITES_OF_1_3 & set(suites)
    older = {each: openssl_name(each) for each in suites if each not in _SUITES_OF_1_3}
    if newer and newer != _SUITES_OF_1_3:
        raise StoreError(f"{name}: expected all suites of TLS 1.3, or none: {', '.join(sorted(_SUITES_OF_1_3))}")
    for suite, known in older.items():
        try:
            context.set_ciphers(known)
        except ssl.SSLError as error:
            raise StoreError(f"{name}: {suite} is not a cipher suite of this OpenSSL") from error
    if older:
        context.set_ciphers(":".join(older.values()))
    usable = {"TLSv1.2": bool(older), "TLSv1.3": bool(newer)}
    left = [each for each in versions if usable[each]]
    if not left:
        raise StoreError(f"{name}: none of the suites belongs to {', '.join(versions)}")
    return left


def openssl_name(suite: str) -> str:
    """The name that OpenSSL has for a cipher suite of TLS 1.2.

    >>> openssl_name("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), openssl_name("TLS_RSA_WITH_AES_256_CBC_SHA256")
    ('ECDHE-RSA-AES128-GCM-SHA256', 'AES256-SHA256')
    >>> openssl_name("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")
    'ECDHE-ECDSA-CHACHA20-POLY1305'
    """
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305").replace("_CBC_", "_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_", "-")
    exchange = exchange.replace("_", "-")
    return suite if not cipher else cipher if exchange == "RSA" else f"{exchange}-{cipher}"


def load_key(context: ssl.SSLContext, settings: StoreSettings, store: KeyStore) -> None:
    """Load a key, which OpenSSL reads from a file only; the file is private, and removed at once."""
    name = settings.name("ssl.keystore.location")
    descriptor, path = tempfile.mkstemp(suffix=".pem")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="latin-1") as file:
            file.write(store.key + store.chain)
        # without a password OpenSSL would ask for one on the terminal
        context.load_cert_chain(path, password=store.password)
    except ssl.SSLError as error:
        words = {
            "KEY_VALUES_MISMATCH": "the private key does not belong to the first certificate",
            "BAD_DECRYPT": "the private key cannot be decrypted; is ssl.key.password right?",
            "EE_KEY_TOO_SMALL": "the key of the certificate is too short for this OpenSSL; use RSA 2048 or EC P-256",
        }
        reason = error.reason or "the private key or a certificate cannot be read; is ssl.key.password right?"
        raise StoreError(f"{name}: {words.get(reason, reason)}") from error
    finally:
        Path(path).unlink()
