"""Certificates for development and tests: an authority of one's own, and certificates that it signs.

Rules:
- Keys are EC P-256. Private keys are written to files that only their owner can read.
- An authority that exists in a directory is used again, so that clients that trust it stay connected.
- They need the extra `security`. They are not for production, because the key of the authority lies beside them.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._extras import naming_extras

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

CA_FILE: Final = "ca.pem"
CA_KEY_FILE: Final = "ca-key.pem"
AUTHORITY_DAYS: Final = 3650
CERTIFICATE_DAYS: Final = 825


class Issued(NamedTuple):
    """A private key and its certificate, in PEM."""

    key: str
    certificate: str

    @property
    def both(self) -> str:
        """The content of a key store: the private key, then the certificate."""
        return self.key + self.certificate


class DevelopmentAuthority:
    """A certificate authority for development.

    >>> authority = DevelopmentAuthority.create()
    >>> authority.issue("localhost", ["localhost", "127.0.0.1"]).certificate.partition("\\n")[0]
    '-----BEGIN CERTIFICATE-----'
    """

    def __init__(self, key: EllipticCurvePrivateKey, certificate: Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def create(cls, name: str = "kafkawire development CA") -> DevelopmentAuthority:
        """A new authority."""
        with naming_extras("a development certificate"):
            from cryptography.hazmat.primitives.asymmetric import ec
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, _sign(name, key, None, key, (), AUTHORITY_DAYS))

    @classmethod
    def of(cls, directory: Path) -> DevelopmentAuthority:
        """The authority of a directory, which is created if it has none."""
        with naming_extras("a development certificate"):
            from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
            from cryptography.x509 import load_pem_x509_certificate
        if (directory / CA_FILE).exists() and (directory / CA_KEY_FILE).exists():
            key = load_pem_private_key((directory / CA_KEY_FILE).read_bytes(), None)
            if isinstance(key, EllipticCurvePrivateKey):
                return cls(key, load_pem_x509_certificate((directory / CA_FILE).read_bytes()))
        made = cls.create()
        directory.mkdir(parents=True, exist_ok=True)
        write_private(directory / CA_KEY_FILE, _key_text(made._key))
        (directory / CA_FILE).write_text(made.certificate, encoding="ascii")
        return made

    @property
    def certificate(self) -> str:
        """The certificate that clients trust, in PEM."""
        return _certificate_text(self._certificate)

    def issue(self, name: str, hosts: Iterable[str] = (), *, days: int = CERTIFICATE_DAYS) -> Issued:
        """A certificate with a common name, for these hosts and addresses; negative days make an expired one."""
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        return Issued(_key_text(key), _certificate_text(_sign(name, key, self._certificate, self._key, hosts, days)))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _sign(
    name: str,
    key: EllipticCurvePrivateKey,
    issuer: Certificate | None,
    signer: EllipticCurvePrivateKey,
    hosts: Iterable[str],
    days: int,
) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    end = now + timedelta(days=days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - timedelta(days=1))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if issuer is None:
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(usage, critical=True)
    names = [_general_name(host) for host in dict.fromkeys(hosts)]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_text(key: EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _certificate_text(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()
