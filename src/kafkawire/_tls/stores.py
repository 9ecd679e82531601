"""Key stores and trust stores of listeners and of clients, as PEM text.

Rules:
- PEM comes from a file, or inline from the settings. Inline text may have blanks in place of line breaks, as in a
  properties file. PKCS12 is converted, which needs the extra `security`. JKS is refused, with the command that
  converts it.
- A store type that is not set is recognised by the first bytes of the file.
- A key store in PEM has one private key, and the chain with the certificate of its owner first.
- The key password is for an encrypted private key. A store password together with PEM is an error, as in Kafka.
- An error names the setting and the file, and never contains a key or a password.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from kafkawire._extras import naming_extras
from kafkawire.exceptions import KafkaWireError

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_HEADERS: Final = re.compile(r"^[\s]*((?:[A-Za-z-]+:[^\n]*\n)+)")
_JKS: Final = bytes.fromhex("feedfeed")
_DER: Final = b"\x30"
_WIDTH: Final = 64
_LARGEST: Final = 4 * 1024 * 1024


class StoreError(KafkaWireError):
    """A store that cannot be read, or a setting of it that cannot be meant."""


class StoreSettings(Protocol):
    """The settings of TLS, under Kafka's names."""

    def name(self, setting: str) -> str:
        """The name of a setting as the user writes it, for messages."""

    def text(self, setting: str) -> str:
        """The value of a setting; '' if it has none."""


class KeyStore(NamedTuple):
    """A private key and its chain in PEM, and the password of the key."""

    key: str
    chain: str
    password: str

    def __repr__(self) -> str:
        return "KeyStore(hidden)"


def key_store(settings: StoreSettings) -> KeyStore | None:
    """The private key that the settings name, and its certificates; None if they name none."""
    inline, chain = settings.text("ssl.keystore.key"), settings.text("ssl.keystore.certificate.chain")
    location, name = settings.text("ssl.keystore.location"), settings.name("ssl.keystore.location")
    password = settings.text("ssl.key.password")
    if location and (inline or chain):
        raise StoreError(f"{name}: expected either a file or ssl.keystore.key, found both")
    if bool(inline) != bool(chain):
        raise StoreError(f"{settings.name('ssl.keystore.key')}: expected together with ssl.keystore.certificate.chain")
    if inline:
        return _from_pem(settings.name("ssl.keystore.key"), f"{inline}\n{chain}", password)
    if not location:
        return None
    content = _read(name, location)
    kind = _type(settings, "ssl.keystore.type", content)
    if kind == "PKCS12":
        return _from_pkcs12(name, content, settings.text("ssl.keystore.password"), password)
    if settings.text("ssl.keystore.password"):
        raise StoreError(
            f"{settings.name('ssl.keystore.password')}: PEM has no store password; ssl.key.password is that of the key"
        )
    return _from_pem(f"{name}={location}", _text(name, content), password)


def trust_store(settings: StoreSettings) -> str:
    """The certificates of the authorities that the settings name, in PEM; '' if none are set."""
    inline, location = settings.text("ssl.truststore.certificates"), settings.text("ssl.truststore.location")
    name = settings.name("ssl.truststore.location")
    if inline and location:
        raise StoreError(f"{name}: expected either a file or ssl.truststore.certificates, found both")
    if not inline and not location:
        return ""
    if inline:
        text = inline
        name = settings.name("ssl.truststore.certificates")
    else:
        content = _read(name, location)
        if _type(settings, "ssl.truststore.type", content) == "PKCS12":
            return _authorities_of_pkcs12(name, content, settings.text("ssl.truststore.password"))
        text = _text(name, content)
    found = "".join(block for kind, block in _blocks(text) if kind == "CERTIFICATE")
    if not found:
        raise StoreError(f"{name}: expected certificates in PEM (-----BEGIN CERTIFICATE-----), found none")
    return found


def _read(name: str, location: str) -> bytes:
    try:
        with Path(location).open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise StoreError(f"{name}={location}: {error.strerror or error}") from error
    if len(content) > _LARGEST:
        raise StoreError(f"{name}={location}: expected at most {_LARGEST} bytes")
    return content


def _type(settings: StoreSettings, setting: str, content: bytes) -> str:
    stated = settings.text(setting).strip().upper()
    if stated not in ("JKS", "PEM", "PKCS12"):
        raise StoreError(f"{settings.name(setting)}: expected PEM or PKCS12, found {stated}")
    if stated != "JKS":
        return stated
    if content.startswith(_JKS):
        location = settings.text(setting.replace(".type", ".location"))
        raise StoreError(
            f"{settings.name(setting)}: JKS is not read here; convert it: keytool -importkeystore -srckeystore "
            f"{location} -destkeystore {location}.p12 -deststoretype PKCS12"
        )
    return "PKCS12" if content.startswith(_DER) and b"-----BEGIN " not in content else "PEM"


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        return content.decode("latin-1") if b"-----BEGIN " in content else _no_pem(name)


def _no_pem(name: str) -> str:
    raise StoreError(f"{name}: expected PEM text, found a binary file")


def _blocks(text: str) -> list[tuple[str, str]]:
    """The PEM blocks of a text, with lines as OpenSSL wants them.

    >>> _blocks("-----BEGIN CERTIFICATE----- QUJD REVG -----END CERTIFICATE-----")
    [('CERTIFICATE', '-----BEGIN CERTIFICATE-----\\nQUJDREVG\\n-----END CERTIFICATE-----\\n')]
    """
    found = []
    for match in _BLOCK.finditer(text):
        kind, body = match[1], match[2]
        headers = _HEADERS.match(body)
        packed = "".join((body[headers.end() :] if headers else body).split())
        lines = [packed[at : at + _WIDTH] for at in range(0, len(packed), _WIDTH)]
        start = [headers[1].rstrip("\n"), ""] if headers else []
        found.append((kind, "\n".join([f"-----BEGIN {kind}-----", *start, *lines, f"-----END {kind}-----", ""])))
    return found


def _from_pem(name: str, text: str, password: str) -> KeyStore:
    blocks = _blocks(text)
    private = [(kind, block) for kind, block in blocks if kind.endswith("PRIVATE KEY")]
    chain = "".join(block for kind, block in blocks if kind == "CERTIFICATE")
    if len(private) != 1 or not chain:
        certificates = sum(kind == "CERTIFICATE" for kind, _ in blocks)
        raise StoreError(
            f"{name}: expected one private key and its certificates in PEM, found {len(private)} keys and "
            f"{certificates} certificates"
        )
    kind, key = private[0]
    if (kind.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in key) and not password:
        raise StoreError(f"{name}: the private key is encrypted; set ssl.key.password")
    return KeyStore(key, chain, password)


def _from_pkcs12(name: str, content: bytes, password: str, key_password: str) -> KeyStore:
    with naming_extras(f"{name} in PKCS12"):
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    try:
        key, certificate, more = pkcs12.load_key_and_certificates(content, (password or key_password).encode() or None)
    except ValueError as error:
        raise StoreError(f"{name}: not a PKCS12 file, or ssl.keystore.password is wrong") from error
    if key is None or certificate is None:
        raise StoreError(f"{name}: expected a private key and its certificate, found neither or one of them")
    chain = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *more))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyStore(plain.decode(), chain.decode(), "")


def _authorities_of_pkcs12(name: str, content: bytes, password: str) -> str:
    with naming_extras(f"{name} in PKCS12"):
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    try:
        found = pkcs12.load_pkcs12(content, password.encode() or None)
    except ValueError as error:
        raise StoreError(f"{name}: not a PKCS12 file, or ssl.truststore.password is wrong") from error
    listed = [each.certificate for each in (*found.additional_certs, found.cert) if each is not None]
    if not listed:
        raise StoreError(f"{name}: expected certificates, found none")
    return b"".join(each.public_bytes(Encoding.PEM) for each in listed).decode()
