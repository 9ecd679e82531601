"""Key stores and trust stores of TLS listeners, as PEM text.

Rules:
- PEM comes from a file, or inline from the settings. Inline text may have blanks in place of line breaks, as in a
  properties file. PKCS12 is converted, which needs the extra `security`. JKS is refused, with the command that
  converts it.
- A store type that is not set is recognised by the first bytes of the file.
- A key store in PEM has one private key, and the chain with the certificate of the listener first.
- The key password is for an encrypted private key. A store password together with PEM is an error, as in Kafka.
- An error names the setting and the file, and never contains a key or a password.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._extras import naming_extras
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from kafkawire.broker._config.listener_settings import ListenerSettings

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_HEADERS: Final = re.compile(r"^[\s]*((?:[A-Za-z-]+:[^\n]*\n)+)")
_JKS: Final = bytes.fromhex("feedfeed")
_WIDTH: Final = 64
_LARGEST: Final = 4 * 1024 * 1024


class KeyStore(NamedTuple):
    """A private key and its chain in PEM, and the password of the key."""

    key: str
    chain: str
    password: str

    def __repr__(self) -> str:
        return "KeyStore(hidden)"


def key_store(settings: ListenerSettings) -> KeyStore:
    """The private key of a listener and its certificates."""
    inline, chain = settings.secret("ssl.keystore.key"), settings.secret("ssl.keystore.certificate.chain")
    location, name = settings.text("ssl.keystore.location"), settings.name("ssl.keystore.location")
    password = settings.secret("ssl.key.password")
    if location and (inline or chain):
        raise InvalidConfigError(f"{name}: expected either a file or ssl.keystore.key, found both")
    if bool(inline) != bool(chain):
        raise InvalidConfigError(
            f"{settings.name('ssl.keystore.key')}: expected together with ssl.keystore.certificate.chain"
        )
    if inline:
        return _from_pem(settings.name("ssl.keystore.key"), f"{inline}\n{chain}", password)
    if not location:
        protocol = settings.protocol.value
        raise InvalidConfigError(
            f"listener {settings.listener} with {protocol} needs a certificate: set {name} to a PEM file with a "
            "private key and the certificates, or start with --secure"
        )
    content = _read(name, location)
    kind = _type(settings, "ssl.keystore.type", content)
    if kind == "PKCS12":
        return _from_pkcs12(name, content, settings.secret("ssl.keystore.password"), password)
    if settings.secret("ssl.keystore.password"):
        raise InvalidConfigError(
            f"{settings.name('ssl.keystore.password')}: PEM has no store password; ssl.key.password is that of the key"
        )
    return _from_pem(f"{name}={location}", _text(name, content), password)


def trust_store(settings: ListenerSettings) -> str:
    """The certificates of the authorities of clients, in PEM; '' if none are set."""
    inline, location = settings.secret("ssl.truststore.certificates"), settings.text("ssl.truststore.location")
    name = settings.name("ssl.truststore.location")
    if inline and location:
        raise InvalidConfigError(f"{name}: expected either a file or ssl.truststore.certificates, found both")
    if not inline and not location:
        return ""
    if inline:
        text = inline
        name = settings.name("ssl.truststore.certificates")
    else:
        content = _read(name, location)
        if _type(settings, "ssl.truststore.type", content) == "PKCS12":
            return _authorities_of_pkcs12(name, content, settings.secret("ssl.truststore.password"))
        text = _text(name, content)
    found = "".join(block for kind, block in _blocks(text) if kind == "CERTIFICATE")
    if not found:
        raise InvalidConfigError(f"{name}: expected certificates in PEM (-----BEGIN CERTIFICATE-----), found none")
    return found


def _read(name: str, location: str) -> bytes:
    try:
        with Path(location).open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise InvalidConfigError(f"{name}={location}: {error.strerror or error}") from error
    if len(content) > _LARGEST:
        raise InvalidConfigError(f"{name}={location}: expected at most {_LARGEST} bytes")
    return content


def _type(settings: ListenerSettings, setting: str, content: bytes) -> str:
    stated = settings.text(setting).strip().upper()
    if stated not in ("JKS", "PEM", "PKCS12"):
        raise InvalidConfigError(f"{settings.name(setting)}: expected PEM or PKCS12, found {stated}")
    if stated != "JKS":
        return stated
    if content.startswith(_JKS):
        location = settings.text(setting.replace(".type", ".location"))
        raise InvalidConfigError(
            f"{settings.name(setting)}: JKS is not read here; convert it: keytool -importkeystore -srckeystore "
            f"{location} -destkeystore {location}.p12 -deststoretype PKCS12"
        )
    return "PEM" if b"-----BEGIN " in content else "PKCS12"


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        return content.decode("latin-1") if b"-----BEGIN " in content else _no_pem(name)


def _no_pem(name: str) -> str:
    raise InvalidConfigError(f"{name}: expected PEM text, found a binary file")


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
        raise InvalidConfigError(
            f"{name}: expected one private key and its certificates in PEM, found {len(private)} keys and "
            f"{certificates} certificates"
        )
    kind, key = private[0]
    if (kind.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in key) and not password:
        raise InvalidConfigError(f"{name}: the private key is encrypted; set ssl.key.password")
    return KeyStore(key, chain, password)


def _from_pkcs12(name: str, content: bytes, password: str, key_password: str) -> KeyStore:
    with naming_extras(f"{name} in PKCS12"):
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    try:
        key, certificate, more = pkcs12.load_key_and_certificates(content, (password or key_password).encode() or None)
    except ValueError as error:
        raise InvalidConfigError(f"{name}: not a PKCS12 file, or ssl.keystore.password is wrong") from error
    if key is None or certificate is None:
        raise InvalidConfigError(f"{name}: expected a private key and its certificate, found neither or one of them")
    chain = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *more))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyStore(plain.decode(), chain.decode(), "")


def _authorities_of_pkcs12(name: str, content: bytes, password: str) -> str:
    with naming_extras(f"{name} in PKCS12"):
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    try:
        found = pkcs12.load_pkcs12(content, password.encode() or None)
    except ValueError as error:
        raise InvalidConfigError(f"{name}: not a PKCS12 file, or ssl.truststore.password is wrong") from error
    listed = [each.certificate for each in (*found.additional_certs, found.cert) if each is not None]
    if not listed:
        raise InvalidConfigError(f"{name}: expected certificates, found none")
    return b"".join(each.public_bytes(Encoding.PEM) for each in listed).decode()
